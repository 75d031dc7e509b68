"""What the documentation's pages say about their low-level servers, and about pages and caches of listings."""

import asyncio
import dataclasses
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from types import ModuleType
from typing import Any, Literal

import anyio
from pydantic import BaseModel
from upstream_statements import (
    REFUSED,
    anew,
    call,
    error_of,
    exported,
    failed_call,
    listing,
    printed,
    printed_by,
    resource,
    states,
    texts,
)

from mcp import Client, MCPError
from mcp.client.subscriptions import ResourceUpdated
from mcp.server import Server
from mcp.types import CallToolResult, Request, TextResourceContents

# docs/advanced/low-level-server.md


@states(
    "lowlevel/tutorial001",
    "prints the content of the call",
    "[TextContent(type='text', text=\"Found 3 books matching 'dune' (showing up to 5).\", "
    "annotations=None, meta=None)]",
)
async def _(program: ModuleType) -> object:
    return repr((await call(program, "search_books", query="dune", limit=5)).content)


@states("lowlevel/tutorial001", "nobody builds structured content", None)
async def _(program: ModuleType) -> object:
    return (await call(program, "search_books", query="dune", limit=5)).structured_content


@states(
    "lowlevel/tutorial001",
    "lists the schema as typed",
    '{"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}, '
    '"required": ["query", "limit"]}',
)
async def _(program: ModuleType) -> object:
    return json.dumps((await listing(program)).tools[0].input_schema)


@states("lowlevel/tutorial001", "a missing argument is a protocol error", (-32603, "Internal server error"))
async def _(program: ModuleType) -> object:
    return await failed_call(program, "search_books", query="dune")


@states("lowlevel/tutorial001", "raise_exceptions surfaces the real one", True)
async def _(program: ModuleType) -> object:
    async with Client(program.server, raise_exceptions=True) as client:
        error = await error_of(client.call_tool("search_books", {"query": "dune"}))
    return "'limit'" in str(error) or error


@states("lowlevel/tutorial001", "capabilities follow the handlers", {"tools": {"listChanged": False}})
async def _(program: ModuleType) -> object:
    async with Client(program.server) as client:
        return client.server_capabilities.model_dump(by_alias=True, exclude_none=True)


@states("lowlevel/tutorial002", "lists both tools", ["search_books", "add_book"])
async def _(program: ModuleType) -> object:
    return [tool.name for tool in (await listing(program)).tools]


@states("lowlevel/tutorial002", "routes to the second tool", ["Added 'Dune' by Herbert (1965)."])
async def _(program: ModuleType) -> object:
    return texts(await call(program, "add_book", title="Dune", author="Herbert", year=1965))


@states("lowlevel/tutorial002", "a tool never listed reaches the handler", (-32603, "Internal server error"))
async def _(program: ModuleType) -> object:
    return await failed_call(program, "burn_book")


@states(
    "lowlevel/tutorial003",
    "the result carries both representations",
    {
        "content": [{"type": "text", "text": "Found 3 books matching 'dune'."}],
        "structuredContent": {"matches": 3, "query": "dune"},
        "isError": False,
        "resultType": "complete",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "Bookshop", "version": "2.0.0"}},
    },
)
async def _(program: ModuleType) -> object:
    result = await call(program, "search_books", query="dune", limit=5)
    return result.model_dump(by_alias=True, exclude_none=True)


@states("lowlevel/tutorial003", "the client refuses what the schema forbids", True)
async def _(program: ModuleType) -> object:
    async def call_tool(ctx: object, params: object) -> CallToolResult:
        return CallToolResult(content=[], structured_content={"matches": "three"})

    server = Server("Bookshop", on_list_tools=program.list_tools, on_call_tool=call_tool)
    async with Client(server) as client:
        error = await error_of(client.call_tool("search_books", {"query": "dune", "limit": 5}))
    beginning = "RuntimeError: Invalid structured content returned by tool search_books"
    return str(error).startswith(beginning) or error


@states("lowlevel/tutorial004", "meta reaches the application", ["bk_17", "bk_42", "bk_99"])
async def _(program: ModuleType) -> object:
    return ((await call(program, "search_books", query="dune", limit=5)).meta or {})["bookshop/record_ids"]


@states(
    "lowlevel/tutorial005",
    "the lifespan's catalog is searched",
    ["Found 3 books: Dune, Dune Messiah, Children of Dune."],
)
async def _(program: ModuleType) -> object:
    return texts(await call(program, "search_books", query="dune"))


class ReindexResult(BaseModel):
    indexed: int


class ReindexRequest(Request[dict[str, Any], Literal["bookshop/reindex"]]):
    method: Literal["bookshop/reindex"] = "bookshop/reindex"
    params: dict[str, Any]


