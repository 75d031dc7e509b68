"""Tool arguments that are repeated in `Mcp-Param-*` headers, and what does not agree with them."""

import base64
import gc
import weakref
from collections.abc import Callable
from functools import partial
from time import monotonic
from types import MappingProxyType
from typing import Any

import pytest
from asgi_driver import Context, ask, headers, message, serving

from mcp import types
from mcp.server import Server
from mcp.server.http_listings import LISTED_SECONDS

pytestmark = pytest.mark.anyio


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[])


REGION = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "n": {"type": "integer", "x-mcp-header": "N"},
    },
}


def schemas(name: str) -> dict[str, Any] | None:
    return {"region": REGION, "plain": {"type": "object"}}.get(name)


async def call_with(tool: str, arguments: object, *pairs: tuple[bytes, bytes]) -> tuple[int, int, str] | int:
    body = message("tools/call", {"name": tool, "arguments": arguments})
    async with serving(Server("srv", on_call_tool=call_tool, get_tool_input_schema=schemas)) as app:
        answer = await ask(app, [*headers("tools/call", tool), *pairs], body)
        again = await ask(app, [*headers("tools/call", tool), *pairs], body)
    assert again == answer
    return 200 if answer.status == 200 else answer.error


async def test_annotated_arguments_are_repeated_in_headers() -> None:
    region, n = (b"mcp-param-region", b"eu"), (b"mcp-param-n", b"3")
    assert await call_with("region", {"region": "eu", "n": 3}, region, n) == 200
    assert await call_with("region", {"region": None}) == 200
    assert await call_with("region", {}) == 200
    assert await call_with("region", None) == 200
    assert (
        await call_with(
            "region", {"region": "é"}, (b"mcp-param-region", b"=?base64?%b?=" % base64.b64encode("é".encode()))
        )
        == 200
    )
    assert await call_with("region", {"n": 3}, (b"mcp-param-n", b"3.0")) == 200
    assert await call_with("region", {"region": "eu"}, region, (b"mcp-param-other", b"x")) == 200


@pytest.mark.parametrize(
    ("arguments", "values", "reason"),
    [
        ({"region": "eu"}, [b"us"], "Mcp-Param-Region header does not match"),
        ({"region": "eu"}, [], "Mcp-Param-Region header is missing"),
        ({}, [b"eu"], "Mcp-Param-Region header is given, but the argument 'region' is absent or null"),
        ({"region": None}, [b"eu"], "Mcp-Param-Region header is given"),
        (None, [b"eu"], "Mcp-Param-Region header is given"),
        ({"region": "eu"}, [b"eu", b"eu"], "Mcp-Param-Region header is given more than once"),
        ({"region": "eu"}, [b"=?base64?!?="], "Mcp-Param-Region header is malformed"),
    ],
)
async def test_headers_that_do_not_agree_with_the_arguments_are_refused(
    arguments: object, values: list[bytes], reason: str
) -> None:
    refused = await call_with("region", arguments, *((b"mcp-param-region", value) for value in values))
    assert isinstance(refused, tuple)
    assert refused[:2] == (400, -32020)
    assert refused[2].startswith(reason)


async def test_a_tool_without_annotations_minds_no_headers() -> None:
    assert await call_with("plain", {"region": "eu"}, (b"mcp-param-region", b"us")) == 200
    assert await call_with("unknown", {"region": "eu"}, (b"mcp-param-region", b"us")) == 200


async def test_a_schema_that_changes_is_looked_at_again() -> None:
    current: dict[str, Any] = {"type": "object"}

    def current_schema(name: str) -> dict[str, Any]:
        return current

    body = message("tools/call", {"name": "t", "arguments": {"region": "eu"}})
    async with serving(Server("srv", on_call_tool=call_tool, get_tool_input_schema=current_schema)) as app:
        assert (await ask(app, headers("tools/call", "t"), body)).status == 200
        current = REGION
        assert (await ask(app, headers("tools/call", "t"), body)).error[:2] == (400, -32020)


async def test_arguments_that_are_no_object_are_refused_as_such() -> None:
    refused = await call_with("region", ["eu"], (b"mcp-param-region", b"eu"))
    assert isinstance(refused, tuple)
    assert refused[:2] == (400, -32602)
    assert "arguments" in refused[2]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("outcome", [KeyError("t"), OSError("down")])
