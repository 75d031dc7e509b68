"""Handlers: which runs for which method, what it is given, and what it may return."""

from typing import Any

import pytest
from pydantic import Field
from wire import Context, connected, identity, refusal, send

from mcp import Client, types
from mcp.server import Server
from mcp.server.lowlevel.server import HandlerEntry

pytestmark = pytest.mark.anyio


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    page = None if params is None else params.cursor
    return types.ListToolsResult(
        tools=[types.Tool(name=page or "first", input_schema={"type": "object"})],
        next_cursor="second" if page is None else None,
    )


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    text = f"{params.name} got {params.arguments}"
    return types.CallToolResult(content=[types.TextContent(text=text)])


async def list_resources(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[types.Resource(name="r", uri="test://r")])


async def list_templates(
    ctx: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(
        resource_templates=[types.ResourceTemplate(name="t", uri_template="test://{x}")]
    )


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text="contents")])


async def list_prompts(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[types.Prompt(name="p")])


async def get_prompt(ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    message = types.PromptMessage(role="user", content=types.TextContent(text=f"{params.name} {params.arguments}"))
    return types.GetPromptResult(messages=[message])


async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=[params.argument.value + "!"]))


def full_server() -> Server[Any]:
    return Server(
        "srv",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )


# The protocol's methods.


async def test_every_verb_of_a_client_reaches_its_handler() -> None:
    async with Client(full_server()) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["first"]
        called = await client.call_tool("add", {"a": 1})
        assert called.content == [types.TextContent(text="add got {'a': 1}")]
        assert [resource.uri for resource in (await client.list_resources()).resources] == ["test://r"]
        templates = await client.list_resource_templates()
        assert [template.uri_template for template in templates.resource_templates] == ["test://{x}"]
        read = await client.read_resource("test://r")
        assert read.contents == [types.TextResourceContents(uri="test://r", text="contents")]
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["p"]
        prompt = await client.get_prompt("greet", {"who": "you"})
        assert prompt.messages[0].content == types.TextContent(text="greet {'who': 'you'}")
        completed = await client.complete(types.PromptReference(name="p"), {"name": "a", "value": "b"})
        assert completed.completion.values == ["b!"]


async def test_a_listing_has_pages() -> None:
    async with connected(full_server()) as client:
        first = await client.list_tools()
        assert (first.tools[0].name, first.next_cursor) == ("first", "second")
        second = await client.list_tools(cursor=first.next_cursor)
        assert (second.tools[0].name, second.next_cursor) == ("second", None)


async def test_a_tool_that_is_not_listed_goes_to_the_handler_as_well() -> None:
    async with connected(full_server()) as client:
        called = await send(client, "tools/call", {"name": "unlisted"})
        assert called["content"] == [{"type": "text", "text": "unlisted got None"}]


async def test_arguments_are_not_checked_against_the_input_schema() -> None:
    async with connected(full_server()) as client:
        called = await send(client, "tools/call", {"name": "first", "arguments": {"nested": {"any": [1, None]}}})
        assert called["content"][0]["text"] == "first got {'nested': {'any': [1, None]}}"


async def test_a_handler_may_ask_for_input_instead_of_answering() -> None:
    async def ask(ctx: Context, params: types.CallToolRequestParams) -> types.InputRequiredResult:
        return types.InputRequiredResult(request_state="state")

    async with connected(Server("srv", on_call_tool=ask)) as client:
        asked = await client.session.call_tool("t", allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        assert asked.request_state == "state"


async def test_discover_says_who_the_server_is_and_what_it_does() -> None:
    async with connected(Server("srv", version="1.2", title="T", instructions="Be kind.")) as client:
        assert await send(client, "server/discover") == {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {},
            "instructions": "Be kind.",
            "resultType": "complete",
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "srv", "title": "T", "version": "1.2"}},
        }


# Methods that nobody answers.


@pytest.mark.parametrize(
    "method",
    ["acme/unknown", "prompts/list", "completion/complete", "subscriptions/listen", "sampling/createMessage", ""],
)
async def test_a_method_without_a_handler_is_not_found(method: str) -> None:
    async with connected(Server("srv", on_list_tools=list_tools)) as client:
        error = await refusal(client, method)
        assert (error.code, error.message, error.data) == (-32601, "Method not found", method)


async def pong(ctx: Context, params: types.RequestParams | None) -> types.EmptyResult:
    return types.EmptyResult()


