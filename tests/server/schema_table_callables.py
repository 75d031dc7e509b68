"""What callables of every shape list, take and refuse."""

import functools
from collections.abc import Callable
from typing import Annotated, Any, ParamSpec, TypeVar

from pydantic import BaseModel
from schema_table import Table, told
from typing_extensions import Required, TypedDict, Unpack

from mcp.server.mcpserver import Context

rows = Table()
takes = rows.takes

P = ParamSpec("P")
R = TypeVar("R")

A = {"a": {"title": "A", "type": "integer"}}
AB = {**A, "b": {"default": 2, "title": "B", "type": "integer"}}


@takes(
    A,
    ["a"],
    rest={"additionalProperties": True},
    accepts=[({"a": 1}, "1, {}"), ({"a": 1, "b": [2], "c": "d"}, "1, {'b': [2], 'c': 'd'}")],
    refuses=[{"b": 1}],
)
def extras(a: int, **extra: Any) -> str:
    return told(a, extra)


@takes(
    {},
    rest={"additionalProperties": {"type": "integer"}},
    accepts=[({}, "{}"), ({"b": 2}, "{'b': 2}")],
    refuses=[{"b": "two"}],
)
def typed_extras(**extra: int) -> str:
    return told(extra)


class Options(TypedDict, total=False):
    a: Required[int]
    b: int


@takes({}, rest={"additionalProperties": True}, accepts=[({"a": 1}, "{'a': 1}")])
def unpacked_extras(**options: Unpack[Options]) -> str:
    return told(options)


@takes(AB, ["a"], accepts=[({"a": 1}, "1, 2"), ({"b": 3, "a": 1}, "1, 3")], refuses=[{}, {"b": 1}])
def positional_only(a: int, b: int = 2, /) -> str:
    return told(a, b)


@takes(AB, ["a"], accepts=[({"a": 1}, "1, 2"), ({"a": 1, "b": 3}, "1, 3")], refuses=[{}, {"a": 1, "b": None}])
def keyword_only(*, a: int, b: int = 2) -> str:
    return told(a, b)


@takes(AB, ["a"], accepts=[({"a": 1}, "1, 2")], refuses=[{"a": "x"}])
async def asynchronous(a: int, b: int = 2) -> str:
    return told(a, b)


@takes(A, ["a"], accepts=[({"a": 1}, "1, True")], refuses=[{}])
def with_context(a: int, ctx: Context) -> str:
    return told(a, ctx.request_id != "")


@takes(A, ["a"], accepts=[({"a": 1}, "1, True")], refuses=[{}])
async def with_optional_context(a: int, *, ctx: "Annotated[Context[Any, Any] | None, 'the request']" = None) -> str:
    return told(a, ctx is not None)


@takes(
    {
        name: {"title": title, "type": "integer"}
        for name, title in [("json", "Json"), ("copy", "Copy"), ("title", "Title")]
    },
    ["json", "copy", "title"],
    accepts=[({"json": 1, "copy": 2, "title": 3}, "1, 2, 3")],
    refuses=[{"json": "a", "copy": 2, "title": 3}],
)
def names_of_a_model(json: int, copy: int, title: int) -> str:
    return told(json, copy, title)


@takes(
    {**A, "_b": {"default": 2, "title": "B", "type": "integer"}},
    ["a"],
    accepts=[({"a": 1}, "1, 2"), ({"a": 1, "_b": 3}, "1, 3")],
    refuses=[{"a": 1, "_b": "x"}],
)
def leading_underscore(a: int, _b: int = 2) -> str:
    return told(a, _b)


def traced(function: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return wrapper


@takes(AB, ["a"], accepts=[({"a": 1}, "1, 2")], refuses=[{}])
@traced
def wrapped(a: int, b: int = 2) -> str:
    return told(a, b)


class Counter:
    def __init__(self, start: int) -> None:
        self.start = start

    def method(self, a: int) -> str:
        return told(self.start + a)

    async def __call__(self, a: int) -> str:
        return told(self.start * a)

    @classmethod
    def of_the_class(cls, a: int) -> str:
        return told(cls.__name__, a)

    @staticmethod
    def of_nothing(a: int) -> str:
        return told(a)


class Reply(BaseModel):
    """An answer that is made by calling its class."""

    a: int


def three(a: int, b: int, c: int) -> str:
    return told(a, b, c)


takes(A, ["a"], name="method", accepts=[({"a": 1}, "11")], refuses=[{}])(Counter(10).method)
takes(A, ["a"], name="object", accepts=[({"a": 3}, "30")], refuses=[{"a": "x"}])(Counter(10))
takes(A, ["a"], name="class_method", accepts=[({"a": 1}, "'Counter', 1")], refuses=[{}])(Counter.of_the_class)
takes(A, ["a"], name="static_method", accepts=[({"a": 1}, "1")], refuses=[{}])(Counter.of_nothing)
takes(A, ["a"], name="class", accepts=[({"a": 1}, '{\n  "a": 1\n}')], refuses=[{"a": "x"}])(Reply)
takes(
    {"b": {"title": "B", "type": "integer"}, "c": {"default": 3, "title": "C", "type": "integer"}},
    ["b"],
    name="partial",
    accepts=[({"b": 2}, "1, 2, 3"), ({"b": 2, "c": 4}, "1, 2, 4")],
    refuses=[{}, {"b": "x"}],
)(functools.partial(three, 1, c=3))
takes(
    {"x": {"title": "x", "type": "string"}, "n": {"default": 2, "title": "n", "type": "string"}},
    ["x"],
    name="lambda",
    accepts=[({"x": "ab"}, "'ab', 2")],
    refuses=[{}],
)(lambda x, n=2: told(x, n))  # pyright: ignore
