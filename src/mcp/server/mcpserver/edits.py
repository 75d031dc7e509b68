"""Noticing that something registered was changed in place, so that a listing of it is made anew."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, cast

from pydantic import BaseModel, ConfigDict

__all__ = ["EditedInPlace", "Edits", "Watch"]


class Edits:
    """Whether any of one kind of models was changed.

    Attributes:
        mark: Another object after each change. Unlike a number, it can be replaced by several threads at a time.
    """

    __slots__ = ("mark",)

    def __init__(self) -> None:
        self.mark = object()

    def note(self) -> None:
        """Notes a change."""
        self.mark = object()


class EditedInPlace(BaseModel):
    """A model whose changes are noticed."""

    model_config = ConfigDict(defer_build=True)

    edits: ClassVar[Edits]
    """The changes of all models of its kind."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if not name.startswith("_"):
            self.edits.note()


class Watch:
    """What lists, dicts and models hold, down to the innermost, as it was when this was made.

    Args:
        values: Any values.
    """

    __slots__ = ("_before", "_now")

    def __init__(self, values: Iterable[Any]) -> None:
        self._now: list[Any] = []
        self._before: list[Any] = []
        for value in values:
            for container in _containers(value):
                self._take(container)

    def _take(self, container: dict[str, Any] | list[Any]) -> None:
        # Copied first: another thread may change it meanwhile.
        copy = container.copy()
        self._now.append(container)
        self._before.append(copy)
        for value in copy.values() if isinstance(copy, dict) else copy:
            for inner in _containers(value):
                self._take(inner)

    def is_unchanged(self) -> bool:
        """Whether they hold the same still."""
        return self._now == self._before


def _containers(value: Any) -> Iterator[dict[str, Any] | list[Any]]:
    if isinstance(value, BaseModel):
        yield vars(value)
        if value.__pydantic_extra__:
            yield value.__pydantic_extra__
    elif isinstance(value, (dict, list)):
        yield cast("dict[str, Any] | list[Any]", value)
