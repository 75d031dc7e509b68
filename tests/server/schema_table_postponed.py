"""What postponed and forward annotations list, take and refuse, those of local classes among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field
from schema_table import Table, told
from typing_extensions import TypedDict

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

rows = Table()
takes = rows.takes

N = {"properties": {"n": {"title": "N", "type": "integer"}}, "required": ["n"], "type": "object"}


@takes(
    {
        "a": {"minimum": 1, "title": "A", "type": "integer"},
        "b": {"default": [], "items": {"type": "string"}, "title": "B", "type": "array"},
    },
    ["a"],
    accepts=[({"a": 1, "b": ["x"]}, "1, ['x']")],
    refuses=[{"a": 0}, {"a": 1, "b": [1]}],
)
def postponed(a: Annotated[int, Field(ge=1)], b: list[str] = []) -> str:  # noqa: B006
    return told(a, b)


@takes(
    {"it": {"$ref": "#/$defs/Later"}},
    ["it"],
    rest={"$defs": {"Later": N}},
    accepts=[({"it": {"n": 1}}, "Later(n=1)")],
    refuses=[{"it": {}}],
)
def defined_later(it: Later) -> str:
    return told(it)


@takes({"n": {"title": "N", "type": "integer"}}, ["n"], accepts=[({"n": 1}, "1, True")], refuses=[{}])
def context_for_type_checkers(n: int, ctx: Context[Any, Any]) -> str:
    return told(n, ctx.request_id != "")


class Later(BaseModel):
    n: int


def local_rows() -> None:
    """Adds functions whose annotations name classes of this function."""

    class Local(BaseModel):
        n: int
        more: list[Local] = []

    @dataclass
    class Data:
        n: int

    class Keys(TypedDict):
        n: int

    @takes(
        {"it": {"$ref": "#/$defs/Local"}},
        ["it"],
        accepts=[({"it": {"n": 1, "more": [{"n": 2}]}}, "1, 2")],
        refuses=[{"it": {"n": 1, "more": [{}]}}],
    )
    def local_model(it: Local) -> str:
        return told(it.n, *(one.n for one in it.more))

    @takes(
        {"those": {"items": {"$ref": "#/$defs/Data"}, "title": "Those", "type": "array"}},
        ["those"],
        rest={"$defs": {"Data": N}},
        accepts=[({"those": [{"n": 1}]}, "[1]")],
        refuses=[{"those": [{"n": "x"}]}],
    )
    async def local_data_class(those: list[Data]) -> str:
        return told([one.n for one in those])

    @takes(
        {"it": {"anyOf": [{"$ref": "#/$defs/Keys"}, {"type": "null"}], "default": None}},
        rest={"$defs": {"Keys": N}},
        accepts=[({}, "None"), ({"it": {"n": 1}}, "{'n': 1}")],
        refuses=[{"it": {"n": "x"}}],
    )
    def local_typed_dict(it: Keys | None = None) -> str:
        return told(it)

    _ = local_model, local_data_class, local_typed_dict


local_rows()