async def test_a_schema_function_that_fails_leaves_headers_unchecked(
    outcome: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(name: str) -> dict[str, Any]:
        raise outcome

    body = message("tools/call", {"name": "t", "arguments": {"region": "eu"}})
    async with serving(Server("srv", on_call_tool=call_tool, get_tool_input_schema=failing)) as app:
        answer = await ask(app, headers("tools/call", "t"), body)
    assert answer.status == 200
    assert type(outcome).__name__ in caplog.text
    assert "get_tool_input_schema failed, so the headers of a call to 't' go unchecked" in caplog.text


async def a_schema(name: str) -> dict[str, Any]:
    return REGION


class Schemas:
    async def __call__(self, name: str) -> dict[str, Any]:
        return REGION


@pytest.mark.parametrize(
    ("look_up", "problem"),
    [
        (5, "must be a function of a tool's name, got int"),
        ({"region": REGION}, "must be a function of a tool's name, got dict"),
        (a_schema, "must be a plain function, got a coroutine function"),
        (partial(a_schema), "must be a plain function, got a coroutine function"),
        (Schemas(), "must be a plain function, got a coroutine function"),
    ],
)
def test_a_schema_function_is_a_plain_function(look_up: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=f"get_tool_input_schema {problem}"):
        Server("srv", get_tool_input_schema=look_up)
    server = Server("srv")
    with pytest.raises(TypeError, match=f"get_tool_input_schema {problem}"):
        server.get_tool_input_schema = look_up
    assert server.get_tool_input_schema is None


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("made", "got"),
    [
        (lambda: types.Tool(name="t", input_schema=REGION), "Tool"),
        (lambda: "{}", "str"),
        (lambda: a_schema("t"), "coroutine"),
    ],
)
async def test_a_schema_that_is_none_is_named_in_the_log(
    made: Callable[[], Any], got: str, caplog: pytest.LogCaptureFixture
) -> None:
    def look_up(name: str) -> Any:
        return made()

    async with serving(Server("srv", on_call_tool=call_tool, get_tool_input_schema=look_up)) as app:
        assert await status_of(app, "t", {"region": "eu"}) == OK
    assert "get_tool_input_schema failed, so the headers of a call to 't' go unchecked" in caplog.text
    assert f"get_tool_input_schema must return a schema or None, got {got}" in caplog.text


async def test_any_mapping_is_a_schema() -> None:
    schema = MappingProxyType(REGION)
    async with serving(Server("srv", on_call_tool=call_tool, get_tool_input_schema=lambda name: schema)) as app:
        assert await status_of(app, "t", {"region": "eu"}) == MISMATCH


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_schema_function_that_fails_later_leaves_the_last_schema(caplog: pytest.LogCaptureFixture) -> None:
    known: dict[str, dict[str, Any]] = {"t": REGION}
    server = Server("srv", on_call_tool=call_tool, get_tool_input_schema=known.__getitem__)
    async with serving(server) as app:
        assert await status_of(app, "t", {"region": "eu"}) == MISMATCH
        known.clear()
        assert await status_of(app, "t", {"region": "eu"}) == MISMATCH
        assert await status_of(app, "t", {"region": "eu"}, EU) == OK
    assert "the headers of a call to 't' are held against an older schema" in caplog.text


async def test_names_that_clients_choose_take_little_memory() -> None:
    class Schema(dict[str, Any]):
        pass

    made: list[weakref.ref[Schema]] = []

    def any_schema(name: str) -> Schema:
        schema = Schema(REGION)
        made.append(weakref.ref(schema))
        return schema

    server = Server("gateway", on_call_tool=call_tool, get_tool_input_schema=any_schema)
    async with serving(server) as app:
        for number in range(1100):
            assert await status_of(app, f"{number}", {"region": "eu"}) == MISMATCH
        gc.collect()
        remembered = sum(schema() is not None for schema in made)
        assert 0 < remembered <= 1000
        for number in range(50):
            assert await status_of(app, f"{number}" + "x" * 30_000, {"region": "eu"}) == MISMATCH
        gc.collect()
        assert not any(schema() for schema in made[1100:])


# Servers that say nothing about schemas but what their listing says.


class Shop:
    """Lists `tools`, a page each, and notes how often it is asked, and by whom."""

    def __init__(self, *tools: tuple[str, dict[str, Any]]) -> None:
        self.tools = tools
        self.asked: list[tuple[str | None, str | None]] = []
        self.failure: Exception | None = None
        self.server = Server("shop", on_list_tools=self.list_tools, on_call_tool=call_tool)

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        cursor = None if params is None else params.cursor
        assert ctx.request is not None
        self.asked.append((ctx.request.headers.get("x-user"), cursor))
        await ctx.session.report_progress(1)
        if self.failure is not None:
            raise self.failure
        index = int(cursor or 0)
        name, schema = self.tools[index]
        return types.ListToolsResult(
            tools=[types.Tool(name=name, input_schema=schema)],
            next_cursor=str(index + 1) if index + 1 < len(self.tools) else None,
        )


EU = (b"mcp-param-region", b"eu")
PLAIN: dict[str, Any] = {"type": "object"}


async def status_of(app: Any, tool: str, arguments: object, *pairs: tuple[bytes, bytes]) -> tuple[int, int | None]:
    body = message("tools/call", {"name": tool, "arguments": arguments}, meta={"progressToken": 1})
    answer = await ask(app, [*headers("tools/call", tool), *pairs], body)
    assert answer.headers["content-type"] == "application/json"
    return answer.status, answer.json.get("error", {}).get("code")


