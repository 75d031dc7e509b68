"""Parameters that the library fills in, by types that are defined below the function: callers never fill them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypeAliasType

from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import InvalidSignature, ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.server.mcpserver.tools import Tool

ran: list[str] = []


class Yes(BaseModel):
    ok: bool


def ask(path: str) -> Elicit[Yes]:
    return Elicit(f"Delete {path}?", Yes)


def delete(path: str, confirmed: Confirmed) -> str:
    ran.append(path)
    return "deleted"


def delete_of_list(path: str, confirmed: list[Confirmed]) -> str:
    ran.append(path)
    return "deleted"


def delete_by_any(path: str, **confirmed: Confirmed) -> str:
    ran.append(path)
    return "deleted"


def delete_in_context(path: str, ctx: MyContext) -> str:
    ran.append(path)
    return "deleted"


def delete_in_some_context(path: str, ctx: MyContext | None = None) -> str:
    ran.append(path)
    return "deleted"


def delete_of_kind(path: str, kind: Kind) -> str:
    ran.append(path)
    return "deleted"


early = [
    Tool.from_function(function)
    for function in (
        delete,
        delete_of_list,
        delete_by_any,
        delete_in_context,
        delete_in_some_context,
        delete_of_kind,
    )
]

Confirmed = Annotated[Yes, Resolve(ask)]
Kind = Callable[[int], str]


class MyContext(Context[Any, Any]): ...


@pytest.mark.parametrize("tool", early[:-1], ids=lambda tool: tool.name)
@pytest.mark.anyio
async def test_a_marker_that_comes_too_late_is_refused_and_no_argument(tool: Tool) -> None:
    with pytest.raises(InvalidSignature, match=f"Function {tool.name}: .*; define the type above the function"):
        tool.complete()
    with pytest.raises(InvalidSignature):
        _ = tool.parameters

    mcp = MCPServer("files", tools=[tool])
    with pytest.raises(InvalidSignature, match="define the type above the function"):
        async with Client(mcp):
            pytest.fail("it serves")
    with pytest.raises(ToolError, match="define the type above the function"):
        await mcp.call_tool(tool.name, {"path": "/etc", "confirmed": {"ok": True}, "ctx": {}})
    assert ran == []


def test_it_says_who_would_have_filled_it_in() -> None:
    with pytest.raises(InvalidSignature) as caught:
        early[0].complete()
    assert str(caught.value) == (
        "Function delete: the parameter 'confirmed' is to be filled in by Resolve(ask), which nobody could know when "
        "the function was registered; define the type above the function"
    )


def test_a_late_type_that_no_json_becomes_is_named_with_its_function() -> None:
    with pytest.raises(InvalidSignature, match="Function delete_of_kind: no JSON can become the parameter 'kind'"):
        _ = early[-1].parameters


def test_defined_above_it_is_found() -> None:
    assert list(Tool.from_function(delete).resolved_params) == ["confirmed"]
    assert Tool.from_function(delete_in_some_context).context_kwarg == "ctx"


def test_an_alias_of_a_type_statement_is_no_disguise() -> None:
    def of_alias(path: str, confirmed: Any) -> None: ...

    alias = TypeAliasType("alias", Confirmed)  # pyright: ignore[reportGeneralTypeIssues]
    of_alias.__annotations__["confirmed"] = alias
    assert list(Tool.from_function(of_alias).resolved_params) == ["confirmed"]

    of_alias.__annotations__["confirmed"] = list[alias]
    with pytest.raises(InvalidSignature, match=r"'confirmed' of 'of_alias' wraps `Resolve\(\.\.\.\)`"):
        Tool.from_function(of_alias)


def test_a_prompt_has_no_resolvers() -> None:
    with pytest.raises(InvalidSignature, match=r"filled in by Resolve\(ask\), .* only tools have resolvers"):
        MCPServer("files").prompt()(delete)
