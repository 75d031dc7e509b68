"""The middleware of the pages, which people copy, and what a client may send to it."""

from typing import Any

import anyio
import httpx2
import pytest
from test_code_blocks import FENCE, ROOT

from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
INVALID_PARAMS = -32602


async def call_tool(ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=str(params.arguments))])


def on_page(page: str, name: str) -> Any:
    """A function of a program on a page."""
    [program] = [
        block["body"]
        for block in FENCE.finditer((ROOT / page).read_text(encoding="utf-8"))
        if f"def {name}(" in block["body"]
    ]
    namespace: dict[str, Any] = {}
    exec(program, namespace)
    return namespace[name]


async def answer(middleware: Any, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What a server with a middleware answers over HTTP."""
    server = Server("srv", on_call_tool=call_tool, on_subscriptions_listen=ListenHandler(InMemorySubscriptionBus()))
    server.middleware.append(middleware)
    headers = {**HEADERS, "mcp-method": method, **({"mcp-name": params["name"]} if "name" in params else {})}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": META, **params}}
    transport = httpx2.ASGITransport(app=server.streamable_http_app(json_response=True))
    # Any, since pyright cannot tell what its `post` returns.
    http: Any = httpx2.AsyncClient(transport=transport, base_url="http://localhost:8000")
    async with http:
        return (await http.post("/mcp", json=message, headers=headers)).json()


MIDDLEWARE = "docs/advanced/middleware.md"


@pytest.mark.parametrize(
    ("page", "name", "method", "params"),
    [
        (MIDDLEWARE, "forbid", "tools/call", {}),
        (MIDDLEWARE, "default_name", "tools/call", {}),
        (MIDDLEWARE, "default_name", "tools/call", {"name": "t", "arguments": []}),
        (MIDDLEWARE, "default_name", "tools/call", {"name": "t", "arguments": 5}),
        ("docs/servers/subscriptions.md", "gate", "subscriptions/listen", {"notifications": 5}),
        ("docs/servers/subscriptions.md", "gate", "subscriptions/listen", {}),
    ],
)
def test_bad_params_are_answered_as_if_it_were_not_there(page: str, name: str, method: str, params: Any) -> None:
    middleware = on_page(page, name)

    assert anyio.run(answer, middleware, method, params)["error"]["code"] == INVALID_PARAMS


def test_arguments_that_are_null_are_none() -> None:
    answered = anyio.run(answer, on_page(MIDDLEWARE, "default_name"), "tools/call", {"name": "t", "arguments": None})

    assert answered["result"]["content"][0]["text"] == "{'name': 'stranger'}"
