"""A function with postponed annotations, behind a decorator of another module."""

from __future__ import annotations

from decorating import noted
from pydantic import BaseModel


class Elsewhere(BaseModel):
    n: int


@noted
def wrapped(it: Elsewhere) -> str:
    """Names a class of its module."""
    return str(it.n)
