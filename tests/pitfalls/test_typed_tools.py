"""Reports about the arguments of tools, as clients of an `MCPServer` meet them. See also test_signatures.py."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from connections import only_text
from pydantic import BaseModel, Field
from wrapped_elsewhere import wrapped

from mcp import Client, types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import InvalidSignature

pytestmark = pytest.mark.anyio


class User(BaseModel):
    name: str


def serving(function: Callable[..., Any], **options: Any) -> MCPServer:
    """A server with this function as its only tool, under the name `f`."""
    mcp = MCPServer("typed", **options)
    mcp.add_tool(function, name="f")
    return mcp


async def called(mcp: MCPServer, mode: str, arguments: dict[str, Any]) -> types.CallToolResult:
    async with Client(mcp, mode=mode) as client:
        return await client.call_tool("f", arguments)


async def listed(mcp: MCPServer, mode: str) -> dict[str, Any]:
    """The schema that is listed of the only tool."""
    async with Client(mcp, mode=mode) as client:
        [tool] = (await client.list_tools()).tools
    return tool.input_schema


# B71


async def test_b71_an_object_or_a_list_may_come_as_json_text(mode: str) -> None:
    """Some models send objects as text, and were told that they were no objects."""

    def f(user: User, xs: list[int], note: str, memo: str | None = None) -> str:
        return repr((user.name, xs, note, memo))

    text = '{"name": "a"}'
    result = await called(serving(f), mode, {"user": text, "xs": "[1]", "note": text, "memo": "null"})

    assert only_text(result) == repr(("a", [1], text, "null"))


async def test_b71_text_that_is_no_json_of_the_type_is_refused(mode: str) -> None:
    """It is still an error that names the argument."""

    def f(user: User) -> str:
        return user.name

    for text in ["a", "{", '{"name": 1}', "[1]", "{'name': 'a'}", '{"name": NaN}']:
        result = await called(serving(f), mode, {"user": text})
        assert result.is_error
        assert "user" in only_text(result)


# B72


def read(topic: str = "", days: int = 1) -> str:
    return f"{topic} {days}"


async def test_b72_a_misspelt_argument_is_told_with_what_was_meant(mode: str) -> None:
    """The tool ran on its default, and nobody knew."""
    result = await called(serving(read), mode, {"topik": "x"})

    assert result.is_error
    assert "topik" in only_text(result)
    assert "did you mean 'topic'?" in only_text(result)


async def test_b72_any_other_unknown_argument_is_ignored_with_a_log_line(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Clients send more than they are asked for. The listed schema does not forbid it."""
    with caplog.at_level(logging.INFO):
        result = await called(serving(read), mode, {"topic": "x", "unrelated": 1})

    assert (only_text(result), result.is_error) == ("x 1", False)
    assert "ignored the unknown argument 'unrelated'" in caplog.text
    assert "additionalProperties" not in await listed(serving(read), mode)


async def test_b72_a_name_that_is_close_to_a_given_one_is_no_slip(mode: str) -> None:
    """What it might have meant is there."""
    assert only_text(await called(serving(read), mode, {"topic": "x", "topics": "y"})) == "x 1"


async def test_b72_a_server_may_refuse_every_unknown_argument(mode: str) -> None:
    """The one switch; functions that want them all have `**kwargs`, of which the next test is."""
    result = await called(serving(read, unknown_arguments="refuse"), mode, {"topic": "x", "unrelated": 1})

    assert result.is_error
    assert "unrelated" in only_text(result)
    assert "expected 'days', 'topic'" in only_text(result)


async def test_b72_a_function_may_take_every_argument(mode: str) -> None:
    """Nothing is a slip then, also where unknown arguments are refused."""

    def f(topic: str = "", **more: Any) -> str:
        return repr((topic, more))

    for options in ({}, {"unknown_arguments": "refuse"}):
        assert only_text(await called(serving(f, **options), mode, {"topik": "x"})) == repr(("", {"topik": "x"}))


# B73


async def test_b73_annotations_may_be_postponed_behind_a_decorator_of_another_module(mode: str) -> None:
    """Their names were looked for in the module of the decorator."""
    assert list((await listed(serving(wrapped), mode))["$defs"]) == ["Elsewhere"]
    assert only_text(await called(serving(wrapped), mode, {"it": {"n": 1}})) == "1"


async def test_b73_an_annotation_may_name_a_local_class(mode: str) -> None:
    """Such a function could not be registered, and this is how tests and factories are written."""

    @dataclass
    class Local:
        n: int

    def f(it: "Local", those: "list[Local]") -> "Local":
        return Local(it.n + len(those))

    result = await called(serving(f), mode, {"it": {"n": 1}, "those": [{"n": 2}]})
    assert result.structured_content == {"n": 2}


async def test_b73_a_name_that_never_exists_is_told_before_the_first_request() -> None:
    """It failed in the middle of a session."""

    def f(it: int) -> None: ...

    f.__annotations__["it"] = "Nowhere"
    with pytest.raises(InvalidSignature, match=r"parameter 'it': the name 'Nowhere' is not defined"):
        serving(f).complete()


