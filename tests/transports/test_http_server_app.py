"""The application round the endpoint: its lifespan, its routes, and what it refuses to be built with."""

import asyncio
import gc
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from asgi_driver import Context, ask, headers, message, post, serving
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Host, Mount, Route

from mcp import types
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

pytestmark = pytest.mark.anyio


class Living:
    """A server whose lifespan is counted."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.server = Server("srv", lifespan=self.lifespan)
        self.server.add_request_handler("acme/state", types.RequestParams, self.state)

    @asynccontextmanager
    async def lifespan(self, server: Server[dict[str, int]]) -> AsyncGenerator[dict[str, int], None]:
        self.log.append("enter")
        yield {"requests": 0}
        self.log.append("leave")

    async def state(self, ctx: Context, params: types.RequestParams) -> dict[str, Any]:
        ctx.lifespan_context["requests"] += 1
        await anyio.sleep(0)
        return dict(ctx.lifespan_context)


async def states(app: Any, path: str = "/mcp") -> int:
    answer = await ask(app, headers("acme/state"), message("acme/state"), path=path)
    assert answer.status == 200, answer.body
    return answer.json["result"]["requests"]


# The lifespan.


async def test_the_lifespan_is_entered_once_and_shared_by_all_requests() -> None:
    living = Living()
    async with serving(living.server) as app:
        assert living.log == ["enter"]
        seen: list[int] = []

        async def one() -> None:
            seen.append(await states(app))

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(one)
        assert await states(app) == 11
        assert max(seen) == 10
    assert living.log == ["enter", "leave"]


async def test_the_applications_own_lifespan_runs_the_manager() -> None:
    living = Living()
    app = living.server.streamable_http_app()
    async with app.router.lifespan_context(app):
        assert await states(app) == 1
    assert living.log == ["enter", "leave"]


async def test_what_the_lifespan_raises_stops_the_application() -> None:
    @asynccontextmanager
    async def failing(server: Server[None]) -> AsyncGenerator[None, None]:
        raise ValueError("no database")
        yield

    server = Server("srv", lifespan=failing)
    app = server.streamable_http_app()
    with pytest.raises(ValueError, match="no database"):
        await app.router.lifespan_context(app).__aenter__()


async def test_a_manager_runs_once() -> None:
    living = Living()
    living.server.streamable_http_app()
    manager = living.server.session_manager
    async with manager.run():
        pass
    with pytest.raises(RuntimeError, match=r"run\(\) can only be called once per instance"):
        await manager.run().__aenter__()
    assert living.log == ["enter", "leave"]


async def test_after_its_end_an_application_says_so() -> None:
    living = Living()
    async with serving(living.server) as app:
        pass
    with pytest.raises(RuntimeError, match="the MCP application was shut down; its lifespan has ended"):
        await post(app, "acme/state")


async def test_two_applications_of_one_server_each_have_a_lifespan() -> None:
    living = Living()
    async with serving(living.server) as first:
        first_manager = living.server.session_manager
        async with serving(living.server) as second:
            assert living.server.session_manager is not first_manager
            assert await states(first) == 1
            assert await states(second) == 1
            assert await states(first) == 2
    assert living.log == ["enter", "enter", "leave", "leave"]


async def test_there_is_no_manager_before_there_is_an_application() -> None:
    with pytest.raises(RuntimeError, match=r"streamable_http_app\(\)"):
        _ = Server("srv").session_manager


# Mounting.


async def test_an_application_can_be_mounted_under_a_prefix() -> None:
    living = Living()
    host = Starlette(routes=[Mount("/api", living.server.streamable_http_app())])
    async with living.server.session_manager.run():
        assert await states(host, "/api/mcp") == 1
        assert (await ask(host, headers("acme/state"), b"", path="/mcp")).status == 404


async def test_the_prefix_can_be_the_whole_path() -> None:
    living = Living()
    host = Starlette(routes=[Mount("/api/mcp", living.server.streamable_http_app(streamable_http_path="/"))])
    async with living.server.session_manager.run():
        assert await states(host, "/api/mcp/") == 1
        moved = await ask(host, headers("acme/state"), message("acme/state"), path="/api/mcp")
    assert (moved.status, moved.headers["location"]) == (307, "http://127.0.0.1:8000/api/mcp/")


async def test_an_application_can_have_a_host_name_of_its_own() -> None:
    living = Living()
    app = living.server.streamable_http_app(host="mcp.example")
    host = Starlette(routes=[Host("mcp.example", app)])
    async with living.server.session_manager.run():
        answer = await ask(host, headers("acme/state", host="mcp.example"), message("acme/state"))
        assert answer.status == 200
        assert (await ask(host, headers("acme/state"), message("acme/state"))).status == 404


@pytest.mark.parametrize("method", ["__call__", "handle_request"])
@pytest.mark.parametrize("early", [True, False])
async def test_what_replaces_a_method_of_the_endpoint_is_called(
    method: str, early: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As tools that watch servers do, before or after the application is built."""
    owner = StreamableHTTPASGIApp if method == "__call__" else StreamableHTTPSessionManager
    original: Any = getattr(owner, method)
    seen: list[str] = []

    async def watched(*args: Any) -> None:
        seen.append(method)
        await original(*args)

    if early:
        monkeypatch.setattr(owner, method, watched)
    living = Living()
    app = living.server.streamable_http_app()
    async with living.server.session_manager.run():
        if not early:
            monkeypatch.setattr(owner, method, watched)
        assert await states(app) == 1
    assert seen == [method]


