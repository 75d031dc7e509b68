"""The application around the endpoint behaves as Starlette's, whatever is done to it."""

import functools
import traceback
from collections.abc import Callable
from typing import Any

import anyio
import httpx2
import pytest
from starlette import routing
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Host, Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp.server.http_app import shorten_way

pytestmark = pytest.mark.anyio


class Endpoint:
    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.failure: Exception | None = None
        self.late_failure: Exception | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(dict(scope))
        if self.failure is not None:
            raise self.failure
        await PlainTextResponse("endpoint")(scope, receive, send)
        if self.late_failure is not None:
            raise self.late_failure


class Marked:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["marked"] = True
        await self._app(scope, receive, send)


async def other(request: Request) -> Response:
    return PlainTextResponse("other")


async def on_error(request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"handled {error}", status_code=418)


def built(
    kind: str, endpoint: Endpoint, path: str = "/mcp", starlette: type[Starlette] = Starlette, **options: Any
) -> Starlette:
    route = Route(path, endpoint=endpoint)
    app = starlette(routes=[route, Route("/other", other)], **options)
    if kind == "ours":
        shorten_way(app, route)
    return app


async def ask(app: ASGIApp, path: str, method: str = "POST", **options: Any) -> httpx2.Response:
    transport = httpx2.ASGITransport(app, **options)
    client: Any = httpx2.AsyncClient(transport=transport, base_url="http://localhost")
    async with client:
        return await client.request(method, path)


