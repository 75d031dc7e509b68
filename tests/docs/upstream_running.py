"""What the pages of docs/run say about their programs."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import httpx2
from upstream_statements import ERAS, error_of, exported, in_both_eras, printed, refusal, states, texts

sys.path.insert(0, str(Path(__file__).parents[1] / "drivers"))

from scripted_http_server import own_client
from served_app import served

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "curl", "version": "1"},
    },
}
JSON_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


async def over_http(app: Any, path: str, ask: Callable[[Client], Awaitable[object]], **options: Any) -> object:
    """What a client learns over HTTP, in either era; both where they differ."""
    with served(app) as origin:
        seen: list[object] = []
        for mode in ERAS:
            async with Client(f"{origin}{path}", mode=mode, **options) as client:
                seen.append(await ask(client))
    return seen[0] if seen[0] == seen[1] else seen


async def posted(app: Any, path: str = "/mcp", **headers: str) -> httpx2.Response:
    """The response to an `initialize` request, as curl sends it."""
    with served(app) as origin:
        async with own_client() as http:
            return await http.post(f"{origin}{path}", json=INITIALIZE, headers={**JSON_HEADERS, **headers})


def calling(tool: str, **arguments: object) -> Callable[[Client], Awaitable[object]]:
    async def ask(client: Client) -> object:
        return texts(await client.call_tool(tool, arguments))

    return ask


SAVED = ["Saved: x"]
add_note = calling("add_note", text="x")

# docs/run/asgi.md

ENDPOINTS = (
    ("asgi/tutorial001", "/mcp"),
    ("asgi/tutorial002", "/mcp"),
    ("asgi/tutorial003", "/notes/mcp"),
    ("asgi/tutorial004", "/notes"),
    ("asgi/tutorial006", "/mcp"),
    ("deploy/tutorial001", "/mcp"),
)

for name, path in ENDPOINTS[:-1]:

    @states(name, f"the endpoint is {path}, in both eras", SAVED)
    async def _(program: ModuleType, path: str = path) -> object:
        return await over_http(program.app, path, add_note)


@states("asgi/tutorial003", "the second server is at /tasks/mcp", ["Created: x"])
async def _(program: ModuleType) -> object:
    return await over_http(program.app, "/tasks/mcp", calling("add_task", title="x"))


@states("asgi/tutorial001", "an ordinary Starlette app with one route", ["Starlette", ["/mcp"]])
async def _(program: ModuleType) -> object:
    return [type(program.app).__name__, [route.path for route in program.app.routes]]


@states("asgi/tutorial001", "localhost only, until you say otherwise", [421, True])
async def _(program: ModuleType) -> object:
    response = await posted(program.app, Host="mcp.example.com")
    return [response.status_code, response.text.startswith("Invalid Host header")]


@states("asgi/tutorial001", "it serves the superseded transport too", SAVED)
async def _(program: ModuleType) -> object:
    from mcp.client.sse import sse_client

    with served(program.mcp.sse_app()) as origin:
        async with Client(sse_client(f"{origin}/sse"), mode="legacy") as client:
            return await add_note(client)


@states("asgi/tutorial002", "the manager exists only after the app was built", "RuntimeError")
async def _(program: ModuleType) -> object:
    return refusal(lambda: program.MCPServer("x").session_manager).partition(":")[0]


@states("asgi/tutorial002", "Host routes by hostname; the allowlist still runs first", [421, 200])
async def _(program: ModuleType) -> object:
    from starlette.routing import Host

    from mcp.server.transport_security import TransportSecuritySettings

    seen: list[int] = []
    for security in (None, TransportSecuritySettings(allowed_hosts=["mcp.example.com"])):
        mcp = program.MCPServer("Notes")
        route = Host("mcp.example.com", app=mcp.streamable_http_app(transport_security=security))

        @contextlib.asynccontextmanager
        async def lifespan(app: object, mcp: Any = mcp) -> AsyncGenerator[None, None]:
            async with mcp.session_manager.run():
                yield

        response = await posted(program.Starlette(routes=[route], lifespan=lifespan), Host="mcp.example.com")
        seen.append(response.status_code)
    return seen


@states("asgi/tutorial002", "FastAPI-like hosts: a lifespan entered twice is refused", True)
async def _(program: ModuleType) -> object:
    async def twice() -> None:
        for _ in range(2):
            async with program.mcp.session_manager.run():
                pass

    seen = await error_of(twice())
    words = "RuntimeError: StreamableHTTPSessionManager .run() can only be called once per instance."
    return str(seen).startswith(words) or seen


CORS = "asgi/tutorial005"
APP_ORIGIN = "https://app.example.com"


@states(
    CORS,
    "the preflight grants every header a browser sends",
    [200, APP_ORIGIN, {"GET", "POST", "DELETE"}, True],
)
async def _(program: ModuleType) -> object:
    wanted = "content-type, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, last-event-id, authorization"
    with served(program.app) as origin:
        async with own_client() as http:
            response = await http.options(
                f"{origin}/mcp",
                headers={
                    "Origin": APP_ORIGIN,
                    "Access-Control-Request-Method": "POST",
                    "Access-Control-Request-Headers": wanted,
                },
            )
    methods = {method.strip() for method in response.headers["access-control-allow-methods"].split(",")}
    granted = response.headers["access-control-allow-headers"].lower()
    return [
        response.status_code,
        response.headers["access-control-allow-origin"],
        methods,
        all(name in granted for name in wanted.split(", ")),
    ]


@states(CORS, "the session id is exposed, and readable", [200, "mcp-session-id", True])
async def _(program: ModuleType) -> object:
    response = await posted(program.app, Host="mcp.example.com", Origin=APP_ORIGIN)
    exposed = response.headers["access-control-expose-headers"].lower()
    return [response.status_code, exposed, "mcp-session-id" in response.headers]


@states(CORS, "an origin the transport does not trust gets a 403", [403, True])
async def _(program: ModuleType) -> object:
    response = await posted(program.app, Host="mcp.example.com", Origin="https://evil.example.com")
    return [response.status_code, response.text.startswith("Invalid Origin header")]


@states("asgi/tutorial006", "a plain route beside /mcp", [["/mcp", "/health"], {"status": "ok"}])
async def _(program: ModuleType) -> object:
    with served(program.app) as origin:
        async with own_client() as http:
            response = await http.get(f"{origin}/health")
    return [[route.path for route in program.app.routes], response.json()]


# docs/run/deploy.md; its rounds are in upstream_rounds

DEPLOYED = "deploy/tutorial001"


@states(DEPLOYED, "the allowlist: exact names, any port, nothing else", [200, 200, 421, 200, 403])
async def _(program: ModuleType) -> object:
    headers = [
        {"Host": "mcp.example.com"},
        {"Host": "mcp.example.com:8443"},
        {"Host": "other.example.com"},
        {"Host": "mcp.example.com", "Origin": APP_ORIGIN},
        {"Host": "mcp.example.com", "Origin": "https://other.example.com"},
    ]
    with served(program.app) as origin:
        async with own_client() as http:
            return [
                (await http.post(f"{origin}/mcp", json=INITIALIZE, headers={**JSON_HEADERS, **more})).status_code
                for more in headers
            ]


@states(DEPLOYED, "both eras behind the real hostname", [["Saved: x"]] * 2)
async def _(program: ModuleType) -> object:
    with served(program.app) as origin:
        async with own_client(headers={"Host": "mcp.example.com"}) as http:
            seen: list[object] = []
            for mode in ERAS:
                transport = streamable_http_client(f"{origin}/mcp", http_client=http)
                async with Client(transport, mode=mode) as client:
                    seen.append(await add_note(client))
    return seen


@states(DEPLOYED, "a 2026 response never sets Mcp-Session-Id, a legacy one does", [False, True])
async def _(program: ModuleType) -> object:
    ids: list[bool] = []

    async def note(response: httpx2.Response) -> None:
        ids.append("mcp-session-id" in response.headers)

    with served(program.app) as origin:
        hooks: Any = {"response": [note]}
        async with own_client(headers={"Host": "mcp.example.com"}, event_hooks=hooks) as http:
            seen: list[object] = []
            for mode in ERAS:
                ids.clear()
                async with Client(streamable_http_client(f"{origin}/mcp", http_client=http), mode=mode) as client:
                    await add_note(client)
                seen.append(any(ids))
    return seen


# docs/run/index.md


async def over_stdio(program: ModuleType, ask: Callable[[Client], Awaitable[object]]) -> object:
    """What a client learns of a program that is launched, in either era."""
    seen: list[object] = []
    for mode in ERAS:
        server = StdioServerParameters(command=sys.executable, args=[str(program.__file__)])
        async with Client(server, mode=mode) as client:
            seen.append(await ask(client))
    return seen[0] if seen[0] == seen[1] else seen


FOUND = ["Found 3 books matching 'dune'."]

for number in "13":

    @states(f"run/tutorial00{number}", "launched, it speaks over its pipes", FOUND)
    async def _(program: ModuleType) -> object:
        return await over_stdio(program, calling("search_books", query="dune"))


@states("real_host/tutorial001", "launched by a host", ["Frank Herbert"])
async def _(program: ModuleType) -> object:
    return await over_stdio(program, calling("get_author", title="Dune"))


@states("real_host/tutorial001", "`mcp run` launches it too", ["Frank Herbert"])
async def _(program: ModuleType) -> object:
    command = str(Path(sys.executable).parent / "mcp")
    server = StdioServerParameters(command=command, args=["run", str(program.__file__)])
    async with Client(server) as client:
        return await calling("get_author", title="Dune")(client)


for number in "123":

    @states(f"run/tutorial00{number}", "all three expose the identical tool", ["search_books"])
    async def _(program: ModuleType) -> object:
        async def ask(client: Client) -> object:
            return [tool.name for tool in (await client.list_tools()).tools]

        return await in_both_eras(program, ask)


@states("run/tutorial001", "by itself it prints nothing, and waits until its input ends", ["", 0])
async def _(program: ModuleType) -> object:
    done = await anyio.run_process([sys.executable, str(program.__file__)], input=b"", check=False)
    return [done.stdout.decode(), done.returncode]


@states("run/tutorial002", "one line serves it on its port", FOUND)
async def _(program: ModuleType) -> object:
    command = [sys.executable, str(program.__file__)]
    async with await anyio.open_process(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            with anyio.fail_after(20):
                while not listening(3001):
                    assert process.returncode is None, "the port is taken"
                    await anyio.sleep(0.05)
            seen: list[object] = []
            for mode in ERAS:
                async with Client("http://127.0.0.1:3001/mcp", mode=mode) as client:
                    seen.append(await calling("search_books", query="dune")(client))
            return seen[0] if seen[0] == seen[1] else seen
        finally:
            process.terminate()


def listening(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@states(
    "run/tutorial002",
    "transport options do not belong to the constructor",
    "TypeError: MCPServer.__init__() got an unexpected keyword argument 'port'",
)
async def _(program: ModuleType) -> object:
    return refusal(lambda: program.MCPServer("Bookshop", port=3001))


@states("run/tutorial003", "log_level and debug land on mcp.settings", ["DEBUG", False, "INFO"])
async def _(program: ModuleType) -> object:
    return [program.mcp.settings.log_level, program.mcp.settings.debug, program.MCPServer("x").settings.log_level]


NOISY = """
import logging, sys
sys.path.insert(0, {folder!r})
import tutorial003 as program
@program.mcp.tool()
def noisy() -> str:
    print("to stdout", flush=True)
    logging.getLogger("own").debug("to the log")
    return "quiet"
