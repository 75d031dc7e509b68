"""What a function of a server is given besides its arguments: `Context`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import deprecated

from mcp.server.context import LifespanContextT, RequestT, ServerRequestContext
from mcp.server.mcpserver.functions.injected import InjectedContext
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

if TYPE_CHECKING:
    from pydantic import AnyUrl

    from mcp.server.elicitation import ElicitationResult, ElicitSchemaModelT, UrlElicitationResult
    from mcp.server.lowlevel.helper_types import ReadResourceContents
    from mcp.server.mcpserver.server import MCPServer
    from mcp.server.session import ServerSession
    from mcp.types import ClientCapabilities, InputResponseRequestParams, InputResponses, LoggingLevel

__all__ = ["Context", "LifespanContextT", "RequestT"]

_LOGGING_DEPRECATED = "The logging capability is deprecated as of 2026-07-28 (SEP-2577)."


class Context(InjectedContext, Generic[LifespanContextT, RequestT]):
    """One request, as the function that serves it sees it.

    A function asks for it by the type of a parameter, whatever that is called. `Context[AppState]` says what the
    server's lifespan yields. It belongs to one request, and may be used in a worker thread.

    Args:
        request_context: The request; None outside of one.
        mcp_server: The server.
        input_params: The params of a request that may be answered by asking for input.
    """

    __slots__ = ("_input_params", "_mcp_server", "_request_context")

    def __init__(
        self,
        *,
        request_context: ServerRequestContext[LifespanContextT, RequestT] | None = None,
        mcp_server: MCPServer[Any] | None = None,
        input_params: InputResponseRequestParams | None = None,
    ) -> None:
        self._request_context = request_context
        self._mcp_server = mcp_server
        self._input_params = input_params
        self.model_post_init(None)

    def model_post_init(self, context: Any, /) -> None:
        """Called when a context has been made. It does nothing; a subclass may.

        Args:
            context: None.
        """

    @property
    def mcp_server(self) -> MCPServer[Any]:
        """The server.

        Raises:
            ValueError: There is no request.
        """
        if self._mcp_server is None:
            raise _no_request()
        return self._mcp_server

    @property
    def request_context(self) -> ServerRequestContext[LifespanContextT, RequestT]:
        """The request, as handlers of a low-level server see it; `lifespan_context` is there.

        Raises:
            ValueError: There is no request.
        """
        if self._request_context is None:
            raise _no_request()
        return self._request_context

    @property
    def session(self) -> ServerSession:
        """The way to the client.

        Raises:
            ValueError: There is no request.
        """
        return self.request_context.session

    @property
    def request_id(self) -> str:
        """The request's id.

        Raises:
            ValueError: There is no request.
        """
        return str(self.request_context.request_id)

    @property
    def protocol_version(self) -> str | None:
        """The revision that the request speaks; None outside of a request."""
        return None if self._request_context is None else self._request_context.protocol_version

    @property
    def client_capabilities(self) -> ClientCapabilities | None:
        """What the client says that it can do.

        Raises:
            ValueError: There is no request.
        """
        return self.session.client_capabilities

    @property
    def headers(self) -> Mapping[str, str] | None:
        """The headers of the HTTP request, which are the client's own words; None where there are none.

        Raises:
            ValueError: There is no request.
        """
        return getattr(self.request_context.request, "headers", None)

    @property
    def user(self) -> Any:
        """Who is calling: the user that authentication in front of the server has found; None where there was none.

        On a server with `auth=` it is an `AuthenticatedUser`, with the `subject`, `client_id`, `scopes` and `claims` of
        the access token.

        Raises:
            ValueError: There is no request.
        """
        scope: Mapping[str, Any] = getattr(self.request_context.request, "scope", None) or {}
        return scope.get("user")

    @property
    def input_responses(self) -> InputResponses | None:
        """What the client answers to the questions of the round before; None in the first round."""
        return None if self._input_params is None else self._input_params.input_responses

    @property
    def request_state(self) -> str | None:
        """The state that the round before left; None in the first round."""
        return None if self._input_params is None else self._input_params.request_state

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Reports progress of the request, if the client asked for it.

        Args:
            progress: How much is done; it grows with every report.
            total: How much there is to do, if known.
            message: What is being done.

        Raises:
            ValueError: There is no request.
        """
        await self.session.report_progress(progress, total, message)

    async def notify_tools_changed(self) -> None:
        """Tells every listener that the list of tools has changed.

        For tools of this server it happens by itself.
        """
        await self._publish(ToolsListChanged())

    async def notify_prompts_changed(self) -> None:
        """Tells every listener that the list of prompts has changed.

        For prompts of this server it happens by itself.
        """
        await self._publish(PromptsListChanged())

    async def notify_resources_changed(self) -> None:
        """Tells every listener that the list of resources has changed.

        For resources of this server it happens by itself.
        """
        await self._publish(ResourcesListChanged())

    async def notify_resource_updated(self, uri: str | AnyUrl) -> None:
        """Tells those who watch a resource that it has changed.

        Args:
            uri: The resource, as those who watch it have written it.
        """
        await self._publish(ResourceUpdated(uri=str(uri)))

    async def _publish(self, event: ServerEvent) -> None:
        await self.mcp_server.publish(event)

    async def read_resource(self, uri: str | AnyUrl) -> Iterable[ReadResourceContents]:
        """Reads a resource of this server, as a client would.

        Args:
            uri: The resource.

        Raises:
            ResourceNotFoundError: There is no such resource.
            ResourceError: It could not be read.
            RuntimeError: It asks the client for input first, which it cannot do from here.
        """
        from mcp.types import InputRequiredResult

        result = await self.mcp_server.read_resource(uri, self)
        if isinstance(result, InputRequiredResult):
            raise RuntimeError(f"the resource {str(uri)!r} asks the client for input, which only resources/read can")
        return result

    async def elicit(self, message: str, schema: type[ElicitSchemaModelT]) -> ElicitationResult[ElicitSchemaModelT]:
        """Asks the user to fill in a form, and waits for the answer (handshake revisions).

        Args:
            message: What the user is asked.
            schema: A flat model of the form.

        Returns:
            What the user did, with the filled form as `data` if it was accepted.

        Raises:
            NoBackChannelError: The client cannot be asked during a request, as on 2026-07-28.
            TypeError: The model is not flat.
        """
        from mcp.server.elicitation import elicit_with_validation

        request = self.request_context
        return await elicit_with_validation(request.session, message, schema, related_request_id=request.request_id)

    async def elicit_url(self, message: str, url: str, elicitation_id: str) -> UrlElicitationResult:
        """Asks the user to open a page, and waits until they agree or not (handshake revisions).

        Args:
            message: Why.
            url: The page.
            elicitation_id: Names the elicitation, for `ctx.session.send_elicit_complete`.

        Raises:
            NoBackChannelError: The client cannot be asked during a request, as on 2026-07-28.
        """
        from mcp.server.elicitation import elicit_url

        request = self.request_context
        return await elicit_url(request.session, message, url, elicitation_id, related_request_id=request.request_id)

    async def close_sse_stream(self) -> None:
        """Ends the answer's stream early, so that a polling client comes back; does nothing where it could not."""
        close = self.request_context.close_sse_stream
        if close is not None:
            await close()

    async def close_standalone_sse_stream(self) -> None:
        """Ends the session's standalone stream, so that a client comes back; does nothing where it could not."""
        close = self.request_context.close_standalone_sse_stream
        if close is not None:
            await close()

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    async def log(self, level: LoggingLevel, data: Any, *, logger_name: str | None = None) -> None:
        """Sends a log message with the request, if the client asked for its level.

        Args:
            level: How severe it is.
            data: Anything that serialises to JSON.
            logger_name: The logger's name.
        """
        await self._log(level, data, logger_name)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    async def debug(self, data: Any, *, logger_name: str | None = None) -> None:
        """Sends a log message of level debug; see `log`."""
        await self._log("debug", data, logger_name)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    async def info(self, data: Any, *, logger_name: str | None = None) -> None:
        """Sends a log message of level info; see `log`."""
        await self._log("info", data, logger_name)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    async def warning(self, data: Any, *, logger_name: str | None = None) -> None:
        """Sends a log message of level warning; see `log`."""
        await self._log("warning", data, logger_name)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    async def error(self, data: Any, *, logger_name: str | None = None) -> None:
        """Sends a log message of level error; see `log`."""
        await self._log("error", data, logger_name)

    async def _log(self, level: LoggingLevel, data: Any, logger: str | None) -> None:
        from mcp.types import LoggingMessageNotification, LoggingMessageNotificationParams

        params = LoggingMessageNotificationParams(level=level, data=data, logger=logger)
        notification = LoggingMessageNotification(params=params)
        await self.session.send_notification(notification, self.request_context.request_id)


def _no_request() -> ValueError:
    return ValueError("Context is not available outside of a request")
