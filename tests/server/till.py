"""A server that seals its request state, and what a client may do with that."""

import logging
from typing import Any

import pytest
from wire import Context, connected, refusal, send

from mcp import types
from mcp.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

KEY = b"k" * 32
OTHER = b"o" * 32
ARGUMENTS: dict[str, Any] = {"amount": 120, "to": {"name": "ada", "iban": "1"}}
REJECTION = (-32602, "Invalid or expired requestState", {"reason": "invalid_request_state"})
LOGGER = "mcp.server.request_state"


class Till:
    """A server that gives out a state with every first request, and notes what state it gets back."""

    def __init__(
        self,
        security: RequestStateSecurity | None = None,
        name: str = "till",
        default_audience: str | None = "till",
        state: str | None = "plain",
    ) -> None:
        self.states: list[str | None] = []
        self.state = state
        self.server = Server(name, on_call_tool=self._answer, on_get_prompt=self._answer, on_read_resource=self._answer)
        security = security or RequestStateSecurity(keys=[KEY])
        self.server.middleware.append(RequestStateBoundary(security, default_audience=default_audience))

    async def _answer(self, ctx: Context, params: Any) -> Any:
        self.states.append(params.request_state)
        if params.request_state is None:
            return types.InputRequiredResult(request_state=self.state)
        if params.request_state == "next":
            return types.InputRequiredResult(request_state="last")
        if ctx.method == "tools/call":
            return types.CallToolResult(content=[])
        return (
            types.GetPromptResult(messages=[]) if ctx.method == "prompts/get" else types.ReadResourceResult(contents=[])
        )

    async def token(self, method: str = "tools/call", **params: Any) -> str:
        """The state that a first request is answered with, as on the wire."""
        async with connected(self.server) as client:
            return (await send(client, method, params or CALL))["requestState"]

    async def take(self, token: object, method: str = "tools/call", **params: Any) -> dict[str, Any]:
        """The result of sending a request again."""
        async with connected(self.server) as client:
            return await send(client, method, {**(params or CALL), "requestState": token})

    async def refuse(self, token: object, method: str = "tools/call", **params: Any) -> None:
        """Checks that sending a request again is refused as always, and gets to no handler."""
        states = len(self.states)
        async with connected(self.server) as client:
            error = await refusal(client, method, {**(params or CALL), "requestState": token})
        assert (error.code, error.message, error.data) == REJECTION
        assert len(self.states) == states


CALL: dict[str, Any] = {"name": "refund", "arguments": ARGUMENTS}


def logged(caplog: pytest.LogCaptureFixture, level: int = logging.WARNING) -> list[str]:
    """What was logged since the last time."""
    lines = [record.getMessage() for record in caplog.records if record.name == LOGGER and record.levelno == level]
    caplog.clear()
    return lines


def rejected(reason: str, method: str = "tools/call") -> list[str]:
    return [f"requestState rejected on {method}: {reason}"]


class Now:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


class Door:
    """Says who is there."""

    def __init__(self, who: Any) -> None:
        self.who = who

    def __call__(self, ctx: Context) -> Any:
        return self.who
