"""Statements of the page about authorization of servers."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from upstream_statements import states

sys.path.insert(0, str(Path(__file__).parents[1] / "drivers"))
from protecting import http_to, modern

TOKEN = "alice-token"

_WRONG = ": the access token is not valid or no longer valid"


@states("authorization/tutorial001", "the app has two routes", ["/mcp", "/.well-known/oauth-protected-resource/mcp"])
async def _(program: ModuleType) -> object:
    return [route.path for route in program.mcp.streamable_http_app().routes]


@states(
    "authorization/tutorial001",
    "the metadata is built from the settings",
    {
        "resource": "http://127.0.0.1:8000/mcp",
        "authorization_servers": ["https://auth.example.com/"],
        "scopes_supported": ["notes:read"],
        "bearer_methods_supported": ["header"],
    },
)
async def _(program: ModuleType) -> object:
    async with http_to(program.mcp.streamable_http_app()) as http:
        return (await http.get("/.well-known/oauth-protected-resource/mcp")).json()


@states(
    "authorization/tutorial001",
    "an unknown token is stopped at the door",
    [
        401,
        'Bearer error="invalid_token", error_description="Authentication required", '
        'resource_metadata="http://127.0.0.1:8000/.well-known/oauth-protected-resource/mcp"',
        {"error": "invalid_token", "error_description": "Authentication required"},
    ],
)
async def _(program: ModuleType) -> object:
    async with http_to(program.mcp.streamable_http_app()) as http:
        answer = await modern(http, "tools/call", "unknown", name="list_notes", arguments={})
        # The rest, which names the scopes and tells what is wrong, is more than the page shows.
        documented = answer.headers["www-authenticate"].removesuffix(', scope="notes:read"')
        body = {**answer.json(), "error_description": answer.json()["error_description"].replace(_WRONG, "")}
        return [answer.status_code, documented.replace(_WRONG, ""), body]


@states("authorization/tutorial001", "without a token as well", [401, "Authentication required"])
async def _(program: ModuleType) -> object:
    async with http_to(program.mcp.streamable_http_app()) as http:
        answer = await http.post("/mcp")
        return [answer.status_code, answer.json()["error_description"]]


@states("authorization/tutorial001", "the tool runs for alice", "Buy milk")
async def _(program: ModuleType) -> object:
    return await called(program, "list_notes")


@states("authorization/tutorial002", "the model reads who is calling", "alice (scopes: notes:read)")
async def _(program: ModuleType) -> object:
    return await called(program, "whoami")


async def called(program: ModuleType, tool: str) -> Any:
    async with http_to(program.mcp.streamable_http_app(json_response=True)) as http:
        answer = await modern(http, "tools/call", TOKEN, name=tool, arguments={})
        return answer.json()["result"]["content"][0]["text"]