@pytest.fixture(params=["ours", "starlette"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS"])
async def test_the_endpoint_knows_what_it_always_knew(kind: str, method: str) -> None:
    endpoint = Endpoint()
    app = built(kind, endpoint)
    assert (await ask(app, "/mcp", method)).text == "endpoint"
    scope = endpoint.scopes[0]
    assert scope["app"] is app
    assert scope["router"] is app.router
    assert scope["endpoint"] is endpoint
    assert scope["path_params"] == {}
    assert scope.get("route", app.routes[0]) is app.routes[0]


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [("/other", 405, ""), ("/nothing", 404, ""), ("/", 404, ""), ("/mcp/more", 404, ""), ("/%6dcp", 200, "endpoint")],
)
async def test_other_paths_lead_where_they_always_led(kind: str, path: str, status: int, text: str) -> None:
    answer = await ask(built(kind, Endpoint()), path)
    assert answer.status_code == status
    assert text in answer.text


async def test_other_routes_are_served(kind: str) -> None:
    assert (await ask(built(kind, Endpoint()), "/other", "GET")).text == "other"


async def test_a_route_that_comes_later_and_stands_before_wins(kind: str) -> None:
    app = built(kind, Endpoint())
    assert (await ask(app, "/mcp", "GET")).text == "endpoint"
    app.routes.insert(0, Route("/mcp", other))
    assert (await ask(app, "/mcp", "GET")).text == "other"
    app.routes.clear()
    assert (await ask(app, "/mcp", "GET")).status_code == 404


async def test_middleware_is_on_the_way(kind: str) -> None:
    given, added = Endpoint(), Endpoint()
    await ask(built(kind, given, middleware=[Middleware(Marked)]), "/mcp")
    app = built(kind, added)
    app.add_middleware(Marked)
    await ask(app, "/mcp")
    assert given.scopes[0]["marked"]
    assert added.scopes[0]["marked"]


class MarkedErrors(ServerErrorMiddleware):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["marked"] = True
        await super().__call__(scope, receive, send)


async def test_a_stack_of_a_subclass_of_its_own_is_on_the_way(kind: str) -> None:
    class Own(Starlette):
        def build_middleware_stack(self) -> ASGIApp:
            return MarkedErrors(ExceptionMiddleware(self.router))

    endpoint = Endpoint()
    app = built(kind, endpoint, starlette=Own)
    await ask(app, "/mcp")
    assert endpoint.scopes[0]["marked"]


async def test_middleware_of_the_router_is_on_the_way(kind: str) -> None:
    endpoint = Endpoint()
    app = built(kind, endpoint)
    app.router.middleware_stack = Marked(app.router.middleware_stack)
    await ask(app, "/mcp")
    assert endpoint.scopes[0]["marked"]


@pytest.mark.parametrize("key", [ValueError, Exception, 500])
async def test_a_handler_of_exceptions_is_asked(kind: str, key: Any) -> None:
    endpoint = Endpoint()
    endpoint.failure = ValueError("lost")
    app = built(kind, endpoint, exception_handlers={key: on_error})
    answer = await ask(app, "/mcp", raise_app_exceptions=False)
    assert (answer.status_code, answer.text) == (418, "handled lost")


async def test_the_debug_mode_shows_what_went_wrong(kind: str) -> None:
    endpoint = Endpoint()
    endpoint.failure = ValueError("lost")
    answer = await ask(built(kind, endpoint, debug=True), "/mcp", raise_app_exceptions=False)
    assert answer.status_code == 500
    assert "ValueError: lost" in answer.text


async def test_what_the_endpoint_raises_reaches_the_http_server_and_the_client_has_an_answer(kind: str) -> None:
    endpoint = Endpoint()
    endpoint.failure = ValueError("lost")
    app = built(kind, endpoint)
    with pytest.raises(ValueError, match="lost"):
        await ask(app, "/mcp")
    answer = await ask(app, "/mcp", raise_app_exceptions=False)
    assert (answer.status_code, answer.text) == (500, "Internal Server Error")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


async def test_an_exception_that_is_an_answer_is_one(kind: str) -> None:
    endpoint = Endpoint()
    endpoint.failure = HTTPException(429, "later", headers={"Retry-After": "5"})
    answer = await ask(built(kind, endpoint), "/mcp")
    assert (answer.status_code, answer.text, answer.headers["retry-after"]) == (429, "later", "5")


async def test_an_answer_that_breaks_off_is_not_begun_anew(kind: str) -> None:
    endpoint = Endpoint()
    endpoint.late_failure = ValueError("lost")
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    scope: Scope = {"type": "http", "path": "/mcp", "method": "POST", "headers": [], "query_string": b""}
    with pytest.raises(ValueError, match="lost"):
        await built(kind, endpoint)(scope, receive, send)
    assert sent == ["http.response.start", "http.response.body"]


async def test_what_an_outer_application_has_read_stays_known(kind: str) -> None:
    endpoint = Endpoint()
    inner = built(kind, endpoint)
    outer = Starlette(
        routes=[Route("/away", other, name="away"), Host("{tenant}.example.org", app=inner), Mount("/", app=inner)]
    )
    for host, params in (("acme.example.org", {"tenant": "acme"}), ("localhost", {})):
        transport = httpx2.ASGITransport(outer)
        client: Any = httpx2.AsyncClient(transport=transport, base_url=f"http://{host}")
        async with client:
            await client.post("/mcp")
        scope = endpoint.scopes.pop()
        assert scope["path_params"] == params
        assert scope["router"] is outer.router


async def test_changes_after_the_start_are_seen(kind: str) -> None:
    endpoint = Endpoint()
    app = built(kind, endpoint)
    await ask(app, "/mcp")
    app.router.middleware_stack = Marked(app.router.middleware_stack)
    await ask(app, "/mcp")
    assert endpoint.scopes[1]["marked"]
    route = app.routes[0]
    assert isinstance(route, Route)
    route.methods = {"GET"}
    assert (await ask(app, "/mcp")).status_code == 405


async def test_mounted_it_is_found_below_its_place(kind: str) -> None:
    endpoint = Endpoint()
    app = Starlette(routes=[Mount("/below", app=built(kind, endpoint))])
    assert (await ask(app, "/below/mcp")).text == "endpoint"
    assert (await ask(app, "/mcp")).status_code == 404
    assert len(endpoint.scopes) == 1


async def test_a_place_that_ends_like_the_path_is_no_endpoint(kind: str) -> None:
    endpoint = Endpoint()
    app = Starlette(routes=[Mount("/mcp", app=built(kind, endpoint))])
    assert (await ask(app, "/mcp")).status_code in (307, 404)
    assert (await ask(app, "/mcp/mcp")).text == "endpoint"
    assert len(endpoint.scopes) == 1


async def test_a_path_with_parameters_is_read(kind: str) -> None:
    endpoint = Endpoint()
    await ask(built(kind, endpoint, path="/{tenant}/mcp"), "/us/mcp")
    assert endpoint.scopes[0]["path_params"] == {"tenant": "us"}


async def test_a_websocket_is_turned_away(kind: str) -> None:
    sent: list[Any] = []
    app = built(kind, Endpoint())

    async def receive() -> Any:
        await anyio.sleep_forever()

    async def send(message: Any) -> None:
        sent.append(message["type"])

    scope: Scope = {"type": "websocket", "path": "/mcp", "headers": [], "root_path": "", "query_string": b""}
    await app(scope, receive, send)
    assert sent == ["websocket.close"]


@pytest.mark.parametrize(
    ("owner", "method"),
    [
        (Starlette, "__call__"),
        (Starlette, "build_middleware_stack"),
        (ServerErrorMiddleware, "__call__"),
        (ExceptionMiddleware, "__call__"),
        (Router, "__call__"),
        (Router, "app"),
        (Route, "matches"),
        (Route, "handle"),
    ],
)
async def test_what_replaces_starlettes_methods_is_called(
    kind: str, owner: type, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As tools that watch applications do."""
    seen: list[str] = []
    original: Callable[..., Any] = getattr(owner, method)

    @functools.wraps(original)
    def watched(*args: Any) -> Any:
        seen.append(method)
        return original(*args)

    monkeypatch.setattr(owner, method, watched)
    await ask(built(kind, Endpoint()), "/mcp")
    assert seen == [method]


async def test_the_way_is_shorter_where_nothing_is_in_it(kind: str) -> None:
    files: list[str] = []

    class Watching(Endpoint):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            files.extend(frame.filename for frame in traceback.extract_stack())
            await super().__call__(scope, receive, send)

    assert (await ask(built(kind, Watching()), "/mcp")).text == "endpoint"
    assert (routing.__file__ in files) is (kind == "starlette")
