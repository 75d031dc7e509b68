"""Requests to an MCP endpoint over HTTP: each is one POST in its caller's task.

Specification: basic/transports/streamable-http under "Sending Messages", "Cancellation" and "Request Metadata"
(2026-07-28).
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import anyio
import httpx2

from mcp.client._http_answers import AnswerReader, read_refusal
from mcp.client._http_client import READ_TIMEOUT, discard, post
from mcp.client._http_errors import origin_of, transport_failure
from mcp.engine.requester import CallOptions, NotificationSink
from mcp.protocol.codec import RequestId, encode_notification, encode_request
from mcp.protocol.headers import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    encode_header_value,
)
from mcp.shared.exceptions import ConnectionClosedError, RequestTimeoutError, TransportError
from mcp.types.base import PROTOCOL_VERSION_META_KEY
from mcp.types.jsonrpc import INVALID_REQUEST
from mcp.types.methods import METHODS

__all__ = ["HTTPConnection", "HTTPRequester"]

T = TypeVar("T")

_CONSTANT_HEADERS: Final = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_NAME_FIELDS: Final = {method.name: method.name_field for method in METHODS.values() if method.name_field is not None}


class HTTPConnection:
    """An MCP endpoint, and the HTTP client that reaches it.

    Args:
        client: Sends the requests, with its own headers, cookies, auth, hooks and limits.
        url: The endpoint; relative to the client's `base_url` if it has no origin of its own.
        max_size: The most bytes that an answer, or an event of a stream, may have; None for no limit.
        owns_client: Whether the client is this connection's own: closed with it, and with a read timeout that gives
            way to a longer time limit of a call.

    Attributes:
        client: The HTTP client.
        url: The endpoint, with whatever the client adds to it.
        origin: Its scheme, host and port, fit to be shown.
        max_size: The size limit.
        owns_client: Whether the client is closed with this connection.

    Raises:
        ValueError: `url` is no HTTP URL.
    """

    def __init__(
        self, client: httpx2.AsyncClient, url: str, *, max_size: int | None, owns_client: bool = False
    ) -> None:
        self.client = client
        self.url = _endpoint(client, url)
        self.origin = origin_of(self.url)
        self.max_size = max_size
        self.owns_client = owns_client
        self._requesters: list[HTTPRequester] = []

    def open(self, sink: NotificationSink) -> "HTTPRequester":
        """A way to send requests, whose notifications go to `sink`. It is closed with the connection."""
        requester = HTTPRequester(self, sink)
        self._requesters.append(requester)
        return requester

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

    Args:
        connection: Where to.
        sink: Takes notifications of the server that are not the progress of a request that wants it.
    """

    def __init__(self, connection: HTTPConnection, sink: NotificationSink) -> None:
        self._connection = connection
        self._sink = sink
        self._in_flight: set[anyio.CancelScope] = set()
        self._version: str | None = None
        self._closed = False

    async def request(self, id: RequestId, method: str, params: dict[str, Any], options: CallOptions) -> dict[str, Any]:
        """Sends a request and returns its result; see `Requester.request`.

        Cancelling the caller, or running into the time limit, closes the response: that is what cancels a request at
        the server.

        Raises:
            MCPError: The server answered with an error.
            RequestTimeoutError: No answer within `options.timeout`.
            HTTPResponseError: The server's answer is no JSON-RPC, or redirects to another origin.
            TransportError: The server cannot be reached, or the connection broke.
            EncodeError: `params` cannot be written as JSON.
        """
        meta: dict[str, Any] = params.get("_meta") or {}
        if isinstance(version := meta.get(PROTOCOL_VERSION_META_KEY), str):
            self._version = version
        headers = _headers(method, params, self._version, options.headers)
        reader = AnswerReader(id, meta.get("progressToken"), options, self._sink, self._connection.max_size)
        return await self._send(method, encode_request(id, method, params), headers, options.timeout, reader.read)

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification; see `Requester.notify`.

        Raises:
            MCPError: The server refused it with an error.
            HTTPResponseError: The server refused it.
            TransportError: The server cannot be reached, or the connection broke.
            EncodeError: `params` cannot be written as JSON.
        """
        headers = _headers(method, params or {}, self._version, None)
        await self._send(method, encode_notification(method, params), headers, None, _accept)

    async def aclose(self) -> None:
        """Ends the connection: what is in flight fails with `ConnectionClosedError`."""
        self._closed = True
        for scope in self._in_flight:
            scope.cancel()

    async def _send(
        self,
        method: str,
        body: bytes,
        headers: Mapping[str, str],
        timeout: float | None,
        take: Callable[[httpx2.Response], Awaitable[T]],
    ) -> T:
        """Posts a message and returns what `take` makes of the response."""
        connection = self._connection
        if self._closed or connection.client.is_closed:
            raise ConnectionClosedError
        scope = anyio.CancelScope()
        if timeout is not None:
            scope.deadline = anyio.current_time() + timeout
        self._in_flight.add(scope)
        try:
            with scope:
                # Whatever `take` does, it reads the response to its end or closes it.
                return await take(
                    await post(connection.client, connection.url, body, headers, self._read_timeout(timeout))
                )
        except (httpx2.HTTPError, httpx2.StreamError) as failure:
            if self._closed:
                raise ConnectionClosedError from failure
            raise transport_failure(failure, connection.origin) from failure
        except UnicodeEncodeError as failure:
            text = f"Cannot send {method!r}: a header can only hold ASCII"
            raise TransportError(INVALID_REQUEST, text) from failure
        finally:
            self._in_flight.discard(scope)
        if self._closed or timeout is None:
            raise ConnectionClosedError
        raise RequestTimeoutError(method, timeout)

    def _read_timeout(self, timeout: float | None) -> float | None:
        own = self._connection.owns_client and timeout is not None and timeout > READ_TIMEOUT
        return timeout if own else None


def _headers(
    method: str, params: Mapping[str, Any], version: str | None, extra: Mapping[str, str] | None
) -> dict[str, str]:
    """The headers of one message. What they repeat of its body wins over `extra`: the two must not differ."""
    headers = {} if extra is None else {name.lower(): value for name, value in extra.items()}
    headers |= _CONSTANT_HEADERS
    headers[MCP_METHOD_HEADER] = method
    if version is not None:
        headers[MCP_PROTOCOL_VERSION_HEADER] = version
    name_field = _NAME_FIELDS.get(method)
    if name_field is not None and isinstance(name := params.get(name_field), str):
        headers[MCP_NAME_HEADER] = encode_header_value(name)
    return headers


async def _accept(response: httpx2.Response) -> None:
    """Takes the response to a notification, which carries nothing."""
    if not response.is_success:
        raise await read_refusal(response)
    await discard(response)
