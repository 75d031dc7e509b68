"""Tools of an `MCPServer`: ordinary functions, as clients of both eras see them."""

import asyncio
import functools
import logging
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import anyio
import pytest
from pydantic import BaseModel, Field

from mcp import Client, MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import InvalidSignature, ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool, ToolManager
from mcp.types import CallToolResult, Icon, TextContent, ToolAnnotations
from mcp.types import Tool as MCPTool

pytestmark = pytest.mark.anyio

Mode = Literal["auto", "legacy"]


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    """Both eras."""
    return request.param


@pytest.fixture
def mcp() -> MCPServer:
    return MCPServer("tools")


def text_of(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


async def listed(mcp: MCPServer, mode: Mode = "auto") -> dict[str, MCPTool]:
    async with Client(mcp, mode=mode) as client:
        return {tool.name: tool for tool in (await client.list_tools()).tools}


async def called(mcp: MCPServer, name: str, arguments: dict[str, Any], mode: Mode = "auto") -> CallToolResult:
    async with Client(mcp, mode=mode) as client:
        return await client.call_tool(name, arguments)


# What clients are told.


async def test_name_description_and_schema_come_from_the_function(mcp: MCPServer, mode: Mode) -> None:
    @mcp.tool()
    def search_books(query: str, limit: int = 10) -> str:
        """Search the catalog by title or author."""
        return f"{query} {limit}"

    tool = (await listed(mcp, mode))["search_books"]
    assert tool.description == "Search the catalog by title or author."
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "query": {"title": "Query", "type": "string"},
            "limit": {"default": 10, "title": "Limit", "type": "integer"},
        },
        "required": ["query"],
        "title": "search_booksArguments",
    }
    result = await called(mcp, "search_books", {"query": "dune"}, mode)
    assert text_of(result) == "dune 10"
    assert result.structured_content == {"result": "dune 10"}


async def test_everything_can_be_said_in_the_decorator(mcp: MCPServer) -> None:
    @mcp.tool(
        name="find",
        title="Find",
        description="Finds.",
        annotations=ToolAnnotations(read_only_hint=True),
        icons=[Icon(src="https://example.com/icon.png")],
        meta={"team": "search"},
        structured_output=False,
    )
    def search() -> str:
        """Not what the model reads."""
        return "found"

    [tool] = (await listed(mcp)).values()
    assert (tool.name, tool.title, tool.description) == ("find", "Find", "Finds.")
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is True
    assert tool.icons == [Icon(src="https://example.com/icon.png")]
    assert tool.meta == {"team": "search"}
    assert tool.output_schema is None
    assert (await called(mcp, "find", {})).structured_content is None
    assert search() == "found"


async def test_a_partial_a_bound_method_and_an_object_are_tools_too(mcp: MCPServer) -> None:
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    class Counter:
        def count(self, by: int) -> int:
            return 10 + by

    class Doubler:
        def __call__(self, n: int) -> int:
            return 2 * n

    mcp.add_tool(functools.partial(add, 1), name="increment")
    mcp.add_tool(Counter().count)
    mcp.add_tool(Doubler())
    tools = await listed(mcp)
    assert set(tools) == {"increment", "count", "Doubler"}
    assert tools["increment"].description == "Adds."
    assert text_of(await called(mcp, "increment", {"b": 2})) == "3"
    assert text_of(await called(mcp, "count", {"by": 5})) == "15"
    assert text_of(await called(mcp, "Doubler", {"n": 4})) == "8"


def test_a_lambda_needs_a_name(mcp: MCPServer) -> None:
    double: Callable[[int], int] = lambda n: n * 2  # noqa: E731
    with pytest.raises(ValueError, match="You must provide a name for lambda functions"):
        mcp.add_tool(double)
    mcp.add_tool(double, name="double")


@pytest.mark.parametrize(
    ("decorator", "right"),
    [
        ("tool", "@tool()"),
        ("prompt", "@prompt()"),
        ("completion", "@completion()"),
        ("custom_route", "@custom_route('/path', methods=['GET'])"),
    ],
)
def test_a_decorator_without_parentheses_says_so(mcp: MCPServer, decorator: str, right: str) -> None:
    with pytest.raises(TypeError, match=f"The @{decorator} decorator was used incorrectly") as caught:
        getattr(mcp, decorator)(lambda: None)
    assert f"Use {right} instead of @{decorator}" in str(caught.value)


