"""What a server's own listing, behind the check of `Mcp-Param-*` headers, costs, and what becomes of it if it fails."""

import logging
from time import monotonic
from typing import Any

import anyio
import pytest
from asgi_driver import Context, ask, headers, message, serving

from mcp import MCPError, types
from mcp.server import Server
from mcp.server.http_listings import LISTED_SECONDS
from mcp.server.middleware import (
    ConcurrencyLimit,
    ErrorReports,
    OpenTelemetryMiddleware,
    RateLimit,
    RequestLog,
    TimeLimit,
    Timing,
)

pytestmark = pytest.mark.anyio

OK, MISMATCH = (200, None), (400, -32020)
REGION: dict[str, Any] = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
EU, US = (b"mcp-param-region", b"eu"), (b"mcp-param-region", b"us")


class Catalogue:
    """Lists "plain0", "plain1", ... and "region" at the end, a page each."""

    def __init__(self, pages: int = 1) -> None:
        self.pages = pages
        self.cursors: list[str | None] = []
        self.failure: Exception | None = None
        self.hidden_from: list[str] = []
        self.prefix = ""
        self.seconds = 0.0
        self.server = Server("shop", on_list_tools=self.list_tools, on_call_tool=self.call_tool)

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        cursor = None if params is None else params.cursor
        self.cursors.append(cursor)
        await anyio.sleep(self.seconds)
        if self.failure is not None:
            raise self.failure
        index = int((cursor or f"{self.prefix}0").removeprefix(self.prefix))
        last = index == self.pages - 1
        tools = [
            types.Tool(name="region" if last else f"plain{index}", input_schema=REGION if last else {"type": "object"})
        ]
        assert ctx.request is not None
        if getattr(ctx.request.scope.get("user"), "username", None) in self.hidden_from:
            tools = []
        return types.ListToolsResult(tools=tools, next_cursor=None if last else f"{self.prefix}{index + 1}")

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[])


async def status_of(app: Any, tool: str, *pairs: tuple[bytes, bytes]) -> tuple[int, int | None]:
    body = message("tools/call", {"name": tool, "arguments": {"region": "eu"}})
    answer = await ask(app, [*headers("tools/call", tool), *pairs], body)
    return answer.status, answer.json.get("error", {}).get("code")


@pytest.mark.parametrize("failure", [MCPError(-1, "not now"), RuntimeError("the catalogue is on fire")])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_without_a_new_listing_the_last_one_counts(failure: Exception, caplog: pytest.LogCaptureFixture) -> None:
    shop = Catalogue(pages=2)
    async with serving(shop.server) as app:
        assert await status_of(app, "region", US) == MISMATCH
        shop.failure = failure
        assert await status_of(app, "region", US) == MISMATCH
        assert await status_of(app, "region", EU) == OK
    [record] = [record for record in caplog.records if record.name == "mcp.server.http_params"]
    assert record.getMessage().startswith(
        f"tools/list failed, so the headers of a call to 'region' are held against an older listing: {failure}"
    )
    # An answer has no traceback worth a page of log.
    assert bool(record.exc_info) is not isinstance(failure, MCPError)


async def test_no_stranger_can_use_up_the_listing() -> None:
    shop = Catalogue()
    shop.server.middleware.append(RateLimit(3, per=3600, methods={"tools/list"}))
    async with serving(shop.server) as app:
        for _ in range(5):
            assert await status_of(app, "region", US) == MISMATCH


async def test_a_listing_that_takes_too_long_is_cut_off_and_the_last_one_counts() -> None:
    shop = Catalogue()
    shop.server.middleware.append(TimeLimit(0.2))
    async with serving(shop.server) as app:
        assert await status_of(app, "region", US) == MISMATCH
        shop.seconds = 60
        with anyio.fail_after(10):
            assert await status_of(app, "region", US) == MISMATCH


async def test_the_listing_is_charged_to_nobody_and_noted_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    timed: list[str] = []
    reported: list[str] = []
    shop = Catalogue()
    shop.server.middleware += [
        Timing(lambda ctx, seconds, outcome: timed.append(ctx.method)),
        RequestLog(),
        RateLimit(4, per=3600),
        ConcurrencyLimit(1),
        ErrorReports(lambda ctx, failure: reported.append(ctx.method)),
    ]
    async with serving(shop.server) as app:
        with caplog.at_level(logging.INFO, "mcp.server.requests"):
            for _ in range(4):
                assert await status_of(app, "region", EU) == OK
        assert (await status_of(app, "region", EU))[1] == -31429
        shop.failure = KeyError("price")
        assert await status_of(app, "region", US) == MISMATCH
    assert len(shop.cursors) == 2
    assert timed == ["tools/call"] * 5
    assert "tools/list took" not in caplog.text
    # What breaks is told all the same.
    assert reported == ["tools/list"]


