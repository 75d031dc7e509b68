"""What people are shown of something that has a name and, maybe, a title."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.types import Implementation, Prompt, Resource, ResourceTemplate, Tool

__all__ = ["get_display_name"]


def get_display_name(obj: Tool | Resource | Prompt | ResourceTemplate | Implementation) -> str:
    """The name to show: the title, for a tool else the title among its annotations, else the name.

    Args:
        obj: What is shown.
    """
    if obj.title is not None:
        return obj.title
    annotations = getattr(obj, "annotations", None)
    # The annotations of a resource have no title.
    title: str | None = getattr(annotations, "title", None)
    return obj.name if title is None else title
