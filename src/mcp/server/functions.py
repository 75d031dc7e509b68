"""What is checked of functions that are handed to a server, so that a wrong one is refused where it is given."""

from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any, TypeVar

__all__ = ["plain_function"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def plain_function(name: str, function: FunctionT) -> FunctionT:
    """A function whose result is used at once, as given.

    Args:
        name: What it is called where it is given, for the error.
        function: The function, or an object that can be called.

    Raises:
        TypeError: It cannot be called, or is a coroutine function.
    """
    if not callable(function):
        raise TypeError(f"{name} must be a plain function, got {type(function).__name__}")
    if iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__):
        raise TypeError(f"{name} must be a plain function, got a coroutine function")
    return function