program.mcp.run()
"""


@states(
    "run/tutorial003",
    "stdout is the wire: flushed output goes to stderr, and so does a log at its level",
    [["quiet"], True, True],
)
async def _(program: ModuleType) -> object:
    from mcp.client.stdio import stdio_client

    code = NOISY.format(folder=os.path.dirname(str(program.__file__)))
    server = StdioServerParameters(command=sys.executable, args=["-c", code])
    with tempfile.TemporaryFile("w+") as log:
        async with Client(stdio_client(server, errlog=log)) as client:
            said = await calling("noisy")(client)
        log.seek(0)
        lines = log.read()
    return [said, "to stdout" in lines, "to the log" in lines]


@states("run/tutorial001", "a body of 4 MiB and more is answered with 413", 413)
async def _(program: ModuleType) -> object:
    with served(program.mcp.streamable_http_app()) as origin:
        async with own_client() as http:
            body = json.dumps({**INITIALIZE, "padding": "x" * 4 * 1024 * 1024})
            return (await http.post(f"{origin}/mcp", content=body, headers=JSON_HEADERS)).status_code


# docs/run/opentelemetry.md


@states(
    "opentelemetry/tutorial001",
    "a call is a SERVER span with the GenAI attributes, a listing is bare",
    [
        (
            "tools/call search_books",
            {
                "mcp.method.name": "tools/call",
                "mcp.protocol.version": "2026-07-28",
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "search_books",
            },
        ),
        ("tools/list", {"mcp.method.name": "tools/list", "mcp.protocol.version": "2026-07-28"}),
    ],
)
async def _(program: ModuleType) -> object:
    spans = exported()
    async with Client(program.mcp) as client:
        await client.call_tool("search_books", {"query": "dune"})
        await client.list_tools()
    # The client lists once more by itself, for the output schema.
    found = {name: attributes for kind, name, attributes in spans() if kind == "SERVER" and "tools" in name}
    for attributes in found.values():
        assert attributes.pop("jsonrpc.request.id")
    return list(found.items())


@states("opentelemetry/tutorial001", "the documented lines turn it off", ["CLIENT"])
async def _(program: ModuleType) -> object:
    from mcp.server._otel import OpenTelemetryMiddleware

    mcp = program.mcp
    mcp._lowlevel_server.middleware[:] = [
        m for m in mcp._lowlevel_server.middleware if not isinstance(m, OpenTelemetryMiddleware)
    ]
    spans = exported()
    async with Client(mcp) as client:
        await client.call_tool("search_books", {"query": "dune"})
    return sorted({kind for kind, _, _ in spans()})


@states("opentelemetry/tutorial001", "a prompt has its name in the span", {"gen_ai.prompt.name": "greet"})
async def _(program: ModuleType) -> object:
    @program.mcp.prompt()
    def greet() -> str:
        return "hello"

    spans = exported()
    async with Client(program.mcp) as client:
        await client.get_prompt("greet")
    [attributes] = [attributes for kind, name, attributes in spans() if kind == "SERVER" and "prompts/get" in name]
    return {key: value for key, value in attributes.items() if key.startswith("gen_ai")}


# docs/run/legacy-clients.md

RESERVED = ["Reserved 2 of 'Dune'."]


@states(
    "legacy_clients/tutorial001",
    "same server, same handler, same answer",
    "2025-11-25 {'result': \"Reserved 2 of 'Dune'.\"}\n2026-07-28 {'result': \"Reserved 2 of 'Dune'.\"}\n",
)
async def _(program: ModuleType) -> object:
    return await printed(program.main())


@states("legacy_clients/tutorial001", "the same over HTTP", RESERVED)
async def _(program: ModuleType) -> object:
    app = program.mcp.streamable_http_app()
    return await over_http(app, "/mcp", calling("reserve", title="Dune"), elicitation_callback=program.answer)


async def two_copies(context: object, params: object) -> ElicitResult:
    return ElicitResult(action="accept", content={"copies": 2})


NO_BACK_CHANNEL = (
    "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests."
)


async def tried(app: Any, tool: str, arguments: dict[str, Any], mode: str, callback: Any) -> object:
    """The texts of a call over HTTP, or the message of its error."""
    with served(app) as origin:
        async with Client(f"{origin}/mcp", mode=mode, elicitation_callback=callback) as client:
            try:
                return texts(await client.call_tool(tool, arguments))
            except Exception as error:
                return str(error)


@states(
    "legacy_clients/tutorial002",
    "stateless: the modern leg did not change, the legacy one cannot ask",
    [RESERVED, NO_BACK_CHANNEL],
)
async def _(program: ModuleType) -> object:
    apps = [program.app, program.mcp.streamable_http_app(stateless_http=True)]
    return [
        await tried(app, "reserve", {"title": "Dune"}, mode, two_copies) for app, mode in zip(apps, ERAS, strict=True)
    ]


@states("legacy_clients/tutorial002", "json_response=True takes the same cost on a legacy session", NO_BACK_CHANNEL)
async def _(program: ModuleType) -> object:
    app = program.mcp.streamable_http_app(json_response=True)
    return await tried(app, "reserve", {"title": "Dune"}, "legacy", two_copies)


@states("legacy_clients/tutorial002", "no session id is issued", False)
async def _(program: ModuleType) -> object:
    return "mcp-session-id" in (await posted(program.app)).headers


RESTOCK = "legacy_clients/tutorial003"


@states(RESTOCK, "two lines reach both eras, over HTTP", ["stock://Dune", ["ResourceUpdatedNotification"]])
async def _(program: ModuleType) -> object:
    told = anyio.Event()
    heard: list[str] = []

    async def hear(message: object) -> None:
        heard.append(type(message).__name__)
        told.set()

    with served(program.mcp.streamable_http_app()) as origin:
        url = f"{origin}/mcp"
        async with (
            Client(url) as modern,
            Client(url, mode="legacy", message_handler=hear) as legacy,
            modern.listen(resource_subscriptions=["stock://Dune"]) as subscription,
        ):
            await modern.call_tool("restock", {"title": "Dune", "copies": 2})
            event: Any = await anext(subscription)
            with anyio.fail_after(20):
                while not told.is_set():
                    # Its standalone stream may still be on its way.
                    await legacy.call_tool("restock", {"title": "Dune", "copies": 2})
                    await anyio.sleep(0.05)
            return [event.uri, heard[:1]]


@states(RESTOCK, "the tool answers in either era", [["5 in stock"], ["7 in stock"]])
async def _(program: ModuleType) -> object:
    seen: list[object] = []
    for mode in ERAS:
        async with Client(program.mcp, mode=mode) as client:
            seen.append(await calling("restock", title="Dune", copies=2)(client))
    return seen
