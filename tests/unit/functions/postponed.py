"""Functions whose annotations are text, because of the next line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from mcp.server.mcpserver.utilities.context_injection import InjectedContext
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata, func_metadata

if TYPE_CHECKING:

    class Context(InjectedContext):
        """Exists for type checkers only, as an import under TYPE_CHECKING does."""

        def __class_getitem__(cls, item: Any) -> Any: ...


class Spot(BaseModel):
    x: int


def of_the_module(spot: Spot, count: Annotated[int, Field(ge=1)] = 1) -> list[Spot]:
    return [spot] * count


def for_type_checkers(a: int, ctx: Context) -> str: ...


def for_type_checkers_subscripted(a: int, ctx: Context[Any, Any]) -> str: ...


def of_later(it: Later) -> Later:
    return it


read_too_early: FuncMetadata = func_metadata(of_later)


class Later(BaseModel):
    """Comes after the function that names it."""

    n: int


def of_never(it: int) -> int:
    return it


of_never.__annotations__["it"] = "Nowhere"


def with_local_classes() -> tuple[FuncMetadata, Any]:
    """A function whose classes exist nowhere but here."""

    @dataclass
    class Inner:
        n: int

    @dataclass
    class Outer:
        inner: Inner
        more: list[Inner]

    class Note(TypedDict):
        text: str

    def f(outer: Outer, note: Note | None = None) -> Outer:
        return outer

    return func_metadata(f), Outer


def with_local_models() -> FuncMetadata:
    class Inner(BaseModel):
        n: int

    class Outer(BaseModel):
        inner: Inner

    def f(it: list[Outer]) -> dict[str, Outer]:
        return {"first": it[0]}

    return func_metadata(f)


def wrapped_elsewhere(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper
