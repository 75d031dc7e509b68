"""Every verb of a client, on every transport, against one server. One client serves a whole module of tests."""

import json
from collections.abc import AsyncGenerator
from typing import Any, Literal

import pytest
from house import Target
from pydantic import BaseModel, TypeAdapter

from mcp import Client, MCPError, types
from mcp.shared.exceptions import RequestTimeoutError
from mcp.shared.message import ClientMessageMetadata

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
async def client(target: Target) -> AsyncGenerator[Client, None]:
    async with Client(target) as client:
        yield client


async def test_a_client_knows_its_server(client: Client) -> None:
    assert client.protocol_version == "2026-07-28"
    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == ("house", "1.2")
    assert client.server_info.title == "The House"
    assert client.instructions == "Wipe your feet."
    assert client.server_capabilities.tools is not None
    assert client.server_capabilities.resources is not None
    assert client.server_capabilities.prompts is not None
    assert client.server_capabilities.completions is not None
    assert client.server_capabilities.logging is None


async def test_a_session_knows_what_the_server_said_of_itself(client: Client) -> None:
    session = client.session
    assert session.initialize_result is None
    assert session.discover_result is not None
    assert session.discover_result.supported_versions == ["2026-07-28"]
    assert session.protocol_version == "2026-07-28"
    assert session.server_info == client.server_info
    assert session.server_capabilities == client.server_capabilities
    assert session.instructions == client.instructions


async def test_tools_are_listed_page_by_page(client: Client) -> None:
    names: list[str] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert names == ["add", "miscount", "look", "climb", "speak", "wait", "fail", "refuse", "break"]


async def test_a_tool_is_listed_with_its_schemas(client: Client) -> None:
    [tool] = (await client.list_tools()).tools
    assert tool.name == "add"
    assert tool.input_schema == {"type": "object"}
    assert tool.output_schema == {
        "type": "object",
        "properties": {"sum": {"type": "integer"}},
        "required": ["sum"],
    }


async def test_resources_are_listed_page_by_page(client: Client) -> None:
    first = await client.list_resources()
    assert [resource.uri for resource in first.resources] == ["house://first"]
    assert first.next_cursor == "second"
    last = await client.list_resources(cursor=first.next_cursor)
    assert [resource.uri for resource in last.resources] == ["house://second"]
    assert last.next_cursor is None


async def test_resource_templates_are_listed_page_by_page(client: Client) -> None:
    first = await client.list_resource_templates()
    assert [template.uri_template for template in first.resource_templates] == ["house://first/{room}"]
    last = await client.list_resource_templates(cursor=first.next_cursor)
    assert [template.uri_template for template in last.resource_templates] == ["house://second/{room}"]


async def test_prompts_are_listed_page_by_page(client: Client) -> None:
    first = await client.list_prompts()
    assert [prompt.name for prompt in first.prompts] == ["first"]
    assert first.prompts[0].arguments == [types.PromptArgument(name="whom", required=True)]
    last = await client.list_prompts(cursor=first.next_cursor)
    assert [prompt.name for prompt in last.prompts] == ["second"]


async def test_a_tool_is_called(client: Client) -> None:
    result = await client.call_tool("add", {"a": 1, "b": 2})
    assert result.structured_content == {"sum": 3}
    assert result.content == [types.TextContent(text="3")]
    assert result.is_error is False


async def test_arguments_may_be_left_out(client: Client) -> None:
    result = await client.call_tool("look")
    assert isinstance(result.content[0], types.TextContent)
    assert json.loads(result.content[0].text)["arguments"] == {}


async def test_arguments_arrive_as_they_were_sent(client: Client) -> None:
    arguments: dict[str, Any] = {"text": "žluť 中文 😀", "list": [1, 2.5, None, True], "deep": {"er": {}}, "": ""}
    result = await client.call_tool("look", arguments)
    assert isinstance(result.content[0], types.TextContent)
    assert json.loads(result.content[0].text)["arguments"] == arguments


async def test_a_tool_that_failed_is_a_result(client: Client) -> None:
    result = await client.call_tool("break")
    assert result.is_error
    assert result.content == [types.TextContent(text="The cupboard is locked.")]