def test_the_resource_decorator_without_its_uri_says_so(mcp: MCPServer) -> None:
    wrong: Any = mcp.resource
    with pytest.raises(TypeError, match="Use @resource\\('uri'\\) instead of @resource"):
        wrong(lambda: None)


def test_a_header_annotation_that_clients_would_reject_is_refused(mcp: MCPServer) -> None:
    def find(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "not a token"})]) -> str:
        return region

    with pytest.raises(InvalidSignature, match="find"):
        mcp.add_tool(find)


# Calls.


async def test_arguments_are_validated_before_the_function_runs(mcp: MCPServer, mode: Mode) -> None:
    ran: list[int] = []

    @mcp.tool()
    def count(limit: Annotated[int, Field(le=50)]) -> int:
        ran.append(limit)
        return limit

    for arguments, complaint in (
        ({"limit": 999}, "less than or equal to 50"),
        ({}, "limit"),
        ({"limit": "x"}, "limit"),
    ):
        result = await called(mcp, "count", arguments, mode)
        assert result.is_error
        assert text_of(result).startswith("Error executing tool count: 1 validation error")
        assert complaint in text_of(result)
    assert ran == []


async def test_a_plain_function_runs_in_a_thread_and_an_asynchronous_one_does_not(mcp: MCPServer) -> None:
    @mcp.tool()
    def plain() -> bool:
        return threading.current_thread() is threading.main_thread()

    @mcp.tool()
    async def in_turn() -> bool:
        await anyio.sleep(0)
        return threading.current_thread() is threading.main_thread()

    assert text_of(await called(mcp, "plain", {})) == "false"
    assert text_of(await called(mcp, "in_turn", {})) == "true"


async def test_calls_run_side_by_side(mcp: MCPServer) -> None:
    met = threading.Barrier(3, timeout=10)

    @mcp.tool()
    def meet() -> str:
        met.wait()
        return "met"

    async with Client(mcp) as client, anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(client.call_tool, "meet")


# Failures.


async def test_what_a_tool_raises_is_a_result_that_the_model_reads(mcp: MCPServer, mode: Mode) -> None:
    @mcp.tool()
    def author(title: str) -> str:
        raise ValueError(f"No book titled {title!r} in the catalog.")

    @mcp.tool()
    def silent() -> str:
        raise KeyError

    result = await called(mcp, "author", {"title": "Nothing"}, mode)
    assert result.is_error
    assert text_of(result) == "Error executing tool author: No book titled 'Nothing' in the catalog."
    assert result.structured_content is None
    assert text_of(await called(mcp, "silent", {}, mode)) == "Error executing tool silent: KeyError"


async def test_an_unknown_tool_is_a_result_too(mcp: MCPServer, mode: Mode) -> None:
    result = await called(mcp, "nothing", {}, mode)
    assert result.is_error
    assert text_of(result) == "Unknown tool: nothing"


async def test_a_protocol_error_goes_through_as_it_is(mcp: MCPServer, mode: Mode) -> None:
    @mcp.tool()
    def refuse() -> str:
        raise MCPError(-32602, "not for you", {"why": "age"})

    @mcp.tool()
    async def refuse_in_a_task() -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, refuse)
        return "never"

    for name in ("refuse", "refuse_in_a_task"):
        with pytest.raises(MCPError) as caught:
            await called(mcp, name, {}, mode)
        assert (caught.value.code, caught.value.message, caught.value.data) == (-32602, "not for you", {"why": "age"})


async def test_an_error_out_of_a_task_group_keeps_its_text(mcp: MCPServer, mode: Mode) -> None:
    async def fail(text: str) -> None:
        raise ToolError(text)

    @mcp.tool()
    async def weather() -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(fail, "city unknown")
        return "never"

    assert text_of(await called(mcp, "weather", {}, mode)) == "Error executing tool weather: city unknown"


async def test_many_wrong_values_are_told_in_a_short_text(mcp: MCPServer, mode: Mode) -> None:
    @mcp.tool()
    def total(numbers: list[int], names: dict[str, int] = {}) -> int:  # noqa: B006
        return sum(numbers)

    @mcp.tool()
    def echo(numbers: list[Any]) -> list[int]:
        return numbers

    wrong = {"numbers": ["x" * 1_000] * 5_000}
    for name, title in (("total", "totalArguments"), ("echo", "echoOutput")):
        text = text_of(await called(mcp, name, wrong, mode))
        assert text.startswith(f"Error executing tool {name}: 5000 validation errors for {title}\n")
        assert text.count("Input should be a valid integer") == 20
        assert "numbers.19\n" in text or "result.19\n" in text
        assert text.endswith("\n... and 4980 more")
        assert len(text) < 10_000

    text = text_of(await called(mcp, "total", {"numbers": ["x"] * 100_001}, mode))
    assert text == "Error executing tool total: 100001 validation errors for totalArguments"

    text = text_of(await called(mcp, "total", {"numbers": [], "names": {"n" * 100_000: "x"}}, mode))
    assert text.startswith("Error executing tool total: 1 validation error for totalArguments\nnames.nnn")
    assert len(text) < 11_000


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


