"""What a server sees of its client with every request: version, identity, capabilities, and the caller's `_meta`."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import house
import pytest
from house import Target

from mcp import Client, MCPError, types
from mcp.client import ClientRequestContext
from mcp.client.session import DEFAULT_CLIENT_INFO
from mcp.server import Server

VERSION = "io.modelcontextprotocol/protocolVersion"
INFO = "io.modelcontextprotocol/clientInfo"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def client(target: Target) -> AsyncGenerator[Client, None]:
    async with Client(target) as client:
        yield client


async def looked(client: Client, **options: Any) -> dict[str, Any]:
    """The `_meta` that the server saw with a call."""
    result = await client.call_tool("look", **options)
    assert isinstance(result.content[0], types.TextContent)
    return json.loads(result.content[0].text)["meta"]


async def test_every_request_says_version_identity_and_capabilities(client: Client) -> None:
    assert await looked(client) == {VERSION: "2026-07-28", INFO: {"name": "mcp", "version": "0.1.0"}, CAPABILITIES: {}}


async def test_keys_of_the_caller_travel_beside_them(client: Client) -> None:
    meta = await looked(client, meta={"acme/trace": {"id": [1, 2]}, "traceparent": "00-1"})
    assert meta["acme/trace"] == {"id": [1, 2]}
    assert meta["traceparent"] == "00-1"
    assert meta[VERSION] == "2026-07-28"


async def test_keys_of_the_protocol_are_not_the_callers(client: Client) -> None:
    meta = await looked(client, meta={VERSION: "1999-01-01", INFO: {"name": "impostor"}, CAPABILITIES: {"roots": {}}})
    assert meta == {VERSION: "2026-07-28", INFO: {"name": "mcp", "version": "0.1.0"}, CAPABILITIES: {}}


async def test_a_progress_token_of_the_caller_reaches_the_server(client: Client) -> None:
    assert (await looked(client, meta={"progress_token": "mine"}))["progress_token"] == "mine"
    assert (await looked(client, meta={"progressToken": 7}))["progress_token"] == 7


async def test_a_progress_callback_has_a_token_of_its_own(client: Client) -> None:
    async def ignore(progress: float, total: float | None, message: str | None) -> None: ...

    first = await looked(client, progress_callback=ignore)
    second = await looked(client, progress_callback=ignore, meta={"progress_token": "mine"})
    assert isinstance(first["progress_token"], int)
    assert isinstance(second["progress_token"], int)
    assert first["progress_token"] != second["progress_token"]


async def test_meta_of_the_caller_is_not_written_to(client: Client) -> None:
    meta: types.RequestParamsMeta = {"progress_token": "mine"}
    await looked(client, meta=meta)
    assert meta == {"progress_token": "mine"}


async def test_every_verb_takes_meta() -> None:
    seen: dict[str, Any] = {}
    server = house.build()

    async def note(ctx: house.Context, call_next: Any) -> Any:
        seen.setdefault(ctx.method, (ctx.meta or {}).get("acme/k"))
        return await call_next(ctx)

    server.middleware.append(note)
    meta: types.RequestParamsMeta = {"acme/k": 1}
    async with Client(server) as client:
        await client.list_tools(meta=meta)
        await client.list_prompts(meta=meta)
        await client.list_resources(meta=meta)
        await client.list_resource_templates(meta=meta)
        await client.read_resource("house://hall", meta=meta)
        await client.get_prompt("greet", meta=meta)
        await client.call_tool("look", meta=meta)
    del seen["server/discover"]
    assert seen == {
        "tools/list": 1,
        "prompts/list": 1,
        "resources/list": 1,
        "resources/templates/list": 1,
        "resources/read": 1,
        "prompts/get": 1,
        "tools/call": 1,
    }


# Identity.


async def test_a_client_that_does_not_say_who_it_is_has_a_default_name() -> None:
    assert types.Implementation(name="mcp", version="0.1.0") == DEFAULT_CLIENT_INFO


async def test_a_client_may_say_who_it_is(target: Target) -> None:
    info = types.Implementation(name="visitor", version="9", title="The Visitor", website_url="https://example.com")
    async with Client(target, client_info=info) as client:
        assert (await looked(client))[INFO] == {
            "name": "visitor",
            "version": "9",
            "title": "The Visitor",
            "websiteUrl": "https://example.com",
        }


async def test_a_server_reads_who_its_client_is() -> None:
    seen: list[types.InitializeRequestParams | None] = []

    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        seen.append(ctx.session.client_params)
        return types.CallToolResult(content=[])

    info = types.Implementation(name="visitor", version="9")
    async with Client(Server("house", on_call_tool=call_tool), client_info=info) as client:
        await client.call_tool("any")
    assert seen == [
        types.InitializeRequestParams(
            protocol_version="2026-07-28", capabilities=types.ClientCapabilities(), client_info=info
        )
    ]


# Capabilities.


async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> types.ErrorData:
    return types.ErrorData(code=-1, message="no")


async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ErrorData:
    return types.ErrorData(code=-1, message="no")


async def list_roots(context: ClientRequestContext) -> types.ErrorData:
    return types.ErrorData(code=-1, message="no")


async def log(params: types.LoggingMessageNotificationParams) -> None: ...


async def handle(message: object) -> None: ...


WITH_TOOLS = types.SamplingCapability(tools=types.SamplingToolsCapability())


@pytest.mark.parametrize(
    ("options", "declared"),
    [
        ({}, {}),
        ({"sampling_callback": sample}, {"sampling": {}}),
        ({"sampling_callback": sample, "sampling_capabilities": WITH_TOOLS}, {"sampling": {"tools": {}}}),
        ({"elicitation_callback": elicit}, {"elicitation": {"form": {}, "url": {}}}),
        ({"list_roots_callback": list_roots}, {"roots": {"listChanged": True}}),
        ({"logging_callback": log, "message_handler": handle}, {}),
        (
            {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": list_roots},
            {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": True}},
        ),
    ],
    ids=["none", "sampling", "sampling tools", "elicitation", "roots", "notifications", "all"],
)
async def test_a_callback_declares_its_capability(options: dict[str, Any], declared: dict[str, Any]) -> None:
    async with Client(house.build(), **options) as client:
        assert (await looked(client))[CAPABILITIES] == declared


# Log level.


async def test_a_log_level_travels_with_every_request(target: Target) -> None:
    async with Client(target, log_level="warning") as client:
        assert (await looked(client))[LOG_LEVEL] == "warning"
        assert (await looked(client, meta={LOG_LEVEL: "debug"}))[LOG_LEVEL] == "debug"


async def test_a_single_request_may_ask_for_log_messages(client: Client) -> None:
    assert (await looked(client, meta={LOG_LEVEL: "error"}))[LOG_LEVEL] == "error"
    assert LOG_LEVEL not in await looked(client)


async def test_a_log_level_that_is_none_is_refused_by_the_server(client: Client) -> None:
    with pytest.raises(MCPError, match=r"logLevel must be one of debug, info, .*, got 'loud'"):
        await client.call_tool("look", meta={LOG_LEVEL: "loud"})
