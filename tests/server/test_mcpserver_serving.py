"""Serving an `MCPServer`: over stdio, over HTTP, and inside an application."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
import pytest
import served_app
from held_port import held_port
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Host, Mount

from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult, TextContent

Mode = Literal["auto", "legacy"]


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    """Both eras."""
    return request.param


def greeter(name: str = "greeter", **options: Any) -> MCPServer:
    mcp = MCPServer(name, **options)

    @mcp.tool()
    def greet(person: str) -> str:
        """Greets a person."""
        return f"Hello, {person}, from {name}!"

    return mcp


def text_of(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


async def greeting(target: Any, mode: Mode = "auto") -> str:
    async with Client(target, mode=mode) as client:
        return text_of(await client.call_tool("greet", {"person": "Ada"}))


# As an application.


def wrong() -> MCPServer:
    """A server with a prompt whose argument is of a type that never comes."""

    def review(code: Any) -> str:
        return ""

    review.__annotations__["code"] = "Missing"
    mcp = greeter()
    mcp.prompt()(review)
    return mcp


async def start(app: Starlette) -> None:
    async with app.router.lifespan_context(app):
        pass


@pytest.mark.anyio
async def test_a_mistake_in_an_annotation_keeps_an_application_from_starting() -> None:
    for app in (wrong().streamable_http_app(), wrong().sse_app()):
        with pytest.raises(InvalidSignature, match="'Missing' is not defined"):
            await start(app)


@pytest.mark.parametrize("transport", ["stdio", "streamable-http", "sse"])
def test_a_mistake_in_an_annotation_keeps_run_from_starting(transport: Any) -> None:
    with pytest.raises(InvalidSignature, match="'Missing' is not defined"):
        wrong().run(transport)


@pytest.mark.anyio
@pytest.mark.parametrize("options", [{}, {"json_response": True}, {"stateless_http": True}])
async def test_streamable_http(mode: Mode, options: dict[str, Any]) -> None:
    with served_app.served(greeter().streamable_http_app(**options)) as origin:
        assert await greeting(f"{origin}/mcp", mode) == "Hello, Ada, from greeter!"


@pytest.mark.anyio
async def test_the_endpoint_may_have_another_path(mode: Mode) -> None:
    with served_app.served(greeter().streamable_http_app(streamable_http_path="/")) as origin:
        assert await greeting(f"{origin}/", mode) == "Hello, Ada, from greeter!"


@pytest.mark.anyio
async def test_two_servers_in_one_application_whose_lifespan_starts_them(mode: Mode) -> None:
    one, two = greeter("one"), greeter("two")
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        async with one.session_manager.run(), two.session_manager.run():
            yield

    app = Starlette(
        routes=[
            Mount("/one", one.streamable_http_app()),
            Host("127.0.0.1", two.streamable_http_app(transport_security=security)),
        ],
        lifespan=lifespan,
    )
    with served_app.served(app) as origin:
        assert await greeting(f"{origin}/one/mcp", mode) == "Hello, Ada, from one!"
        assert await greeting(f"{origin}/mcp", mode) == "Hello, Ada, from two!"


@pytest.mark.anyio
async def test_a_mounted_server_that_nobody_started_works_and_says_how_to_start_it(
    mode: Mode, caplog: pytest.LogCaptureFixture
) -> None:
    app = Starlette(routes=[Mount("/mounted", greeter().streamable_http_app())])
    with served_app.served(app) as origin:
        assert await greeting(f"{origin}/mounted/mcp", mode) == "Hello, Ada, from greeter!"
    assert "session_manager.run()" in caplog.text


@pytest.mark.anyio
async def test_http_with_sse_for_clients_of_2024() -> None:
    app = greeter().sse_app(sse_path="/events", message_path="/inbox/")
    with served_app.served(app) as origin:
        assert await greeting(sse_client(f"{origin}/events"), "legacy") == "Hello, Ada, from greeter!"
    with served_app.served(Starlette(routes=[Mount("/below", greeter().sse_app())])) as origin:
        assert await greeting(sse_client(f"{origin}/below/sse"), "legacy") == "Hello, Ada, from greeter!"


@pytest.mark.anyio
async def test_routes_of_ones_own_stand_beside_the_endpoint() -> None:
    mcp = greeter()

    @mcp.custom_route("/health", methods=["GET"], name="health")
    async def health(request: Request) -> Response:
        return PlainTextResponse("fine")

    for app in (mcp.streamable_http_app(), mcp.sse_app()):
        with served_app.served(app) as origin:
            http = httpx2.AsyncClient()
            async with http:
                answer = await http.get(f"{origin}/health")
        assert (answer.status_code, answer.text) == (200, "fine")


def test_the_session_manager_is_there_once_the_application_is() -> None:
    mcp = greeter()
    with pytest.raises(RuntimeError, match="streamable_http_app"):
        _ = mcp.session_manager
    mcp.streamable_http_app(stateless_http=True)
    assert mcp.session_manager.stateless is True


# As a process.

STDIO = """
from mcp.server import MCPServer
mcp = MCPServer("greeter")
@mcp.tool()
def greet(person: str) -> str:
    print("to stdout, which is not the wire")
    return f"Hello, {person}, from greeter!"
