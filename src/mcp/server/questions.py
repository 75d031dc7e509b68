"""What a server asks its client while it handles a request: revisions up to 2025-11-25, where there is a way to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from pydantic import BaseModel
from typing_extensions import deprecated

from mcp.engine.exchange import Exchange
from mcp.engine.progress import ProgressFnT, progress_reporter
from mcp.server.validation import (
    declares,
    validate_sampling_tools,
    validate_tool_use_result_messages,
    wants_sampling_tools,
)
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.types.jsonrpc import METHOD_NOT_FOUND, RequestId
from mcp.types.methods import METHODS

if TYPE_CHECKING:
    from mcp import types
    from mcp.server.connection import Connection
    from mcp.shared.message import ServerMessageMetadata

__all__ = ["ClientQuestions"]

ResultT = TypeVar("ResultT", bound=BaseModel)

_SAMPLING_DEPRECATED = "The sampling capability is deprecated as of 2026-07-28 (SEP-2577)."
_ROOTS_DEPRECATED = "The roots capability is deprecated as of 2026-07-28 (SEP-2577)."


class ClientQuestions:
    """The requests from a server to its client. A 2026-07-28 request has no way to carry any; all of them raise.

    Args:
        exchange: The way back of the request at hand.
        connection: The client.
    """

    __slots__ = ("_connection", "_exchange")

    def __init__(self, exchange: Exchange, connection: Connection) -> None:
        self._exchange = exchange
        self._connection = connection

    @property
    def client_capabilities(self) -> types.ClientCapabilities | None:
        """What the client can do."""
        return self._connection.facts.capabilities

    @property
    def can_send_request(self) -> bool:
        """Whether the client can be asked something during this request."""
        return self._exchange.can_ask

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
        self._check_revision(request.method)
        answer = await self._exchange.ask(request.method, wire.get("params"), timeout, on_progress)
        return result_type.model_validate(answer)

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

    def _check_revision(self, method: str) -> None:
        """Refuses a question that the client, by its revision, cannot know. A client that declares it knows it.

        Raises:
            MCPError: -32601: there is no such question.
        """
        version, spec = self._connection.protocol_version, METHODS.get(method)
        if spec is None or version in spec.from_server or not self._exchange.can_ask:
            return
        if spec.capability is None or getattr(self.client_capabilities, spec.capability, None) is None:
            raise MCPError(METHOD_NOT_FOUND, f"Revision {version}, which the client speaks, has no {method}", method)

    async def _ask(self, method: str, params: BaseModel | None) -> dict[str, Any]:
        wire = None if params is None else params.model_dump(by_alias=True, exclude_none=True, mode="json")
        self._check_revision(method)
        return await self._exchange.ask(method, wire)


def _seconds(limit: Any) -> float | None:
    # Where older versions of this API took a `timedelta`, waiting would fail with one after the request was sent.
    if limit is None or isinstance(limit, (int, float)):
        return limit
    raise TypeError(f"a time limit is a number of seconds, got {type(limit).__name__}")