# B74


async def plain(a: int, ctx: Context) -> str:
    return f"{a} {ctx.request_id != ''}"


async def parametrized(ctx: Context[Any, Any], a: int) -> str:
    return f"{a} {ctx.request_id != ''}"


async def annotated(a: int, ctx: Annotated[Context, "mine"]) -> str:
    return f"{a} {ctx.request_id != ''}"


async def in_quotes(a: int, ctx: "Context") -> str:
    return f"{a} {ctx.request_id != ''}"


async def keyword_only(a: int, *, ctx: "Context[Any, Any]") -> str:
    return f"{a} {ctx.request_id != ''}"


async def optional(a: int, ctx: Context | None = None) -> str:
    return f"{a} {ctx is not None}"


def in_a_thread(a: int, anything: Context) -> str:
    return f"{a} {anything.request_id != ''}"


SPELLINGS: list[Callable[..., Any]] = [plain, parametrized, annotated, in_quotes, keyword_only, optional, in_a_thread]


@pytest.mark.parametrize("function", SPELLINGS, ids=lambda it: getattr(it, "__name__", ""))
async def test_b74_a_context_is_never_an_argument_and_always_given(function: Any, mode: str) -> None:
    """Spelled in any way but the plainest it became one."""
    mcp = serving(function)
    assert list((await listed(mcp, mode))["properties"]) == ["a"]
    assert only_text(await called(mcp, mode, {"a": 1})) == "1 True"
    # Nor can a client make one up.
    assert only_text(await called(mcp, mode, {"a": 1, "ctx": None, "anything": {}})) == "1 True"


# B76


class Counter:
    def add(self, n: int) -> int:
        return n + 1


async def test_b76_a_method_without_its_object_is_refused_and_one_with_it_works(mode: str) -> None:
    """`self` was listed as an argument."""
    mcp = MCPServer("typed")
    with pytest.raises(TypeError, match=r"register the method of an instance instead, such as instance\.add"):
        mcp.add_tool(Counter.add)
    with pytest.raises(TypeError, match="register the method of an instance"):
        mcp.tool()(Counter.add)
    assert (await called(serving(Counter().add), mode, {"n": 1})).structured_content == {"result": 2}


# B77, B78, B79, B80


async def test_b77_parameters_may_have_the_names_of_methods_of_a_model(mode: str) -> None:
    """They hid each other, or lost a property called `title`."""

    def f(json: str, copy: int, schema: str, model_dump: int, title: str, self: int = 0) -> list[Any]:
        return [json, copy, schema, model_dump, title, self]

    arguments = {"json": "{}", "copy": 1, "schema": "s", "model_dump": 2, "title": "t", "self": 3}
    mcp = serving(f)
    assert list((await listed(mcp, mode))["properties"]) == list(arguments)
    assert (await called(mcp, mode, arguments)).structured_content == {"result": list(arguments.values())}


async def test_b78_a_name_may_begin_with_an_underscore(mode: str) -> None:
    """The function was refused."""

    def f(x: int, _private: int = 3) -> int:
        return x + _private

    mcp = serving(f)
    assert (await listed(mcp, mode))["required"] == ["x"]
    assert (await called(mcp, mode, {"x": 1})).structured_content == {"result": 4}
    assert (await called(mcp, mode, {"x": 1, "_private": 1})).structured_content == {"result": 2}


async def test_b79_keyword_arguments_are_passed_on(mode: str) -> None:
    """An argument that was literally called `kwargs` was required."""

    def f(a: int, **extra: Any) -> dict[str, Any]:
        return {"a": a, **extra}

    mcp = serving(f)
    schema = await listed(mcp, mode)
    assert (list(schema["properties"]), schema["required"], schema["additionalProperties"]) == (["a"], ["a"], True)
    assert (await called(mcp, mode, {"a": 1, "b": [2]})).structured_content == {"a": 1, "b": [2]}
    assert (await called(mcp, mode, {"a": 1, "extra": 2})).structured_content == {"a": 1, "extra": 2}


async def test_b79_positional_ones_are_refused_at_registration() -> None:
    """They were listed as a string called `args`."""

    def f(*args: int) -> None: ...

    with pytest.raises(InvalidSignature, match=r"\*args cannot be filled.*take a list instead"):
        serving(f)


class Aliased(BaseModel):
    x: int = Field(alias="X-Id")


async def test_b80_an_alias_is_one_spelling_everywhere(mode: str) -> None:
    """The function was called with a name that it does not have."""

    def f(x: Annotated[int, Field(alias="X-Id")]) -> Aliased:
        return Aliased.model_validate({"X-Id": x})

    async with Client(serving(f), mode=mode) as client:
        [tool] = (await client.list_tools()).tools
        result = await client.call_tool("f", {"X-Id": 1})

    assert tool.output_schema is not None
    assert list(tool.input_schema["properties"]) == list(tool.output_schema["properties"]) == ["X-Id"]
    assert result.structured_content == {"X-Id": 1}
    assert only_text(result) == '{\n  "X-Id": 1\n}'
