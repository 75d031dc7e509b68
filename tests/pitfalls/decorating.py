"""A decorator, for functions of other modules."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def noted(function: Callable[P, R]) -> Callable[P, R]:
    """Calls a function, and does nothing else."""

    @functools.wraps(function)
    def noting(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return noting
