"""The streamable HTTP transport of a client, for servers of every revision that has it.

To a server of 2026-07-28 each request is one POST in its caller's task. The response is the answer as JSON, or an event
stream of the request's notifications with the answer at the end. There is no session and no background task; closing a
response before its answer has come is what cancels a request.

A server of an older revision has sessions: it sends messages of its own on a stream that a background task reads, and
takes streams up again that broke off. Which of the two it is, each message says.

Specification: basic/transports/streamable-http (2026-07-28); basic/transports under "Streamable HTTP" (2025-11-25).
"""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio
import anyio.abc
import httpx2

from mcp.client._http_client import create_mcp_http_client, http_client_for
from mcp.client._http_requester import HTTPConnection, HTTPRequester
from mcp.client._http_resumption import DEFAULT_RECONNECTION_DELAY_MS, MAX_RECONNECTION_ATTEMPTS
from mcp.client._http_session import LAST_EVENT_ID, MCP_SESSION_ID
from mcp.client._http_streams import HTTPReadStream, HTTPWriteStream, Poster, open_streams
from mcp.engine.backend import open_spawner
from mcp.engine.streams import ReadStream, WriteStream
from mcp.shared.exceptions import ResumptionError, StreamableHTTPError
from mcp.shared.message import ClientMessageMetadata, SessionMessage

__all__ = [
    "DEFAULT_MAX_SSE_EVENT_SIZE",
    "DEFAULT_RECONNECTION_DELAY_MS",
    "LAST_EVENT_ID",
    "MAX_RECONNECTION_ATTEMPTS",
    "MCP_SESSION_ID",
    "HTTPConnection",
    "HTTPRequester",
    "RequestContext",
    "ResumptionError",
    "SessionMessageOrError",
    "StreamReader",
    "StreamWriter",
    "StreamableHTTPError",
    "StreamableHTTPTransport",
    "create_mcp_http_client",
    "http_connection_of",
    "streamable_http_client",
]

logger = logging.getLogger(__name__)

SessionMessageOrError = SessionMessage | Exception
StreamWriter = WriteStream[SessionMessageOrError]
"""Takes the messages that come back."""
StreamReader = ReadStream[SessionMessage]
"""Where the messages to post come from."""

DEFAULT_MAX_SSE_EVENT_SIZE: Final = 64 * 1024 * 1024
"""The largest answer that a client takes unless it is told otherwise, in bytes. Results are far smaller as a rule; the
limit is there so that a server cannot fill the memory of its client."""


@asynccontextmanager
async def streamable_http_client(
    url: str,
    *,
    http_client: httpx2.AsyncClient | None = None,
    terminate_on_close: bool = True,
    max_sse_event_size: int | None = DEFAULT_MAX_SSE_EVENT_SIZE,
) -> AsyncGenerator[tuple[HTTPReadStream, HTTPWriteStream], None]:
    """A transport to an MCP endpoint: enter it, or hand it to `Client`.

    Redirects are followed only if they keep the method and lead to the same scheme, host and port, whatever the HTTP
    client's own setting.

    Args:
        url: The endpoint, such as `https://example.com/mcp`.
        http_client: Sends the requests, with its own headers, auth, proxies and time limits. It stays open. When left
            out, one is made that gives a silent connection up after 300 seconds, or later if a call has a longer time
            limit, and waits 30 seconds for connecting and for each write.
        terminate_on_close: Tell the server when the session is over. Revision 2026-07-28 has no sessions.
        max_sse_event_size: The most bytes that an event of a response stream, or an answer that comes as one JSON
            body, may have; 64 MiB when left out, None for no limit.

    Yields:
        The streams to read from and to write to.

    Raises:
        ValueError: `url` is no HTTP URL.
    """
    client = http_client_for(url) if http_client is None else http_client
    connection = HTTPConnection(
        client,
        url,
        max_size=max_sse_event_size,
        owns_client=http_client is None,
        terminates_sessions=terminate_on_close,
    )
    try:
        async with open_streams(connection) as streams:
            yield streams
    finally:
        await connection.aclose()


def http_connection_of(read: object, write: object) -> HTTPConnection | None:
    """The connection under a pair of streams that `streamable_http_client` yielded, unwrapped; None for any other pair.

    Whoever has it can send requests without building message objects.
    """
    if type(read) is not HTTPReadStream or type(write) is not HTTPWriteStream:
        return None
    return read.connection if read.connection is write.connection else None


@dataclass
class RequestContext:
    """One message on its way to the server.

    Attributes:
        client: The HTTP client that sends it.
        session_id: The session it belongs to; None outside of one.
        session_message: The message.
        metadata: What it asks of the transport.
        read_stream_writer: Takes what comes back.
    """

    client: httpx2.AsyncClient
    session_id: str | None
    session_message: SessionMessage
    metadata: ClientMessageMetadata | None
    read_stream_writer: StreamWriter


class StreamableHTTPTransport:
    """The transport in parts, for whoever runs it over streams and tasks of their own.

    `streamable_http_client` is all that most programs need.

    Args:
        url: The endpoint.
        max_sse_event_size: The most bytes that an event, or an answer in one JSON body, may have; None for no limit.

    Attributes:
        url: The endpoint.
        max_sse_event_size: The size limit.
    """

    def __init__(self, url: str, *, max_sse_event_size: int | None = DEFAULT_MAX_SSE_EVENT_SIZE) -> None:
        self.url = url
        self.max_sse_event_size = max_sse_event_size
        self._poster: Poster | None = None

    @property
    def session_id(self) -> str | None:
        """The id of the session; None where the server has given none."""
        session = None if self._poster is None else self._poster.session
        return None if session is None else session.id

    async def post_writer(
        self,
        client: httpx2.AsyncClient,
        write_stream_reader: StreamReader,
        read_stream_writer: StreamWriter,
        write_stream: WriteStream[SessionMessage],
        start_get_stream: Callable[[], None],
        tg: anyio.abc.TaskGroup,
    ) -> None:
        """Posts messages until there are no more and all of them are answered; then closes both writers.

        Args:
            client: Sends the requests. It stays open.
            write_stream_reader: Where the messages come from.
            read_stream_writer: Takes what comes back.
            write_stream: The other end of `write_stream_reader`.
            start_get_stream: Called when a handshake is done, to start `handle_get_stream` in a task.
            tg: The caller's task group. Nothing is started in it: the tasks belong to this call.
        """
        connection = HTTPConnection(client, self.url, max_size=self.max_sse_event_size, terminates_sessions=False)
        done = anyio.Event()
        async with open_spawner() as spawner, read_stream_writer, write_stream:
            poster = self._poster = Poster(
                connection, spawner, read_stream_writer.send, done.set, on_open=start_get_stream
            )
            async for message in write_stream_reader:
                await poster.take(message)
            poster.finish()
            await done.wait()

    async def handle_get_stream(self, client: httpx2.AsyncClient, read_stream_writer: StreamWriter) -> None:
        """Reads the standalone stream of the session for as long as the server offers one.

        Args:
            client: Sends the requests: the one of `post_writer`.
            read_stream_writer: Takes what comes: the one of `post_writer`.
        """
        if self._poster is not None and self._poster.session is not None:
            await self._poster.session.listen()

    async def terminate_session(self, client: httpx2.AsyncClient) -> None:
        """Tells the server that the session is over. A server that refuses keeps it until it is idle.

        Args:
            client: Sends the request: the one of `post_writer`.
        """
        if self._poster is not None and self._poster.session is not None:
            await self._poster.session.terminate()
