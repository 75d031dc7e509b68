"""Requests to an MCP endpoint over HTTP: each is one POST in its caller's task.

Specification: basic/transports/streamable-http under "Sending Messages", "Cancellation" and "Request Metadata"
(2026-07-28).
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import httpx2

from mcp.client._http_answers import LoneAnswerReader, read_refusal
from mcp.client._http_calls import Calls
from mcp.client._http_client import READ_TIMEOUT, discard, patient, post
from mcp.client._http_errors import origin_of
from mcp.client.limits import DEFAULT_TIMEOUT_SECONDS
from mcp.engine.requester import CallOptions, NotificationSink
from mcp.protocol.codec import RequestId, encode_notification, encode_request
from mcp.protocol.eras import claimed_version
from mcp.protocol.headers import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.types.base import PROTOCOL_VERSION_META_KEY

if TYPE_CHECKING:
    from mcp.client._http_session import HTTPSession

    Handshake = Callable[[Calls], HTTPSession]

__all__ = ["HTTPConnection", "HTTPRequester"]

T = TypeVar("T")

_CONSTANT_HEADERS: Final = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


class HTTPConnection:
    """An MCP endpoint, and the HTTP client that reaches it.

    Args:
        client: Sends the requests, with its own headers, cookies, auth, hooks and limits.
        url: The endpoint; relative to the client's `base_url` if it has no origin of its own.
        max_size: The most bytes that an answer, or an event of a stream, may have; None for no limit.
        owns_client: Whether the client is this connection's own: closed with it, and with a read timeout that gives
            way to a longer time limit of a call.
        terminates_sessions: Whether the sessions of handshake revisions are ended at the server when they are closed.

    Attributes:
        client: The HTTP client.
        url: The endpoint, with whatever the client adds to it.
        origin: Its scheme, host and port, fit to be shown.
        max_size: The size limit.
        owns_client: Whether the client is closed with this connection.
        terminates_sessions: Whether sessions are ended at the server.

    Raises:
        ValueError: `url` is no HTTP URL.
    """

    def __init__(
        self,
        client: httpx2.AsyncClient,
        url: str,
        *,
        max_size: int | None,
        owns_client: bool = False,
        terminates_sessions: bool = True,
    ) -> None:
        self.client = client
        self.url = _endpoint(client, url)
        self.origin = origin_of(self.url)
        self.max_size = max_size
        self.owns_client = owns_client
        self.terminates_sessions = terminates_sessions
        self._requesters: list[HTTPRequester] = []

    def open(self, sink: NotificationSink, handshake: "Handshake | None" = None) -> "HTTPRequester":
        """A way to send requests. It is closed with the connection.

        Args:
            sink: Takes the notifications of 2026-07-28.
            handshake: Makes the session for a handshake revision; without it, there can be none.
        """
        requester = HTTPRequester(self, sink, handshake)
        self._requesters.append(requester)
        return requester

    def timeout(self, options: CallOptions) -> httpx2.Timeout | None:
        """The time limits of the HTTP request for a call; None leaves them to the HTTP client."""
        if options.on_notification is not None:
            return patient(self.client)
        limit = options.limit
        if self.owns_client and limit is not None and limit > READ_TIMEOUT:
            return httpx2.Timeout(30.0, read=limit)
        return None

    async def aclose(self) -> None:
        """Ends every request, and closes the HTTP client if it is this connection's own."""
        for requester in self._requesters:
            await requester.aclose()
        if self.owns_client:
            await self.client.aclose()


def _endpoint(client: httpx2.AsyncClient, url: str) -> httpx2.URL:
    try:
        endpoint = client.build_request("POST", url).url
    except httpx2.InvalidURL as error:
        raise ValueError(f"expected the URL of a server, such as 'https://example.com/mcp': {error}") from error
    if endpoint.scheme not in ("http", "https") or not endpoint.host:
        found = (
            f"one that starts with '{endpoint.scheme}:'" if endpoint.scheme else "one without 'http://' or 'https://'"
        )
        raise ValueError(f"expected the URL of a server, such as 'https://example.com/mcp', got {found}")
    if endpoint.port is not None and endpoint.port > 65535:
        raise ValueError(f"expected the URL of a server, got one with the port {endpoint.port}")
    return endpoint


