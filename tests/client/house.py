"""A server with one of everything, for clients in the same process, over a pipe and over HTTP.

Run as a program it serves stdio.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from mcp import StdioServerParameters, types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

Target = Server[Any] | StdioServerParameters | str
"""What a client is given to reach a server."""

Context = ServerRequestContext[Any, Any]
Page = types.PaginatedRequestParams | None
Result = types.CallToolResult

INTEGER = {"type": "integer"}
SUM_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"sum": INTEGER}, "required": ["sum"]}


def text(*lines: str) -> Result:
    """A result that is text."""
    return Result(content=[types.TextContent(text=line) for line in lines])


async def add(ctx: Context, arguments: dict[str, Any]) -> Result:
    """Adds two numbers."""
    total = arguments["a"] + arguments["b"]
    return Result(content=[types.TextContent(text=str(total))], structured_content={"sum": total})


async def miscount(ctx: Context, arguments: dict[str, Any]) -> Result:
    """Promises a sum, and breaks its promise."""
    return Result(content=[], structured_content={"sum": "many"})


async def look(ctx: Context, arguments: dict[str, Any]) -> Result:
    """Says what the server saw of the request."""
    seen: dict[str, Any] = {"meta": ctx.meta, "version": ctx.protocol_version, "arguments": arguments}
    if ctx.request is not None:
        seen["headers"] = dict(ctx.request.headers)
    return text(json.dumps(seen))


async def climb(ctx: Context, arguments: dict[str, Any]) -> Result:
    """Reports progress for each step."""
    steps: int = arguments["steps"]
    for step in range(1, steps + 1):
        await ctx.session.report_progress(step, steps, f"step {step}")
    return text("at the top")


async def speak(ctx: Context, arguments: dict[str, Any]) -> Result:
    """Logs at three levels."""
    for level in ("debug", "info", "error"):
        await ctx.session.send_notification(
            types.LoggingMessageNotification(
                params=types.LoggingMessageNotificationParams(level=level, logger="house", data={"said": level})
            )
        )
    return text("said")


async def wait(ctx: Context, arguments: dict[str, Any]) -> Result:
    """Reports that it has begun, and never comes back."""
    await ctx.session.report_progress(0)
    await anyio.sleep_forever()
    raise AssertionError("unreachable")


async def fail(ctx: Context, arguments: dict[str, Any]) -> Result:
    """Raises what no client may see."""
    raise ValueError("the secret is 42")


async def refuse(ctx: Context, arguments: dict[str, Any]) -> Result:
    """Raises what the client is meant to see."""
    raise MCPError(-32055, "Closed on Sundays", {"open": ["Mon", "Tue"]})


async def break_(ctx: Context, arguments: dict[str, Any]) -> Result:
    """Fails in the way that a model reads."""
    return Result(content=[types.TextContent(text="The cupboard is locked.")], is_error=True)


TOOLS: dict[str, Callable[[Context, dict[str, Any]], Awaitable[Result]]] = {
    "add": add,
    "miscount": miscount,
    "look": look,
    "climb": climb,
    "speak": speak,
    "wait": wait,
    "fail": fail,
    "refuse": refuse,
    "break": break_,
}
SCHEMAS = {"add": SUM_SCHEMA, "miscount": SUM_SCHEMA}


async def list_tools(ctx: Context, params: Page) -> types.ListToolsResult:
    """One tool a page, under cursors that count."""
    names = list(TOOLS)
    index = int(params.cursor) if params and params.cursor else 0
    tool = types.Tool(
        name=names[index], input_schema={"type": "object"}, output_schema=SCHEMAS.get(names[index]), title=names[index]
    )
    return types.ListToolsResult(tools=[tool], next_cursor=str(index + 1) if index + 1 < len(names) else None)


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Result:
    if params.name not in TOOLS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name!r}")
    return await TOOLS[params.name](ctx, params.arguments or {})


async def list_resources(ctx: Context, params: Page) -> types.ListResourcesResult:
    page = params.cursor if params else None
    return types.ListResourcesResult(
        resources=[types.Resource(uri=f"house://{page or 'first'}", name="room")],
        next_cursor=None if page else "second",
    )


async def list_templates(
    ctx: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    page = params.cursor if params else None
    return types.ListResourceTemplatesResult(
        resource_templates=[types.ResourceTemplate(uri_template=f"house://{page or 'first'}/{{room}}", name="rooms")],
        next_cursor=None if page else "second",
    )


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    if params.uri == "house://cellar":
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": params.uri})
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text="four walls")])


async def list_prompts(ctx: Context, params: Page) -> types.ListPromptsResult:
    page = params.cursor if params else None
    return types.ListPromptsResult(
        prompts=[types.Prompt(name=page or "first", arguments=[types.PromptArgument(name="whom", required=True)])],
        next_cursor=None if page else "second",
    )


async def get_prompt(ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    whom = (params.arguments or {}).get("whom", "nobody")
    message = types.PromptMessage(role="user", content=types.TextContent(text=f"Greet {whom}"))
    return types.GetPromptResult(messages=[message], description=params.name)


async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    of = params.ref.name if isinstance(params.ref, types.PromptReference) else params.ref.uri
    known = (params.context.arguments or {}) if params.context else {}
    values = [of, params.argument.name, f"{params.argument.value}ndy", *known.values()]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


class TwiceParams(types.RequestParams):
    """Params of `acme/twice`."""

    number: int


async def twice(ctx: Context, params: TwiceParams) -> dict[str, Any]:
    return {"doubled": 2 * params.number}


async def touch(ctx: Context, params: types.RequestParams) -> None:
    """Answers with nothing."""


def build(**options: Any) -> Server:
    """The server."""
    server = Server(
        "house",
        version="1.2",
        title="The House",
        instructions="Wipe your feet.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        **options,
    )
    server.add_request_handler("acme/twice", TwiceParams, twice)
    server.add_request_handler("acme/touch", types.RequestParams, touch)
    return server


async def main() -> None:
    server = build()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