async def test_an_exception_without_a_text_that_could_be_made_is_named(mcp: MCPServer, mode: Mode) -> None:
    @mcp.tool()
    def fail() -> str:
        raise Unprintable

    expected = "Error executing tool fail: Unprintable (to make its text raised ZeroDivisionError)"
    assert text_of(await called(mcp, "fail", {}, mode)) == expected


@pytest.mark.parametrize("value", [{"\ud800": 1}, {"a\ufffd": [{"\ud800": 1}]}])
async def test_half_a_surrogate_pair_in_a_key_of_a_result_is_an_error(mcp: MCPServer, mode: Mode, value: Any) -> None:
    @dataclass
    class Holder:
        it: dict[str, Any]

    @dataclass
    class Numbers:
        it: dict[str, int]

    class Model(BaseModel):
        it: dict[str, Any]

    kinds: list[tuple[Any, Any]] = [
        (dict[str, Any], value),
        (dict[str, dict[str, Any]], {"it": value}),
        (list[dict[str, Any]], [value]),
        (dict[str, list[dict[str, int]]], {"it": [{"\ud800": 1}]}),
        (dict[str, tuple[Numbers]], {"it": (Numbers({"\ud800": 1}),)}),
        (Model, Model(it=value)),
        (Holder, Holder(value)),
        (Any, value),
        (Any, Model(it=value)),
        (Any, Holder(value)),
    ]
    for number, (kind, result) in enumerate(kinds):
        mcp.add_tool(_returning(kind, result), name=f"given_{number}")
        assert "surrogates not allowed" in text_of(await called(mcp, f"given_{number}", {}, mode)), (kind, result)


def _returning(kind: Any, value: Any) -> Callable[[], Any]:
    def given() -> Any:
        return value

    given.__annotations__["return"] = kind
    return given


async def test_a_replacement_character_is_a_character(mcp: MCPServer, mode: Mode) -> None:
    @mcp.tool()
    def given() -> dict[str, str]:
        return {"a\ufffd": "\ufffd"}

    result = await called(mcp, "given", {}, mode)
    assert result.structured_content == {"a\ufffd": "\ufffd"}


async def test_an_exit_ends_the_one_call_alone(mcp: MCPServer, mode: Mode) -> None:
    @mcp.tool()
    def leave() -> str:
        sys.exit("out of here")

    @mcp.tool()
    async def leave_in_turn() -> str:
        sys.exit(3)

    @mcp.tool()
    def stay() -> str:
        return "here"

    async with Client(mcp, mode=mode) as client:
        assert text_of(await client.call_tool("leave", {})) == "Error executing tool leave: SystemExit: out of here"
        assert text_of(await client.call_tool("leave_in_turn", {})).endswith("SystemExit: 3")
        assert text_of(await client.call_tool("stay", {})) == "here"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 does not tell who cancelled")
async def test_a_cancelled_subtask_ends_the_one_call_alone(mcp: MCPServer, mode: Mode) -> None:
    @mcp.tool()
    async def cancelled() -> str:
        task = asyncio.create_task(asyncio.sleep(60))
        asyncio.get_running_loop().call_soon(task.cancel)
        await task
        return "never"

    async with Client(mcp, mode=mode) as client:
        assert text_of(await client.call_tool("cancelled", {})) == "Error executing tool cancelled: CancelledError"
        await client.list_tools()


async def test_a_cancellation_from_outside_goes_through(mcp: MCPServer) -> None:
    ended: list[str] = []

    @mcp.tool()
    async def wait() -> str:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("wait")
        return "never"

    async with Client(mcp) as client:
        with anyio.move_on_after(0.05) as scope:
            await client.call_tool("wait", {})
        assert scope.cancelled_caught
        assert ended == ["wait"]


