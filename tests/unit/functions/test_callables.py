"""Callables of every shape, and those that cannot be tools."""

import functools
from typing import Any

import pytest
from pydantic import ValidationError

from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.functions.signature import callable_name, is_async_callable
from mcp.server.mcpserver.utilities.func_metadata import func_metadata


class Greeter:
    """Greets."""

    def __init__(self, greeting: str = "Hello") -> None:
        self.greeting = greeting

    def __call__(self, name: str) -> str:
        return f"{self.greeting} {name}"

    def greet(self, name: str, *, loud: bool = False) -> str:
        return f"{self.greeting} {name}"

    async def greet_later(self, name: str) -> str:
        return f"{self.greeting} {name}"

    @staticmethod
    def static(name: str) -> str:
        return name

    @classmethod
    def of_class(cls, name: str) -> str:
        return name


class AsyncCallable:
    async def __call__(self, name: str) -> str:
        return name


A_LAMBDA: Any = eval("lambda word: word")


def repeat(word: str, times: int = 2) -> str:
    return word * times


async def arrive(word: str) -> str:
    return word


def properties_of(function: Any) -> dict[str, Any]:
    return func_metadata(function).arg_model.model_json_schema()["properties"]


NAME = {"name": {"title": "Name", "type": "string"}}

LOUD = {"default": False, "title": "Loud", "type": "boolean"}
TIMES = {"default": 2, "title": "Times", "type": "integer"}
WORD = {"title": "Word", "type": "string"}

SHAPES: list[tuple[Any, str, dict[str, Any]]] = [
    (Greeter().greet, "greet", {**NAME, "loud": LOUD}),
    (Greeter(), "Greeter", NAME),
    (Greeter, "Greeter", {"greeting": {"default": "Hello", "title": "Greeting", "type": "string"}}),
    (Greeter.static, "static", NAME),
    (Greeter.of_class, "of_class", NAME),
    (functools.partial(Greeter().greet, loud=True), "greet", {**NAME, "loud": {**LOUD, "default": True}}),
    (functools.partial(repeat, "ab"), "repeat", {"times": TIMES}),
    (functools.partial(functools.partial(repeat), times=3), "repeat", {"word": WORD, "times": {**TIMES, "default": 3}}),
    (A_LAMBDA, "<lambda>", {"word": {"title": "word", "type": "string"}}),
    (functools.lru_cache(repeat), "repeat", {"word": WORD, "times": TIMES}),
    (len, "len", {"obj": {"title": "obj", "type": "string"}}),
]


@pytest.mark.parametrize(("function", "name", "properties"), SHAPES, ids=[str(shape[1]) for shape in SHAPES])
def test_any_callable_has_a_name_and_a_schema(function: Any, name: str, properties: dict[str, Any]) -> None:
    assert callable_name(function) == name
    assert properties_of(function) == properties
    assert func_metadata(function).arg_model.__name__ == f"{name}Arguments"


def test_a_lambda_has_the_name_that_it_is_given() -> None:
    square: Any = eval("lambda number: number")
    square.__name__ = "square"

    assert callable_name(square) == "square"


@pytest.mark.parametrize(
    ("function", "is_async"),
    [
        (arrive, True),
        (Greeter().greet_later, True),
        (functools.partial(arrive, "a"), True),
        (AsyncCallable(), True),
        (functools.partial(AsyncCallable()), True),
        (repeat, False),
        (Greeter(), False),
        (AsyncCallable, False),
        (len, False),
    ],
)
def test_whether_a_call_is_awaited(function: Any, is_async: bool) -> None:
    assert is_async_callable(function) is is_async


def test_a_method_without_its_object_is_refused() -> None:
    with pytest.raises(InvalidSignature, match=r"register the method of an instance instead, such as instance\.greet"):
        func_metadata(Greeter.greet)


def test_a_method_without_its_object_is_taken_if_somebody_fills_in_the_object() -> None:
    assert "self" not in func_metadata(Greeter.greet, skip_names=["self"]).arg_model.model_fields


def test_a_function_may_have_a_parameter_called_self() -> None:
    def f(self: int) -> int:
        return self

    def g(self: Any) -> int:
        return 1

    g.__annotations__.clear()
    assert func_metadata(f).validate_arguments({"self": "1"}) == {"self": 1}
    assert func_metadata(g).validate_arguments({"self": 1}) == {"self": 1}


def test_positional_varargs_are_refused() -> None:
    def f(a: int, *rest: str) -> None: ...

    with pytest.raises(InvalidSignature) as caught:
        func_metadata(f)
    assert str(caught.value) == (
        "Function f: *rest cannot be filled, because arguments are passed by name; "
        "take a list instead, such as rest: list[str]"
    )


def test_what_has_no_signature_is_refused() -> None:
    with pytest.raises(InvalidSignature, match="Function int: its signature cannot be read"):
        func_metadata(int)


def test_keyword_varargs_take_what_has_no_parameter() -> None:
    def f(a: int, **more: Any) -> None: ...

    metadata = func_metadata(f)

    assert metadata.arg_model.model_json_schema() == {
        "properties": {"a": {"title": "A", "type": "integer"}},
        "required": ["a"],
        "title": "fArguments",
        "type": "object",
        "additionalProperties": True,
    }
    assert metadata.validate_arguments({"a": 1, "b": [2], "aa": 3}) == {"a": 1, "b": [2], "aa": 3}
    assert metadata.validate_arguments({"a": 1}) == {"a": 1}


def test_typed_keyword_varargs_are_listed_and_validated() -> None:
    def f(**more: int) -> None: ...

    metadata = func_metadata(f)

    assert metadata.arg_model.model_json_schema()["additionalProperties"] == {"type": "integer"}
    assert metadata.validate_arguments({"b": "2"}) == {"b": 2}
    with pytest.raises(ValidationError, match="valid integer"):
        metadata.validate_arguments({"b": "x"})


def test_untyped_keyword_varargs_take_anything() -> None:
    def f(**more: Any) -> None: ...

    f.__annotations__.clear()
    assert func_metadata(f).validate_arguments({"b": [2]}) == {"b": [2]}


def test_nobody_reaches_a_parameter_that_the_library_fills_in() -> None:
    def f(ctx: Any, **more: Any) -> None: ...

    metadata = func_metadata(f, skip_names=["ctx"])

    assert metadata.arg_model.model_json_schema()["properties"] == {}
    assert metadata.validate_arguments({"ctx": "forged", "b": 1}) == {"b": 1}


def test_a_parameter_that_no_json_can_become_is_named() -> None:
    class Opaque: ...

    def f(a: int, b: Opaque) -> None: ...

    with pytest.raises(InvalidSignature, match="Function f: no JSON can become the parameter 'b'"):
        func_metadata(f)


def test_an_annotation_that_is_no_type_is_named() -> None:
    def f(a: int) -> None: ...

    f.__annotations__["a"] = "functools.nothing"
    with pytest.raises(InvalidSignature, match=r"parameter 'a': 'functools\.nothing' is no type"):
        func_metadata(f)
    f.__annotations__["a"] = ...
    with pytest.raises(InvalidSignature, match="Function f: no JSON can become the parameter 'a'"):
        func_metadata(f)