@states("lowlevel/tutorial006", "serves a method of its own", ReindexResult(indexed=3))
async def _(program: ModuleType) -> object:
    async with Client(program.server) as client:
        return await client.session.send_request(ReindexRequest(params={"full": True}), ReindexResult)


@states("lowlevel/tutorial006", "validates that method's parameters", -32602)
async def _(program: ModuleType) -> object:
    async with Client(program.server) as client:
        request = ReindexRequest(params={"full": "perhaps"})
        return (await error_of(client.session.send_request(request, ReindexResult)))[0]


@states(
    "lowlevel/tutorial006",
    "the handshake cannot be claimed",
    "'initialize' is handled by the server runner and cannot be overridden; "
    "use Server.middleware to observe or wrap initialization",
)
async def _(program: ModuleType) -> object:
    try:
        program.server.add_request_handler("initialize", program.ReindexParams, program.reindex)
    except ValueError as error:
        return str(error)
    return "no error"


@states("lowlevel/tutorial007", "2020-12 keywords arrive as written", [{"required": ["isbn"]}, False])
async def _(program: ModuleType) -> object:
    schema = (await listing(program)).tools[0].input_schema
    return [schema["oneOf"][0], schema["additionalProperties"]]


@states("lowlevel/tutorial007", "finds a book by either key", ["Found ISBN 9780441013593 on shelf C-3."])
async def _(program: ModuleType) -> object:
    return texts(await call(program, "find_book", isbn="9780441013593"))


# docs/servers/uri-templates.md


SHOP = "uri_templates/tutorial004"
MANUALS = "uri_templates/tutorial005"


@states(SHOP, "the list tells what is available", ["config://shop", "status://health"])
async def _(program: ModuleType) -> object:
    async with Client(program.server) as client:
        return [str(listed.uri) for listed in (await client.list_resources()).resources]


@states(SHOP, "an exact match is served", "ok")
async def _(program: ModuleType) -> object:
    return await resource(program, "status://health")


@states(SHOP, "anything else raises", REFUSED)
async def _(program: ModuleType) -> object:
    return await resource(program, "status://health/")


@states(MANUALS, "listing and matcher share one source", ["manuals://{+path}", "books://{isbn}"])
async def _(program: ModuleType) -> object:
    async with Client(program.server) as client:
        return [listed.uri_template for listed in (await client.list_resource_templates()).resource_templates]


@states(MANUALS, "{+path} keeps its slashes", "# Printer setup")
async def _(program: ModuleType) -> object:
    return await resource(program, "manuals://printing/setup.md")


@states(MANUALS, "URL decoding happens inside match()", "# Printer setup")
async def _(program: ModuleType) -> object:
    return await resource(program, "manuals://printing%2Fsetup.md")


@states(MANUALS, "{isbn} is one segment", ["Dune by Frank Herbert", REFUSED])
async def _(program: ModuleType) -> object:
    return [await resource(program, f"books://978-0441172719{rest}") for rest in ("", "/extra")]


@states(MANUALS, "the checks see the decoded value", [REFUSED] * 4)
async def _(program: ModuleType) -> object:
    program.MANUALS.update(dict.fromkeys(("../etc", "/etc/passwd", "C:\\Windows"), "secret"))
    return [
        await resource(program, f"manuals://{path}") for path in ("../etc", "..%2Fetc", "/etc/passwd", "C:%5CWindows")
    ]


# docs/advanced/middleware.md


async def logged_methods(
    program: ModuleType, mode: str, calls: Sequence[dict[str, Any]] = ({"query": "dune"},)
) -> list[str]:
    """The first word of each line that the program's middleware logs for a listing and calls."""
    lines: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            method, rest = record.getMessage().split(" ", 1)
            lines.append(method if rest.startswith("took ") and rest.endswith(" ms") else f"{method} {rest}")

    logger: logging.Logger = program.logger
    logger.setLevel(logging.INFO)
    logger.addHandler(Collect())
    async with Client(program.server, mode=mode) as client:
        await client.list_tools()
        for arguments in calls:
            await error_of(client.call_tool("search_books", arguments))
    return lines


@states("middleware/tutorial001", "two calls, three lines", ["server/discover", "tools/list", "tools/call"])
async def _(program: ModuleType) -> object:
    return await logged_methods(program, "auto")


@states(
    "middleware/tutorial001",
    "a legacy session opens with two messages of its own",
    ["initialize", "notifications/initialized", "tools/call", "tools/list"],
)
async def _(program: ModuleType) -> object:
    # Which is handled first, a notification or what comes behind it, nobody promises.
    return sorted(await logged_methods(program, "legacy"))


