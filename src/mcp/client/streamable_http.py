"""The streamable HTTP transport of a client, for servers of revision 2026-07-28.

Each request is one POST in its caller's task. The response is the answer as JSON, or an event stream of the request's
notifications with the answer at the end. There is no session and no background task; closing a response before its
answer has come is what cancels a request.

Specification: basic/transports/streamable-http (2026-07-28).
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import httpx2

from mcp.client._http_client import create_mcp_http_client, http_client_for
from mcp.client._http_requester import HTTPConnection, HTTPRequester
from mcp.client._http_streams import HTTPReadStream, HTTPWriteStream, open_streams

__all__ = [
    "DEFAULT_MAX_SSE_EVENT_SIZE",
    "HTTPConnection",
    "HTTPRequester",
    "create_mcp_http_client",
    "http_connection_of",
    "streamable_http_client",
]

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
        terminate_on_close: End the session when the transport is closed. Revision 2026-07-28 has no sessions.
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
