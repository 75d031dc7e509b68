"""Requests in several rounds over HTTP: the status of a refusal, and the user that a sealed state belongs to."""

from dataclasses import dataclass
from typing import Any

import pytest
from asgi_driver import Context, ask, headers, message, serving

from mcp import types
from mcp.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

pytestmark = pytest.mark.anyio

REJECTION = {
    "code": -32602,
    "message": "Invalid or expired requestState",
    "data": {"reason": "invalid_request_state"},
}


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
    if params.name == "ask":
        return types.InputRequiredResult(input_requests={"where": types.ListRootsRequest()})
    if params.request_state is None:
        return types.InputRequiredResult(request_state="plain")
    return types.CallToolResult(content=[types.TextContent(text=params.request_state)])


def new_server() -> Server[Any]:
    server = Server("srv", on_call_tool=call_tool)
    boundary = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name)
    server.middleware.append(boundary)
    return server


async def answer_to(app: Any, tool: str, state: str | None = None) -> tuple[int, Any]:
    """Status and body of the answer to a call."""
    params = {"name": tool} if state is None else {"name": tool, "requestState": state}
    answer = await ask(app, headers("tools/call", tool), message("tools/call", params))
    return answer.status, answer.json


async def test_a_question_that_the_client_does_not_answer_is_a_bad_request() -> None:
    async with serving(new_server()) as app:
        status, body = await answer_to(app, "ask")
    assert status == 400
    missing: dict[str, Any] = {"requiredCapabilities": {"roots": {}}}
    assert body["error"] == {"code": -32021, "message": "List roots not supported", "data": missing}


async def test_so_is_a_state_that_cannot_be_opened() -> None:
    async with serving(new_server()) as app:
        assert await answer_to(app, "keep", "x") == (400, {"jsonrpc": "2.0", "id": 1, "error": REJECTION})


@dataclass
class Token:
    client_id: str
    subject: str


class User:
    def __init__(self, name: str) -> None:
        self.access_token = Token("app", name)


class AsUser:
    """Middleware that puts a user into the scope, as authentication does."""

    def __init__(self, app: Any, name: str) -> None:
        self._app = app
        self._user = User(name)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app({**scope, "user": self._user}, receive, send)


async def test_a_state_belongs_to_the_user_whose_access_token_came_with_the_request() -> None:
    async with serving(new_server()) as app:
        ada, bob = AsUser(app, "ada"), AsUser(app, "bob")
        status, body = await answer_to(ada, "keep")
        state = body["result"]["requestState"]
        assert (status, state == "plain") == (200, False)
        status, body = await answer_to(ada, "keep", state)
        assert body["result"]["content"] == [{"type": "text", "text": "plain"}]
        for other in (bob, app):
            status, body = await answer_to(other, "keep", state)
            assert (status, body["error"]) == (400, REJECTION)
