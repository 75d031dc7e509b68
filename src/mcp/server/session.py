"""The way from a server to its client: `ctx.session` in a handler."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar, overload

from pydantic import BaseModel
from typing_extensions import deprecated

from mcp.engine.exchange import Exchange
from mcp.engine.progress import ProgressFnT, progress_reporter
from mcp.engine.requester import CallOptions
from mcp.server.validation import (
    declares,
    validate_sampling_tools,
    validate_tool_use_result_messages,
    wants_sampling_tools,
)
from mcp.shared.exceptions import ConnectionClosedError, MCPDeprecationWarning
from mcp.types.jsonrpc import RequestId

if TYPE_CHECKING:
    from pydantic import AnyUrl

    from mcp import types
    from mcp.server.connection import Connection
    from mcp.shared.message import ServerMessageMetadata

__all__ = ["ServerSession"]

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT", bound=BaseModel)

_LOGGING_DEPRECATED = "The logging capability is deprecated as of 2026-07-28 (SEP-2577)."
_SAMPLING_DEPRECATED = "The sampling capability is deprecated as of 2026-07-28 (SEP-2577)."
_ROOTS_DEPRECATED = "The roots capability is deprecated as of 2026-07-28 (SEP-2577)."


class ServerSession:
    """What a handler can send to the client besides its answer.

    Notifications that belong to the request at hand (progress, log messages) travel with its answer. Those that do not
    (list changes) go where the connection has a channel for them, and are dropped where it has none. Requests to the
    client need a back-channel: a 2026-07-28 request has none, and every one of them raises `NoBackChannelError`.

    Args:
        request_outbound: The way back of the request at hand.
        connection: The client.
        request_meta: The request's `_meta`.
    """

    __slots__ = ("_connection", "_exchange", "_meta")

    def __init__(
        self,
        request_outbound: Exchange,
        connection: Connection,
        *,
        request_meta: types.RequestParamsMeta | None = None,
    ) -> None:
        self._exchange = request_outbound
        self._connection = connection
        self._meta = request_meta

    @property
    def connection(self) -> Connection:
        """The client, for as long as the connection lasts."""
        return self._connection

    @property
    def client_params(self) -> types.InitializeRequestParams | None:
        """What the client sent to open the connection; None where it opened without a handshake and kept its name."""
        from mcp.types import InitializeRequestParams

        facts = self._connection.facts
        if facts.info is None:
            return None
        return InitializeRequestParams(
            protocol_version=self.protocol_version, capabilities=facts.capabilities, client_info=facts.info
        )

    @property
    def client_capabilities(self) -> types.ClientCapabilities | None:
        """What the client can do."""
        return self._connection.facts.capabilities

    @property
    def can_send_request(self) -> bool:
        """Whether the client can be asked something during this request."""
        return self._exchange.can_ask

    @property
    def protocol_version(self) -> str:
        """The revision that is spoken."""
        return self._connection.protocol_version

    def check_client_capability(self, capability: types.ClientCapabilities) -> bool:
        """Whether the client declared everything that `capability` names.

        Args:
            capability: The capabilities to look for; what is None or False in it is not looked at.
        """
        return declares(self._connection.facts.capabilities, capability)

    async def send_request(
        self,
        request: types.ServerRequest,
        result_type: type[ResultT],
        request_read_timeout_seconds: float | None = None,
        metadata: ServerMessageMetadata | None = None,
        progress_callback: ProgressFnT | None = None,
    ) -> ResultT:
        """Asks the client something.

        Args:
            request: The request.
            result_type: The model of its result.
            request_read_timeout_seconds: Seconds to wait for the answer; None waits for ever.
            metadata: Which request this belongs to, where that is not the one at hand.
            progress_callback: Takes the client's progress reports.

        Raises:
            NoBackChannelError: The connection has no way to ask.
            MCPError: The client answered with an error, or not in time.
            TypeError: `request_read_timeout_seconds` is no number.
        """
        timeout = _seconds(request_read_timeout_seconds)
        wire = request.model_dump(by_alias=True, exclude_none=True, mode="json")
        on_progress = None if progress_callback is None else progress_reporter(progress_callback)
        options = CallOptions(timeout, None, on_progress)
        answer = await self._exchange.ask(request.method, wire.get("params"), options)
        return result_type.model_validate(answer)

    async def send_notification(
        self, notification: types.ServerNotification, related_request_id: RequestId | None = None
    ) -> None:
        """Sends a notification; a log message only if the client asked for its level.

        Args:
            notification: The notification.
            related_request_id: The request it belongs to; one without goes over the connection's own channel.
        """
        if notification.method == "notifications/message" and not self._connection.wants_log(notification.params.level):
            return
        wire = notification.model_dump(by_alias=True, exclude_none=True, mode="json")
        if related_request_id is None and notification.method not in _REQUEST_SCOPED:
            await self._announce(notification.method, wire.get("params"))
        else:
            await self._exchange.notify(notification.method, wire.get("params"))

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Reports progress of the request at hand, if the client asked for it.

        Args:
            progress: How much is done; it grows with every report.
            total: How much there is to do, if known.
            message: What is being done.
        """
        token = (self._meta or {}).get("progress_token")
        if token is not None:
            await self.send_progress_notification(token, progress, total, message)

    async def send_progress_notification(
        self,
        progress_token: str | int,
        progress: float,
        total: float | None = None,
        message: str | None = None,
        related_request_id: str | None = None,
    ) -> None:
        """Reports progress under a token of the client's.

        Args:
            progress_token: The token of the request that progresses.
            progress: How much is done; it grows with every report.
            total: How much there is to do, if known.
            message: What is being done.
            related_request_id: The request it belongs to; the one at hand when left out.
        """
        params: dict[str, Any] = {"progressToken": progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await self._exchange.notify("notifications/progress", params)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    async def send_log_message(
        self,
        level: types.LoggingLevel,
        data: Any,
        logger: str | None = None,
        related_request_id: RequestId | None = None,
    ) -> None:
        """Sends a log message with the request at hand, if the client asked for its level.

        Args:
            level: How severe it is.
            data: Anything that serialises to JSON.
            logger: The logger's name.
            related_request_id: The request it belongs to; the one at hand when left out.
        """
        if not self._connection.wants_log(level):
            return
        params: dict[str, Any] = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        await self._exchange.notify("notifications/message", params)

    async def send_resource_updated(self, uri: str | AnyUrl) -> None:
        """Tells the client that a resource has changed."""
        await self._announce("notifications/resources/updated", {"uri": str(uri)})

    async def send_resource_list_changed(self) -> None:
        """Tells the client that the list of resources has changed."""
        await self._announce("notifications/resources/list_changed", None)

    async def send_tool_list_changed(self) -> None:
        """Tells the client that the list of tools has changed."""
        await self._announce("notifications/tools/list_changed", None)

    async def send_prompt_list_changed(self) -> None:
        """Tells the client that the list of prompts has changed."""
        await self._announce("notifications/prompts/list_changed", None)

    async def send_elicit_complete(self, elicitation_id: str, related_request_id: RequestId | None = None) -> None:
        """Tells the client that what a URL elicitation asked for is done.

        Args:
            elicitation_id: The elicitation.
            related_request_id: The request it belongs to; one without goes over the connection's own channel.
        """
        params = {"elicitationId": elicitation_id}
        if related_request_id is None:
            await self._announce("notifications/elicitation/complete", params)
        else:
            await self._exchange.notify("notifications/elicitation/complete", params)

    @overload
    @deprecated(_SAMPLING_DEPRECATED, category=MCPDeprecationWarning)
    async def create_message(
        self,
        messages: list[types.SamplingMessage],
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        include_context: types.IncludeContext | None = None,
        temperature: float | None = None,
        stop_sequences: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        model_preferences: types.ModelPreferences | None = None,
        tools: None = None,
        tool_choice: None = None,
        related_request_id: RequestId | None = None,
    ) -> types.CreateMessageResult: ...
    @overload
    @deprecated(_SAMPLING_DEPRECATED, category=MCPDeprecationWarning)
    async def create_message(
        self,
        messages: list[types.SamplingMessage],
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        include_context: types.IncludeContext | None = None,
        temperature: float | None = None,
        stop_sequences: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        model_preferences: types.ModelPreferences | None = None,
        tools: list[types.Tool],
        tool_choice: types.ToolChoice | None = None,
        related_request_id: RequestId | None = None,
    ) -> types.CreateMessageResultWithTools: ...
    @overload
    @deprecated(_SAMPLING_DEPRECATED, category=MCPDeprecationWarning)
    async def create_message(
        self,
        messages: list[types.SamplingMessage],
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        include_context: types.IncludeContext | None = None,
        temperature: float | None = None,
        stop_sequences: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        model_preferences: types.ModelPreferences | None = None,
        tools: list[types.Tool] | None = None,
        tool_choice: types.ToolChoice,
        related_request_id: RequestId | None = None,
    ) -> types.CreateMessageResultWithTools: ...
    @deprecated(_SAMPLING_DEPRECATED, category=MCPDeprecationWarning)
    async def create_message(
        self,
        messages: list[types.SamplingMessage],
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        include_context: types.IncludeContext | None = None,
        temperature: float | None = None,
        stop_sequences: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        model_preferences: types.ModelPreferences | None = None,
        tools: list[types.Tool] | None = None,
        tool_choice: types.ToolChoice | None = None,
        related_request_id: RequestId | None = None,
    ) -> types.CreateMessageResult | types.CreateMessageResultWithTools:
        """Asks the client's model for a message.

        Args:
            messages: The conversation so far.
            max_tokens: The most tokens to sample.
            system_prompt: A system prompt to use.
            include_context: Whose context to include.
            temperature: The sampling temperature.
            stop_sequences: Where to stop.
            metadata: Passed to the model's provider.
            model_preferences: Which model to prefer.
            tools: Tools that the model may use.
            tool_choice: Whether it may, must or must not use them.
            related_request_id: The request it belongs to; the one at hand when left out.

        Raises:
            NoBackChannelError: The connection has no way to ask.
            MCPError: The client answered with an error, or it takes no tools.
            ValueError: The tool results in `messages` do not match the tool uses.
        """
        from mcp.types import CreateMessageRequestParams, CreateMessageResult, CreateMessageResultWithTools

        validate_sampling_tools(self.client_capabilities, tools, tool_choice)
        validate_tool_use_result_messages(messages)
        params = CreateMessageRequestParams(
            messages=messages,
            max_tokens=max_tokens,
            system_prompt=system_prompt,
            include_context=include_context,
            temperature=temperature,
            stop_sequences=stop_sequences,
            metadata=metadata,
            model_preferences=model_preferences,
            tools=tools,
            tool_choice=tool_choice,
        )
        answer = await self._ask("sampling/createMessage", params)
        model = CreateMessageResultWithTools if wants_sampling_tools(tools, tool_choice) else CreateMessageResult
        return model.model_validate(answer)

    @deprecated(_ROOTS_DEPRECATED, category=MCPDeprecationWarning)
    async def list_roots(self) -> types.ListRootsResult:
        """Asks the client for its root directories.

        Raises:
            NoBackChannelError: The connection has no way to ask.
            MCPError: The client answered with an error.
        """
        from mcp.types import ListRootsResult

        return ListRootsResult.model_validate(await self._ask("roots/list", None))

    async def elicit(
        self, message: str, requested_schema: dict[str, Any], related_request_id: RequestId | None = None
    ) -> types.ElicitResult:
        """Asks the user to fill in a form; the same as `elicit_form`."""
        return await self.elicit_form(message, requested_schema, related_request_id)

    async def elicit_form(
        self, message: str, requested_schema: dict[str, Any], related_request_id: RequestId | None = None
    ) -> types.ElicitResult:
        """Asks the user to fill in a form.

        Args:
            message: What the user is told.
            requested_schema: The form, as a flat JSON Schema.
            related_request_id: The request it belongs to; the one at hand when left out.

        Raises:
            NoBackChannelError: The connection has no way to ask.
            MCPError: The client answered with an error.
        """
        from mcp.types import ElicitRequestFormParams, ElicitResult

        params = ElicitRequestFormParams(message=message, requested_schema=requested_schema)
        return ElicitResult.model_validate(await self._ask("elicitation/create", params))

    async def elicit_url(
        self, message: str, url: str, elicitation_id: str, related_request_id: RequestId | None = None
    ) -> types.ElicitResult:
        """Asks the user to visit a URL.

        Args:
            message: What the user is told.
            url: Where to go.
            elicitation_id: Names the elicitation in `send_elicit_complete`.
            related_request_id: The request it belongs to; the one at hand when left out.

        Raises:
            NoBackChannelError: The connection has no way to ask.
            MCPError: The client answered with an error.
        """
        from mcp.types import ElicitRequestURLParams, ElicitResult

        params = ElicitRequestURLParams(message=message, url=url, elicitation_id=elicitation_id)
        return ElicitResult.model_validate(await self._ask("elicitation/create", params))

    async def send_ping(self) -> types.EmptyResult:
        """Asks the client whether it is still there.

        Raises:
            NoBackChannelError: The connection has no way to ask.
        """
        from mcp.types import EmptyResult

        return EmptyResult.model_validate(await self._ask("ping", None))

    async def _announce(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends what belongs to no request. A client that is gone misses it."""
        try:
            await self._connection.notify(method, params)
        except ConnectionClosedError:
            logger.debug("dropped %s: the connection is closed", method)

    async def _ask(self, method: str, params: BaseModel | None) -> dict[str, Any]:
        wire = None if params is None else params.model_dump(by_alias=True, exclude_none=True, mode="json")
        return await self._exchange.ask(method, wire, CallOptions())


_REQUEST_SCOPED = frozenset({"notifications/progress", "notifications/message"})


def _seconds(limit: Any) -> float | None:
    # Where older versions of this API took a `timedelta`, waiting would fail with one after the request was sent.
    if limit is None or isinstance(limit, (int, float)):
        return limit
    raise TypeError(f"a time limit is a number of seconds, got {type(limit).__name__}")