mcp.run()
"""

OVER_HTTP = """
import sys
from mcp.server import MCPServer
mcp = MCPServer("greeter", log_level="WARNING")
@mcp.tool()
def greet(person: str) -> str:
    return f"Hello, {person}, from greeter!"
mcp.run(sys.argv[1], port=int(sys.argv[2]))
"""


@pytest.mark.anyio
async def test_run_serves_stdio(tmp_path: Path, mode: Mode) -> None:
    program = tmp_path / "server.py"
    program.write_text(STDIO)
    parameters = StdioServerParameters(command=sys.executable, args=[str(program)])
    assert await greeting(parameters, mode) == "Hello, Ada, from greeter!"


async def _once_it_listens(port: int) -> None:
    with anyio.fail_after(20):
        while True:
            try:
                stream = await anyio.connect_tcp("127.0.0.1", port)
            except OSError:
                await anyio.sleep(0.05)
            else:
                await stream.aclose()
                return


@pytest.mark.anyio
@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
async def test_run_serves_http_until_it_is_told_to_stop(tmp_path: Path, transport: str) -> None:
    program = tmp_path / "server.py"
    program.write_text(OVER_HTTP)
    with held_port(for_server=True) as port:
        command = [sys.executable, str(program), transport, str(port)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            await _once_it_listens(port)
            origin = f"http://127.0.0.1:{port}"
            target = f"{origin}/mcp" if transport == "streamable-http" else sse_client(f"{origin}/sse")
            assert await greeting(target, "legacy") == "Hello, Ada, from greeter!"
            os.kill(process.pid, signal.SIGINT)
            _, log = process.communicate(timeout=20)
        finally:
            process.kill()
    assert log == ""


def test_an_unknown_transport_is_refused() -> None:
    run: Any = greeter().run
    with pytest.raises(ValueError, match="Unknown transport: http"):
        run("http")


def test_an_option_that_the_transport_has_not_is_refused() -> None:
    run: Any = greeter().run
    with pytest.raises(TypeError, match=r"run\('stdio'\) has no option port; expected none"):
        run("stdio", port=1)
    with pytest.raises(TypeError, match=r"run\('streamable-http'\) has no option color; expected host, port"):
        run("streamable-http", color="red")


def test_options_of_transports_are_none_of_the_constructors() -> None:
    make: Any = MCPServer
    with pytest.raises(TypeError, match="port"):
        make("greeter", port=3001)


# Settings.


def test_what_the_constructor_was_given_can_be_read_back() -> None:
    mcp = MCPServer(
        "named",
        title="Named",
        description="For tests.",
        instructions="Be brief.",
        website_url="https://example.com",
        version="1.2",
        debug=True,
        log_level="DEBUG",
        dependencies=["pandas"],
    )
    assert (mcp.name, mcp.title, mcp.description, mcp.version) == ("named", "Named", "For tests.", "1.2")
    assert (mcp.instructions, mcp.website_url, mcp.icons) == ("Be brief.", "https://example.com", None)
    assert (mcp.settings.debug, mcp.settings.log_level) == (True, "DEBUG")
    assert mcp.settings.dependencies == mcp.dependencies == ["pandas"]
    assert mcp.streamable_http_app().debug is True
    assert MCPServer().name == "mcp-server"
    settings: Any = mcp.settings
    with pytest.raises(ValueError, match='"Settings" object has no field "port"'):
        settings.port = 9000


def test_a_path_begins_with_a_slash() -> None:
    mcp = greeter()
    with pytest.raises(
        ValueError, match=r"^streamable_http_path= must be a path that begins with a slash, .* got 'mcp'$"
    ):
        mcp.streamable_http_app(streamable_http_path="mcp")
    with pytest.raises(ValueError, match=r"^sse_path= must be .* got ''$"):
        mcp.sse_app(sse_path="")
    with pytest.raises(ValueError, match=r"^message_path= must be .* got 'messages/'$"):
        mcp.sse_app(message_path="messages/")
    with pytest.raises(ValueError, match=r"^path= must be .* got 'health'$"):
        mcp.custom_route("health", ["GET"])


def test_the_methods_of_a_route_are_a_list() -> None:
    wrong: Any = greeter().custom_route
    with pytest.raises(TypeError, match=r"^custom_route\(\) takes a list of HTTP methods as methods, got 'GET'$"):
        wrong("/health", methods="GET")