async def test_unexpected_failures_are_logged_and_those_for_the_model_are_not(
    mcp: MCPServer, caplog: pytest.LogCaptureFixture
) -> None:
    @mcp.tool()
    def expected() -> str:
        raise ToolError("try again")

    @mcp.tool()
    def unexpected() -> str:
        raise RuntimeError("broken")

    await called(mcp, "expected", {})
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []

    @mcp.tool()
    def promises() -> int:
        broken: Any = "not a number"
        return broken

    await called(mcp, "unexpected", {})
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert "unexpected" in record.getMessage()
    assert record.exc_info is not None
    assert (await called(mcp, "promises", {})).is_error
    assert "promises" in caplog.messages[-1]


async def test_half_a_surrogate_pair_in_an_error_does_not_break_the_answer(
    mcp: MCPServer, mode: Mode, caplog: pytest.LogCaptureFixture
) -> None:
    # What a worker of the test run reports has to be UTF-8.
    caplog.set_level(logging.CRITICAL)

    @mcp.tool()
    def fail() -> str:
        raise ValueError("file-\udcff")

    assert text_of(await called(mcp, "fail", {}, mode)) == "Error executing tool fail: file-?"


# Calls without a client.


async def test_a_server_can_be_called_directly(mcp: MCPServer) -> None:
    @mcp.tool()
    async def add(a: int, b: int) -> int:
        return a + b

    @mcp.tool()
    async def fail() -> str:
        raise ValueError("broken")

    result = await mcp.call_tool("add", {"a": 1, "b": "2"})
    assert isinstance(result, CallToolResult)
    assert result.structured_content == {"result": 3}
    with pytest.raises(UnexpectedToolError, match="Error executing tool fail: broken") as caught:
        await mcp.call_tool("fail", {})
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(ToolError, match="Unknown tool: nothing"):
        await mcp.call_tool("nothing", {})
    assert [tool.name for tool in await mcp.list_tools()] == ["add", "fail"]


async def test_what_a_subclass_overrides_is_what_clients_get(mode: Mode) -> None:
    class Renamed(MCPServer):
        async def list_tools(self) -> list[MCPTool]:
            return [tool.model_copy(update={"title": "Mine"}) for tool in await super().list_tools()]

        async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
            return await super().call_tool(name.removeprefix("my_"), arguments, context)

    mcp = Renamed("renamed")
    mcp.add_tool(lambda: "found", name="find")
    assert (await listed(mcp, mode))["find"].title == "Mine"
    assert text_of(await called(mcp, "my_find", {}, mode)) == "found"


# The set of tools.


async def test_tools_come_and_go(mcp: MCPServer) -> None:
    mcp.add_tool(lambda: 1, name="one")
    assert list(await listed(mcp)) == ["one"]
    mcp.add_tool(lambda: 2, name="two")
    assert list(await listed(mcp)) == ["one", "two"]
    mcp.remove_tool("one")
    assert list(await listed(mcp)) == ["two"]
    with pytest.raises(ToolError, match="Unknown tool: one"):
        mcp.remove_tool("one")


async def test_a_tool_that_is_edited_is_listed_anew(mcp: MCPServer, mode: Mode) -> None:
    mcp.add_tool(lambda: 1, name="one")
    await listed(mcp, mode)
    tool = mcp.managers[0].get_tool("one")
    assert tool is not None
    tool.description = "Gives one."
    assert (await listed(mcp, mode))["one"].description == "Gives one."


async def test_tools_may_be_given_to_the_constructor(mode: Mode) -> None:
    def one() -> int:
        return 1

    mcp = MCPServer("tools", tools=[Tool.from_function(one, title="One")])
    assert (await listed(mcp, mode))["one"].title == "One"
    assert text_of(await called(mcp, "one", {}, mode)) == "1"


async def test_a_subclass_of_tool_runs_in_its_own_way(mode: Mode) -> None:
    class Loud(Tool):
        async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
            result = await super().run(arguments, context, convert_result)
            return result.model_copy(update={"content": [TextContent(text=text_of(result).upper())]})

    mcp = MCPServer("tools", tools=[Loud.from_function(lambda: "quiet", name="speak")])
    assert text_of(await called(mcp, "speak", {}, mode)) == "QUIET"


def first() -> str:
    """The first."""
    return "first"


def second() -> str:
    """The second."""
    return "second"


