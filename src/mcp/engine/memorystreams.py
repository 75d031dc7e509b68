"""A client and a server in one process, each with a pair of message streams of its own.

`Client(server)` does this by itself. The streams are for whoever drives a session, or `server.run`, by hand.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from mcp.engine.memorylink import memory_links
from mcp.engine.streams import TransportStreams, open_streams

__all__ = ["MessageStream", "create_client_server_memory_streams"]

MessageStream = TransportStreams
"""A pair of streams: messages from the other side, and messages to it."""


@asynccontextmanager
async def create_client_server_memory_streams() -> AsyncGenerator[tuple[MessageStream, MessageStream], None]:
    """Two pairs of streams, joined crosswise: what one side writes, the other reads.

        async with create_client_server_memory_streams() as (client_streams, server_streams):
            async with anyio.create_task_group() as group:
                group.start_soon(server.run, *server_streams, server.create_initialization_options())
                async with ClientSession(*client_streams) as session:
                    await session.initialize()

    Yields:
        The client's pair, and the server's; each is what to read from, and what to write to. Both are closed when the
        block ends.
    """
    client, server = memory_links()
    try:
        yield open_streams(client), open_streams(server)
    finally:
        await client.aclose()
        await server.aclose()
