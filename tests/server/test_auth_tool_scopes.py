"""Tools that need scopes: who is told of them, who may call them, and what the others are answered."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio.to_thread
import httpx2
import pytest
import served_app
from protecting import (
    METADATA_URL,
    Known,
    bearer,
    challenge_of,
    handshake,
    http_to,
    modern,
    opened,
    request,
    settings,
    token,
)

from mcp import Client, MCPError
from mcp.client.sse import sse_client
from mcp.server import CacheHint, MCPServer, Server, ServerRequestContext
from mcp.server.extension import Extension, ToolBinding
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.types import CallToolRequestParams, CallToolResult
from mcp.types import Tool as MCPTool

pytestmark = pytest.mark.anyio

READER = token("reader", "read")
WRITER = token("writer", "read", "write")
ADMIN = token("admin", "read", "write", "admin", "unheard-of")
TOKENS = (READER, WRITER, ADMIN)

ran: list[str] = []
wiped = threading.Event()


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()
    wiped.clear()


def server(cls: type[MCPServer[Any]] = MCPServer, **options: Any) -> MCPServer[Any]:
    """A protected server with a tool for each kind of caller."""
    given: dict[str, Any] = {"token_verifier": Known(*TOKENS), "auth": settings(), **options}
    mcp = cls("scoped", **given)

    @mcp.tool()
    def look() -> str:
        ran.append("look")
        return "looked"

    @mcp.tool(scopes=["write"])
    def change() -> str:
        ran.append("change")
        return "changed"

    def wipe() -> str:
        ran.append("wipe")
        wiped.set()
        return "wiped"

    mcp.add_tool(wipe, scopes=["write", "admin"])
    return mcp


def names(answer: Any) -> list[str]:
    return [tool["name"] for tool in answer.json()["result"]["tools"]]


VISIBLE = [(READER, ["look"]), (WRITER, ["look", "change"]), (ADMIN, ["look", "change", "wipe"])]


@pytest.mark.parametrize("options", [{}, {"stateless_http": True}], ids=["sessions", "stateless"])
async def test_each_caller_is_told_of_the_tools_that_it_may_call(options: dict[str, Any]) -> None:
    async with http_to(server().streamable_http_app(json_response=True, **options)) as http:
        for _ in range(2):
            for who, visible in VISIBLE:
                assert names(await modern(http, "tools/list", who.token)) == visible
                session = None if options else await opened(http, who.token)
                listed = await handshake(http, request("tools/list"), who.token, session)
                assert names(listed) == visible


async def call(http: Any, era: str, tool: str, who: str) -> Any:
    if era == "modern":
        return await modern(http, "tools/call", who, name=tool, arguments={})
    session = await opened(http, who) if era == "handshake" else None
    return await handshake(http, request("tools/call", name=tool, arguments={}), who, session)


CALLS = [
    pytest.param(
        era, {"json_response": json, "stateless_http": era == "stateless"}, id=f"{era}-{'json' if json else 'sse'}"
    )
    for era in ("modern", "handshake", "stateless")
    for json in (False, True)
]


@pytest.mark.parametrize(("era", "options"), CALLS)
async def test_a_call_without_the_scopes_of_the_tool_is_refused_with_what_it_needs(
    era: str, options: dict[str, Any]
) -> None:
    async with http_to(server().streamable_http_app(**options)) as http:
        refused = await call(http, era, "wipe", "writer")
        assert refused.status_code == 403
        assert challenge_of(refused) == {
            "error": "insufficient_scope",
            "error_description": "Required scope: write admin",
            "resource_metadata": METADATA_URL,
            "scope": "read write admin",
        }
        assert refused.json() == {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {
                "code": -32600,
                "message": "The tool 'wipe' needs the scope write admin, which the access token lacks",
            },
        }
        assert ran == []
        for tool, who in (("look", "reader"), ("change", "writer"), ("wipe", "admin")):
            assert (await call(http, era, tool, who)).status_code == 200
        assert ran == ["look", "change", "wipe"]


async def test_a_call_is_refused_before_any_middleware_or_extension_sees_it() -> None:
    seen: list[str] = []

    class Watching(Extension):
        identifier = "com.example/watching"

        async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
            seen.append(params.name)
            return await call_next(ctx)

    async def middleware(ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        seen.append(ctx.method)
        return await call_next(ctx)

    mcp = server(extensions=[Watching()], middleware=[middleware])
    async with http_to(mcp.streamable_http_app()) as http:
        assert (await call(http, "modern", "change", "reader")).status_code == 403
        assert seen == []
        assert (await call(http, "modern", "change", "writer")).status_code == 200
        assert seen == ["tools/call", "change"]


async def test_middleware_that_makes_another_call_of_one_gets_nobody_past_the_scopes() -> None:
    async def middleware(ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        if ctx.method == "tools/call":
            ctx = replace(ctx, params={**(ctx.params or {}), "name": "wipe"})
        return await call_next(ctx)

    async with http_to(server(middleware=[middleware]).streamable_http_app(json_response=True)) as http:
        answer = await call(http, "modern", "look", "writer")
        assert answer.json()["error"]["message"] == "The tool 'wipe' needs the scope admin"
        assert ran == []
        assert (await call(http, "modern", "look", "admin")).status_code == 200
        assert ran == ["wipe"]


async def test_a_batch_with_one_call_that_lacks_a_scope_is_refused_whole() -> None:
    def calls(*tools: str) -> list[dict[str, Any]]:
        return [request("tools/call", id, name=tool, arguments={}) for id, tool in enumerate(tools)]

    async with http_to(server().streamable_http_app(json_response=True)) as http:
        session = await opened(http, "writer", "2025-03-26")
        refused = await handshake(http, calls("look", "change", "wipe"), "writer", session, "2025-03-26")
        assert (refused.status_code, refused.json()["id"]) == (403, None)
        assert challenge_of(refused)["scope"] == "read write admin"
        assert ran == []
        served = await handshake(http, calls("look", "change"), "writer", session, "2025-03-26")
        assert (served.status_code, sorted(ran)) == (200, ["change", "look"])


async def test_a_message_of_sse_without_the_scopes_is_refused_with_what_it_needs() -> None:
    ids: list[str] = []
    with served_app.served(server().sse_app()) as origin:
        events = sse_client(f"{origin}/sse", headers=bearer("writer"), on_session_created=ids.append)
        http: Any = httpx2.AsyncClient(base_url=origin, timeout=20)
        async with http, Client(events, mode="legacy") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["look", "change"]
            await client.call_tool("change", {})
            body = request("tools/call", 99, name="wipe", arguments={})
            url = f"/messages/?session_id={ids[0]}"
            refused = await http.post(url, json=body, headers=bearer("writer"))
            assert (refused.status_code, challenge_of(refused)["scope"]) == (403, "read write admin")
            assert (await http.post(url, json=[body], headers=bearer("writer"))).status_code == 403
            assert ran == ["change"]
            assert (await http.post(url, json=body, headers=bearer("admin"))).status_code == 202
            assert await anyio.to_thread.run_sync(wiped.wait, 20)


async def test_in_memory_there_is_no_authorization_and_every_tool_is_there() -> None:
    async with Client(server()) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["look", "change", "wipe"]
        await client.call_tool("wipe", {})
        assert ran == ["wipe"]


# Servers that nothing protects.


@pytest.mark.parametrize("build", ["streamable_http_app", "sse_app"])
async def test_tools_that_need_scopes_are_not_served_over_http_where_nothing_grants_any(build: str) -> None:
    text = r"^the tools 'change', 'wipe' need scopes, .* give the server auth= and token_verifier="
    bare = server(token_verifier=None, auth=None)
    with pytest.raises(ValueError, match=text):
        getattr(bare, build)()
    empty = MCPServer("late")
    app = getattr(empty, build)()
    empty.add_tool(test_tools_that_need_scopes_are_not_served_over_http_where_nothing_grants_any, "late", scopes=["a"])
    with pytest.raises(ValueError, match=r"^the tools 'late' need scopes"):
        async with app.router.lifespan_context(app):
            raise AssertionError("started")


async def test_a_tool_that_is_added_to_an_open_server_that_runs_is_for_nobody() -> None:
    mcp = MCPServer("open")

    @mcp.tool()
    def secret() -> str:
        return "told"

    async with http_to(mcp.streamable_http_app(json_response=True)) as http:
        assert names(await modern(http, "tools/list")) == ["secret"]
        mcp.remove_tool("secret")
        mcp.add_tool(secret, scopes=["read"])
        assert names(await modern(http, "tools/list")) == []
        refused = await modern(http, "tools/call", name="secret", arguments={})
        assert (refused.status_code, "www-authenticate" in refused.headers) == (403, False)


# What changes.


async def test_tools_that_come_and_go_while_the_server_runs_are_listed_to_whom_they_should() -> None:
    mcp = server()

    def extra() -> str:
        return "more"

    async with http_to(mcp.streamable_http_app(json_response=True)) as http:
        for who, visible in VISIBLE:
            assert names(await modern(http, "tools/list", who.token)) == visible
        mcp.add_tool(extra, scopes=["admin"])
        for who, visible in VISIBLE:
            expected = [*visible, "extra"] if who is ADMIN else visible
            assert names(await modern(http, "tools/list", who.token)) == expected
        assert (await modern(http, "tools/call", "writer", name="extra", arguments={})).status_code == 403
        mcp.remove_tool("extra")
        mcp.add_tool(extra)
        for who, visible in VISIBLE:
            assert names(await modern(http, "tools/list", who.token)) == [*visible, "extra"]
        assert (await modern(http, "tools/call", "reader", name="extra", arguments={})).status_code == 200


@pytest.mark.parametrize(("policy", "kept"), [("warn", ()), ("replace", ("write",)), ("error", ())])
def test_the_scopes_are_those_of_the_tool_that_has_the_name(policy: Any, kept: tuple[str, ...]) -> None:
    mcp = MCPServer("twice", on_duplicate=policy)
    first: Callable[[], str] = lambda: "first"  # noqa: E731
    mcp.add_tool(first, "one")
    if policy == "error":
        with pytest.raises(ValueError, match="one"):
            mcp.add_tool(first, "one", scopes=["write"])
    else:
        mcp.add_tool(first, "one", scopes=["write"])
    assert mcp._tool_manager.scopes == ({"one": kept} if kept else {})


async def test_a_changed_description_reaches_every_kind_of_caller() -> None:
    mcp = server()
    async with http_to(mcp.streamable_http_app(json_response=True)) as http:
        for who, _ in VISIBLE:
            await modern(http, "tools/list", who.token)
        tool = mcp._tool_manager.get_tool("look")
        assert tool is not None
        tool.description = "Looks again."
        for who, _ in VISIBLE:
            listed = (await modern(http, "tools/list", who.token)).json()["result"]["tools"]
            assert listed[0]["description"] == "Looks again."


async def test_a_listing_for_some_is_never_announced_as_good_for_all() -> None:
    hints: Any = {"tools/list": CacheHint(ttl_ms=60_000, scope="public")}
    for mcp in (server(cache_hints=hints), server(Listing, cache_hints=hints)):
        async with http_to(mcp.streamable_http_app(json_response=True)) as http:
            result = (await modern(http, "tools/list", "reader")).json()["result"]
            assert (result["ttlMs"], result["cacheScope"]) == (60_000, "private")


async def test_listings_are_kept_for_a_bounded_number_of_sets_of_scopes() -> None:
    many = [token(f"t{i}", "read", *(f"s{bit}" for bit in range(8) if i & 1 << bit)) for i in range(256)]
    mcp = MCPServer("many", token_verifier=Known(*many), auth=settings())
    for bit in range(8):
        mcp.add_tool(lambda: "", f"tool{bit}", scopes=[f"s{bit}"])
    async with http_to(mcp.streamable_http_app(json_response=True)) as http:
        for i, who in enumerate(many):
            expected = [f"tool{bit}" for bit in range(8) if i & 1 << bit]
            assert names(await modern(http, "tools/list", who.token)) == expected


# Other ways to make a server.


class Listing(MCPServer[Any]):
    """A server with a listing of its own."""

    async def list_tools(self) -> list[MCPTool]:
        return [*await super().list_tools(), MCPTool(name="else", input_schema={"type": "object"})]


async def test_a_listing_of_ones_own_is_filtered_as_well() -> None:
    async with http_to(server(Listing).streamable_http_app(json_response=True)) as http:
        for who, visible in VISIBLE:
            assert names(await modern(http, "tools/list", who.token)) == [*visible, "else"]
    async with Client(server(Listing)) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["look", "change", "wipe", "else"]


async def test_tools_of_the_constructor_and_of_extensions_have_scopes_too() -> None:
    def given() -> str:
        return "given"

    class Adding(Extension):
        identifier = "com.example/adding"

        def tools(self) -> list[ToolBinding]:
            return [ToolBinding(fn=given, kwargs={"name": "extended", "scopes": ["admin"]})]

    tool = Tool.from_function(given, scopes=["admin", "admin"])
    assert tool.scopes == ("admin",)
    mcp = server(tools=[tool], extensions=[Adding()])
    async with http_to(mcp.streamable_http_app(json_response=True)) as http:
        assert names(await modern(http, "tools/list", "writer")) == ["look", "change"]
        assert names(await modern(http, "tools/list", "admin")) == ["given", "extended", "look", "change", "wipe"]
        for name in ("given", "extended"):
            assert (await modern(http, "tools/call", "writer", name=name, arguments={})).status_code == 403


async def test_a_raw_server_says_itself_which_scopes_its_tools_need() -> None:
    async def on_call(ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        ran.append(params.name)
        return CallToolResult(content=[])

    raw = Server("raw", on_call_tool=on_call)
    raw.tool_scopes = {"change": ("write",)}
    with pytest.raises(ValueError, match=r"^the tools 'change' need scopes"):
        raw.streamable_http_app()
    app = raw.streamable_http_app(auth=settings(), token_verifier=Known(*TOKENS), json_response=True)
    async with http_to(app) as http:
        assert (await modern(http, "tools/call", "reader", name="change", arguments={})).status_code == 403
        assert (await modern(http, "tools/call", "reader", name="other", arguments={})).status_code == 200
        assert (await modern(http, "tools/call", "writer", name="change", arguments={})).status_code == 200
    assert ran == ["other", "change"]


async def test_an_endpoint_of_ones_own_that_grants_nothing_serves_no_such_tool() -> None:
    mcp = server(token_verifier=None, auth=None)
    manager = StreamableHTTPSessionManager(mcp._lowlevel_server, json_response=True)
    endpoint: Any = StreamableHTTPASGIApp(manager)
    http: Any = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=endpoint), base_url="http://127.0.0.1:8000")
    async with manager.run(), http:
        assert names(await modern(http, "tools/list")) == ["look"]
        assert (await modern(http, "tools/call", name="wipe", arguments={})).status_code == 403


async def test_an_sse_transport_of_ones_own_that_grants_nothing_runs_no_such_tool() -> None:
    raw = server()._lowlevel_server
    transport = SseServerTransport("/messages/")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] != "/sse":
            await transport.handle_post_message(scope, receive, send)
            return
        async with transport.connect_sse(scope, receive, send) as (read, write):
            await raw.run(read, write, raw.create_initialization_options())

    with served_app.served(app) as origin:
        async with Client(sse_client(f"{origin}/sse")) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["look"]
            with pytest.raises(MCPError, match=r"^The tool 'change' needs the scope write"):
                await client.call_tool("change", {})
    assert ran == []


# What is no scope.


@pytest.mark.parametrize(
    ("scopes", "error", "text"),
    [
        ("write", TypeError, r"scopes= of the tool 'x' takes a list of scopes, such as \['write'\], got the text"),
        ([1], TypeError, "takes a list of scopes as str, got 1 in it"),
        (["two words"], ValueError, "'two words' cannot be a scope"),
        ([""], ValueError, "'' cannot be a scope"),
        (['quo"te'], ValueError, "cannot be a scope"),
        (["gr\xfcn"], ValueError, "cannot be a scope"),
    ],
)
def test_what_cannot_be_a_scope_is_refused_where_it_is_written(scopes: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        MCPServer("wrong").tool("x", scopes=scopes)(lambda: None)


def test_the_scopes_of_a_tool_do_not_change() -> None:
    tool = Tool.from_function(lambda: None, name="fixed", scopes=["write"])
    with pytest.raises(ValueError, match="frozen"):
        tool.scopes = ()
