"""Roots: the places in which a client lets a server work."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from mcp.types.base import MCPModel, Meta, Result
from mcp.types.deferred import Deferred

if TYPE_CHECKING:
    from pydantic import FileUrl
else:
    # Importing pydantic's URL types costs as much as all of this package.
    FileUrl = Annotated[Any, Deferred("pydantic", "FileUrl")]


class Root(MCPModel):
    """A directory or a file, as a `file://` URI."""

    uri: FileUrl
    name: str | None = None
    meta: Meta | None = Field(alias="_meta", default=None)


class ListRootsResult(Result):
    """The roots of a client."""

    roots: list[Root]
