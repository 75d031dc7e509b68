"""One session of a handshake revision over HTTP: its id, its standalone stream, and the messages that go out on it.

A request is one POST in its caller's task, as in later revisions. What differs is that the server sends requests of
its own, on the stream of an answer or on the standalone one; that closing a response cancels nothing; and that a
stream which broke off can be taken up again.

Specification: basic/transports under "Streamable HTTP" (2025-11-25).
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2

from mcp.client._http_answers import error_in, read_refusal, read_start, read_stream_refusal
from mcp.client._http_calls import Calls
from mcp.client._http_client import discard, get_events, post, send
from mcp.client._http_errors import BODY_START, media_type, unexpected
from mcp.client._http_listener import Listener
from mcp.client._http_resumption import ResumableReader
from mcp.client.limits import DEFAULT_TIMEOUT_SECONDS
from mcp.engine.backend import Cancellable, Spawner
from mcp.engine.requester import CallOptions
from mcp.protocol.codec import (
    Batch,
    DecodeError,
    Message,
    RequestId,
    encode_notification,
    encode_request,
)
from mcp.protocol.eras import BATCHING_VERSION
from mcp.protocol.headers import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.exceptions import MCPError, RequestTimeoutError, SessionExpiredError
from mcp.types.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND

if TYPE_CHECKING:
    from mcp.client._http_requester import HTTPConnection

__all__ = ["LAST_EVENT_ID", "MCP_SESSION_ID", "HTTPSession", "Receiver"]

logger = logging.getLogger("mcp.client.streamable_http")

MCP_SESSION_ID: Final = "mcp-session-id"
LAST_EVENT_ID: Final = "last-event-id"

_POST_HEADERS: Final = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_CLOSE_SECONDS: Final = 2.0
"""How long the end of a session may take to be told. A server that misses it drops the session when it is idle."""

Receiver = Callable[[Message | Batch | DecodeError], Awaitable[None]]
"""Takes what the server sends besides the answers to requests. Waits for nothing that the server must answer."""


class HTTPSession:
    """A session, from its `initialize` on.

    Args:
        connection: The endpoint.
        calls: What is under way on it.
        spawner: Owns the tasks of the session.
        receiver: Makes, of this session, what takes the server's own messages.

    Attributes:
        connection: The endpoint.
        receive: Takes the server's own messages.
        on_open: Called when the handshake is done; opens the standalone stream.
        on_lost: Called when the server no longer knows the session that is being listened to.
        progress: What takes the progress of each request under way that wants it, by progress token.
    """

    def __init__(
        self,
        connection: "HTTPConnection",
        calls: Calls,
        spawner: Spawner,
        receiver: "Callable[[HTTPSession], Receiver]",
    ) -> None:
        self.connection = connection
        self.progress: dict[object, Callable[[dict[str, Any]], Awaitable[None]]] = {}
        self._calls = calls
        self._spawner = spawner
        self._id: str | None = None
        self._expired = False
        self._version: str | None = None
        self._listener: Listener | None = None
        self._listening: Cancellable | None = None
        self.on_open: Callable[[], object] = self._start_listening
        self.on_lost: Callable[[], object] = _tell_of_loss
        self.receive = receiver(self)

    @property
    def id(self) -> str | None:
        """The id that the server gave it. Whoever knows it can take the session over."""
        return self._id

    @property
    def takes_batches(self) -> bool:
        """Whether the revision that is spoken has JSON-RPC batches."""
        return self._version == BATCHING_VERSION

    def established(self, version: str) -> None:
        """The handshake has settled the version."""
        self._version = version

    # Requests.

    async def request(self, id: RequestId, method: str, params: dict[str, Any], options: CallOptions) -> dict[str, Any]:
        """Sends a request and returns its result; see `Requester.request`. One that is given up is cancelled.

        Raises:
            SessionExpiredError: The server no longer knows the session; the request was not run.
            ResumptionError: The answer's stream broke off, and cannot be taken up again.
            MCPError: See `HTTPRequester.request`.
        """
        try:
            return await self.request_only(id, method, params, options)
        except anyio.get_cancelled_exc_class():
            self._cancel(id, method, "the caller was cancelled")
            raise
        except RequestTimeoutError as error:
            self._cancel(id, method, str(error))
            raise

    async def request_only(
        self, id: RequestId, method: str, params: dict[str, Any], options: CallOptions
    ) -> dict[str, Any]:
        """Sends a request as `request` does; whoever gives it up tells the server."""
        meta: dict[str, Any] = params.get("_meta") or {}
        token = meta.get("progressToken")
        reader = ResumableReader(id, method, token, options, self)
        if options.on_progress is not None:
            self.progress[token] = options.on_progress
        try:
            result = await self._calls.run(method, options.limit, self._ask, id, method, params, options, reader)
        finally:
            self.progress.pop(token, None)
        if method == "initialize" and isinstance(version := result.get("protocolVersion"), str):
            self._version = version
        return result

    async def _ask(
        self, id: RequestId, method: str, params: dict[str, Any], options: CallOptions, reader: ResumableReader
    ) -> dict[str, Any]:
        if options.resumption_token is not None:
            return await reader.resume(options.resumption_token)
        opens = method == "initialize"
        session = None if opens else self._id
        connection = self.connection
        headers = self._headers(_POST_HEADERS, options.headers, opens=opens)
        body = encode_request(id, method, params)
        response = await post(connection.client, connection.url, body, headers, connection.timeout(options))
        if opens and response.is_success:
            self._begin(response)
        elif response.status_code == 404 and session is not None:
            raise await self._lost(response, session, id)
        return await reader.read(response)

    def _begin(self, response: httpx2.Response) -> None:
        self._stop_listening()
        self._id = response.headers.get(MCP_SESSION_ID)
        self._expired = False
        if self._id is not None and not self._id.isascii():
            logger.warning("ignored the id of the session: it cannot be sent back, since a header can only hold ASCII")
            self._id = None

    async def _lost(self, response: httpx2.Response, session: str, id: RequestId | None) -> MCPError:
        """The error for a 404: the session is unknown, unless the body says that the method is."""
        body = await read_start(response)
        code, message = INVALID_REQUEST, "Session terminated"
        answer = error_in(body)
        if answer is not None:
            if answer.code == METHOD_NOT_FOUND and answer.id == id:
                return MCPError(answer.code, answer.message, answer.data)
            code, message = answer.code, answer.message
        if session == self._id:
            self._forget()
        start = body.decode("utf-8", "replace")[:BODY_START]
        return SessionExpiredError(code, message, status=404, headers=response.headers, body=start)

    def _forget(self) -> None:
        self._expired = True
        was_heard = self._listener is not None and self._listener.has_stream
        self._stop_listening()
        if was_heard:
            self.on_lost()

    def _cancel(self, id: RequestId, method: str, reason: str) -> None:
        if self._calls.closed or method == "initialize":
            return
        params = {"requestId": id, "reason": reason}
        self._spawner.spawn(self.post_quietly, encode_notification("notifications/cancelled", params))

    # Notifications and answers.

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification; see `Requester.notify`. The one that ends a handshake opens the standalone stream.

        Raises:
            SessionExpiredError: The server no longer knows the session.
            MCPError: See `HTTPRequester.notify`.
        """
        frame = encode_notification(method, params)
        await self._calls.run(method, DEFAULT_TIMEOUT_SECONDS, self._post, frame)
        if method == "notifications/initialized" and not self._calls.closed:
            self.on_open()

    async def post_quietly(self, frame: bytes) -> None:
        """Sends a message that no caller waits for. If that fails, it is logged."""
        try:
            await self._calls.run("a message", DEFAULT_TIMEOUT_SECONDS, self._post, frame)
        except MCPError as error:
            if not self._calls.closed:
                logger.warning("a message to the server was not taken: %s", error)

    async def _post(self, frame: bytes) -> None:
        session = self._id
        connection = self.connection
        response = await post(connection.client, connection.url, frame, self._headers(_POST_HEADERS), None)
        if response.status_code == 404 and session is not None:
            raise await self._lost(response, session, None)
        if not response.is_success:
            raise await read_refusal(response)
        await discard(response)

    # Streams.

    async def open_stream(self, last_event_id: str | None) -> httpx2.Response:
        """Asks for an event stream: the standalone one, or the rest of one that broke off.

        Args:
            last_event_id: The last event of the stream to take up again; None for a new standalone stream.

        Raises:
            HTTPResponseError: The server offers no such stream.
            httpx2.HTTPError: Anything below HTTP.
        """
        extra = None if last_event_id is None else {LAST_EVENT_ID: last_event_id}
        headers = self._headers({"accept": "text/event-stream"}, extra)
        response = await get_events(self.connection.client, self.connection.url, headers)
        if not response.is_success:
            raise await read_stream_refusal(response)
        if (found := media_type(response)) != "text/event-stream":
            problem = f"It answers a request for an event stream with content of type {found!r}."
            raise unexpected(response, problem, await read_start(response))
        return response

    async def listen(self) -> None:
        """Reads the standalone stream, again and again, for as long as the server offers one and knows the session."""
        listener = self._listener = Listener(self)
        gone = await listener.run()
        if self._listener is not listener:
            return
        if gone:
            self._forget()
        else:
            self._listener = None

    def _start_listening(self) -> None:
        self._listening = self._spawner.spawn(self.listen)

    def _stop_listening(self) -> None:
        self._listener = None
        if self._listening is not None:
            self._listening.cancel()
            self._listening = None

    def _headers(
        self, constant: Mapping[str, str], extra: Mapping[str, str] | None = None, *, opens: bool = False
    ) -> dict[str, str]:
        headers = {} if extra is None else {name.lower(): value for name, value in extra.items()}
        headers |= constant
        if opens:
            return headers
        if self._id is not None:
            headers[MCP_SESSION_ID] = self._id
        if self._version is not None:
            headers[MCP_PROTOCOL_VERSION_HEADER] = self._version
        return headers

    # The end.

    async def aclose(self) -> None:
        """Stops listening, and tells the server that the session is over. Never raises."""
        self._stop_listening()
        if self.connection.terminates_sessions:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                await self.terminate()

    async def terminate(self) -> None:
        """Ends the session at the server, if there is one. A server may refuse: it keeps sessions until they idle."""
        client = self.connection.client
        if self._id is None or self._expired or client.is_closed:
            return
        headers = self._headers({})
        self._id = None
        try:
            response = await send(
                client, self.connection.url, lambda url: client.build_request("DELETE", url, headers=headers)
            )
            await discard(response)
        except (httpx2.HTTPError, httpx2.StreamError, MCPError) as failure:
            logger.debug("the end of the session could not be told to the server: %s", failure)
            return
        if not response.is_success and response.status_code not in (404, 405):
            logger.warning("Session termination failed: %d", response.status_code)


def _tell_of_loss() -> None:
    logger.warning("the server no longer knows the session: nothing more comes on its stream")
