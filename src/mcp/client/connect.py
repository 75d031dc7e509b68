"""From what a `Client` was given to an open connection."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, cast

from mcp.client.inbound import Inbound
from mcp.engine.backend import open_spawner
from mcp.engine.memory import LocalRuntime, LocalServer, MemoryRequester
from mcp.engine.requester import Requester

if TYPE_CHECKING:
    from mcp.client._http_calls import Calls
    from mcp.client._http_requester import HTTPConnection
    from mcp.client._http_session import HTTPSession
    from mcp.engine.streams import ReadStream, TransportStreams, WriteStream
    from mcp.shared.message import SessionMessage

__all__ = ["Transport", "open_requester", "sse_requester", "stream_requester"]

_ENDPOINT_SECONDS = 5.0
"""How long a server that refused streamable HTTP may take to show that it speaks HTTP+SSE. A stream of another kind may
stay silent for ever."""


class Transport(Protocol):
    """Anything that can be entered with `async with` and yields a pair of message streams."""

    async def __aenter__(self) -> TransportStreams: ...

    async def __aexit__(self, exc_type: Any, exc_val: Any, exc_tb: Any, /) -> bool | None: ...


@asynccontextmanager
async def open_requester(
    target: object, inbound: Inbound, *, handshake: bool = False, raise_exceptions: bool = False
) -> AsyncGenerator[Requester, None]:
    """Opens a connection.

    Args:
        target: A server object, a URL, `StdioServerParameters`, or a transport.
        inbound: Takes what the server sends unasked.
        handshake: Whether the connection is to open with a handshake.
        raise_exceptions: In memory, say what a handler raised.

    Raises:
        TypeError: `target` is none of these.
        TransportError: The connection cannot be opened.
    """
    if isinstance(target, LocalServer):
        async with target.in_process() as runtime:
            if not handshake:
                yield MemoryRequester(runtime.engine, inbound, raise_exceptions=raise_exceptions)
                return
            async with _memory_link(runtime, inbound, raise_exceptions) as requester:
                yield requester
        return
    async with _transport(target) as (read, write), stream_requester(read, write, inbound) as requester:
        yield requester


@asynccontextmanager
async def _memory_link(
    runtime: LocalRuntime, inbound: Inbound, raise_exceptions: bool
) -> AsyncGenerator[Requester, None]:
    from mcp.client.link_requester import LinkRequester
    from mcp.engine.memorylink import memory_links

    ours, theirs = memory_links()

    async def serve() -> None:
        try:
            await runtime.serve_link(theirs, tell_exceptions=raise_exceptions)
        finally:
            await theirs.aclose()

    async with open_spawner() as spawner:
        spawner.spawn(serve)
        requester = LinkRequester(ours, spawner, inbound)
        try:
            yield requester
        finally:
            await requester.aclose()


def _transport(target: object) -> AbstractAsyncContextManager[TransportStreams]:
    if isinstance(target, str):
        from mcp.client.streamable_http import streamable_http_client

        return streamable_http_client(target)
    if hasattr(target, "__aenter__") and hasattr(target, "__aexit__"):
        return cast("AbstractAsyncContextManager[TransportStreams]", target)
    from mcp.client.stdio import StdioServerParameters, stdio_client

    if isinstance(target, StdioServerParameters):
        return stdio_client(target)
    raise TypeError(
        "Client takes a server object, a URL, StdioServerParameters, or a transport (anything to enter with "
        f"`async with ... as (read, write)`), got {type(target).__name__}"
    )


@asynccontextmanager
async def stream_requester(
    read: ReadStream[SessionMessage | Exception] | None,
    write: WriteStream[SessionMessage] | None,
    inbound: Inbound,
) -> AsyncGenerator[Requester, None]:
    """Speaks to a server over a pair of message streams.

    Args:
        read: Where messages come from.
        write: Where messages go.
        inbound: Takes what the server sends unasked.
    """
    if read is None or write is None:
        raise RuntimeError("a session needs a pair of streams: ClientSession(read_stream, write_stream)")
    connection = _http_connection(read, write)
    if connection is not None:
        async with _http_requester(connection, inbound) as requester:
            yield requester
        return

    from mcp.client.link_requester import LinkRequester
    from mcp.engine.streams import link_of, open_link

    # Somebody else's streams, or a wrapper round ours: there may be HTTP behind.
    carries_headers = link_of(read, write) is None
    async with open_link(read, write) as link, open_spawner() as spawner:
        requester = LinkRequester(link, spawner, inbound, carries_headers=carries_headers)
        try:
            yield requester
        finally:
            await requester.aclose()


@asynccontextmanager
async def _http_requester(connection: HTTPConnection, inbound: Inbound) -> AsyncGenerator[Requester, None]:
    def handshake(calls: Calls) -> HTTPSession:
        # Only servers of older revisions need what this loads.
        from mcp.client._http_inbound import handshake_session

        return handshake_session(connection, inbound, spawner, calls)

    async with open_spawner() as spawner:
        requester = connection.open(inbound, handshake)
        try:
            yield requester
        finally:
            await requester.aclose()


def sse_requester(requester: Requester, inbound: Inbound) -> AbstractAsyncContextManager[Requester] | None:
    """A way to speak HTTP+SSE to the server of a streamable HTTP connection, at the same URL.

    Args:
        requester: The streamable HTTP connection.
        inbound: Takes what the server sends unasked.

    Returns:
        What opens the connection; None where `requester` is no streamable HTTP connection. Opening it raises
        `TransportError` where the server does not speak HTTP+SSE.
    """
    from mcp.client._http_requester import HTTPRequester

    return _sse_requester(requester.connection, inbound) if isinstance(requester, HTTPRequester) else None


@asynccontextmanager
async def _sse_requester(connection: HTTPConnection, inbound: Inbound) -> AsyncGenerator[Requester, None]:
    from mcp.client.link_requester import LinkRequester
    from mcp.client.sse import open_sse_link

    opened = open_sse_link(
        connection.client, connection.url, endpoint_timeout=_ENDPOINT_SECONDS, max_sse_event_size=connection.max_size
    )
    async with opened as link, open_spawner() as spawner:
        requester = LinkRequester(link, spawner, inbound)
        try:
            yield requester
        finally:
            await requester.aclose()


def _http_connection(read: object, write: object) -> HTTPConnection | None:
    """The HTTP connection behind a pair of streams of ours; None for any other pair."""
    import sys

    # A pair of streams that our HTTP transport made means that its module is loaded.
    module = sys.modules.get("mcp.client.streamable_http")
    return None if module is None else module.http_connection_of(read, write)
