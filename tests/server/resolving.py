"""Servers whose tools have resolved parameters, and a client that answers what these ask."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pydantic import BaseModel

from mcp import Client, types
from mcp.client import ClientRequestContext
from mcp.server import MCPServer
from mcp.server.mcpserver import RequestStateSecurity

KEY = b"k" * 32


def serving(*tools: Callable[..., Any], name: str = "shop", keys: Sequence[bytes] = (KEY,)) -> MCPServer:
    """A server, one of any number that share their keys."""
    server = MCPServer(name, request_state_security=RequestStateSecurity(keys=keys))
    for tool in tools:
        server.add_tool(tool)
    return server


class Answers:
    """Answers every question, and keeps what it was asked.

    Args:
        forms: What to fill in, by the text of the question; "decline" and "cancel" are no forms.
    """

    def __init__(self, **forms: Any) -> None:
        self.asked: list[str] = []
        self.forms: dict[str, Any] = forms

    async def elicit(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.append(params.message)
        form = self.forms[params.message]
        if isinstance(form, str):
            return types.ElicitResult.model_validate({"action": form})
        return types.ElicitResult(action="accept", content=form)

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.CreateMessageResultWithTools:
        self.asked.append("sample")
        content = types.TextContent(text=f"answer {self.asked.count('sample')}")
        if params.tools is not None:
            return types.CreateMessageResultWithTools(role="assistant", model="m", content=[content])
        return types.CreateMessageResult(role="assistant", model="m", content=content)

    async def roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        self.asked.append("roots")
        return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///home"}]})

    @property
    def callbacks(self) -> dict[str, Any]:
        """Arguments of `Client`."""
        return {
            "elicitation_callback": self.elicit,
            "sampling_callback": self.sample,
            "list_roots_callback": self.roots,
            "sampling_capabilities": types.SamplingCapability(tools=types.SamplingToolsCapability()),
        }


@asynccontextmanager
async def shopping(server: Any, answers: Answers | None = None, **options: Any) -> AsyncGenerator[Client, None]:
    """A client that answers."""
    callbacks = {} if answers is None else answers.callbacks
    async with Client(server, **callbacks, **options) as client:
        yield client


def text_of(result: types.CallToolResult) -> str:
    """What a tool says."""
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


async def asked_by(client: Client, tool: str, **arguments: Any) -> types.InputRequiredResult:
    """The questions of the first round of a call."""
    result = await client.session.call_tool(tool, arguments, allow_input_required=True)
    assert isinstance(result, types.InputRequiredResult)
    return result


async def answering(
    client: Client, tool: str, state: str | None, responses: Any = None, **arguments: Any
) -> types.CallToolResult | types.InputRequiredResult:
    """What comes of a further round."""
    return await client.session.call_tool(
        tool, arguments, input_responses=responses, request_state=state, allow_input_required=True
    )


def accept(**content: Any) -> types.ElicitResult:
    """A form, filled in."""
    return types.ElicitResult(action="accept", content=content)


class Confirm(BaseModel):
    """A question of yes or no."""

    ok: bool


class Copies(BaseModel):
    """A question for a number."""

    count: int
