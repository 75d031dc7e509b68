"""Tool arguments that are repeated in `Mcp-Param-*` headers, and what does not agree with them."""

import base64
from typing import Any

import pytest
from asgi_driver import Context, ask, headers, message, serving

from mcp import types
from mcp.server import Server

pytestmark = pytest.mark.anyio


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[])


REGION = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "n": {"type": "integer", "x-mcp-header": "N"},
    },
}


def schemas(name: str) -> dict[str, Any] | None:
    return {"region": REGION, "plain": {"type": "object"}}.get(name)


async def call_with(tool: str, arguments: object, *pairs: tuple[bytes, bytes]) -> tuple[int, int, str] | int:
    body = message("tools/call", {"name": tool, "arguments": arguments})
    async with serving(Server("srv", on_call_tool=call_tool, get_tool_input_schema=schemas)) as app:
        answer = await ask(app, [*headers("tools/call", tool), *pairs], body)
        again = await ask(app, [*headers("tools/call", tool), *pairs], body)
    assert again == answer
    return 200 if answer.status == 200 else answer.error


async def test_annotated_arguments_are_repeated_in_headers() -> None:
    region, n = (b"mcp-param-region", b"eu"), (b"mcp-param-n", b"3")
    assert await call_with("region", {"region": "eu", "n": 3}, region, n) == 200
    assert await call_with("region", {"region": None}) == 200
    assert await call_with("region", {}) == 200
    assert await call_with("region", None) == 200
    assert (
        await call_with(
            "region", {"region": "é"}, (b"mcp-param-region", b"=?base64?%b?=" % base64.b64encode("é".encode()))
        )
        == 200
    )
    assert await call_with("region", {"n": 3}, (b"mcp-param-n", b"3.0")) == 200
    assert await call_with("region", {"region": "eu"}, region, (b"mcp-param-other", b"x")) == 200


@pytest.mark.parametrize(
    ("arguments", "values", "reason"),
    [
        ({"region": "eu"}, [b"us"], "Mcp-Param-Region header does not match"),
        ({"region": "eu"}, [], "Mcp-Param-Region header is missing"),
        ({}, [b"eu"], "Mcp-Param-Region header is given, but the argument 'region' is absent or null"),
        ({"region": None}, [b"eu"], "Mcp-Param-Region header is given"),
        (None, [b"eu"], "Mcp-Param-Region header is given"),
        ([], [b"eu"], "Mcp-Param-Region header is given"),
        ({"region": "eu"}, [b"eu", b"eu"], "Mcp-Param-Region header is given more than once"),
        ({"region": "eu"}, [b"=?base64?!?="], "Mcp-Param-Region header is malformed"),
    ],
)
async def test_headers_that_do_not_agree_with_the_arguments_are_refused(
    arguments: object, values: list[bytes], reason: str
) -> None:
    refused = await call_with("region", arguments, *((b"mcp-param-region", value) for value in values))
    assert isinstance(refused, tuple)
    assert refused[:2] == (400, -32020)
    assert refused[2].startswith(reason)


async def test_a_tool_without_annotations_minds_no_headers() -> None:
    assert await call_with("plain", {"region": "eu"}, (b"mcp-param-region", b"us")) == 200
    assert await call_with("unknown", {"region": "eu"}, (b"mcp-param-region", b"us")) == 200


async def test_a_schema_that_changes_is_looked_at_again() -> None:
    current: dict[str, Any] = {"type": "object"}

    def current_schema(name: str) -> dict[str, Any]:
        return current

    body = message("tools/call", {"name": "t", "arguments": {"region": "eu"}})
    async with serving(Server("srv", on_call_tool=call_tool, get_tool_input_schema=current_schema)) as app:
        assert (await ask(app, headers("tools/call", "t"), body)).status == 200
        current = REGION
        assert (await ask(app, headers("tools/call", "t"), body)).error[:2] == (400, -32020)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_schema_function_that_fails_is_an_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    def failing(name: str) -> dict[str, Any]:
        raise KeyError(name)

    body = message("tools/call", {"name": "t"})
    async with serving(Server("srv", on_call_tool=call_tool, get_tool_input_schema=failing)) as app:
        answer = await ask(app, headers("tools/call", "t"), body)
    assert answer.error[1:] == (-32603, "Internal server error")
    assert "KeyError" in caplog.text
