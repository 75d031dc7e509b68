"""The names of `mcp.types.methods`."""

from mcp.types import methods
from mcp.types.methods import *  # noqa: F403

__all__: list[str] = []
__all__ += methods.__all__
