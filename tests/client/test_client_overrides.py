"""What programs override on `ClientSession` is really called."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import house
import pytest

from mcp import Client, ClientSession, types
from mcp.client import ClientRequestContext, context
from mcp.client.callbacks import ProgressFnT
from mcp.engine.memory import LocalServer, MemoryRequester
from mcp.server import Server
from mcp.shared.message import ClientMessageMetadata

pytestmark = pytest.mark.anyio


def local(server: Server, **options: Any) -> dict[str, Any]:
    """What a session is given to reach a server in this process."""

    @asynccontextmanager
    async def connect(inbound: Any) -> AsyncGenerator[MemoryRequester, None]:
        assert isinstance(server, LocalServer)
        async with server.in_process() as runtime:
            yield MemoryRequester(runtime.engine, inbound)

    return {"connector": connect, **options}


class Watchful(ClientSession):
    """Notes every request, and every notification."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.requests: list[Any] = []
        self.limits: list[float | None] = []
        self.notifications: list[Any] = []

    async def send_request(
        self,
        request: Any,
        result_type: Any,
        request_read_timeout_seconds: float | None = None,
        metadata: ClientMessageMetadata | None = None,
        progress_callback: ProgressFnT | None = None,
    ) -> Any:
        self.requests.append(request)
        self.limits.append(request_read_timeout_seconds)
        return await super().send_request(
            request, result_type, request_read_timeout_seconds, metadata, progress_callback
        )

    async def send_notification(self, notification: types.ClientNotification) -> None:
        self.notifications.append(notification)


async def test_every_verb_goes_through_send_request() -> None:
    ref = types.PromptReference(name="greet")
    async with Watchful(**local(house.build())) as session:
        await session.discover()
        assert (await session.list_tools()).tools
        assert (await session.list_prompts()).prompts
        assert (await session.list_resources()).resources
        assert (await session.list_resource_templates()).resource_templates
        assert (await session.read_resource("house://hall")).contents
        assert (await session.get_prompt("greet", {"whom": "you"})).messages
        assert (await session.complete(ref, {"name": "whom", "value": "a"})).completion.values
        result = await session.call_tool("add", {"a": 1, "b": 2}, 30.0)
        assert result.structured_content == {"sum": 3}
        await session.request("acme/touch", types.RequestParams(), types.EmptyResult)
    methods = [request.method for request in session.requests]
    assert methods == [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/get",
        "completion/complete",
        "tools/call",
        "acme/touch",
    ]
    assert isinstance(session.requests[0], types.ListToolsRequest)
    assert isinstance(session.requests[7], types.CallToolRequest)
    assert session.requests[7].params.arguments == {"a": 1, "b": 2}
    assert session.limits[7] == 30
    assert session.requests[5].params == types.GetPromptRequestParams(name="greet", arguments={"whom": "you"})


async def test_progress_and_meta_pass_through_an_override() -> None:
    reports: list[float] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append(progress)

    async with Watchful(**local(house.build())) as session:
        await session.call_tool("climb", {"steps": 2}, progress_callback=report)
        result = await session.call_tool("look", meta={"acme/k": 1})
    assert reports == [1, 2]
    assert isinstance(result.content[0], types.TextContent)
    assert '"acme/k": 1' in result.content[0].text


async def test_a_request_for_input_passes_through_an_override() -> None:
    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.InputRequiredResult:
        return types.InputRequiredResult(input_requests={}, request_state="here")

    server = Server("asking", on_call_tool=call_tool)
    async with Watchful(**local(server)) as session:
        asked = await session.call_tool("any", allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        assert asked.request_state == "here"
        with pytest.raises(RuntimeError, match="needs input"):
            await session.call_tool("any")


async def test_a_method_that_was_replaced_on_the_object_or_the_class_counts_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called: list[str] = []
    original = ClientSession.send_request

    async def wrapped(self: ClientSession, request: Any, *args: Any, **kwargs: Any) -> Any:
        called.append(request.method)
        return await original(self, request, *args, **kwargs)

    async with Client(house.build()) as client:
        monkeypatch.setattr(client.session, "send_request", wrapped.__get__(client.session))
        await client.list_prompts()
    monkeypatch.setattr(ClientSession, "send_request", wrapped)
    async with Client(house.build()) as client:
        await client.list_tools()
    assert called == ["prompts/list", "tools/list"]


async def test_an_override_may_answer_by_itself() -> None:
    class Cached(ClientSession):
        async def send_request(self, request: Any, result_type: Any, *args: Any, **kwargs: Any) -> Any:
            return types.ListToolsResult(tools=[])

    async with Cached(**local(house.build())) as session:
        assert (await session.list_tools()).tools == []


async def test_a_result_is_validated_by_the_override() -> None:
    seen: list[str] = []

    class Lenient(ClientSession):
        async def validate_tool_result(self, name: str, result: types.CallToolResult) -> None:
            seen.append(name)

    async with Lenient(**local(house.build())) as session:
        assert (await session.call_tool("miscount")).structured_content == {"sum": "many"}
        assert (await session.call_tool("break")).is_error
    assert seen == ["miscount"]


async def test_the_listing_that_a_call_needs_is_that_of_the_override() -> None:
    class Listing(ClientSession):
        listed = 0

        async def list_tools(self, *, params: types.PaginatedRequestParams | None = None) -> types.ListToolsResult:
            self.listed += 1
            return await super().list_tools(params=params)

    async with Listing(**local(house.build())) as session:
        await session.call_tool("add", {"a": 1, "b": 2})
    assert session.listed == 1


async def test_notifications_of_verbs_go_through_send_notification() -> None:
    async with Watchful(**local(house.build())) as session:
        session.adopt(
            types.InitializeResult(
                protocol_version="2025-11-25",
                capabilities=types.ServerCapabilities(),
                server_info=types.Implementation(name="old", version="1"),
            )
        )
        with pytest.warns(UserWarning, match="roots capability is deprecated"):
            await session.send_roots_list_changed()  # pyright: ignore[reportDeprecated]
        with pytest.warns(UserWarning, match="progress is deprecated"):
            await session.send_progress_notification("token", 0.5, 1.0, "half", meta={"acme/k": 1})  # pyright: ignore[reportDeprecated]
    changed, progress = session.notifications
    assert isinstance(changed, types.RootsListChangedNotification)
    assert isinstance(progress, types.ProgressNotification)
    assert progress.model_dump(by_alias=True, exclude_none=True)["params"] == {
        "_meta": {"acme/k": 1},
        "progressToken": "token",
        "progress": 0.5,
        "total": 1.0,
        "message": "half",
    }


def test_the_context_of_callbacks_is_found_where_the_documentation_has_it() -> None:
    assert context.ClientRequestContext is ClientRequestContext


async def test_a_question_can_be_put_to_the_callbacks_by_hand() -> None:
    async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"asked": params.message})

    question = types.ElicitRequest(params=types.ElicitRequestFormParams(message="why?", requested_schema={}))
    async with Client(house.build(), elicitation_callback=elicit) as client:
        asked = ClientRequestContext(session=client.session, request_id=1)
        answer = await client.session.dispatch_input_request(asked, question)
        refused = await client.session.dispatch_input_request(asked, types.ListRootsRequest())
    assert answer == types.ElicitResult(action="accept", content={"asked": "why?"})
    assert refused == types.ErrorData(code=-32600, message="List roots not supported")