@states("middleware/tutorial001", "a handler that raises is timed too", ["tools/call"])
async def _(program: ModuleType) -> object:
    lines = await logged_methods(program, "2026-07-28", calls=[{}])
    return lines[1:]


@states("middleware/tutorial001", "a notification has no id, and call_next returns None", [(None, None)])
async def _(program: ModuleType) -> object:
    seen: list[object] = []
    told = asyncio.Event()

    async def note(ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        result = await call_next(ctx)
        if ctx.method == "notifications/initialized":
            seen.append((ctx.request_id, result))
            told.set()
        return result

    program.server.middleware.append(note)
    async with Client(program.server, mode="legacy"):
        await asyncio.wait_for(told.wait(), 10)
    return seen


@states("middleware/tutorial001", "what middleware answers is sent as it is", ["tools", False])
async def _(program: ModuleType) -> object:
    async def answer(ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        return {"tools": []} if ctx.method == "tools/list" else await call_next(ctx)

    program.server.middleware.append(answer)
    async with Client(program.server) as client:
        result = await client.list_tools()
    dumped = result.model_dump(by_alias=True, exclude_none=True, exclude_unset=True)
    return [*dumped, result.meta is not None]


@states("middleware/tutorial001", "rewritten params reach the handler", ["Found 3 books matching 'emma'."])
async def _(program: ModuleType) -> object:
    async def rewrite(ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        if ctx.method == "tools/call":
            ctx = dataclasses.replace(ctx, params={**ctx.params, "arguments": {"query": "emma"}})
        return await call_next(ctx)

    program.server.middleware.append(rewrite)
    return texts(await call(program, "search_books", query="dune"))


@states("middleware/tutorial001", "one ships on by default, the outermost", "OpenTelemetryMiddleware")
async def _(program: ModuleType) -> object:
    return type(program.server.middleware[0]).__name__


# docs/run/opentelemetry.md. Its program needs MCPServer; what it says of the low-level server, this one shows.


@states(
    "middleware/tutorial001",
    "a call is a SERVER span with the GenAI attributes",
    [
        (
            "tools/call search_books",
            {
                "mcp.method.name": "tools/call",
                "mcp.protocol.version": "2026-07-28",
                "jsonrpc.request.id": "2",
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "search_books",
            },
        )
    ],
)
async def _(program: ModuleType) -> object:
    spans = exported()
    await call(program, "search_books", query="dune")
    return [(name, attributes) for kind, name, attributes in spans() if kind == "SERVER" and "call" in name]


@states("middleware/tutorial001", "a listing carries no gen_ai keys", [])
async def _(program: ModuleType) -> object:
    spans = exported()
    await listing(program)
    return [key for _, _, attributes in spans() for key in attributes if key.startswith("gen_ai")]


@states("middleware/tutorial001", "the documented lines take the SERVER spans off", {"CLIENT"})
async def _(program: ModuleType) -> object:
    from mcp.server._otel import OpenTelemetryMiddleware

    middleware = program.server.middleware
    middleware[:] = [m for m in middleware if not isinstance(m, OpenTelemetryMiddleware)]
    spans = exported()
    await call(program, "search_books", query="dune")
    return {kind for kind, _, _ in spans()}


@states("middleware/tutorial001", "an unknown method passes through it too", [(-32601, "Method not found")])
async def _(program: ModuleType) -> object:
    seen: list[tuple[int, str]] = []

    async def note(ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        try:
            return await call_next(ctx)
        except MCPError as error:
            seen.append((error.code, error.message))
            raise

    program.server.middleware.append(note)
    async with Client(program.server) as client:
        await error_of(client.session.send_request(ReindexRequest(params={}), ReindexResult))
    return seen


@states("middleware/tutorial001", "raising refuses one message, the next goes through", [(-32000, "no"), "1 tool"])
async def _(program: ModuleType) -> object:
    async def refuse_calls(ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        if ctx.method == "tools/call":
            raise MCPError(-32000, "no")
        return await call_next(ctx)

    program.server.middleware.append(refuse_calls)
    async with Client(program.server) as client:
        refused = await error_of(client.call_tool("search_books", {"query": "dune"}))
        return [refused, f"{len((await client.list_tools()).tools)} tool"]


# docs/advanced/pagination.md


async def page(program: ModuleType, cursor: str | None) -> list[object]:
    """First name, last name, size and next cursor of a page of resources."""
    async with Client(program.server) as client:
        result = await client.list_resources(cursor=cursor)
    return [result.resources[0].name, result.resources[-1].name, len(result.resources), result.next_cursor]


@states("pagination/tutorial001", "the first page", ["book-1", "book-10", 10, "10"])
async def _(program: ModuleType) -> object:
    return await page(program, None)


@states("pagination/tutorial001", "its cursor gives the second", ["book-11", "book-20", 10, "20"])
async def _(program: ModuleType) -> object:
    return await page(program, "10")


@states("pagination/tutorial001", "the tenth page is the last", ["book-91", "book-100", 10, None])
async def _(program: ModuleType) -> object:
    return await page(program, "90")


@states("pagination/tutorial001", "an invented cursor", "MCPError(-32603, 'Internal server error', None)")
async def _(program: ModuleType) -> object:
    async with Client(program.server) as client:
        try:
            return await client.list_resources(cursor="page-2")
        except MCPError as error:
            return repr(error)


@states("pagination/tutorial002", "main() prints", "100 resources\n")
async def _(program: ModuleType) -> object:
    return await printed(program.main())


# docs/client/caching.md


@states("caching/tutorial002", "the handler's ttl wins, the map's scope fills in", [1000, "public"])
async def _(program: ModuleType) -> object:
    result = await listing(program)
    return [result.ttl_ms, result.cache_scope]


@states("caching/tutorial003", "main() prints", "4 calls, 3 fetches\n")
async def _(program: ModuleType) -> object:
    return await printed(program.main())


# docs/handlers/subscriptions.md, docs/client/subscriptions.md

SPRINT_BOARD = "subscriptions/tutorial002"


def sprint_board() -> ModuleType:
    return anew(SPRINT_BOARD)


@states(SPRINT_BOARD, "the handler's own bus reaches the stream that named the URI", ["board://sprint", "[x] design"])
async def _(program: ModuleType) -> object:
    async with (
        Client(program.server) as client,
        client.listen(resource_subscriptions=["board://sprint"]) as subscription,
    ):
        await client.call_tool("complete_task", {"task": "design"})
        event = await anext(subscription)
        assert isinstance(event, ResourceUpdated)
        [contents] = (await client.read_resource(event.uri)).contents
        assert isinstance(contents, TextResourceContents)
    return [event.uri, contents.text.splitlines()[0]]


@states(SPRINT_BOARD, "close() ends every open stream gracefully", (0, 0))
async def _(program: ModuleType) -> object:
    async with (
        Client(program.server) as client,
        client.listen(tools_list_changed=True) as one,
        client.listen(prompts_list_changed=True) as two,
    ):
        program.listen_handler.close()
        first = [event async for event in one]
        return len(first), len([event async for event in two])


@states("subscriptions/tutorial003", "follows the board until the server closes the stream", "[x] design\n[ ] build\n")
async def _(program: ModuleType) -> object:
    board = sprint_board()

    async def follow(client: Client) -> None:
        following = asyncio.create_task(program.follow_board(client))
        while not board.listen_handler._streams:
            await asyncio.sleep(0)
        await client.call_tool("complete_task", {"task": "design"})
        board.listen_handler.close()
        await following

    return await printed_by(follow, board.server)


def states_of_sprints(program: str, run: Callable[[Callable[[], Awaitable[str]]], Awaitable[str]]) -> None:
    """The same two statements about each of the three ways to watch beside a main flow."""
    words = "the watcher sees the finished board and returns"

    @states(program, words, ["[ ] design", "[ ] build", "[x] design", "[x] build"])
    async def _(program: ModuleType) -> object:
        async def sprint() -> str:
            return await printed_by(program.run_sprint, sprint_board().server)

        lines = (await run(sprint)).splitlines()
        return [*lines[:2], *[line for line in lines[-3:] if "ship" not in line][-2:]]


async def _on_this_loop(sprint: Callable[[], Awaitable[str]]) -> str:
    return await sprint()


async def _on_trio(sprint: Callable[[], Awaitable[str]]) -> str:
    return await asyncio.to_thread(anyio.run, sprint, backend="trio")


states_of_sprints("subscriptions/tutorial004_asyncio", _on_this_loop)
states_of_sprints("subscriptions/tutorial004_anyio", _on_this_loop)
states_of_sprints("subscriptions/tutorial004_trio", _on_trio)


@states("subscriptions/tutorial005", "a graceful end or a drop: it listens again and refetches", 2)
async def _(program: ModuleType) -> object:
    board = sprint_board()
    listens = 0

    async def count(ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        nonlocal listens
        listens += ctx.method == "subscriptions/listen"
        return await call_next(ctx)

    board.server.middleware.append(count)

    async def follow(client: Client) -> None:
        following = asyncio.create_task(program.keep_following(client))
        while listens < 2:
            board.listen_handler.close()
            await asyncio.sleep(0.05)
        following.cancel()

    await printed_by(follow, board.server)
    return listens
