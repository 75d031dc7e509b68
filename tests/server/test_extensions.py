"""Extensions of a low-level server: what is announced, methods of their own, and what stands around a tool's call."""

from collections.abc import Awaitable, Sequence
from functools import partial, wraps
from typing import Any, Literal

import pytest
from pydantic import Field
from wire import AnyResult, connected, identity, refusal, send

from mcp import Client, MCPError, types
from mcp.client import advertise
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import (
    Extension,
    MethodBinding,
    RequestHandler,
    ToolBinding,
    add_extension,
    compose_tool_call_handler,
    require_client_extension,
)
from mcp.types.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_REQUIRED_CLIENT_CAPABILITY

TIDES = "com.example/tides"
Context = ServerRequestContext[Any, Any]


class TideParams(types.RequestParams):
    harbour: str
    days: int = Field(default=2, ge=1, le=5)


class Tides(types.Result):
    heights: list[str]


class TidesRequest(types.Request[TideParams, Literal["com.example/tides"]]):
    method: Literal["com.example/tides"] = TIDES
    params: TideParams


async def tides(ctx: Context, params: TideParams) -> Tides:
    return Tides(heights=[f"{params.harbour}-{n}" for n in range(params.days)])


async def gated_tides(ctx: Context, params: TideParams) -> Tides:
    require_client_extension(ctx, TIDES)
    return await tides(ctx, params)


def binding(handler: RequestHandler = tides, **options: Any) -> MethodBinding:
    return MethodBinding(TIDES, TideParams, handler, **options)


class Given(Extension):
    """An extension that has what it is given."""

    def __init__(self, *methods: MethodBinding, identifier: Any = TIDES, settings: Any = None) -> None:
        self.identifier = identifier
        self._methods = methods
        self._settings: Any = {} if settings is None else settings

    def settings(self) -> dict[str, Any]:
        return self._settings

    def methods(self) -> Sequence[MethodBinding]:
        return self._methods


async def list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="add", input_schema={"type": "object"})])


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    text = f"{params.name} {params.arguments} for {ctx.method}"
    return types.CallToolResult(content=[types.TextContent(text=text)])


def served(*extensions: Extension) -> Server[Any]:
    server = Server[Any]("srv", on_list_tools=list_tools)
    handler = compose_tool_call_handler(extensions, call_tool)
    server.add_request_handler("tools/call", types.CallToolRequestParams, handler)
    for extension in extensions:
        add_extension(server, extension)
    return server


# What is announced.


@pytest.mark.anyio
async def test_a_client_is_told_of_an_extension_and_its_settings() -> None:
    server = served(Given(settings={"sticky": True}), Given(identifier="com.example/plain"))
    async with Client(server) as client:
        assert client.server_capabilities.extensions == {TIDES: {"sticky": True}, "com.example/plain": {}}


@pytest.mark.anyio
async def test_a_client_of_a_handshake_revision_sees_nothing_of_it() -> None:
    async with Client(served(Given(settings={"sticky": True})), mode="legacy") as client:
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.extensions is None


# What is refused.


def test_a_bad_identifier_is_refused_when_the_class_is_defined() -> None:
    with pytest.raises(TypeError) as raised:

        class Labels(Extension):  # pyright: ignore[reportUnusedClass]
            identifier = "labels"

    assert str(raised.value) == (
        "Labels.identifier must be a `vendor-prefix/name` string (reverse-DNS prefix required), got 'labels'"
    )


def test_a_base_needs_no_identifier_and_everything_has_a_default() -> None:
    class Base(Extension): ...

    class Labels(Base):
        identifier = "com.example/labels"

    labels = Labels()
    assert (labels.settings(), labels.tools(), labels.resources(), labels.methods()) == ({}, (), (), ())


