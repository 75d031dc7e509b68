"""A server whose tools do what the reports are about; the tests reach it in memory, over stdio and over HTTP.

python pitfall_server.py            serves `server` on stdin and stdout
python pitfall_server.py unlisted   serves `unlisted`, which has tools and lists none
"""

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from mcp import MCPError, types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

Context = ServerRequestContext[Any]
Arguments = dict[str, Any]
Result = types.CallToolResult | types.InputRequiredResult
Function = Callable[[Context, Arguments], Awaitable[Result]]

FUNCTIONS: dict[str, Function] = {}
HALF_AN_EMOJI = "\ud83d"
UNDECODABLE_NAME = b"file-\xff".decode("utf-8", "surrogateescape")

naps_cancelled = 0


def tool(function: Function) -> Function:
    FUNCTIONS[function.__name__] = function
    return function


def text(value: object) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=str(value))])


@tool
async def echo(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Answers with its argument."""
    return text(arguments.get("text"))


@tool
async def pid(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Tells the process that serves."""
    return text(os.getpid())


@tool
async def environment(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Tells variables of the server's environment."""
    return text(json.dumps({name: os.environ.get(name) for name in arguments["names"]}))


@tool
async def complain(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Writes to stderr."""
    print(arguments["text"], file=sys.stderr, flush=True)
    return text("complained")


@tool
async def leave(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Ends the process in the middle of a call."""
    print("cannot go on", file=sys.stderr, flush=True)
    os._exit(arguments["code"])


@tool
async def nap(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Says that it has begun, and then takes longer than anybody waits."""
    global naps_cancelled
    try:
        await ctx.session.report_progress(0, message=str(os.getpid()))
        await anyio.sleep(600)
    except anyio.get_cancelled_exc_class():
        naps_cancelled += 1
        raise
    return text("slept")


@tool
async def cancelled_naps(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Tells how many naps were cancelled so far."""
    return text(naps_cancelled)


@tool
async def count(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Reports every step of counting to a number."""
    for number in range(arguments["to"]):
        await ctx.session.report_progress(number + 1, arguments["to"], f"step {number + 1}")
    return text(arguments["to"])


@tool
async def forecast(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Lists an output schema and returns only text, as many servers do."""
    return text("rain")


@tool
async def stumble(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Lists an output schema and fails, which it says in text."""
    return types.CallToolResult(content=[types.TextContent(text="the cupboard is locked")], is_error=True)


@tool
async def measure(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Keeps to its output schema."""
    return types.CallToolResult(content=[types.TextContent(text="rain")], structured_content={"weather": "rain"})


@tool
async def sample(ctx: Context, arguments: Arguments) -> Result:
    """Asks the client's model for messages in the way of the handshake era, all at a time."""
    said = [""] * arguments["times"]

    async def ask(number: int) -> None:
        answer = await ctx.session.create_message([_question(number)], max_tokens=9)  # pyright: ignore[reportDeprecated]
        assert isinstance(answer.content, types.TextContent)
        said[number] = answer.content.text

    if len(said) == 1:
        await ask(0)
        return text(said[0])
    async with anyio.create_task_group() as group:
        for number in range(len(said)):
            group.start_soon(ask, number)
    return text(", ".join(said))


@tool
async def sample_in_rounds(ctx: Context, arguments: Arguments) -> Result:
    """Asks the same in the way of 2026-07-28."""
    answers = (ctx.params or {}).get("inputResponses")
    if answers is not None:
        return text(", ".join(answers[key]["content"]["text"] for key in sorted(answers)))
    questions: types.InputRequests = {}
    for number in range(arguments["times"]):
        params = types.CreateMessageRequestParams(messages=[_question(number)], max_tokens=9)
        questions[str(number)] = types.CreateMessageRequest(params=params)
    return types.InputRequiredResult(input_requests=questions)


def _question(number: int) -> types.SamplingMessage:
    return types.SamplingMessage(role="user", content=types.TextContent(text=f"question {number}"))


@tool
async def log(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Logs one message of each level that it is given."""
    for level in arguments["levels"]:
        await ctx.session.send_log_message(level, f"of level {level}")  # pyright: ignore[reportDeprecated]
    return text("logged")


@tool
async def change(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Tells that the list of tools has changed, outside of any request."""
    await ctx.session.send_tool_list_changed()
    return text("changed")


@tool
async def nest(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Returns structured content of any depth."""
    value: Any = 0
    for _ in range(arguments["depth"]):
        value = [value]
    return types.CallToolResult(content=[], structured_content={"value": value})


@tool
async def name_a_file(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Says a file name that is no UTF-8, in one of the ways a handler has to say something."""
    where = arguments["where"]
    if where == "structured content":
        return types.CallToolResult(content=[], structured_content={"name": UNDECODABLE_NAME})
    if where == "a key":
        return types.CallToolResult(content=[], structured_content={UNDECODABLE_NAME: 1})
    if where == "error message":
        raise MCPError(1, UNDECODABLE_NAME)
    if where == "error data":
        raise MCPError(1, "no such file", {"name": UNDECODABLE_NAME})
    if where == "exception":
        raise FileNotFoundError(UNDECODABLE_NAME)
    if where == "progress":
        await ctx.session.report_progress(1, message=UNDECODABLE_NAME)
    return text(UNDECODABLE_NAME)


@tool
async def start_helper(ctx: Context, arguments: Arguments) -> types.CallToolResult:
    """Starts a process of its own session that outlives the server, and tells its process id."""
    pipes: dict[str, Any] = {} if arguments.get("keeps_pipes") else {"stdout": subprocess.DEVNULL, "stderr": None}
    helper = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        stdin=subprocess.DEVNULL,
        start_new_session=bool(arguments.get("detached")),
        **pipes,
    )
    return text(helper.pid)


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[_listed(name, function) for name, function in FUNCTIONS.items()])


def _listed(name: str, function: Function) -> types.Tool:
    schema = {"type": "object", "required": ["weather"]} if function in (forecast, stumble, measure) else None
    return types.Tool(name=name, description=function.__doc__, input_schema={"type": "object"}, output_schema=schema)


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Result:
    if params.name not in FUNCTIONS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name!a}")
    return await FUNCTIONS[params.name](ctx, params.arguments or {})


server = Server("pitfalls", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
unlisted = Server("unlisted", version="1", on_call_tool=call_tool)

SERVERS = {"server": server, "unlisted": unlisted}


async def serve(name: str) -> None:
    async with stdio_server() as (read, write):
        await SERVERS[name].run(read, write, SERVERS[name].create_initialization_options())


if __name__ == "__main__":
    anyio.run(serve, sys.argv[1] if len(sys.argv) > 1 else "server")