class HTTPRequester:
    """Sends requests to an MCP endpoint; see `mcp.engine.requester.Requester`.

    Each message decides for itself which era it belongs to, so that one connection can ask for the one and fall back
    to the other.

    Args:
        connection: Where to.
        sink: Takes notifications of 2026-07-28 that are not the progress of a request that wants it.
        handshake: Makes the session for a handshake revision; None where there can be none.

    Attributes:
        connection: Where to.
    """

    takes_handshake = True
    may_stay_silent = False
    carries_headers = True

    def __init__(self, connection: HTTPConnection, sink: NotificationSink, handshake: "Handshake | None") -> None:
        self.connection = connection
        self._sink = sink
        self._handshake = handshake
        self._calls = Calls(connection.client, connection.origin)
        self._session: HTTPSession | None = None
        self._version: str | None = None

    async def request(self, id: RequestId, method: str, params: dict[str, Any], options: CallOptions) -> dict[str, Any]:
        """Sends a request and returns its result; see `Requester.request`.

        Cancelling the caller, or running into the time limit, closes the response: that is what cancels a request at
        a server of 2026-07-28. One of a handshake revision is told.

        Raises:
            MCPError: The server answered with an error.
            RequestTimeoutError: No answer within the time limit.
            HTTPResponseError: The server's answer is no JSON-RPC, or redirects to another origin.
            TransportError: The server cannot be reached, or the connection broke.
            EncodeError: `params` cannot be written as JSON.
        """
        meta: dict[str, Any] = params.get("_meta") or {}
        version = meta.get(PROTOCOL_VERSION_META_KEY)
        if isinstance(version, str) and options.resumption_token is None:
            self._version = version
        elif self._handshake is not None:
            return await self.session(self._handshake).request(id, method, params, options)
        headers = _headers(method, params, self._version, options.headers)
        reader = LoneAnswerReader(id, meta.get("progressToken"), options, self.connection.max_size, self._sink)
        body = encode_request(id, method, params)
        timeout = self.connection.timeout(options)
        return await self._calls.run(method, options.limit, self._post, body, headers, timeout, reader.read)

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification; see `Requester.notify`.

        Raises:
            MCPError: The server refused it with an error.
            HTTPResponseError: The server refused it.
            TransportError: The server cannot be reached, or the connection broke.
            EncodeError: `params` cannot be written as JSON.
        """
        if self._session is not None and claimed_version(params) is None:
            await self._session.notify(method, params)
            return
        headers = _headers(method, params or {}, self._version, None)
        frame = encode_notification(method, params)
        await self._calls.run(method, DEFAULT_TIMEOUT_SECONDS, self._post, frame, headers, None, _accept)

    async def established(self, version: str) -> None:
        """Sends the version with every further message of the session; see `Requester.established`."""
        if self._session is not None:
            self._session.established(version)

    async def aclose(self) -> None:
        """Ends the connection: what is in flight fails with `ConnectionClosedError`, and the session is ended."""
        self._calls.close()
        if self._session is not None:
            await self._session.aclose()

    def session(self, handshake: "Handshake") -> "HTTPSession":
        """The session of a handshake revision, made when it is first needed."""
        if self._session is None:
            self._session = handshake(self._calls)
        return self._session

    async def _post(
        self,
        body: bytes,
        headers: Mapping[str, str],
        timeout: httpx2.Timeout | None,
        take: Callable[[httpx2.Response], Awaitable[T]],
    ) -> T:
        """Posts a message and returns what `take` makes of the response, which it reads to its end or closes."""
        connection = self.connection
        return await take(await post(connection.client, connection.url, body, headers, timeout))


def _headers(
    method: str, params: Mapping[str, Any], version: str | None, extra: Mapping[str, str] | None
) -> dict[str, str]:
    """The headers of one message. What they repeat of its body wins over `extra`: the two must not differ."""
    headers = {} if extra is None else {name.lower(): value for name, value in extra.items()}
    headers |= _CONSTANT_HEADERS
    headers[MCP_METHOD_HEADER] = method
    if version is not None:
        headers[MCP_PROTOCOL_VERSION_HEADER] = version
    name_field = NAME_BEARING_METHODS.get(method)
    if name_field is not None and isinstance(name := params.get(name_field), str):
        headers[MCP_NAME_HEADER] = encode_header_value(name)
    return headers


async def _accept(response: httpx2.Response) -> None:
    """Takes the response to a notification, which carries nothing."""
    if not response.is_success:
        raise await read_refusal(response)
    await discard(response)
