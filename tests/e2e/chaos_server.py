"""The server of the chaos run. It tells at /stats what it holds, and what it logged as errors."""

import asyncio
import gc
import logging
import os
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from served_program import serve
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from mcp.server import Server, ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    JSONRPCMessage,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)

Context = ServerRequestContext[Any, Any]

IDLE_SECONDS = 8
RETRY_MILLISECONDS = 20
STEP_SECONDS = 0.01
ANSWER_SECONDS = 2
WAIT_SECONDS = 25
EVENTS_KEPT = 5_000
FLOOD = "x" * 4096


class RecentEvents(EventStore):
    """The last events of all streams together."""

    def __init__(self) -> None:
        self._next = 0
        self._events: OrderedDict[int, tuple[str, JSONRPCMessage | None]] = OrderedDict()

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._next += 1
        self._events[self._next] = (stream_id, message)
        if len(self._events) > EVENTS_KEPT:
            self._events.popitem(last=False)
        return str(self._next)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        place = int(last_event_id)
        if place not in self._events:
            return None
        stream, _ = self._events[place]
        for number in range(place + 1, self._next + 1):
            owner, message = self._events.get(number, ("", None))
            if owner == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


async def echo(ctx: Context) -> None:
    """Answers at once."""


async def steps(ctx: Context) -> None:
    """Reports ten steps."""
    for step in range(10):
        await ctx.session.report_progress(step)
        await anyio.sleep(STEP_SECONDS)


async def ask(ctx: Context) -> None:
    """Asks the client, which may never answer."""
    with anyio.move_on_after(ANSWER_SECONDS):
        schema: dict[str, Any] = {"type": "object", "properties": {}}
        answer = await ctx.session.elicit_form("Go on?", schema, related_request_id=ctx.request_id)
        assert answer.action == "accept"


async def wait(ctx: Context) -> None:
    """Says that it runs, and waits."""
    await ctx.session.report_progress(1)
    await anyio.sleep(WAIT_SECONDS)


async def flood(ctx: Context) -> None:
    """Says more than a slow reader takes."""
    for step in range(100):
        await ctx.session.report_progress(step, message=FLOOD)


async def hang_up(ctx: Context) -> None:
    """Closes its stream before it answers."""
    assert ctx.close_sse_stream is not None
    await ctx.close_sse_stream()
    await anyio.sleep(STEP_SECONDS)


async def announce(ctx: Context) -> None:
    """Says something on the side stream."""
    await ctx.session.send_resource_updated("chaos://resource")


TOOLS: dict[str, Callable[[Context], Awaitable[None]]] = {
    tool.__name__: tool for tool in (echo, steps, ask, wait, flood, hang_up, announce)
}


async def list_tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=[])


async def call_tool(ctx: Context, params: CallToolRequestParams) -> CallToolResult:
    """Does what the tool does, and answers with the caller's own word."""
    await TOOLS[params.name](ctx)
    return CallToolResult(content=[TextContent(text=(params.arguments or {})["word"])])


class ErrorNotes(logging.Handler):
    """Keeps the text of every error that is logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(f"{record.name}: {self.format(record)}")


errors = ErrorNotes()


async def stats(request: Request) -> JSONResponse:
    gc.collect()
    sessions = sum(isinstance(thing, Connection) for thing in gc.get_objects())
    resident_pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return JSONResponse(
        {
            "sessions": sessions,
            "tasks": len(asyncio.all_tasks()),
            "resident_bytes": resident_pages * os.sysconf("SC_PAGE_SIZE"),
            "errors": errors.texts,
        }
    )


def main() -> None:
    logging.basicConfig(level=logging.WARNING, handlers=[errors])
    server = Server("chaos", version="1.0.0", on_list_tools=list_tools, on_call_tool=call_tool)
    app = server.streamable_http_app(
        event_store=RecentEvents(),
        retry_interval=RETRY_MILLISECONDS,
        session_idle_timeout=IDLE_SECONDS,
        custom_starlette_routes=[Route("/stats", stats)],
    )
    serve(app, short_of_buffer, log_config=None, access_log=False)


def short_of_buffer(listener: socket.socket) -> None:
    """Accepted connections inherit it: a guest that does not read is noticed after little data."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)


if __name__ == "__main__":
    main()
