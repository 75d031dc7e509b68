"""An import path that programs use; the homes of the names are `mcp.client` and `mcp.engine.streams`."""

from mcp.client.connect import Transport
from mcp.engine.streams import TransportStreams

__all__ = ["Transport", "TransportStreams"]
