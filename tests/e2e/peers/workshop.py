"""A server of ours that uses what the handshake revisions have, for peers that somebody else wrote.

As a program it serves over stdio; workshop_http.py serves it over HTTP.
"""

import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from mcp import MCPDeprecationWarning, MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    Tool,
    UnsubscribeRequestParams,
)

Context = ServerRequestContext[Any, Any]
Arguments = dict[str, Any]
Body = Callable[[Context, Arguments], Awaitable[str]]

# The TypeScript client loses progress that it reads together with the result.
PAUSE_SECONDS = 0.03
BOARD = "workshop://board"

tools: dict[str, tuple[Tool, Body]] = {}
cancelled: list[str] = []
released = anyio.Event()


def tool(**properties: str) -> Callable[[Body], Body]:
    """Offers a function as the tool of its name; each property is required and has the given type."""
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }

    def offer(body: Body) -> Body:
        listed = Tool(name=body.__name__, description=body.__doc__, input_schema=schema)
        tools[body.__name__] = (listed, body)
        return body

    return offer


@tool(a="integer", b="integer")
async def add(ctx: Context, arguments: Arguments) -> str:
    """Adds two numbers."""
    return str(arguments["a"] + arguments["b"])


@tool(question="string")
async def ask_model(ctx: Context, arguments: Arguments) -> str:
    """Asks the client's model."""
    question = SamplingMessage(role="user", content=TextContent(text=arguments["question"]))
    answer = await ctx.session.create_message(  # pyright: ignore[reportDeprecated]
        [question], max_tokens=50, related_request_id=ctx.request_id
    )
    assert isinstance(answer.content, TextContent)
    return f"{answer.model} said {answer.content.text}"


@tool()
async def ask_user(ctx: Context, arguments: Arguments) -> str:
    """Asks the user for a name."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    answer = await ctx.session.elicit_form("Who are you?", schema, related_request_id=ctx.request_id)
    return f"{answer.action} {answer.content}"


@tool()
async def folders(ctx: Context, arguments: Arguments) -> str:
    """Lists the client's folders."""
    roots = await ctx.session.list_roots()  # pyright: ignore[reportDeprecated]
    return " ".join(str(root.uri) for root in roots.roots)


@tool()
async def log(ctx: Context, arguments: Arguments) -> str:
    """Logs one message of each of three levels."""
    for level in ("debug", "info", "error"):
        await ctx.session.send_log_message(  # pyright: ignore[reportDeprecated]
            level, f"a message of level {level}", "workshop", related_request_id=ctx.request_id
        )
    return "logged"


@tool(steps="integer")
async def count(ctx: Context, arguments: Arguments) -> str:
    """Counts, and reports each step."""
    for step in range(1, arguments["steps"] + 1):
        await ctx.session.report_progress(step, total=arguments["steps"], message=f"step {step}")
        await anyio.sleep(PAUSE_SECONDS)
    return f"counted {arguments['steps']}"


@tool(name="string")
async def wait_for_cancellation(ctx: Context, arguments: Arguments) -> str:
    """Reports that it runs, and does not end by itself."""
    try:
        await ctx.session.report_progress(1, message="running")
        await anyio.sleep_forever()
    finally:
        cancelled.append(arguments["name"])
    return "never"


@tool()
async def list_cancelled(ctx: Context, arguments: Arguments) -> str:
    """Names the calls that were cancelled."""
    return " ".join(cancelled)


@tool()
async def hang_up(ctx: Context, arguments: Arguments) -> str:
    """Closes its own stream, so that the result waits for the client to come back."""
    assert ctx.close_sse_stream is not None
    await ctx.close_sse_stream()
    return "resumed"


@tool()
async def hold(ctx: Context, arguments: Arguments) -> str:
    """Ends when another call releases it."""
    await released.wait()
    return "released"


@tool()
async def release(ctx: Context, arguments: Arguments) -> str:
    """Ends the calls that are held."""
    released.set()
    return "done"


@tool()
async def change_board(ctx: Context, arguments: Arguments) -> str:
    """Tells the client that the board and the tools changed."""
    await ctx.session.send_resource_updated(BOARD)
    await ctx.session.send_tool_list_changed()
    return "changed"


async def list_tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=[listed for listed, _ in tools.values()])


async def call_tool(ctx: Context, params: CallToolRequestParams) -> CallToolResult:
    if params.name not in tools:
        raise MCPError(-32602, f"Unknown tool: {params.name}")
    words = await tools[params.name][1](ctx, params.arguments or {})
    return CallToolResult(content=[TextContent(text=words)])


async def list_resources(ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
    return ListResourcesResult(resources=[Resource(uri=BOARD, name="board", mime_type="text/plain")])


async def read_resource(ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    board = TextResourceContents(uri=params.uri, mime_type="text/plain", text="Grüße, 世界")
    return ReadResourceResult(contents=[board])


async def list_prompts(ctx: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
    return ListPromptsResult(prompts=[Prompt(name="greet", arguments=[PromptArgument(name="name", required=True)])])


async def get_prompt(ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
    words = TextContent(text=f"Greet {(params.arguments or {})['name']}")
    return GetPromptResult(messages=[PromptMessage(role="user", content=words)])


async def set_level(ctx: Context, params: SetLevelRequestParams) -> EmptyResult:
    return EmptyResult()


async def subscribe(ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
    return EmptyResult()


async def unsubscribe(ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
    return EmptyResult()


def build_server() -> Server:
    return Server(
        "workshop",
        version="4.5.6",
        instructions="Mind the glue",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_set_logging_level=set_level,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
    )


async def serve_stdio() -> None:
    server = build_server()
    changes = NotificationOptions(tools_changed=True, resources_changed=True)
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options(changes))


if __name__ == "__main__":
    # The older revisions have what the newest one deprecates.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    anyio.run(serve_stdio)
