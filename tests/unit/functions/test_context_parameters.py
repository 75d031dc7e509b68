"""Which parameter receives the context."""

import functools
from typing import Annotated, Any, Generic, Optional, TypeVar

import pytest
from typing_extensions import TypeAliasType

from mcp.server.mcpserver.functions.signature import callable_name
from mcp.server.mcpserver.utilities.context_injection import InjectedContext, find_context_parameter, inject_context
from mcp.server.mcpserver.utilities.func_metadata import func_metadata

StateT = TypeVar("StateT")
RequestT = TypeVar("RequestT")


class Context(InjectedContext, Generic[StateT, RequestT]):
    """As users know it."""


class MyContext(Context[dict[str, int], Any]):
    """As some extend it."""


Alias = TypeAliasType("Alias", Context[Any, Any])


def plain(a: int, ctx: Context) -> None: ...  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
def subscripted(a: int, ctx: Context[Any, Any]) -> None: ...
def annotated(a: int, ctx: Annotated[Context[Any, Any], "the context"]) -> None: ...
def text(a: int, ctx: "Context[Any, Any]") -> None: ...
def optional(a: int, ctx: Context[Any, Any] | None = None) -> None: ...
def old_optional(a: int, ctx: Optional[Context[Any, Any]] = None) -> None: ...  # noqa: UP045
def annotated_optional(a: int, ctx: Annotated["Context[Any, Any] | None", "text within"] = None) -> None: ...
def keyword_only(a: int, *, ctx: Context[Any, Any]) -> None: ...
def positional_only(ctx: Context[Any, Any], /, a: int) -> None: ...
def first(ctx: Context[Any, Any], a: int) -> None: ...
def subclass(a: int, ctx: MyContext) -> None: ...
def alias(a: int, ctx: Alias) -> None: ...
async def coroutine(a: int, ctx: Context[Any, Any]) -> None: ...


class Holder:
    def method(self, a: int, ctx: Context[Any, Any]) -> None: ...

    def __call__(self, a: int, ctx: Context[Any, Any]) -> None: ...


FUNCTIONS: list[Any] = [
    plain, subscripted, annotated, text, optional, old_optional, annotated_optional, keyword_only, positional_only,
    first, subclass, alias, coroutine, Holder().method, Holder(), functools.partial(subscripted, a=1),
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=callable_name)
def test_a_context_is_recognised_however_it_is_spelled(function: Any) -> None:
    assert find_context_parameter(function) == "ctx"
    assert list(func_metadata(function, skip_names=["ctx"]).arg_model.model_json_schema()["properties"]) == ["a"]


def test_other_parameters_are_not_taken_for_one() -> None:
    def f(a: int, ctx: Any, b: "list[Context[Any, Any]] | None" = None, context: "Undefined" = None) -> None: ...  # type: ignore  # noqa: F821

    assert find_context_parameter(f) is None  # pyright: ignore[reportUnknownArgumentType]
    assert find_context_parameter(len) is None


def test_the_context_joins_the_arguments() -> None:
    arguments = {"a": 1}

    assert inject_context(subscripted, arguments, "the context", "ctx") == {"a": 1, "ctx": "the context"}
    assert inject_context(subscripted, arguments, None, "ctx") == {"a": 1}
    assert inject_context(subscripted, arguments, "the context", None) == {"a": 1}
    assert arguments == {"a": 1}
