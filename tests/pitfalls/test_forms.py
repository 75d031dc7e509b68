"""Reports about the forms that servers ask users to fill in."""

import datetime
import enum
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from connections import over_http
from pydantic import BaseModel, Field

from mcp import Client, types
from mcp.client import ClientRequestContext
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, Resolve

pytestmark = pytest.mark.anyio


class Cover(enum.Enum):
    HARD = "hard"
    SOFT = "soft"


class Order(BaseModel):
    cover: Cover = Cover.SOFT
    size: Literal["small", "large"]
    copies: int | None = Field(default=None, ge=1)
    day: datetime.date
    extras: list[Cover] = []


def describe(order: Order) -> str:
    return f"{order.cover} {order.size} {order.copies} {order.day!r} {order.extras}"


mcp = MCPServer("shop")


@mcp.tool()
async def order_directly(ctx: Context) -> str:
    outcome = await ctx.elicit("Which?", Order)
    assert outcome.action == "accept"
    return describe(outcome.data)


def ask() -> Elicit[Order]:
    return Elicit("Which?", Order)


@mcp.tool()
def order(order: Annotated[Order, Resolve(ask)]) -> str:
    return describe(order)


# B89


@pytest.mark.parametrize(("mode", "tool"), [("legacy", "order_directly"), ("legacy", "order"), ("auto", "order")])
@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_b89_choices_dates_and_optional_fields_are_a_form(transport: str, mode: str, tool: str) -> None:
    """An `Enum` with a default made the form fail, and the tool with it, without a reason."""
    forms: list[dict[str, Any]] = []

    async def answer(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestFormParams)
        forms.append(params.requested_schema)
        content: dict[str, Any] = {"cover": "hard", "size": "small", "day": "2025-12-26", "extras": ["soft"]}
        jsonschema.validate(content, params.requested_schema)
        return types.ElicitResult(action="accept", content=content)

    async def said(target: Any) -> str:
        async with Client(target, mode=mode, elicitation_callback=answer) as client:
            [block] = (await client.call_tool(tool, {})).content
        assert isinstance(block, types.TextContent)
        return block.text

    if transport == "memory":
        text = await said(mcp)
    else:
        with over_http(mcp.streamable_http_app()) as url:
            text = await said(url)

    assert text == "Cover.HARD small None datetime.date(2025, 12, 26) [<Cover.SOFT: 'soft'>]"
    assert forms == [
        {
            "type": "object",
            "title": "Order",
            "properties": {
                "cover": {"type": "string", "enum": ["hard", "soft"], "title": "Cover", "default": "soft"},
                "size": {"type": "string", "enum": ["small", "large"], "title": "Size"},
                "copies": {"type": "integer", "minimum": 1, "title": "Copies"},
                "day": {"type": "string", "format": "date", "title": "Day"},
                "extras": {
                    "type": "array",
                    "items": {"type": "string", "enum": ["hard", "soft"]},
                    "title": "Extras",
                    "default": [],
                },
            },
            "required": ["size", "day"],
        }
    ]
