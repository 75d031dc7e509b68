"""Servers whose tools have resolved parameters, and a client that answers what these ask."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pydantic import BaseModel

from mcp import Client, types
from mcp.client import ClientRequestContext
from mcp.server.mcpserver.functions.injected import InjectedContext
from mcp.server import Server
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import build_resolver_plans, find_resolved_parameters, resolve_arguments
from mcp.server.mcpserver.utilities.func_metadata import func_metadata
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

KEY = b"k" * 32


class MiniContext(InjectedContext):
    def __init__(self, ctx: Any, params: Any) -> None:
        self.request_context = ctx
        self.session = ctx.session
        self.protocol_version = ctx.protocol_version
        self.client_capabilities = ctx.session.client_capabilities
        self.request_state = params.request_state
        self.input_responses = params.input_responses


def serving(*tools: Callable[..., Any], keys: Any = (KEY,), name: str = "shop") -> Any:
    table: dict[str, Any] = {}
    for tool in tools:
        resolved = find_resolved_parameters(tool)
        meta = func_metadata(tool, skip_names=list(resolved))
        args = set(meta.arg_model.model_fields)
        table[tool.__name__] = (tool, resolved, build_resolver_plans(resolved, args), meta)

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(name=n, input_schema=m.arg_model.model_json_schema()) for n, (_, _, _, m) in table.items()
            ]
        )

    async def call(ctx: Any, params: types.CallToolRequestParams) -> Any:
        fn, resolved, plans, meta = table[params.name]
        args = meta.arg_model.model_validate(params.arguments or {}).model_dump_one_level()
        try:
            values = await resolve_arguments(resolved, plans, args, MiniContext(ctx, params))  # type: ignore
            if isinstance(values, types.InputRequiredResult):
                return values
            text = fn(**args, **values)
            if not isinstance(text, str):
                text = await text
        except ToolError as error:
            return types.CallToolResult(
                content=[types.TextContent(text=f"Error executing tool {params.name}: {error}")], is_error=True
            )
        except types.MCPError if hasattr(types, "MCPError") else ():
            raise
        return types.CallToolResult(content=[types.TextContent(text=text)])

    server = Server(name, on_call_tool=call, on_list_tools=list_tools)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity(keys=list(keys)), default_audience=name))
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
