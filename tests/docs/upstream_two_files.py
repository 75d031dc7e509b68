"""What pages say whose server and client are programs of their own, as checks.

The clients look for their server on port 8000 of this machine; here it is served on a free one. A folder of programs
from before, or without them, has none of theirs; the table leaves them out then.
"""

import contextlib
import io
from types import ModuleType
from typing import Any

from served_app import served
from upstream_statements import anew, states, texts

from mcp import Client
from mcp.client import streamable_http

HERE = "http://localhost:8000"


async def printed(program: ModuleType, server: str) -> list[str]:
    """What a client prints that is run against the server of another program."""
    with served(anew(server).mcp.streamable_http_app()) as origin:

        def client(url: str, **options: Any) -> Client:
            return Client(url.replace(HERE, origin), **options)

        program.__dict__["Client"] = client
        with contextlib.redirect_stdout(io.StringIO()) as output:
            await program.main()
    return output.getvalue().splitlines()


@states("extensions/tutorial003_client", "main() prints the capability and the result", [True, True])
async def _(program: ModuleType) -> object:
    [capability, content] = await printed(program, "extensions/tutorial003")
    return ["'com.example/stamps': {'sealed': True}" in capability, "[stamped] hello" in content]


@states("extensions/tutorial004_client", "the client sends a method of its own", ["['mcp-0', 'mcp-1', 'mcp-2']"])
async def _(program: ModuleType) -> object:
    return await printed(program, "extensions/tutorial004")


@states("extensions/tutorial006_client", "call_tool returns an ordinary result", True)
async def _(program: ModuleType) -> object:
    [content] = await printed(program, "extensions/tutorial006")
    return "goods for r-117" in content


@states("extensions/tutorial007_client", "the job's id rides in a header", ["job-7 is running"])
async def _(program: ModuleType) -> object:
    return await printed(program, "extensions/tutorial007")


@states("apps/tutorial001_client", "a client that shows apps gets the bare time", ["2026-06-26T12:00:00Z"])
async def _(program: ModuleType) -> object:
    return await printed(program, "apps/tutorial001")


@states(
    "client/tutorial001_client",
    "what a client knows once it is connected",
    [True, True, "2026-07-28", "Search the catalog before recommending a book."],
)
async def _(program: ModuleType) -> object:
    info, capabilities, version, instructions = await printed(program, "client/tutorial001")
    return ["name='Bookshop'" in info, "tools=ToolsCapability" in capabilities, version, instructions]


@states("first_steps/tutorial001_client", "the server announces all three", True)
async def _(program: ModuleType) -> object:
    [capabilities] = await printed(program, "first_steps/tutorial001")
    return all(f"'{kind}': {{" in capabilities for kind in ("tools", "resources", "prompts"))


@states(
    "legacy_clients/tutorial001_client",
    "one server, both eras, over one URL",
    [f"{version} {{'result': \"Reserved 2 of 'Dune'.\"}}" for version in ("2025-11-25", "2026-07-28")],
)
async def _(program: ModuleType) -> object:
    return await printed(program, "legacy_clients/tutorial001")


@states("handling_errors/tutorial004", "an exception of the function is a failed result", [True, True])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        result = await client.call_tool("get_author", {"title": "Emma"})
    [text] = texts(result)
    return [result.is_error, text.startswith("Error executing tool get_author")]


@states("client_transports/tutorial005", "a hook puts each call's own headers on", ["user-123-token", "user-456-token"])
async def _(program: ModuleType) -> object:
    sent: list[str] = []

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        if headers.get(b"mcp-method", b"tools/call") == b"tools/call" and b"authorization" in headers:
            sent.append(headers[b"authorization"].decode().removeprefix("Bearer "))
        await app(scope, receive, send)

    app = anew("client/tutorial001").mcp.streamable_http_app()
    with served(noting) as origin, contextlib.redirect_stdout(io.StringIO()) as output:

        def transport(url: str, **options: Any) -> Any:
            return streamable_http.streamable_http_client(url.replace(HERE, origin), **options)

        program.__dict__["streamable_http_client"] = transport
        await program.main()
    assert "Found 3 books matching 'neuromancer'." in output.getvalue()
    return list(dict.fromkeys(sent))
