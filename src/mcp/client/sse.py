"""The HTTP+SSE transport of revision 2024-11-05, for servers that know no other: the client's end.

The client opens an event stream with GET. Its first event names the URL to post messages to; what the server has to
say, answers included, comes on the stream.

Specification: basic/transports under "HTTP with SSE" (2024-11-05).
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from math import inf
from typing import Any, Final, Protocol
from urllib.parse import urlsplit, urlunsplit

import anyio
import httpx2

from mcp.client._http_client import create_mcp_http_client, discard, get_events, post, reading, send
from mcp.client._http_errors import (
    SESSION_HINTS,
    media_type,
    origin_of,
    refusal,
    too_large,
    transport_failure,
    unexpected,
)
from mcp.client.streamable_http import DEFAULT_MAX_SSE_EVENT_SIZE
from mcp.engine.backend import Spawner, open_spawner
from mcp.engine.link import Undelivered
from mcp.engine.queuelink import QueueLink
from mcp.engine.streams import TransportStreams, open_streams
from mcp.protocol.codec import Request, decode
from mcp.protocol.sse import SSEEvent, SSEEventTooLarge, SSEParser
from mcp.shared.exceptions import ConnectionClosedError, HTTPResponseError, MCPError, TransportError
from mcp.types.jsonrpc import INTERNAL_ERROR, REQUEST_TIMEOUT

__all__ = ["McpHttpClientFactory", "SSELink", "open_sse_link", "remove_request_params", "sse_client"]

logger = logging.getLogger(__name__)

ENDPOINT_SECONDS: Final = 30.0
"""How long a server may take to name its endpoint, once it has opened the stream."""

ORDER_SECONDS: Final = 0.5
"""How long a message waits for the one before it to be taken. Some servers answer a POST only when all is done that it
asks for, and wait meanwhile for an answer that the client posts."""

_GONE = (404, 410)
_BODY_START = 2000
_BODY_SECONDS = 5.0
_GET_HEADERS = {"accept": "text/event-stream", "cache-control": "no-store"}
_POST_HEADERS = {"content-type": "application/json"}


class McpHttpClientFactory(Protocol):
    """Makes the HTTP client of a transport."""

    def __call__(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient: ...


def remove_request_params(url: str) -> str:
    """A URL without its query and its fragment, fit to be shown in a log."""
    scheme, host, path, _, _ = urlsplit(url)
    return urlunsplit((scheme, host, path.partition(";")[0], "", ""))


@asynccontextmanager
async def sse_client(
    url: str,
    headers: dict[str, Any] | None = None,
    timeout: float = 5.0,
    sse_read_timeout: float = 300.0,
    httpx_client_factory: McpHttpClientFactory = create_mcp_http_client,
    auth: httpx2.Auth | None = None,
    on_session_created: Callable[[str], None] | None = None,
    *,
    max_sse_event_size: int | None = DEFAULT_MAX_SSE_EVENT_SIZE,
) -> AsyncGenerator[TransportStreams, None]:
    """A transport to a server that speaks HTTP+SSE: enter it, or hand it to `Client`.

    Args:
        url: The URL of the event stream, such as `https://example.com/sse`.
        headers: Headers for every request.
        timeout: Seconds for connecting, for each write, and, once the stream is open, for its first event.
        sse_read_timeout: Seconds of silence after which the stream is given up.
        httpx_client_factory: Makes the HTTP client.
        auth: Authorizes each request.
        on_session_created: Called with the id of the session, if the server gives it one.
        max_sse_event_size: The most bytes that one message may have; 64 MiB when left out, None for no limit.

    Yields:
        The streams to read from and to write to.

    Raises:
        ValueError: `url` is no HTTP URL.
        HTTPResponseError: What the server answers is not the event stream of this transport.
        TransportError: The server cannot be reached, or it names an endpoint on another server.
    """
    client = httpx_client_factory(headers=headers, timeout=httpx2.Timeout(timeout, read=sse_read_timeout), auth=auth)
    async with (
        client,
        open_sse_link(
            client,
            url,
            endpoint_timeout=timeout,
            read_timeout=sse_read_timeout,
            max_sse_event_size=max_sse_event_size,
        ) as link,
    ):
        if on_session_created is not None and link.session_id is not None:
            on_session_created(link.session_id)
        yield open_streams(link)


@asynccontextmanager
async def open_sse_link(
    client: httpx2.AsyncClient,
    url: str | httpx2.URL,
    *,
    endpoint_timeout: float = ENDPOINT_SECONDS,
    read_timeout: float | None = None,
    max_sse_event_size: int | None = DEFAULT_MAX_SSE_EVENT_SIZE,
) -> AsyncGenerator["SSELink", None]:
    """Opens an event stream, waits for its `endpoint` event, and yields the link that the two make.

    Args:
        client: Sends the requests, with its own headers, cookies, auth and time limits. It stays open.
        url: The URL of the event stream.
        endpoint_timeout: Seconds that the server may take for the event, once it has opened the stream.
        read_timeout: Seconds of silence after which the stream is given up; when left out, those of the client, but
            no less than 300.
        max_sse_event_size: The most bytes that one message may have; None for no limit.

    Raises:
        ValueError: `url` is no HTTP URL.
        HTTPResponseError: The answer is no success, no event stream, or one that starts with another event.
        TransportError: The server cannot be reached, or it names an endpoint on another server.
    """
    link = SSELink(client, url, endpoint_timeout, read_timeout, SSEParser(max_sse_event_size))
    async with open_spawner() as spawner:
        spawner.spawn(link.read_events)
        try:
            await link.opened()
            spawner.spawn(link.post_messages, spawner)
            yield link
        finally:
            await link.aclose()


class SSELink(QueueLink):
    """A `Link` over one event stream and the posts that belong to it. Made by `open_sse_link`.

    Attributes:
        endpoint: Where messages are posted to; known once the link is open.
    """

    def __init__(
        self,
        client: httpx2.AsyncClient,
        url: str | httpx2.URL,
        endpoint_timeout: float,
        read_timeout: float | None,
        parser: SSEParser,
    ) -> None:
        super().__init__()
        self._client = client
        self._url = _http_url(client, url)
        self._origin = origin_of(self._url)
        self._endpoint_timeout = endpoint_timeout
        self._read_timeout = read_timeout
        self._parser = parser
        self._settled = anyio.Event()
        self._failure: Exception | None = None
        self.endpoint: httpx2.URL | None = None

    @property
    def session_id(self) -> str | None:
        """The id of the session, if the endpoint has one in its query."""
        query = httpx2.QueryParams() if self.endpoint is None else self.endpoint.params
        return query.get("session_id") or query.get("sessionId")

    async def opened(self) -> None:
        """Waits until the server has named its endpoint, and raises if it does not."""
        await self._settled.wait()
        if self.endpoint is None and self._failure is not None:
            raise self._failure

    async def closed_reason(self) -> MCPError:
        """Why the connection ended."""
        return self._failure if isinstance(self._failure, MCPError) else ConnectionClosedError()

    def _fail(self, failure: Exception) -> None:
        if self._failure is None:
            self._failure = failure
        self.end()
        self._settled.set()

    # The event stream.

    async def read_events(self) -> None:
        """Reads the event stream until it ends."""
        try:
            response = await self._get()
            async with reading(response) as chunks:
                await self._read(response, chunks)
        except (httpx2.HTTPError, httpx2.StreamError) as failure:
            self._fail(_caused(transport_failure(failure, self._origin), failure))
        except Exception as failure:
            # Of an `auth`, say. Nobody awaits this task: whoever opens the link raises it.
            self._fail(failure if self.endpoint is None else _as_mcp_error(failure))

    async def _get(self) -> httpx2.Response:
        client = self._client
        if self._read_timeout is None:
            return await get_events(client, self._url, _GET_HEADERS)
        own = client.timeout
        timeout = httpx2.Timeout(own.connect, read=self._read_timeout, write=own.write, pool=own.pool)
        return await send(
            client, self._url, lambda url: client.build_request("GET", url, headers=_GET_HEADERS, timeout=timeout)
        )

    async def _read(self, response: httpx2.Response, chunks: AsyncIterator[bytes]) -> None:
        if not response.is_success:
            raise refusal(response, await _start_of(chunks))
        if media_type(response) != "text/event-stream":
            found = response.headers.get("content-type", "missing")
            problem = f"It answers a GET, but its content type is {found!r} where 'text/event-stream' was expected."
            raise unexpected(response, problem, await _start_of(chunks))
        with anyio.CancelScope(deadline=anyio.current_time() + self._endpoint_timeout) as naming:
            await self._take_events(response, chunks, naming)
        if naming.cancelled_caught:
            text = f"{self._origin} opened an event stream, but named no endpoint within {self._endpoint_timeout:g}s"
            raise TransportError(REQUEST_TIMEOUT, text)
        if self.endpoint is None:
            raise unexpected(response, "Its event stream ended without an 'endpoint' event.")
        raise ConnectionClosedError(f"Connection closed: the event stream from {self._origin} ended")

    async def _take_events(
        self, response: httpx2.Response, chunks: AsyncIterator[bytes], naming: anyio.CancelScope
    ) -> None:
        async for chunk in chunks:
            try:
                events = self._parser.feed(chunk)
            except SSEEventTooLarge as failure:
                raise too_large(response, "An event of its stream", failure.limit) from failure
            for event in events:
                if self.endpoint is None:
                    self.endpoint = self._named_by(event, response)
                    naming.deadline = inf
                    self._settled.set()
                elif event.event == "message":
                    self.put(event.raw, len(event.raw))
                else:
                    logger.debug("ignored an event %r of the stream", event.event)
            await self.room()

    def _named_by(self, event: SSEEvent, response: httpx2.Response) -> httpx2.URL:
        if event.event != "endpoint":
            problem = (
                f"The first event of its stream is {event.event!r} where 'endpoint' was expected: what is served at"
                " this URL is not the HTTP+SSE transport."
            )
            raise unexpected(response, problem, event.raw)
        source = response.request.url
        try:
            endpoint = source.join(event.data.strip())
        except httpx2.InvalidURL:
            raise unexpected(response, "Its 'endpoint' event holds no URL.", event.raw) from None
        if origin_of(endpoint) != self._origin:
            problem = (
                f"Its 'endpoint' event names another origin, {origin_of(endpoint)}, which is not used: messages and"
                " credentials go to the server they are meant for."
            )
            raise unexpected(response, problem)
        return endpoint.copy_with(userinfo=source.userinfo)

    # Messages.

    async def post_messages(self, spawner: Spawner) -> None:
        """Posts what is sent, one message after the other, until the link ends."""
        with suppress(anyio.EndOfStream):
            while True:
                for frame in await self.unsent():
                    taken = anyio.Event()
                    spawner.spawn(self._post, frame, taken)
                    with anyio.move_on_after(ORDER_SECONDS):
                        await taken.wait()
                    self.sent(frame)

    async def _post(self, frame: bytes, taken: anyio.Event) -> None:
        assert self.endpoint is not None
        try:
            response = await post(self._client, self.endpoint, frame, _POST_HEADERS, None)
            taken.set()
            if not response.is_success:
                async with reading(response) as chunks:
                    raise refusal(response, await _start_of(chunks), SESSION_HINTS)
            await discard(response)
        except httpx2.ReadTimeout:
            logger.debug("a POST got no response; the answer to its message may still come on the stream")
        except (httpx2.HTTPError, httpx2.StreamError) as failure:
            self._undelivered(frame, _caused(transport_failure(failure, self._origin), failure))
        except Exception as failure:
            self._undelivered(frame, _as_mcp_error(failure))
        finally:
            taken.set()

    def _undelivered(self, frame: bytes, failure: MCPError) -> None:
        """Tells of a message that the server did not take."""
        if isinstance(failure, HTTPResponseError) and failure.status in _GONE:
            # The server has forgotten the session, and no message will be taken any more.
            self._fail(failure)
            return
        message = decode(frame, allow_batch=True)
        if isinstance(message, Request):
            # The request has failed, and the connection goes on.
            answer = Undelivered(id=message.id, code=failure.code, message=failure.message, failure=failure)
            self.put(answer, len(frame))
        else:
            logger.warning("a message was not delivered: %s", failure)


def _http_url(client: httpx2.AsyncClient, url: str | httpx2.URL) -> httpx2.URL:
    try:
        full = client.build_request("GET", url).url
    except httpx2.InvalidURL as error:
        raise ValueError(f"expected the URL of a server, such as 'https://example.com/sse': {error}") from error
    if full.scheme not in ("http", "https") or not full.host:
        raise ValueError("expected the URL of a server, such as 'https://example.com/sse', with 'http' or 'https'")
    return full


def _as_mcp_error(failure: Exception) -> MCPError:
    if isinstance(failure, MCPError):
        return failure
    return _caused(TransportError(INTERNAL_ERROR, f"{type(failure).__name__}: {failure}"), failure)


def _caused(error: MCPError, cause: Exception) -> MCPError:
    error.__cause__ = cause
    return error


async def _start_of(chunks: AsyncIterator[bytes]) -> bytes:
    """The start of a body that only an error shows."""
    start = bytearray()
    with anyio.move_on_after(_BODY_SECONDS):
        async for chunk in chunks:
            start += chunk
            if len(start) >= _BODY_START:
                break
    return bytes(start)
