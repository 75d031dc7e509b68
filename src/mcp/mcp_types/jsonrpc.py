"""The names of `mcp.types.jsonrpc`."""

from mcp.types import jsonrpc
from mcp.types.jsonrpc import *  # noqa: F403

__all__: list[str] = []
__all__ += jsonrpc.__all__