async def test_the_bare_endpoint_can_be_served_too() -> None:
    living = Living()
    manager = StreamableHTTPSessionManager(living.server, json_response=True)
    async with manager.run():
        answer = await ask(manager.asgi_app, headers("acme/state"), message("acme/state"), path="/any")
        assert answer.status == 200
        answer = await ask(manager.handle_request, headers("acme/state"), message("acme/state"), path="/any")
        assert answer.status == 200


async def test_without_its_lifespan_an_application_starts_itself_and_says_what_is_missing(
    anyio_backend_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    if anyio_backend_name != "asyncio":
        pytest.skip("on trio nobody could hold the lifespan")
    living = Living()
    host = Starlette(routes=[Mount("/api", living.server.streamable_http_app())])

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(states, host, "/api/mcp")
    # The lifespan is held by a task that nobody but the manager knows.
    gc.collect()
    assert await states(host, "/api/mcp") == 6
    assert living.log == ["enter"]
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("mcp.server.streamable_http_manager", logging.WARNING)
    assert "async with server.session_manager.run():" in record.message


def test_what_a_lifespan_raises_at_its_end_is_logged_where_nobody_waits_for_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @asynccontextmanager
    async def failing(server: Server[Any]) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            raise OSError("the disk is full")

    app = Server("srv", lifespan=failing).streamable_http_app()
    request = headers("server/discover"), message("server/discover")
    assert asyncio.run(ask(app, *request)).status == 200
    started, ended = caplog.records
    assert started.levelno == logging.WARNING
    assert (ended.levelno, ended.getMessage()) == (logging.ERROR, "the lifespan of server 'srv' failed at its end")
    assert "the disk is full" in caplog.text


async def test_without_its_lifespan_an_application_on_trio_says_what_is_missing(anyio_backend_name: str) -> None:
    if anyio_backend_name != "trio":
        pytest.skip("on asyncio it starts itself")
    living = Living()
    app = living.server.streamable_http_app()
    with pytest.raises(RuntimeError, match=r"async with server\.session_manager\.run\(\):"):
        await states(app)
    assert living.log == []


# Paths and routes.


@pytest.mark.parametrize(
    ("path", "asked"),
    [("/mcp", "/mcp"), ("/mcp", "/mcp/"), ("/mcp/", "/mcp"), ("/mcp/", "/mcp/"), ("/", "/"), ("/a/b", "/a/b/")],
)
async def test_the_endpoint_answers_with_and_without_a_final_slash(path: str, asked: str) -> None:
    living = Living()
    async with serving(living.server, streamable_http_path=path) as app:
        assert await states(app, asked) == 1


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/"])
def test_the_endpoint_is_one_route(path: str) -> None:
    app = Living().server.streamable_http_app(streamable_http_path=path)
    assert [route.path for route in app.routes if isinstance(route, Route)] == [path]


@pytest.mark.parametrize("path", ["/", "/other", "/mcp/more", "//mcp"])
async def test_any_other_path_is_not_found(path: str) -> None:
    async with serving(Living().server) as app:
        assert (await ask(app, headers("acme/state"), message("acme/state"), path=path)).status == 404


async def test_more_routes_can_be_added() -> None:
    async def health(request: Request) -> Response:
        return PlainTextResponse("well")

    living = Living()
    async with serving(living.server, custom_starlette_routes=[Route("/health", health)]) as app:
        assert (await ask(app, [], b"", verb="GET", path="/health")).body == b"well"
        assert await states(app) == 1


def test_debug_is_starlettes() -> None:
    assert Server("srv").streamable_http_app(debug=True).debug
    assert not Server("srv").streamable_http_app().debug


# What protects the endpoint is whole, or there is no application.


class Falsy:
    """Something that was asked for, and yet is not true."""

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize("value", [object(), Falsy(), {}, False])
@pytest.mark.parametrize("argument", ["auth", "token_verifier", "auth_server_provider"])
def test_half_of_a_protection_is_refused_and_never_left_out(argument: str, value: object) -> None:
    options: dict[str, Any] = {argument: value}
    with pytest.raises((ValueError, TypeError), match="auth"):
        Server("srv").streamable_http_app(**options)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("max_sessions", 0),
        ("max_sessions", -1),
        ("session_idle_timeout", 0),
        ("session_idle_timeout", -1),
        ("session_idle_timeout", float("inf")),
        ("session_idle_timeout", float("nan")),
        ("max_request_body_size", 0),
    ],
)
def test_limits_are_positive(argument: str, value: float) -> None:
    options: dict[str, Any] = {argument: value}
    with pytest.raises(ValueError, match=f"^{argument} must be a positive"):
        Server("srv").streamable_http_app(**options)


def test_limits_may_be_left_out() -> None:
    Server("srv").streamable_http_app(max_sessions=None, session_idle_timeout=None)
