"""A server whose tools say what trace they are in.

python traced_server.py FILE    serves it on stdin and stdout, with the spans in FILE
"""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
from opentelemetry import baggage, trace
from spans import Lines, provider

from mcp import MCPError, types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

Context = ServerRequestContext[Any]

TOOLS = ("work", "carried", "fails", "refuses", "raises", "asks", "waits")
REFUSAL = -31000
FORM: dict[str, Any] = {"type": "object", "properties": {}}


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name=name, input_schema={"type": "object"}) for name in TOOLS])


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    with trace.get_tracer("shop").start_as_current_span("the tool's own"):
        if params.name == "fails":
            return types.CallToolResult(content=[], is_error=True)
        if params.name == "refuses":
            raise MCPError(REFUSAL, "not today")
        if params.name == "raises":
            raise ValueError("a secret")
        if params.name == "waits":
            await anyio.sleep_forever()
        said: Any = ""
        if params.name == "asks":
            said = (await ctx.session.elicit_form("Well?", FORM)).action
        if params.name == "carried":
            said = {"meta": dict(ctx.meta or {}), "baggage": dict(baggage.get_all())}
        return types.CallToolResult(content=[types.TextContent(text=json.dumps(said))])


async def get_prompt(ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[])


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[])


def build(**options: Any) -> Server[Any]:
    return Server(
        "Traced",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_get_prompt=get_prompt,
        on_read_resource=read_resource,
        **options,
    )


async def main() -> None:
    server = build()
    # After the server was made, as a program may that imports its server first.
    trace.set_tracer_provider(provider(Lines(Path(sys.argv[1]))))
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
