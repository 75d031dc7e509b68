"""What docs/advanced/extensions.md and docs/advanced/apps.md say about their programs, as checks."""

import contextlib
import io
import logging
from types import ModuleType
from typing import Any

from upstream_statements import error_of, states, texts

from mcp import Client, MCPError
from mcp.client import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.types import Request, Result

STAMPS = "extensions/tutorial003"
SEARCH = "extensions/tutorial004"
CLOCK = "apps/tutorial001"


async def printed(program: ModuleType) -> list[str]:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        await program.main()
    return output.getvalue().splitlines()


@states("extensions/tutorial001", "the server advertises the extension", {EXTENSION_ID: {}})
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        return client.server_capabilities.extensions


@states("extensions/tutorial001", "a legacy client simply doesn't see the extension", None)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, mode="legacy") as client:
        return client.server_capabilities.extensions


@states("extensions/tutorial002", "the identifier is validated when the class is defined", "com.example/stamps")
async def _(program: ModuleType) -> object:
    return program.Stamps.identifier


@states(STAMPS, "main() prints the capability and the result", ["{'com.example/stamps': {'sealed': True}}", True])
async def _(program: ModuleType) -> object:
    [capability, content] = await printed(program)
    return [capability, "[stamped] hello" in content]


@states(STAMPS, "registered exactly as if by add_tool", ["stamp", "Stamp a message with the office seal.", ["text"]])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        [tool] = (await client.list_tools()).tools
    return [tool.name, tool.description, tool.input_schema["required"]]


@states(SEARCH, "main() is the whole client story", ["['mcp-0', 'mcp-1', 'mcp-2']"])
async def _(program: ModuleType) -> object:
    return await printed(program)


def search(program: ModuleType, **params: Any) -> Request[Any, str]:
    return Request[Any, str](method=program.EXTENSION_ID, params=params)


@states(SEARCH, "a client that did not declare it gets the -32021 error", [-32021, ["com.example/search"]])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        try:
            await client.session.send_request(search(program, query="a"), Result)
        except MCPError as error:
            return [error.code, list(error.data["requiredCapabilities"]["extensions"])]
    return None


@states(SEARCH, "at any other version the client gets METHOD_NOT_FOUND", (-32601, "Method not found"))
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, mode="legacy", extensions=[advertise(program.EXTENSION_ID)]) as client:
        return await error_of(client.session.send_request(search(program, query="a"), Result))


@states(SEARCH, "an absurd limit is rejected before the handler runs", -32602)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, extensions=[advertise(program.EXTENSION_ID)]) as client:
        return (await error_of(client.session.send_request(search(program, query="a", limit=10**9), Result)))[0]


@states("extensions/tutorial005", "observe every tools/call without touching its result", [["3"], "tool 'add' called"])
async def _(program: ModuleType) -> object:
    seen: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())
    program.logger.addHandler(handler)
    program.logger.setLevel(logging.INFO)
    async with Client(program.mcp) as client:
        result = await client.call_tool("add", {"a": 1, "b": 2})
    return [texts(result), *seen]


@states("extensions/tutorial006", "the receipt is redeemed before call_tool returns", ["goods for r-117"])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, extensions=[program.Receipts()]) as client:
        return texts(await client.call_tool("buy", {"item": "lamp"}))


@states("extensions/tutorial006", "drop the extension and the server's gate refuses", -32021)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        return (await error_of(client.call_tool("buy", {"item": "lamp"})))[0]


@states("extensions/tutorial006", "allow_claimed=True returns the claimed shape", "r-117")
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, extensions=[program.Receipts()]) as client:
        claimed: Any = await client.session.call_tool("buy", {"item": "lamp"}, allow_claimed=True)
        return claimed.receipt_token


@states("extensions/tutorial007", "main() prints what the job does", ["job-7 is running"])
async def _(program: ModuleType) -> object:
    return await printed(program)


@states(CLOCK, "main() declares the MIME type, and the rich answer comes back", True)
async def _(program: ModuleType) -> object:
    [line] = await printed(program)
    return "2026-06-26T12:00:00Z" in line and "The time is" not in line


@states(CLOCK, "a text-only client gets a sentence", ["The time is 2026-06-26T12:00:00Z."])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        return texts(await client.call_tool("get_time", {}))


@states(CLOCK, "a client that omits mimeTypes does not count", ["The time is 2026-06-26T12:00:00Z."])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, extensions=[advertise(EXTENSION_ID)]) as client:
        return texts(await client.call_tool("get_time", {}))


@states(CLOCK, "the tool names the resource, served as an app", ["ui://clock/app.html", APP_MIME_TYPE, True])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        [tool] = (await client.list_tools()).tools
        uri = (tool.meta or {})["ui"]["resourceUri"]
        [content] = (await client.read_resource(uri)).contents
    return [uri, content.mime_type, getattr(content, "text", None) == program.CLOCK_HTML]


DASHBOARD: dict[str, Any] = {
    "csp": {"connectDomains": ["https://api.example.com"]},
    "permissions": {"clipboardWrite": {}},
    "domain": "dashboard.example.com",
    "prefersBorder": True,
}


@states("apps/tutorial002", "the resource side carries the security metadata", [DASHBOARD, DASHBOARD])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        [resource] = (await client.list_resources()).resources
        [content] = (await client.read_resource(resource.uri)).contents
    return [(resource.meta or {})["ui"], (content.meta or {})["ui"]]


@states("apps/tutorial002", "app-only tools are listed like any other", {"resourceUri": "ui://dashboard/app.html",
                                                                         "visibility": ["app"]})  # fmt: skip
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        [tool] = (await client.list_tools()).tools
    return (tool.meta or {})["ui"]


@states("apps/tutorial003", "add_resource fills in the MIME type", APP_MIME_TYPE)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        [resource] = (await client.list_resources()).resources
    return resource.mime_type