async def test_an_error_of_the_server_is_raised_as_it_was_sent(client: Client) -> None:
    with pytest.raises(MCPError) as raised:
        await client.call_tool("refuse")
    assert (raised.value.code, raised.value.message) == (-32055, "Closed on Sundays")
    assert raised.value.data == {"open": ["Mon", "Tue"]}
    assert raised.value.error == types.ErrorData(
        code=-32055, message="Closed on Sundays", data={"open": ["Mon", "Tue"]}
    )


async def test_what_a_handler_raised_is_kept_from_the_client(client: Client) -> None:
    with pytest.raises(MCPError) as raised:
        await client.call_tool("fail")
    assert (raised.value.code, raised.value.message) == (types.INTERNAL_ERROR, "Internal server error")
    assert raised.value.data is None


async def test_a_connection_goes_on_after_an_error(client: Client) -> None:
    with pytest.raises(MCPError):
        await client.call_tool("no such tool")
    assert (await client.call_tool("add", {"a": 2, "b": 2})).structured_content == {"sum": 4}


async def test_a_resource_is_read(client: Client) -> None:
    result = await client.read_resource("house://kitchen")
    assert result.contents == [types.TextResourceContents(uri="house://kitchen", text="four walls")]


async def test_a_missing_resource_is_an_error_that_names_it(client: Client) -> None:
    with pytest.raises(MCPError, match="Resource not found") as raised:
        await client.read_resource("house://cellar")
    assert raised.value.data == {"uri": "house://cellar"}


async def test_a_prompt_is_rendered(client: Client) -> None:
    result = await client.get_prompt("greet", {"whom": "Ada"})
    assert result.description == "greet"
    assert result.messages == [types.PromptMessage(role="user", content=types.TextContent(text="Greet Ada"))]


async def test_a_prompt_is_rendered_without_arguments(client: Client) -> None:
    [message] = (await client.get_prompt("greet")).messages
    assert message.content == types.TextContent(text="Greet nobody")


async def test_an_argument_of_a_prompt_is_completed(client: Client) -> None:
    result = await client.complete(types.PromptReference(name="greet"), {"name": "whom", "value": "A"})
    assert result.completion.values == ["greet", "whom", "Andy"]


async def test_an_argument_of_a_template_is_completed_in_view_of_the_others(client: Client) -> None:
    result = await client.complete(
        types.ResourceTemplateReference(uri="house://{floor}/{room}"), {"name": "room", "value": "Ca"}, {"floor": "one"}
    )
    assert result.completion.values == ["house://{floor}/{room}", "room", "Candy", "one"]
    assert result.completion.total == 4
    assert result.completion.has_more is False


# Below the verbs.


class TwiceParams(types.RequestParams):
    number: int


class Twice(types.Request[TwiceParams, Literal["acme/twice"]]):
    method: Literal["acme/twice"] = "acme/twice"
    params: TwiceParams


class Doubled(types.Result):
    doubled: int


class Touch(types.Request[types.RequestParams | None, Literal["acme/touch"]]):
    method: Literal["acme/touch"] = "acme/touch"
    params: types.RequestParams | None = None


class Plain(BaseModel):
    doubled: int


async def test_a_request_of_a_vendor_is_sent_with_a_model_of_its_own(client: Client) -> None:
    result = await client.session.send_request(Twice(params=TwiceParams(number=21)), Doubled)
    assert result.doubled == 42


async def test_a_result_may_be_validated_by_an_adapter(client: Client) -> None:
    adapter: TypeAdapter[Plain] = TypeAdapter(Plain)
    result = await client.session.send_request(Twice(params=TwiceParams(number=4)), adapter)
    assert result == Plain(doubled=8)


async def test_a_request_may_have_no_params_and_no_result(client: Client) -> None:
    result = await client.session.send_request(Touch(), types.EmptyResult)
    assert type(result) is types.EmptyResult


async def test_a_request_of_the_protocol_may_be_sent_as_a_message(client: Client) -> None:
    request = types.CallToolRequest(params=types.CallToolRequestParams(name="add", arguments={"a": 1, "b": 1}))
    result = await client.session.send_request(request, types.CallToolResult)
    assert result.structured_content == {"sum": 2}


