"""Reports about what typed functions say: their parameters, their schemas, their results."""

import base64
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.functions.signature import is_async_callable
from mcp.server.mcpserver.utilities.context_injection import InjectedContext, find_context_parameter
from mcp.server.mcpserver.utilities.func_metadata import func_metadata
from mcp.types import CallToolResult, TextContent


class User(BaseModel):
    name: str


def received(function: Any, **arguments: Any) -> dict[str, Any]:
    return func_metadata(function).validate_arguments(arguments)


def listed(function: Any) -> dict[str, Any]:
    return func_metadata(function).arg_model.model_json_schema()


async def result_of(function: Any, **arguments: Any) -> CallToolResult:
    metadata = func_metadata(function)
    given = metadata.validate_arguments(arguments)
    result = metadata.convert_result(await metadata.call_fn(function, is_async_callable(function), given))
    assert isinstance(result, CallToolResult)
    if metadata.output_schema is not None:
        assert jsonschema_rs.validator_for(metadata.output_schema).is_valid(result.structured_content)
    return result


def text_of(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


def test_b71_an_object_or_a_list_may_come_as_json_text() -> None:
    """Some models send objects as text, and were told that they were no objects."""

    def f(user: User, xs: list[int], note: str, memo: str | None = None, more: str | list[str] = "") -> None: ...

    text = '{"name": "a"}'
    assert received(f, user=text, xs="[1]", note=text, memo="null", more="[1]") == {
        "user": User(name="a"),
        "xs": [1],
        "note": text,
        "memo": "null",
        "more": "[1]",
    }


def test_b72_a_misspelt_argument_is_told_and_not_dropped() -> None:
    """The tool ran on its default, and nobody knew."""

    def read(topic: str = "") -> None: ...

    with pytest.raises(ValidationError, match=r"topik\n.*did you mean 'topic'\?"):
        received(read, topik="x")
    assert received(read, topic="x", unrelated=1) == {"topic": "x"}
    assert listed(read) == {
        "properties": {"topic": {"default": "", "title": "Topic", "type": "string"}},
        "title": "readArguments",
        "type": "object",
    }
    with pytest.raises(ValidationError, match="Unknown argument"):
        func_metadata(read, unknown_arguments="refuse").validate_arguments({"unrelated": 1})


def test_b73_the_annotation_of_a_parameter_may_be_a_local_class() -> None:
    """Functions with classes of their own surroundings could not be registered."""

    class Local(BaseModel):
        n: int

    def f(it: "Local", those: "list[Local]") -> "Local":
        return it

    assert received(f, it={"n": 1}, those=[{"n": 2}]) == {"it": Local(n=1), "those": [Local(n=2)]}


def test_b74_a_context_is_never_an_argument() -> None:
    """Spelled in any way but the plainest it became one."""

    class Context(InjectedContext): ...

    def f(a: int, *, ctx: "Annotated[Context | None, 'mine']" = None) -> None: ...

    assert find_context_parameter(f) == "ctx"
    assert list(func_metadata(f, skip_names=["ctx"]).arg_model.model_json_schema()["properties"]) == ["a"]


def test_b76_a_method_without_its_object_is_refused_and_one_with_it_works() -> None:
    """`self` was listed as an argument."""

    class C:
        def a(self, n: int) -> int:
            return n

    with pytest.raises(TypeError, match=r"register the method of an instance instead, such as instance\.a"):
        func_metadata(C.a)
    assert received(C().a, n="1") == {"n": 1}


async def _joined(json: str, copy: int, schema: str, model_dump: int, title: str) -> list[Any]:
    return [json, copy, schema, model_dump, title]


@pytest.mark.anyio
async def test_b77_parameters_may_have_the_names_of_methods_of_a_model() -> None:
    """They hid each other, or lost a property called `title`."""
    arguments = {"json": "{}", "copy": 1, "schema": "s", "model_dump": 2, "title": "t"}

    assert list(listed(_joined)["properties"]) == list(arguments)
    assert (await result_of(_joined, **arguments)).structured_content == {"result": list(arguments.values())}


def test_b78_a_name_may_begin_with_an_underscore() -> None:
    """The function was refused."""

    def f(x: int, _private: int = 3) -> None: ...

    assert listed(f)["required"] == ["x"]
    assert received(f, x=1) == {"x": 1, "_private": 3}
    assert received(f, x=1, _private=4) == {"x": 1, "_private": 4}


def test_b79_keyword_arguments_are_passed_on_and_positional_ones_are_refused() -> None:
    """An argument that was literally called `kwargs` was required."""

    def f(a: int, **extra: Any) -> None: ...

    def g(*args: int) -> None: ...

    assert list(listed(f)["properties"]) == ["a"]
    assert listed(f)["additionalProperties"] is True
    assert received(f, a=1, b=[2]) == {"a": 1, "b": [2]}
    with pytest.raises(InvalidSignature, match=r"\*args cannot be filled.*take a list instead"):
        func_metadata(g)


class Aliased(BaseModel):
    x: int = Field(alias="X-Id")


def _with_alias(x: Annotated[int, Field(alias="X-Id")]) -> Aliased:
    return Aliased.model_validate({"X-Id": x})


@pytest.mark.anyio
async def test_b80_an_alias_is_one_spelling_everywhere() -> None:
    """The function was called with a name that it does not have."""
    result = await result_of(_with_alias, **{"X-Id": 1})

    assert list(listed(_with_alias)["properties"]) == ["X-Id"]
    assert result.structured_content == {"X-Id": 1}
    assert text_of(result) == ['{\n  "X-Id": 1\n}']


def _count() -> Iterator[int]:
    yield from (1, 2)


async def _count_later() -> AsyncIterator[int]:
    for number in (1, 2):
        yield number


def _raw() -> bytes:
    return b"\xff\x00"


def _raw_within() -> Any:
    return {"a": b"\xff"}


@pytest.mark.anyio
@pytest.mark.parametrize("function", [_count, _count_later])
async def test_b82_generators_give_all_items_in_both_forms(function: Any) -> None:
    """The text had them, and the structured content was empty."""
    result = await result_of(function)

    assert result.structured_content == {"result": [1, 2]}
    assert text_of(result) == ["1", "2"]


@pytest.mark.anyio
async def test_b82_bytes_are_base64_and_the_schema_says_so() -> None:
    """Bytes that are no UTF-8 were an error."""
    schema = func_metadata(_raw).output_schema
    assert schema is not None
    assert schema["properties"]["result"]["format"] == "base64url"

    result = await result_of(_raw)
    assert base64.urlsafe_b64decode(result.structured_content["result"]) == b"\xff\x00"
    assert text_of(await result_of(_raw_within)) == ['{\n  "a": "_w=="\n}']


class Node(BaseModel):
    name: str
    parts: "list[Node]" = []


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Exact(BaseModel):
    model_config = ConfigDict(extra="forbid")

    n: int


def _difficult(node: Node, pet: Annotated[Cat | Dog, Field(discriminator="kind")], exact: Exact) -> None: ...


CHANGES: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"node": {"name": "a", "parts": [{}]}}, False),
    ({"pet": {"kind": "cow"}}, False),
    ({"pet": {}}, False),
    ({"exact": {"n": 1, "m": 2}}, False),
]
GOOD: dict[str, Any] = {"node": {"name": "a", "parts": [{"name": "b"}]}, "pet": {"kind": "dog"}, "exact": {"n": 1}}


