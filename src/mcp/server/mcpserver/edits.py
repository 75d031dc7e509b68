"""Noticing that something registered was changed in place, so that a listing of it is made anew."""

from typing import Any, ClassVar

from pydantic import BaseModel

__all__ = ["EditedInPlace"]


class EditedInPlace(BaseModel):
    """A model whose changes are counted."""

    edits: ClassVar[int] = 0
    """How often an attribute of any of these models was set; read it of `EditedInPlace` itself."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if not name.startswith("_"):
            EditedInPlace.edits += 1
