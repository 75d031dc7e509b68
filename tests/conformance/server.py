"""The server under test: what the conformance suite asks a server to offer, on the public API.

    python server.py

It serves every revision at one URL on a free loopback port, prints the URL as its first line, and ends when
its standard input does.
"""

import secrets
import socket
import sys
import threading
import warnings

import fixture_content
import fixture_rounds
import fixture_tools
import uvicorn
from event_log import EventLog
from fixture_tools import Context

from mcp import MCPDeprecationWarning
from mcp.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import ListenHandler
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    EmptyResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)

# How long a polling client is told to wait before it comes back for the rest of a stream.
RETRY_MILLISECONDS = 100


async def list_tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    fixtures = [*fixture_tools.FIXTURES.values(), *fixture_rounds.ROUNDS.values()]
    return ListToolsResult(tools=[fixture.tool for fixture in fixtures])


async def call_tool(ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
    if params.name in fixture_rounds.ROUNDS:
        return await fixture_rounds.ROUNDS[params.name].body(ctx, params)
    return await fixture_tools.call(ctx, params.name, params.arguments or {})


def input_schema(tool: str) -> fixture_tools.Schema | None:
    """The schema that the headers of a call are checked against."""
    fixture = fixture_tools.FIXTURES.get(tool)
    return None if fixture is None else fixture.tool.input_schema


async def set_level(ctx: Context, params: SetLevelRequestParams) -> EmptyResult:
    return EmptyResult()


async def subscribe(ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
    return EmptyResult()


async def unsubscribe(ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
    return EmptyResult()


def build_server() -> Server:
    """The server with every handler that a scenario needs."""
    server = Server(
        "conformance-server",
        version="1.0.0",
        get_tool_input_schema=input_schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=fixture_content.list_prompts,
        on_get_prompt=fixture_content.get_prompt,
        on_list_resources=fixture_content.list_resources,
        on_list_resource_templates=fixture_content.list_templates,
        on_read_resource=fixture_content.read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_completion=fixture_content.complete,
        on_set_logging_level=set_level,
        on_subscriptions_listen=ListenHandler(fixture_tools.BUS),
    )
    server.middleware.append(
        RequestStateBoundary(RequestStateSecurity(keys=[secrets.token_bytes(32)]), default_audience=server.name)
    )
    return server


def serve() -> None:
    """Serves until standard input ends."""
    app = build_server().streamable_http_app(event_store=EventLog(), retry_interval=RETRY_MILLISECONDS)
    http = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=1))

    def stop_at_end_of_input() -> None:
        sys.stdin.read()
        http.should_exit = True

    threading.Thread(target=stop_at_end_of_input, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        http.run(sockets=[listener])


if __name__ == "__main__":
    # The older revisions have what the newest one deprecates.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    serve()