async def test_a_message_keeps_its_meta(client: Client) -> None:
    params = types.CallToolRequestParams(name="look", _meta={"acme/trace": "t1", "progress_token": "p1"})
    result = await client.session.send_request(types.CallToolRequest(params=params), types.CallToolResult)
    assert isinstance(result.content[0], types.TextContent)
    meta = json.loads(result.content[0].text)["meta"]
    assert (meta["acme/trace"], meta["progress_token"]) == ("t1", "p1")
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"


async def test_a_message_may_have_its_own_time_limit(client: Client) -> None:
    request = types.CallToolRequest(params=types.CallToolRequestParams(name="wait"))
    with pytest.raises(RequestTimeoutError, match=r"after 0\.05s"):
        await client.session.send_request(request, types.CallToolResult, 0.05)


async def test_a_message_may_have_its_own_http_headers(client: Client, house_url: str) -> None:
    request = types.CallToolRequest(params=types.CallToolRequestParams(name="look"))
    metadata = ClientMessageMetadata(headers={"x-trace": "t1"})
    result = await client.session.send_request(request, types.CallToolResult, metadata=metadata)
    assert isinstance(result.content[0], types.TextContent)
    headers = json.loads(result.content[0].text).get("headers")
    assert headers is None if client.server != house_url else headers["x-trace"] == "t1"


async def test_a_message_may_have_progress(client: Client) -> None:
    steps: list[float] = []

    async def climbed(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    params = types.CallToolRequestParams(name="climb", arguments={"steps": 3})
    await client.session.send_request(
        types.CallToolRequest(params=params), types.CallToolResult, progress_callback=climbed
    )
    assert steps == [1, 2, 3]


async def test_a_request_may_be_sent_by_the_name_of_its_method(client: Client) -> None:
    result = await client.session.request("acme/twice", TwiceParams(number=3), Doubled, meta={"acme/k": 1})
    assert result.doubled == 6


async def test_params_that_are_sent_by_name_keep_their_meta(client: Client) -> None:
    params = types.CallToolRequestParams(name="look", _meta={"acme/k": 1, "acme/m": 1})
    result = await client.session.request("tools/call", params, types.CallToolResult, meta={"acme/m": 2})
    assert isinstance(result.content[0], types.TextContent)
    meta = json.loads(result.content[0].text)["meta"]
    assert (meta["acme/k"], meta["acme/m"]) == (1, 2)


async def test_a_method_that_nobody_handles_is_an_error_that_names_it(client: Client) -> None:
    with pytest.raises(MCPError, match="Method not found") as raised:
        await client.session.request("acme/thrice", types.RequestParams(), types.EmptyResult)
    assert (raised.value.code, raised.value.data) == (types.METHOD_NOT_FOUND, "acme/thrice")


async def test_params_that_do_not_fit_are_an_error_that_says_where(client: Client) -> None:
    with pytest.raises(MCPError, match="number") as raised:
        await client.session.request("acme/twice", types.RequestParams(), Doubled)
    assert raised.value.code == types.INVALID_PARAMS


async def test_a_notification_is_sent_and_forgotten(client: Client) -> None:
    await client.session.send_notification(types.RootsListChangedNotification())
    await client.session.send_notification(
        types.RootsListChangedNotification(params=types.NotificationParams(_meta={"acme/k": 1}))
    )
    assert (await client.call_tool("add", {"a": 1, "b": 0})).structured_content == {"sum": 1}


async def test_a_session_has_the_verbs_too(client: Client) -> None:
    session = client.session
    page = types.PaginatedRequestParams(cursor="second", _meta={"acme/k": 1})
    assert [one.uri for one in (await session.list_resources(params=page)).resources] == ["house://second"]
    assert [one.name for one in (await session.list_prompts()).prompts] == ["first"]
    assert (await session.read_resource("house://hall")).contents[0].uri == "house://hall"
    assert (await session.get_prompt("greet")).description == "greet"
    assert (await session.call_tool("add", {"a": 5, "b": 5})).structured_content == {"sum": 10}