async def subscribe(ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


@pytest.mark.parametrize("method", ["ping", "initialize", "resources/subscribe", "logging/setLevel", "tasks/get"])
async def test_a_method_of_other_revisions_is_not_found_even_if_somebody_handles_it(method: str) -> None:
    server = Server("srv", on_ping=pong, on_subscribe_resource=subscribe)
    async with connected(server) as client:
        error = await refusal(client, method, {"uri": "test://r"})
        assert (error.code, error.message, error.data) == (-32601, "Method not found", method)


# Methods of one's own.


class Sum(types.RequestParams):
    numbers: list[int] = Field(alias="theNumbers")


class Total(types.Result):
    total: int
    note: str | None = None


async def add(ctx: Context, params: Sum) -> Total:
    return Total(total=sum(params.numbers))


async def test_a_method_of_ones_own_is_answered() -> None:
    server = Server("srv")
    server.add_request_handler("acme/sum", Sum, add)
    async with connected(server) as client:
        request = types.Request[Sum, str](method="acme/sum", params=Sum(theNumbers=[1, 2]))
        result = await client.session.send_request(request, Total)
        assert result.total == 3
        assert await send(client, "acme/sum", {"theNumbers": [1]}) == {
            "total": 1,
            "resultType": "complete",
            "_meta": identity(),
        }


async def test_params_are_validated_before_the_handler_runs() -> None:
    server = Server("srv")
    server.add_request_handler("acme/sum", Sum, add)
    async with connected(server) as client:
        error = await refusal(client, "acme/sum", {"theNumbers": [1, "x", None]})
    assert error.code == -32602
    assert error.message.startswith("Invalid request parameters: theNumbers.1: ")
    assert error.message.endswith("(and 1 more)")
    assert [problem["path"] for problem in error.data] == ["theNumbers.1", "theNumbers.2"]
    assert "x" not in error.data[0]["expected"].split(), "what a caller sent is not repeated to it"


async def test_a_handler_may_return_a_dict_or_nothing() -> None:
    async def as_dict(ctx: Context, params: types.RequestParams) -> dict[str, Any]:
        return {"a": None, "b": [1]}

    async def as_none(ctx: Context, params: types.RequestParams) -> None:
        return None

    server = Server("srv")
    server.add_request_handler("acme/dict", types.RequestParams, as_dict)
    server.add_request_handler("acme/none", types.RequestParams, as_none)
    async with connected(server) as client:
        stamped = {"resultType": "complete", "_meta": identity()}
        assert await send(client, "acme/dict") == {"a": None, "b": [1], **stamped}
        assert await send(client, "acme/none") == stamped


async def test_a_method_of_the_protocol_can_be_taken_over_while_the_server_runs() -> None:
    async def other_tools(ctx: Context, params: types.PaginatedRequestParams) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[])

    async def other_discover(ctx: Context, params: types.RequestParams) -> types.DiscoverResult:
        return types.DiscoverResult(
            supported_versions=["2026-07-28"], capabilities=types.ServerCapabilities(), instructions="mine"
        )

    server = full_server()
    async with connected(server) as client:
        assert len((await client.list_tools()).tools) == 1
        server.add_request_handler("tools/list", types.PaginatedRequestParams, other_tools)
        server.add_request_handler("server/discover", types.RequestParams, other_discover)
        assert (await client.list_tools()).tools == []
        assert (await send(client, "server/discover"))["instructions"] == "mine"


def test_initialize_cannot_be_taken_over() -> None:
    text = "'initialize' is handled by the server runner and cannot be overridden; use Server.middleware"
    with pytest.raises(ValueError, match=text):
        Server("srv").add_request_handler("initialize", types.InitializeRequestParams, call_tool)  # pyright: ignore[reportArgumentType]


def test_handlers_can_be_looked_up() -> None:
    async def noted(ctx: Context, params: types.NotificationParams) -> None: ...

    server = Server("srv", on_call_tool=call_tool)
    server.add_notification_handler("acme/note", types.NotificationParams, noted)
    assert server.get_request_handler("tools/call") == HandlerEntry(types.CallToolRequestParams, call_tool)
    assert server.get_notification_handler("acme/note") == HandlerEntry(types.NotificationParams, noted)
    for method in ("ping", "server/discover"):
        entry = server.get_request_handler(method)
        assert entry is not None
        assert entry.params_type is types.RequestParams
    for method in ("tools/list", "initialize", "acme/note", "nope"):
        assert server.get_request_handler(method) is None
    for method in ("tools/call", "notifications/cancelled", "nope"):
        assert server.get_notification_handler(method) is None


# The identity and cache hints.


async def test_the_identity_follows_the_servers_attributes() -> None:
    icon = types.Icon(src="https://example.com/i.png")
    server = Server("srv", version="1", description="D", website_url="https://example.com", icons=[icon])
    server.add_request_handler("acme/x", types.RequestParams, pong)
    info = {
        "name": "srv",
        "version": "1",
        "description": "D",
        "websiteUrl": "https://example.com",
        "icons": [{"src": "https://example.com/i.png"}],
    }
    assert server.server_info_stamp == info
    assert server.server_info.name == "srv"
    async with connected(server) as client:
        assert (await send(client, "acme/x"))["_meta"] == {"io.modelcontextprotocol/serverInfo": info}
        server.version = "2"
        stamp = (await send(client, "acme/x"))["_meta"]["io.modelcontextprotocol/serverInfo"]
        assert stamp == {**info, "version": "2"}
