"""Extensions of an `MCPServer`: what it takes over of them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from serving_http import served
from wire import Context, send

from mcp import Client, MCPError, types
from mcp.client import advertise
from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult
from mcp.server.extension import Extension, MethodBinding, ResourceBinding, ToolBinding
from mcp.server.mcpserver import Context as ToolContext
from mcp.server.mcpserver import require_client_extension
from mcp.server.mcpserver.resources import TextResource
from mcp.server.mcpserver.tools import Tool
from mcp.types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY

pytestmark = pytest.mark.anyio

LABELS = "com.example/labels"
ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


def label(text: str, ctx: ToolContext) -> str:
    """Labels a text."""
    return f"[{ctx.mcp_server.name}] {text}"


def gated(ctx: ToolContext) -> str:
    """Only for clients that know the extension."""
    require_client_extension(ctx, LABELS)
    return "come in"


class NumberParams(types.RequestParams):
    n: int


async def count(ctx: Context, params: NumberParams) -> dict[str, Any]:
    return {"counted": params.n}


class Labels(Extension):
    """One of everything."""

    identifier = LABELS

    def settings(self) -> dict[str, Any]:
        return {"sticky": True}

    def tools(self) -> Sequence[ToolBinding]:
        return [
            ToolBinding(fn=label, meta={"k": 1}, kwargs={"title": "Label"}),
            ToolBinding(fn=gated),
        ]

    def resources(self) -> Sequence[ResourceBinding]:
        return [ResourceBinding(TextResource(uri="labels://roll", text="a roll"))]

    def methods(self) -> Sequence[MethodBinding]:
        return [MethodBinding("com.example/labels.count", NumberParams, count)]


class Closing(Extension):
    """Lets no call of one tool through."""

    identifier = "com.example/closing"

    def __init__(self, tool: str) -> None:
        self._tool = tool

    async def intercept_tool_call(
        self, params: types.CallToolRequestParams, ctx: Context, call_next: CallNext
    ) -> HandlerResult:
        if params.name == self._tool:
            raise MCPError(-32099, f"{params.name} is closed")
        return await call_next(ctx)


@ERAS
async def test_what_an_extension_adds_is_served_like_the_servers_own(mode: str) -> None:
    mcp = MCPServer("office", extensions=[Labels()])

    @mcp.tool()
    def own() -> str:
        return "own"

    async with Client(mcp, mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["label", "gated", "own"]
        tool = (await client.list_tools()).tools[0]
        assert (tool.title, tool.description, tool.meta) == ("Label", "Labels a text.", {"k": 1})
        assert list(tool.input_schema["properties"]) == ["text"]
        result = await client.call_tool("label", {"text": "hello"})
        assert result.content == [types.TextContent(text="[office] hello")]
        [content] = (await client.read_resource("labels://roll")).contents
        assert isinstance(content, types.TextResourceContents)
        assert content.text == "a roll"
        assert (await send(client, "com.example/labels.count", {"n": 3}))["counted"] == 3


async def test_over_http_as_well() -> None:
    mcp = MCPServer("office", extensions=[Labels(), Closing("label")])
    with served(mcp) as url:
        async with Client(url, extensions=[advertise(LABELS)]) as client:
            assert client.server_capabilities.extensions == {LABELS: {"sticky": True}, "com.example/closing": {}}
            assert (await send(client, "com.example/labels.count", {"n": 3}))["counted"] == 3
            assert (await client.call_tool("gated")).content == [types.TextContent(text="come in")]
            with pytest.raises(MCPError, match=r"^label is closed$"):
                await client.call_tool("label", {"text": "a"})


@ERAS
async def test_a_tool_may_ask_for_a_client_that_knows_the_extension(mode: str) -> None:
    mcp = MCPServer("office", extensions=[Labels()])
    async with Client(mcp, mode=mode, extensions=[advertise(LABELS)]) as client:
        assert (await client.call_tool("gated")).content == [types.TextContent(text="come in")]
    async with Client(mcp, mode=mode) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("gated")
        assert raised.value.code == MISSING_REQUIRED_CLIENT_CAPABILITY


@ERAS
async def test_an_interceptor_stands_around_tools_of_any_origin(mode: str) -> None:
    mcp = MCPServer(
        "office",
        extensions=[
            Closing("label"),
            Labels(),
        ],
    )
    async with Client(mcp, mode=mode, extensions=[advertise(LABELS)]) as client:
        with pytest.raises(MCPError, match=r"^label is closed$"):
            await client.call_tool("label", {"text": "a"})
        assert not (await client.call_tool("gated")).is_error


async def test_the_state_of_an_interceptors_questions_is_sealed_too() -> None:
    states: list[str | None] = []

    class Asking(Extension):
        identifier = "com.example/asking"

        async def intercept_tool_call(
            self, params: types.CallToolRequestParams, ctx: Context, call_next: CallNext
        ) -> HandlerResult:
            states.append(params.request_state)
            if params.request_state is None:
                return types.InputRequiredResult(request_state="round one")
            return types.CallToolResult(content=[])

    async with Client(MCPServer("office", extensions=[Asking()])) as client:
        asked = await client.session.call_tool("any", allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        assert "round one" not in str(asked.request_state)
        await client.call_tool("any", request_state=asked.request_state)
    assert states == [None, "round one"]


class Named(Extension):
    def __init__(self, identifier: str, *methods: str) -> None:
        self.identifier = identifier
        self._methods = methods

    def methods(self) -> Sequence[MethodBinding]:
        return [MethodBinding(method, NumberParams, count) for method in self._methods]


@pytest.mark.parametrize(
    ("extensions", "kind", "complaint"),
    [
        ([Labels(), Labels()], ValueError, "^Extension 'com.example/labels' is already registered$"),
        (
            [Named("a/a", "x/count"), Named("a/b", "x/count")],
            ValueError,
            "^Extension 'a/b' binds method 'x/count', which is already registered",
        ),
        ([Named("a")], TypeError, r"^Named\.identifier must be a `vendor-prefix/name` string"),
        ([Labels], TypeError, "^extensions= takes instances of Extension, got the class Labels$"),
        ([Closing], TypeError, "^extensions= takes instances of Extension, got the class Closing$"),
        (["com.example/labels"], TypeError, "^extensions= takes instances of Extension, got str$"),
    ],
)
def test_what_a_server_cannot_take_is_refused_when_it_is_made(
    extensions: list[Any], kind: type[Exception], complaint: str
) -> None:
    with pytest.raises(kind, match=complaint):
        MCPServer("office", extensions=extensions)


class Again(Labels):
    """Another extension, with the tools and resources of the first."""

    identifier = "com.example/again"

    def methods(self) -> Sequence[MethodBinding]:
        return []


class AgainResources(Again):
    def tools(self) -> Sequence[ToolBinding]:
        return []


async def test_a_tool_and_a_resource_are_of_one_extension() -> None:
    message = "^Extension 'com.example/again' adds the {} '{}', which extension 'com.example/labels' has added already"
    with pytest.raises(ValueError, match=message.format("tool", "label")):
        MCPServer("office", extensions=[Labels(), Again()])
    with pytest.raises(ValueError, match=message.format("tool", "label")):
        MCPServer("office", extensions=[Labels(), Again()], on_duplicate="error")
    with pytest.raises(ValueError, match=message.format("resource", "labels://roll")):
        MCPServer("office", extensions=[Labels(), AgainResources()])


async def test_a_server_can_say_which_of_two_tools_shall_be_it(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("office", extensions=[Labels(), Again()], on_duplicate="ignore")
    assert [tool.name for tool in await mcp.list_tools()] == ["label", "gated"]
    assert caplog.text == ""


async def test_a_tool_that_a_server_has_besides_is_treated_as_by_add_tool(caplog: pytest.LogCaptureFixture) -> None:
    MCPServer("office", tools=[Tool.from_function(label)], extensions=[Labels()])
    assert "Tool already exists: label" in caplog.text


def returning(**declared: Any) -> Extension:
    """An extension whose methods return what is given, whatever that is."""
    odd = Extension()
    odd.identifier = "com.example/odd"
    for name, value in declared.items():
        setattr(odd, name, partial(dict[str, Any].get, {name: value}, name))
    return odd


async def not_a_list() -> None: ...


@pytest.mark.parametrize(
    ("kind", "value", "complaint"),
    [
        ("tools", None, "must return ToolBinding objects in a list, got None$"),
        ("tools", [label], "must return ToolBinding objects in a list; <function label .*> is in it$"),
        ("tools", not_a_list(), "must return ToolBinding objects in a list, got <coroutine "),
        ("resources", [TextResource(uri="labels://roll", text="")], "must return ResourceBinding .* is in it$"),
        ("resources", "labels://roll", "must return ResourceBinding objects in a list, got 'labels://roll'$"),
        ("methods", [count], "must return MethodBinding objects in a list; <function count .*> is in it$"),
        ("settings", {1: "x"}, "must have text as keys, got 1$"),
        ("settings", {"by": object()}, "must be JSON: .*object"),
        ("settings", None, "must return a dict, got NoneType$"),
    ],
)
async def test_what_an_extension_declares_is_checked(kind: str, value: Any, complaint: str) -> None:
    with pytest.raises(TypeError, match=rf"^{kind}\(\) of extension 'com.example/odd' {complaint}"):
        MCPServer("office", extensions=[returning(**{kind: value})])


async def test_an_interceptor_is_asynchronous() -> None:
    def intercept_tool_call(self: Any, params: Any, ctx: Any, call_next: Any) -> dict[str, Any]:
        return {}

    hasty: Any = type("Hasty", (Labels,), {"intercept_tool_call": intercept_tool_call})
    with pytest.raises(TypeError, match=r"^Hasty\.intercept_tool_call must be `async def`, and is not$"):
        MCPServer("office", extensions=[hasty()])


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"fn": "label"}, "ToolBinding takes a function as fn, got 'label'"),
        ({"fn": label, "kwargs": "x"}, r"ToolBinding takes a dict with arguments of add_tool\(\) as kwargs, got 'x'"),
        ({"fn": label, "kwargs": {"meta": {"k": 1}}}, "ToolBinding has a field for 'meta': pass meta= to it"),
        ({"fn": label, "kwargs": {"fn": gated}}, "ToolBinding has a field for 'fn'"),
    ],
)
async def test_the_fields_of_a_tool_binding_are_checked(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        ToolBinding(**fields)
