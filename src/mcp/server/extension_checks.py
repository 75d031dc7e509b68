"""What is wrong with what an extension declares."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from typing import Any, TypeVar, cast

__all__ = ["check_method", "check_tool", "declared", "is_sync"]

BindingT = TypeVar("BindingT")


def declared(extension: Any, kind: str, binding: type[BindingT]) -> list[BindingT]:
    """What one of an extension's `tools`, `resources` and `methods` returns.

    Args:
        extension: The extension.
        kind: The method.
        binding: The class of what it returns.

    Raises:
        TypeError: It returns anything else.
    """
    value: Any = getattr(extension, kind)()
    what = f"{kind}() of extension {extension.identifier!r} must return {binding.__name__} objects in a list"
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes)):
        if inspect.iscoroutine(value):
            value.close()
        raise TypeError(f"{what}, got {value!r}")
    bindings = list(cast("Iterable[object]", value))
    for one in bindings:
        if not isinstance(one, binding):
            raise TypeError(f"{what}; {one!r} is in it")
    return cast("list[BindingT]", bindings)


def check_tool(fn: object, kwargs: object) -> None:
    """Checks the fields of a `ToolBinding`.

    Raises:
        TypeError: `fn` cannot be called, or `kwargs` is no dict, or holds what has a field of its own.
    """
    if not callable(fn):
        raise TypeError(f"ToolBinding takes a function as fn, got {fn!r}")
    if not isinstance(kwargs, dict):
        raise TypeError(f"ToolBinding takes a dict with arguments of add_tool() as kwargs, got {kwargs!r}")
    for name in ("fn", "meta"):
        if name in kwargs:
            raise TypeError(f"ToolBinding has a field for {name!r}: pass {name}= to it, and not in kwargs")


def check_method(method: object, params_type: object, handler: object) -> None:
    """Checks the fields of a `MethodBinding`, but for its versions.

    Raises:
        TypeError: `method` is no text, `params_type` is no model, or `handler` is no asynchronous function.
        ValueError: `method` is empty.
    """
    from pydantic import BaseModel

    if not isinstance(method, str):
        raise TypeError(f"MethodBinding takes the name of a method as method, got {method!r}")
    if not method.strip():
        raise ValueError(f"MethodBinding takes the name of a method, such as 'com.example/tides', got {method!r}")
    owner = f"MethodBinding for {method!r}"
    if not isinstance(params_type, type) or not issubclass(params_type, BaseModel):
        raise TypeError(f"{owner} takes a model derived from RequestParams as params_type, got {params_type!r}")
    if not callable(handler):
        raise TypeError(f"{owner} takes an asynchronous function as handler, got {handler!r}")
    if is_sync(handler):
        raise TypeError(f"{owner} takes an asynchronous function as handler: make {handler!r} `async def`")


def is_sync(function: Any) -> bool:
    """Whether a call of a function surely returns nothing to await.

    Not so where it wraps an asynchronous function, or has an annotation that says what it returns. Nobody can tell of
    a lambda, nor of other callable objects.
    """
    while isinstance(function, functools.partial):
        function = cast("Any", function.func)
    if not inspect.isroutine(function) or inspect.iscoroutinefunction(inspect.unwrap(function)):
        return False
    returns = str(getattr(function, "__annotations__", {}).get("return", ""))
    return function.__name__ != "<lambda>" and not any(word in returns for word in ("Awaitable", "Coroutine", "Future"))