@pytest.mark.parametrize(
    ("extension", "complaint"),
    [
        (Given(identifier="x"), "Given.identifier must be a `vendor-prefix/name` string"),
        (Extension(), "Extension.identifier must be a `vendor-prefix/name` string .* got None"),
        (Given(settings=[1]), r"settings\(\) of extension 'com.example/tides' must return a dict, got list"),
        (Given, "extensions= takes instances of Extension, got the class Given"),
        ("com.example/x", "extensions= takes instances of Extension, got str"),
    ],
)
def test_what_is_no_extension_is_refused(extension: Any, complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        add_extension(Server("srv"), extension)


def test_an_identifier_is_taken_once() -> None:
    with pytest.raises(ValueError, match=r"^Extension 'com\.example/tides' is already registered$"):
        served(Given(), Given())


def test_a_method_is_taken_once() -> None:
    other = Given(binding(protocol_versions=frozenset({"2025-11-25"})), identifier="com.example/other")
    with pytest.raises(ValueError) as raised:
        served(Given(binding()), other)
    assert str(raised.value) == (
        "Extension 'com.example/other' binds method 'com.example/tides', which is already registered; "
        "extensions add methods, and do not replace another handler"
    )


def test_a_method_is_taken_once_also_by_other_versions() -> None:
    early, late = (binding(protocol_versions=frozenset({version})) for version in ("2025-11-25", "2026-07-28"))
    with pytest.raises(ValueError, match=r"already registered; .* Bind it once with the protocol_versions of both"):
        served(Given(early, late))


def sync_tides(ctx: Context, params: TideParams) -> Any:
    return {}


@pytest.mark.parametrize(
    ("fields", "kind", "complaint"),
    [
        (("", TideParams, tides), ValueError, "MethodBinding takes the name of a method, such as 'com.*', got ''$"),
        ((5, TideParams, tides), TypeError, "MethodBinding takes the name of a method as method, got 5$"),
        (
            (TIDES, dict, tides),
            TypeError,
            "takes a model derived from RequestParams as params_type, got <class 'dict'>$",
        ),
        ((TIDES, None, tides), TypeError, "takes a model derived from RequestParams as params_type, got None$"),
        ((TIDES, TideParams, None), TypeError, "takes an asynchronous function as handler, got None$"),
        ((TIDES, TideParams, sync_tides), TypeError, "as handler: make <function sync_tides .*> `async def`$"),
        ((TIDES, TideParams, partial(sync_tides)), TypeError, "as handler: make functools.partial.* `async def`$"),
    ],
)
def test_the_fields_of_a_method_are_checked(fields: Any, kind: type[Exception], complaint: str) -> None:
    with pytest.raises(kind, match=complaint):
        MethodBinding(*fields)


@pytest.mark.anyio
async def test_a_handler_may_be_any_callable_that_returns_an_awaitable() -> None:
    class Handler:
        async def __call__(self, ctx: Context, params: TideParams) -> Tides:
            return await tides(ctx, params)

    @wraps(tides)
    def wrapped(ctx: Context, params: TideParams) -> Any:
        return tides(ctx, params)

    def annotated(ctx: Context, params: TideParams) -> Awaitable[Tides]:
        return tides(ctx, params)

    call: Any = tides
    unnamed: RequestHandler = lambda ctx, params: call(ctx, params)  # noqa: E731, PLW0108
    handlers: list[RequestHandler] = [Handler(), wrapped, annotated, partial(tides), unnamed]
    for handler in handlers:
        async with Client(served(Given(binding(handler)))) as client:
            result = await client.session.send_request(TidesRequest(params=TideParams(harbour="Brest")), Tides)
            assert result.heights == ["Brest-0", "Brest-1"]


@pytest.mark.parametrize(
    "method",
    ["tools/list", "completion/complete", "initialize", "ping", "server/discover", "elicitation/create",
     "notifications/progress"],
)  # fmt: skip
def test_the_protocols_methods_are_not_for_extensions(method: str) -> None:
    with pytest.raises(ValueError) as raised:
        MethodBinding(method, TideParams, tides)
    assert str(raised.value) == (
        f"MethodBinding cannot bind spec method {method!r}: extensions add methods, and do not replace those of the "
        "protocol; Extension.intercept_tool_call wraps tools/call, Server.middleware any other"
    )


@pytest.mark.parametrize(
    ("versions", "complaint"),
    [
        (frozenset[str](), "has an empty protocol_versions set, so it could never be served"),
        (frozenset({"1999-01-01"}), "could never be served: protocol_versions must be a set with one of 2024-11-05"),
        ("2026-07-28", "could never be served: .*, got '2026-07-28'"),
    ],
)
def test_a_method_that_could_never_be_served_is_refused(versions: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^MethodBinding for 'com.example/tides' {complaint}"):
        binding(protocol_versions=versions)


def test_bindings_are_data() -> None:
    tool = ToolBinding(fn=len)
    assert (tool.fn, tool.meta, tool.kwargs) == (len, None, {})
    assert binding() == MethodBinding(TIDES, TideParams, tides, None)


# Methods.


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_method_of_an_extension_is_served_with_validated_params(mode: str) -> None:
    async with Client(served(Given(binding())), mode=mode) as client:
        result = await client.session.send_request(TidesRequest(params=TideParams(harbour="Brest")), Tides)
        assert result.heights == ["Brest-0", "Brest-1"]
        with pytest.raises(MCPError) as raised:
            await send(client, TIDES, {"harbour": "Brest", "days": 99})
        assert raised.value.code == INVALID_PARAMS


@pytest.mark.anyio
async def test_its_result_is_one_like_any_other() -> None:
    async with connected(served(Given(binding()))) as client:
        assert await send(client, TIDES, {"harbour": "a", "days": 1}) == {
            "heights": ["a-0"],
            "resultType": "complete",
            "_meta": identity(),
        }


@pytest.mark.anyio
async def test_outside_its_revisions_the_method_does_not_exist_whatever_the_params() -> None:
    modern = served(Given(binding(protocol_versions=frozenset({"2026-07-28"}))))
    older = served(Given(binding(protocol_versions=frozenset({"2025-11-25"}))))
    for server, has, has_not in ((modern, "auto", "legacy"), (older, "legacy", "auto")):
        async with Client(server, mode=has) as client:
            assert (await send(client, TIDES, {"harbour": "a"}))["heights"] == ["a-0", "a-1"]
        async with Client(server, mode=has_not) as client:
            for params in ({"harbour": "a"}, {"days": 99}):
                error = await refusal(client, TIDES, params)
                assert (error.code, error.message, error.data) == (METHOD_NOT_FOUND, "Method not found", TIDES)


@pytest.mark.anyio
async def test_the_names_of_tasks_are_free_for_an_extension() -> None:
    async def get_task(ctx: Context, params: types.RequestParams) -> dict[str, Any]:
        return {"status": "melting"}

    versions = frozenset({"2026-07-28"})
    tasks = Given(MethodBinding("tasks/get", types.RequestParams, get_task, protocol_versions=versions))
    async with Client(served(tasks)) as client:
        assert (await send(client, "tasks/get"))["status"] == "melting"
        assert (await refusal(client, "tasks/list")).code == METHOD_NOT_FOUND
    async with Client(served(tasks), mode="legacy") as client:
        assert (await refusal(client, "tasks/get", {"taskId": "t"})).code == METHOD_NOT_FOUND


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_that_did_not_declare_an_extension_can_be_refused(mode: str) -> None:
    server = served(Given(binding(gated_tides)))
    request = TidesRequest(params=TideParams(harbour="a", days=1))
    async with Client(server, mode=mode) as client:
        with pytest.raises(MCPError) as raised:
            await client.session.send_request(request, Tides)
    error = raised.value
    assert error.code == MISSING_REQUIRED_CLIENT_CAPABILITY == -32021
    assert error.message == "Client did not declare required extension 'com.example/tides'"
    assert error.data == {"requiredCapabilities": {"extensions": {TIDES: {}}}}
    for settings in ({}, {"deep": True}):
        async with Client(server, mode=mode, extensions=[advertise(TIDES, settings)]) as client:
            assert (await client.session.send_request(request, Tides)).heights == ["a-0"]


# Interception.


class Noting(Extension):
    """Notes what it sees of a call, on its way in and on its way out."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self.identifier = f"com.example/{name}"
        self._name = name
        self._notes = notes

    async def intercept_tool_call(
        self, params: types.CallToolRequestParams, ctx: Context, call_next: CallNext
    ) -> HandlerResult:
        self._notes.append(f"{self._name} {params.name} {params.arguments}")
        result = await call_next(ctx)
        self._notes.append(f"{self._name} {type(result).__name__}")
        return result


@pytest.mark.anyio
async def test_the_first_extension_stands_outermost_around_a_call() -> None:
    notes: list[str] = []
    async with Client(served(Noting("a", notes), Given(), Noting("b", notes))) as client:
        await client.call_tool("add", {"x": 1})
        await client.list_tools()
    assert notes == ["a add {'x': 1}", "b add {'x': 1}", "b CallToolResult", "a CallToolResult"]


def test_without_interceptors_the_handler_stays_as_it_is() -> None:
    assert compose_tool_call_handler([], call_tool) is call_tool
    assert compose_tool_call_handler([Given(), Extension()], call_tool) is call_tool


@pytest.mark.anyio
async def test_an_interceptor_may_refuse_a_call() -> None:
    class Closed(Given):
        async def intercept_tool_call(self, params: Any, ctx: Context, call_next: CallNext) -> HandlerResult:
            raise MCPError(-32099, "closed on Sundays")

    async with connected(served(Closed())) as client:
        error = await refusal(client, "tools/call", {"name": "add"})
    assert (error.code, error.message) == (-32099, "closed on Sundays")


@pytest.mark.anyio
async def test_what_an_interceptor_answers_is_a_result_like_any_other() -> None:
    class Answering(Given):
        async def intercept_tool_call(self, params: Any, ctx: Context, call_next: CallNext) -> HandlerResult:
            return {"content": [], "structuredContent": {"by": params.name}}

    async with connected(served(Answering())) as client:
        assert await send(client, "tools/call", {"name": "add"}) == {
            "content": [],
            "structuredContent": {"by": "add"},
            "resultType": "complete",
            "_meta": identity(),
        }


@pytest.mark.anyio
async def test_another_context_changes_what_the_handler_observes_and_not_what_is_called() -> None:
    class Rewriting(Given):
        async def intercept_tool_call(self, params: Any, ctx: Context, call_next: CallNext) -> HandlerResult:
            from dataclasses import replace

            return await call_next(replace(ctx, method="rewritten", params={"name": "subtract"}))

    async with Client(served(Rewriting())) as client:
        result = await client.call_tool("add", {"x": 1})
    assert result.content == [types.TextContent(text="add {'x': 1} for rewritten")]


@pytest.mark.anyio
async def test_a_result_of_a_kind_of_its_own_reaches_the_client_verbatim_and_only_in_2026_07_28() -> None:
    class Issuing(Given):
        async def intercept_tool_call(self, params: Any, ctx: Context, call_next: CallNext) -> HandlerResult:
            return {"resultType": "ticket", "ticketNumber": "t-9"}

    request = types.CallToolRequest(params=types.CallToolRequestParams(name="add"))
    async with Client(served(Issuing())) as client:
        result = await client.session.send_request(request, AnyResult)
        assert result.root == {"resultType": "ticket", "ticketNumber": "t-9", "_meta": identity()}
    async with Client(served(Issuing()), mode="legacy") as client:
        with pytest.raises(MCPError, match="Handler returned an invalid result"):
            await client.session.send_request(request, AnyResult)