@pytest.mark.parametrize(
    ("options", "kept", "warned"),
    [
        ({}, "first", True),
        ({"warn_on_duplicate_tools": False}, "first", False),
        ({"on_duplicate": "warn"}, "first", True),
        ({"on_duplicate": "ignore"}, "first", False),
        ({"on_duplicate": "replace"}, "second", False),
    ],
)
async def test_a_name_that_is_taken_is_kept_or_replaced(
    options: dict[str, Any], kept: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = MCPServer("tools", **options)
    mcp.add_tool(first, name="it")
    mcp.add_tool(second, name="it")
    assert text_of(await called(mcp, "it", {})) == kept
    assert ("Tool already exists: it" in caplog.messages) is warned


def test_a_name_that_is_taken_may_be_refused() -> None:
    mcp = MCPServer("tools", on_duplicate="error")
    mcp.add_tool(first, name="it")
    with pytest.raises(ValueError, match="Tool already exists: it"):
        mcp.add_tool(second, name="it")


def test_a_manager_returns_the_tool_that_has_the_name() -> None:
    manager = ToolManager()
    tool = manager.add_tool(first)
    assert manager.add_tool(second, name="first") is tool
    assert manager.list_tools() == [tool]


def test_a_mistake_in_an_annotation_shows_before_the_first_request(mcp: MCPServer) -> None:
    def later(item: Any) -> str:
        return ""

    later.__annotations__["item"] = "Missing"
    mcp.add_tool(later)
    with pytest.raises(InvalidSignature, match="Missing"):
        mcp.complete()


def late() -> Callable[..., str]:
    """A function whose parameter is of a type that never comes."""

    def late(item: Any) -> str:
        return ""

    late.__annotations__["item"] = "Missing"
    return late


async def test_a_mistake_in_an_annotation_keeps_the_server_from_starting(mcp: MCPServer, mode: Mode) -> None:
    mcp.add_tool(late())
    with pytest.raises(InvalidSignature, match="Missing"):
        async with Client(mcp, mode=mode):
            pass


async def test_a_mistake_in_what_the_lifespan_adds_keeps_the_server_from_starting(mode: Mode) -> None:
    @asynccontextmanager
    async def lifespan(mcp: MCPServer) -> AsyncGenerator[None, None]:
        mcp.add_tool(late())
        yield

    with pytest.raises(InvalidSignature, match="Missing"):
        async with Client(MCPServer("tools", lifespan=lifespan), mode=mode):
            pass


async def test_a_mistake_in_what_is_added_to_a_running_server_is_refused_at_once(mcp: MCPServer, mode: Mode) -> None:
    mcp.add_tool(first)
    async with Client(mcp, mode=mode, cache=False) as client:
        with pytest.raises(InvalidSignature, match="Missing"):
            mcp.add_tool(late())
        with pytest.raises(InvalidSignature, match="Missing"):
            mcp.prompt()(late())
        with pytest.raises(InvalidSignature, match="Missing"):
            mcp.resource("late://{item}")(late())
        mcp.add_tool(second)
        assert [tool.name for tool in (await client.list_tools()).tools] == ["first", "second"]
        assert (await client.list_prompts()).prompts == []


async def test_a_listing_that_failed_is_made_again(
    mcp: MCPServer, mode: Mode, caplog: pytest.LogCaptureFixture
) -> None:
    mcp.add_tool(first)
    mcp.add_tool(second)
    tool = mcp.managers[0].get_tool("second")
    assert tool is not None
    async with Client(mcp, mode=mode, cache=False) as client:
        assert len((await client.list_tools()).tools) == 2
        tool.title = broken = object()  # pyright: ignore[reportAttributeAccessIssue]
        for _ in range(2):
            caplog.clear()
            with pytest.raises(MCPError):
                await client.list_tools()
            assert "the tool 'second' cannot be listed" in caplog.text
        assert tool.title is broken
        tool.title = "Second"
        assert [tool.title for tool in (await client.list_tools()).tools] == [None, "Second"]


async def test_what_is_changed_within_a_tool_is_in_the_next_listing(mcp: MCPServer, mode: Mode) -> None:
    def count(words: list[str]) -> dict[str, int]:
        return {}

    mcp.add_tool(count, meta={"a": {"b": 1}}, annotations=ToolAnnotations(title="Count"), icons=[Icon(src="x:1")])
    tool = mcp.managers[0].get_tool("count")
    assert tool is not None
    assert tool.meta is not None
    assert tool.annotations is not None
    assert tool.icons is not None
    async with Client(mcp, mode=mode, cache=False) as client:

        async def listed_now() -> MCPTool:
            [listed] = (await client.list_tools()).tools
            return listed

        await listed_now()
        tool.meta["a"]["b"] = 2
        assert (await listed_now()).meta == {"a": {"b": 2}}
        tool.annotations.title = "Counts"
        assert (await listed_now()).annotations == ToolAnnotations(title="Counts")
        tool.icons.append(Icon(src="x:2"))
        assert [icon.src for icon in (await listed_now()).icons or ()] == ["x:1", "x:2"]
        tool.icons[0].src = "x:0"
        assert [icon.src for icon in (await listed_now()).icons or ()] == ["x:0", "x:2"]
        tool.parameters["properties"]["words"]["description"] = "Some words."
        assert (await listed_now()).input_schema["properties"]["words"]["description"] == "Some words."
        tool.parameters["properties"]["words"]["description"] = "Words."
        assert (await listed_now()).input_schema["properties"]["words"]["description"] == "Words."
        assert tool.output_schema is not None
        tool.output_schema["description"] = "How often."
        output = (await listed_now()).output_schema
        assert output is not None
        assert output["description"] == "How often."


async def test_a_tool_that_is_renamed_stays_under_the_name_that_it_was_added_under(mcp: MCPServer, mode: Mode) -> None:
    mcp.add_tool(first)
    tool = mcp.managers[0].get_tool("first")
    assert tool is not None
    tool.name = "other"
    assert list(await listed(mcp, mode)) == ["first"] == [entry.name for entry in await mcp.list_tools()]
    assert text_of(await called(mcp, "first", {}, mode)) == "first"


async def test_a_listing_that_a_program_replaces_is_what_clients_get(
    mcp: MCPServer, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    mcp.add_tool(first)
    own = MCPServer.list_tools

    async def of_all(self: MCPServer) -> list[MCPTool]:
        return [tool.model_copy(update={"title": "All"}) for tool in await own(self)]

    async def of_one() -> list[MCPTool]:
        return [tool.model_copy(update={"title": "One"}) for tool in await own(mcp)]

    monkeypatch.setattr(MCPServer, "list_tools", of_all)
    assert (await listed(mcp, mode))["first"].title == "All"
    monkeypatch.setattr(mcp, "list_tools", of_one)
    assert (await listed(mcp, mode))["first"].title == "One"
    monkeypatch.undo()
    assert (await listed(mcp, mode))["first"].title is None


def test_listings_hold_what_was_added_before_in_every_thread(mcp: MCPServer) -> None:
    stale: list[str] = []

    async def come_and_go(thread: int) -> None:
        async with Client(mcp, cache=False) as client:
            for number in range(50):
                name = f"tool_{thread}_{number}"
                mcp.add_tool(first, name=name)
                if name not in [tool.name for tool in (await client.list_tools()).tools]:
                    stale.append(name)
                mcp.remove_tool(name)

    threads = [threading.Thread(target=anyio.run, args=(come_and_go, number)) for number in range(3)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert stale == []


@pytest.mark.parametrize(
    ("owner", "method"), [(MCPServer, "call_tool"), (ToolManager, "call_tool"), (Tool, "run")], ids=str
)
async def test_who_stands_between_a_request_and_its_tool_gets_the_result_as_an_object(
    monkeypatch: pytest.MonkeyPatch, owner: type[Any], method: str
) -> None:
    """Instrumentations put functions of their own in the place of these."""
    server: MCPServer = MCPServer("observed")
    seen: list[Any] = []
    own = getattr(owner, method)

    @server.tool()
    def double(number: int) -> int:
        return 2 * number

    async def observed(*args: Any, **kwargs: Any) -> Any:
        seen.append(await own(*args, **kwargs))
        return seen[-1]

    monkeypatch.setattr(owner, method, observed)
    async with Client(server) as client:
        result = await client.call_tool("double", {"number": 2})

    assert [type(one) for one in seen] == [CallToolResult]
    assert result.structured_content == seen[0].structured_content == {"result": 4}


async def test_a_method_that_replaces_the_servers_own_on_one_object_gets_the_result_as_an_object() -> None:
    server: MCPServer = MCPServer("observed")
    seen: list[Any] = []
    own = server.call_tool

    @server.tool()
    def greet(name: str) -> str:
        return f"hello {name}"

    async def observed(*args: Any, **kwargs: Any) -> Any:
        seen.append(await own(*args, **kwargs))
        return seen[-1]

    server.call_tool = observed
    async with Client(server) as client:
        await client.call_tool("greet", {"name": "you"})

    assert [type(one) for one in seen] == [CallToolResult]
