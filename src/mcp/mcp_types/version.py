"""The names of `mcp.types.version`."""

from mcp.types import version
from mcp.types.version import *  # noqa: F403

__all__: list[str] = []
__all__ += version.__all__
