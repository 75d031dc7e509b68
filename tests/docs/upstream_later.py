"""What pages say that came later: docs/handlers/cancellation.md, docs/advanced/header-parameters.md.

A folder of programs from before has none of theirs; the table leaves them out then.
"""

from types import ModuleType
from typing import Annotated, Any

import anyio
import httpx2
from pydantic import Field, WithJsonSchema
from scripted_http_server import own_client
from served_app import served
from upstream_running import ERAS, calling, over_http
from upstream_statements import error_of, refusal, states

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolRequestParams

# docs/handlers/cancellation.md

GIVING_UP = "cancellation/tutorial001"


async def until(condition: Any) -> None:
    """Returns once another thread or task has made it so."""
    with anyio.fail_after(10):
        while not condition():
            await anyio.sleep(0.01)


async def given_up(program: ModuleType, target: Any, mode: str) -> object:
    """Whether there was a hold during the call, and whether it is released after the caller gave up."""
    async with Client(target, mode=mode) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "order_book", {"title": "Dune"})
        await until(lambda: program.holds)
        tasks.cancel_scope.cancel()
    await until(lambda: not program.holds)
    return "released"


for era in ERAS:

    @states(GIVING_UP, f"a caller that gives up: the shielded clean-up runs ({era})", ["released"] * 2)
    async def _(program: ModuleType, era: str = era) -> object:
        seen = [await given_up(program, program.mcp, era)]
        with served(program.mcp.streamable_http_app()) as origin:
            return [*seen, await given_up(program, f"{origin}/mcp", era)]

    @states("cancellation/tutorial002", f"a thread that asks stops early ({era})", True)
    async def _(program: ModuleType, era: str = era) -> object:
        indexed: list[str] = []

        def index_book(title: str) -> None:
            indexed.append(title)
            import time

            time.sleep(0.05)

        vars(program)["index_book"] = index_book
        async with Client(program.mcp, mode=era) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "rebuild_index", {"titles": ["a"] * 100})
            await until(lambda: indexed)
            tasks.cancel_scope.cancel()
        await anyio.sleep(0.2)
        return len(indexed) < 10 or len(indexed)


@states("cancellation/tutorial002", "a call that nobody gives up", ["Indexed 1 books."])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        return await calling("rebuild_index", titles=["a"])(client)


# docs/advanced/header-parameters.md

MARKED = "header_parameters/tutorial001"


@states(MARKED, "region still arrives as an argument", ["Dune: 3 copies in eu."])
async def _(program: ModuleType) -> object:
    return await over_http(program.mcp.streamable_http_app(), "/mcp", calling("check_stock", title="Dune", region="eu"))


@states(
    MARKED, "a client that has listed the tool sends the header; one that has not resends once", [["eu"], [None, "eu"]]
)
async def _(program: ModuleType) -> object:
    seen: list[list[str | None]] = []
    for lists_first in (True, False):
        sent: list[str | None] = []

        async def note(request: httpx2.Request, sent: list[str | None] = sent) -> None:
            if request.headers.get("mcp-method") == "tools/call":
                sent.append(request.headers.get("mcp-param-region"))

        hooks: Any = {"request": [note]}
        with served(program.mcp.streamable_http_app()) as origin:
            async with (
                own_client(event_hooks=hooks) as http,
                Client(streamable_http_client(f"{origin}/mcp", http_client=http)) as client,
            ):
                if lists_first:
                    await client.list_tools()
                await calling("check_stock", title="Dune", region="eu")(client)
        seen.append(sent)
    return seen


@states(
    MARKED,
    "str | None only with its schema spelled out, refused at registration",
    ["InvalidSignature", "no error"],
)
async def _(program: ModuleType) -> object:
    optional = Annotated[str | None, Field(json_schema_extra={"x-mcp-header": "Region"})]
    spelled = Annotated[str | None, WithJsonSchema({"type": "string", "x-mcp-header": "Region"})]

    def registered(kind: Any) -> str:
        def stock(region: Any = None) -> str:
            return "x"

        stock.__annotations__["region"] = kind
        mcp = program.MCPServer("Bookshop")
        return refusal(lambda: mcp.add_tool(stock)).partition(":")[0]

    return [registered(optional), registered(spelled)]


async def _disagree(request: httpx2.Request) -> None:
    if request.headers.get("mcp-method") == "tools/call":
        request.headers["mcp-param-region"] = "us"


for number in (2, 3):

    @states(
        f"header_parameters/tutorial00{number}",
        "a call whose header disagrees with its argument is refused",
        (-32020, True),
    )
    async def _(program: ModuleType) -> object:
        hooks: Any = {"request": [_disagree]}
        refused: Any = None
        with served(program.app) as origin:
            async with (
                own_client(event_hooks=hooks) as http,
                Client(streamable_http_client(f"{origin}/mcp", http_client=http)) as client,
            ):
                await client.list_tools()
                refused = await error_of(calling("check_stock", title="Dune", region="eu")(client))
        return refused[0], "region" in refused[1].lower()

    @states(
        f"header_parameters/tutorial00{number}", "a call whose header agrees is answered", ["Dune: 3 copies in eu."]
    )
    async def _(program: ModuleType) -> object:
        return await over_http(program.app, "/mcp", calling("check_stock", title="Dune", region="eu"))


# docs/advanced/middleware.md


@states("middleware/tutorial002", "four calls at a time; the fifth is refused with its own code", (4, 1))
async def _(program: ModuleType) -> object:
    meet = anyio.Event()
    inside = 0
    refused: Any = None

    async def slow(ctx: Any, params: Any) -> Any:
        nonlocal inside
        inside += 1
        await meet.wait()
        return await program.on_call_tool(ctx, params)

    program.server.add_request_handler("tools/call", CallToolRequestParams, slow)
    async with Client(program.server) as client, anyio.create_task_group() as tasks:
        dune: dict[str, Any] = {"query": "dune"}
        for _ in range(4):
            tasks.start_soon(client.call_tool, "search_books", dune)
        while inside < 4:
            await anyio.sleep(0.01)
        refused = await error_of(client.call_tool("search_books", dune))
        meet.set()
    return inside, refused[0]


# docs/handlers/subscriptions.md


@states(
    "subscriptions/tutorial007", "subscriptions=False: nothing listens", [(-32601, "Method not found"), ["0.621371"]]
)
async def _(program: ModuleType) -> object:
    async def listen(client: Client) -> None:
        async with client.listen(tools_list_changed=True):
            pass

    async with Client(program.mcp) as client:
        return [await error_of(listen(client)), await calling("km_to_miles", km=1)(client)]