OK, MISMATCH = (200, None), (400, -32020)


async def test_without_a_schema_function_the_listing_counts() -> None:
    shop = Shop(("plain", PLAIN), ("region", REGION), ("last", PLAIN))
    async with serving(shop.server) as app:
        assert await status_of(app, "region", {"region": "eu"}, EU, (b"x-user", b"ann")) == OK
        # In the name of the caller, page by page, until the tool is found.
        assert shop.asked == [("ann", None), ("ann", "1")]
        for _ in range(3):
            assert await status_of(app, "region", {"region": "eu"}, EU) == OK
            assert await status_of(app, "plain", {"region": "eu"}) == OK
        assert len(shop.asked) == 2
        # Nobody is refused on the word of an old listing. The page that the tool was on will do.
        assert await status_of(app, "region", {"region": "eu"}) == MISMATCH
        assert [cursor for _, cursor in shop.asked] == [None, "1", "1"]
        assert await status_of(app, "region", {"region": "eu"}, (b"mcp-param-region", b"us")) == MISMATCH
        assert await status_of(app, "region", {}, EU) == MISMATCH


async def test_a_call_without_arguments_and_headers_asks_nothing() -> None:
    shop = Shop(("region", REGION))
    async with serving(shop.server) as app:
        assert await status_of(app, "region", {}) == OK
        assert await status_of(app, "region", None) == OK
    assert shop.asked == []


async def test_a_listing_that_changed_lets_through_what_it_now_allows() -> None:
    shop = Shop(("region", REGION))
    async with serving(shop.server) as app:
        assert await status_of(app, "region", {"region": "eu"}) == MISMATCH
        shop.tools = (("region", PLAIN),)
        assert await status_of(app, "region", {"region": "eu"}) == OK


async def test_a_listing_is_good_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop(("region", PLAIN))
    async with serving(shop.server) as app:
        assert await status_of(app, "region", {"region": "eu"}) == OK
        shop.tools = (("region", REGION),)
        assert await status_of(app, "region", {"region": "eu"}) == OK
        later = monotonic() + LISTED_SECONDS + 1
        monkeypatch.setattr("mcp.server.http_listings.monotonic", lambda: later)
        assert await status_of(app, "region", {"region": "eu"}) == MISMATCH


async def test_a_tool_that_is_not_listed_has_no_headers() -> None:
    shop = Shop(("region", REGION))
    async with serving(shop.server) as app:
        assert await status_of(app, "hidden", {"region": "eu"}, (b"mcp-param-region", b"us")) == OK
        shop.tools = (("other", PLAIN),)
        assert await status_of(app, "region", {"region": "eu"}) == OK


async def test_a_server_that_lists_nothing_checks_nothing() -> None:
    async with serving(Server("srv", on_call_tool=call_tool)) as app:
        assert await status_of(app, "region", {"region": "eu"}, (b"mcp-param-region", b"us")) == OK


async def test_cursors_without_end_end() -> None:
    pages = 0

    async def endless(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        nonlocal pages
        pages += 1
        return types.ListToolsResult(tools=[], next_cursor=str(pages % 3))

    async with serving(Server("srv", on_list_tools=endless, on_call_tool=call_tool)) as app:
        assert await status_of(app, "region", {"region": "eu"}) == OK
    assert pages == 4


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_listing_that_fails_leaves_headers_unchecked(caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop(("region", REGION))
    shop.failure = RuntimeError("the catalogue is on fire")
    async with serving(shop.server) as app:
        assert await status_of(app, "region", {"region": "eu"}) == OK
        assert "tools/list failed, so the headers of a call to 'region' go unchecked" in caplog.text
        assert "the catalogue is on fire" in caplog.text
        shop.failure = None
        assert await status_of(app, "region", {"region": "eu"}) == MISMATCH


async def test_middleware_sees_the_listing() -> None:
    methods: list[str] = []

    async def note(ctx: Context, call_next: Any) -> Any:
        methods.append(ctx.method)
        return await call_next(ctx)

    shop = Shop(("region", REGION))
    shop.server.middleware.append(note)
    async with serving(shop.server) as app:
        assert await status_of(app, "region", {"region": "eu"}) == MISMATCH
        assert await status_of(app, "region", {"region": "eu"}, EU) == OK
    assert methods == ["tools/list", "tools/call"]


async def test_older_revisions_have_no_headers_to_check() -> None:
    shop = Shop(("region", REGION))
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "region", "arguments": {"n": 1}}}'
    pairs = headers("tools/call", mcp_protocol_version="2025-11-25", mcp_method=None)
    async with serving(shop.server, stateless_http=True) as app:
        answer = await ask(app, [*pairs, (b"mcp-param-n", b"2")], body)
    assert answer.status == 200
    assert shop.asked == []
