"""The server that `client.mjs` talks to.

    python library.py stdio
    python library.py http FOLDER

Over HTTP it listens on a free loopback port, prints its URL as the first line, appends each request body
as a line to `FOLDER/to_server`, and ends when its standard input does.
"""

import socket
import sys
import threading
from pathlib import Path

import anyio
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
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
    TextContent,
    TextResourceContents,
    Tool,
)

TOOLS = [
    Tool(
        name="find_book",
        input_schema={"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
        output_schema={
            "type": "object",
            "properties": {"title": {"type": "string"}, "pages": {"type": "integer"}},
            "required": ["title", "pages"],
        },
    ),
    Tool(name="count_pages", input_schema={"type": "object", "properties": {"books": {"type": "integer"}}}),
    Tool(name="burn_book", input_schema={"type": "object"}),
]


async def list_tools(ctx: ServerRequestContext, params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=TOOLS)


async def call_tool(ctx: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult:
    arguments = params.arguments or {}
    if params.name == "find_book":
        book = {"title": arguments["title"], "pages": 412}
        text = f"{book['title']} has {book['pages']} pages"
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=book)
    if params.name == "count_pages":
        for number in range(1, arguments["books"] + 1):
            await ctx.session.report_progress(number, total=arguments["books"], message=f"book {number}")
        return CallToolResult(content=[TextContent(type="text", text=f"Counted {arguments['books']} books")])
    raise PermissionError("the traceback of this stays in the server's log")


async def list_resources(ctx: ServerRequestContext, params: PaginatedRequestParams | None) -> ListResourcesResult:
    return ListResourcesResult(resources=[Resource(uri="library://hours", name="hours")])


async def read_resource(ctx: ServerRequestContext, params: ReadResourceRequestParams) -> ReadResourceResult:
    hours = TextResourceContents(uri=params.uri, mime_type="text/plain", text="Open from 9 to 17, é included")
    return ReadResourceResult(contents=[hours])


async def list_prompts(ctx: ServerRequestContext, params: PaginatedRequestParams | None) -> ListPromptsResult:
    return ListPromptsResult(prompts=[Prompt(name="recommend", arguments=[PromptArgument(name="mood", required=True)])])


async def get_prompt(ctx: ServerRequestContext, params: GetPromptRequestParams) -> GetPromptResult:
    text = f"Recommend a {(params.arguments or {})['mood']} book"
    return GetPromptResult(messages=[PromptMessage(role="user", content=TextContent(type="text", text=text))])


server = Server(
    "python-library",
    version="3.2.1",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_read_resource=read_resource,
    on_list_prompts=list_prompts,
    on_get_prompt=get_prompt,
)


class NoteRequests:
    """ASGI middleware that appends every request body to a file, one line each."""

    def __init__(self, app: ASGIApp, notes: Path) -> None:
        self.app = app
        self.notes = notes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()

        async def receive_and_note() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                body.extend(message.get("body", b""))
                if body and not message.get("more_body", False):
                    with self.notes.open("ab") as notes:
                        notes.write(bytes(body) + b"\n")
            return message

        await self.app(scope, receive_and_note, send)


async def serve_stdio() -> None:
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


def serve_http(folder: Path) -> None:
    app = NoteRequests(server.streamable_http_app(), folder / "to_server")
    http = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))

    def stop_at_end_of_input() -> None:
        sys.stdin.read()
        http.should_exit = True

    threading.Thread(target=stop_at_end_of_input, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        http.run(sockets=[listener])


if __name__ == "__main__":
    if sys.argv[1] == "http":
        serve_http(Path(sys.argv[2]))
    else:
        anyio.run(serve_stdio)
