"""Streams between a client and a server in one process; their home is `mcp.engine.memorystreams`."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.engine.memorystreams import MessageStream as MessageStream
    from mcp.engine.memorystreams import create_client_server_memory_streams as create_client_server_memory_streams

__all__ = ["MessageStream", "create_client_server_memory_streams"]

# Lazily, since what is shared stands below the engine.
__getattr__, __dir__ = lazy_exports(__name__, dict.fromkeys(__all__, "mcp.engine.memorystreams"))
