"""What people are shown of something that has a name."""

from typing import Any

import pytest

from mcp import types
from mcp.shared.metadata_utils import get_display_name


def tool(title: str | None = None, annotated: str | None = None) -> types.Tool:
    annotations = types.ToolAnnotations(title=annotated) if annotated is not None else None
    return types.Tool(name="add", title=title, annotations=annotations, input_schema={"type": "object"})


@pytest.mark.parametrize(
    ("thing", "shown"),
    [
        (tool(), "add"),
        (tool("Add"), "Add"),
        (tool(annotated="Adds"), "Adds"),
        (tool("Add", "Adds"), "Add"),
        (tool(""), ""),
        (types.Resource(name="r", uri="a://b"), "r"),
        (types.Resource(name="r", uri="a://b", title="R", annotations=types.Annotations(priority=1)), "R"),
        (types.Resource(name="r", uri="a://b", annotations=types.Annotations(priority=1)), "r"),
        (types.ResourceTemplate(name="t", uri_template="a://{b}", title="T"), "T"),
        (types.Prompt(name="p"), "p"),
        (types.Implementation(name="srv", version="1", title="Server"), "Server"),
    ],
)
def test_a_title_is_shown_before_a_name(thing: Any, shown: str) -> None:
    assert get_display_name(thing) == shown