@pytest.mark.parametrize(("change", "fits"), CHANGES)
def test_b84_the_listed_schema_judges_as_the_function_does(change: dict[str, Any], fits: bool) -> None:
    """References, discriminators and closed objects got lost on the way to the list."""
    arguments = {**GOOD, **change}

    assert jsonschema_rs.validator_for(listed(_difficult)).is_valid(arguments) is fits
    if fits:
        assert received(_difficult, **arguments)["pet"] == Dog(kind="dog")
    else:
        with pytest.raises(ValidationError):
            received(_difficult, **arguments)


@pytest.mark.parametrize(
    "docstring",
    [
        "Reads.\n\n    Args:\n        city: The city.\n        days: How many.",
        "Reads.\n\n    Parameters\n    ----------\n    city : str\n        The city.\n    days\n        How many.",
        "Reads.\n\n    :param city: The city.\n    :param int days: How many.",
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_b87_docstrings_describe_parameters(docstring: str) -> None:
    """The whole text described the tool, and nothing described its parameters."""

    def f(city: str, days: Annotated[int, Field(description="Explicit.")] = 1) -> None: ...

    f.__doc__ = docstring
    properties = listed(f)["properties"]

    assert properties["city"]["description"] == "The city."
    assert properties["days"]["description"] == "Explicit."