async def test_the_listing_has_no_span() -> None:
    seen: list[str] = []

    class Tracing(OpenTelemetryMiddleware):
        async def __call__(self, ctx: Context, call_next: Any, /) -> Any:
            seen.append(ctx.method)
            return await super().__call__(ctx, call_next)

    shop = Catalogue()
    shop.server.middleware[:] = [Tracing()]
    async with serving(shop.server) as app:
        assert await status_of(app, "region", EU) == OK
    assert seen == ["tools/call"]


async def test_middleware_may_say_that_it_is_for_what_clients_send() -> None:
    class Counter:
        received_only = True

        def __init__(self) -> None:
            self.methods: list[str] = []

        async def __call__(self, ctx: Context, call_next: Any, /) -> Any:
            self.methods.append(ctx.method)
            return await call_next(ctx)

    shop, counter = Catalogue(), Counter()
    shop.server.middleware.append(counter)
    async with serving(shop.server) as app:
        assert await status_of(app, "region", EU) == OK
        assert await status_of(app, "region", US) == MISMATCH
    assert counter.methods == ["tools/call"]


async def test_a_tool_that_is_not_listed_costs_one_listing_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Catalogue(pages=20)
    async with serving(shop.server) as app:
        for number in range(4):
            assert await status_of(app, f"hidden{number}", US) == OK
            assert await status_of(app, "hidden", US) == OK
        assert len(shop.cursors) == 20
        _later(monkeypatch)
        assert await status_of(app, "hidden", US) == OK
        assert await status_of(app, "hidden", US) == OK
        assert len(shop.cursors) == 40


async def test_a_call_that_does_not_agree_costs_a_page() -> None:
    shop = Catalogue(pages=20)
    async with serving(shop.server) as app:
        assert await status_of(app, "region", EU) == OK
        for _ in range(3):
            assert await status_of(app, "region", US) == MISMATCH
        assert shop.cursors[20:] == ["19", "19", "19"]
        # The tool has moved, and the cursors are others.
        shop.pages, shop.prefix = 10, "v2-"
        assert await status_of(app, "region", US) == MISMATCH
        assert await status_of(app, "region", EU) == OK
        assert shop.cursors[23:] == ["19", None, *(f"v2-{index}" for index in range(1, 10))]
        shop.pages = 12
        assert await status_of(app, "region", US) == MISMATCH
        assert len(shop.cursors) == 34 + 1 + 12


async def test_cursors_are_not_used_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Catalogue(pages=3)
    async with serving(shop.server) as app:
        assert await status_of(app, "region", US) == MISMATCH
        _later(monkeypatch)
        assert await status_of(app, "region", US) == MISMATCH
    assert shop.cursors == [None, "1", "2"] * 2


async def test_a_client_that_hangs_up_does_not_keep_the_old_listing_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Catalogue()
    async with serving(shop.server) as app:
        assert await status_of(app, "new", US) == OK
        _later(monkeypatch)
        shop.seconds = 60
        with anyio.move_on_after(0.2):
            await status_of(app, "new", US)
        assert len(shop.cursors) == 2
        shop.seconds = 0
        assert await status_of(app, "new", US) == OK
    assert len(shop.cursors) == 3


async def test_a_user_to_whom_a_tool_is_hidden_opens_it_to_nobody() -> None:
    shop = Catalogue()
    shop.hidden_from = ["bob"]
    async with serving(shop.server) as app:
        for _ in range(2):
            assert await status_of(_as(app, "bob"), "region", US) == OK
            assert await status_of(_as(app, "ann"), "region", US) == MISMATCH
        # Users that cannot be told apart by a dictionary share what is known.
        assert await status_of(_as(app, ["bob"]), "region", US) == MISMATCH


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.server.http_listings._MOST_TOOLS", 5)
    shop = Catalogue(pages=20)
    async with serving(shop.server) as app:
        # What was forgotten on the way is not taken for what is not listed.
        assert await status_of(app, "hidden", US) == OK
        assert await status_of(app, "region", US) == MISMATCH
        assert await status_of(app, "plain3", US) == OK


def _later(monkeypatch: pytest.MonkeyPatch) -> None:
    later = monotonic() + LISTED_SECONDS + 1
    monkeypatch.setattr("mcp.server.http_listings.monotonic", lambda: later)


class _User:
    is_authenticated = True

    def __init__(self, username: Any) -> None:
        self.username = username


def _as(app: Any, username: Any) -> Any:
    async def authenticated(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "user": _User(username)}, receive, send)

    return authenticated
