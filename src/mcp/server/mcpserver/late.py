"""Models with a field that few programs look at, and that takes a while to work out."""

import abc
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import PrivateAttr, SerializerFunctionWrapHandler, model_serializer

from mcp.server.mcpserver.edits import EditedInPlace

__all__ = ["LateModel"]

_NOT_YET = object()


class LateModel(EditedInPlace, abc.ABC):
    """A model that can work out one of its fields when it is first used."""

    # No private attribute of pydantic's, which would be slow to reach.
    __slots__ = ("_kept",)

    late_field: ClassVar[str]
    """Its name."""

    if TYPE_CHECKING:
        _kept: Any = PrivateAttr()

    @abc.abstractmethod
    def _worked_out(self) -> Any:
        """The value of that field."""

    def _leave_for_later(self) -> None:
        """Forgets the value of that field, until somebody wants it."""
        vars(self).pop(self.late_field, None)

    def peek(self) -> Any:
        """The value of that field, for those who only look at it: as an attribute it is the program's, to change."""
        value = vars(self).get(self.late_field, _NOT_YET)
        if value is _NOT_YET:
            value = getattr(self, "_kept", _NOT_YET)
        if value is _NOT_YET:
            value = self._worked_out()
            object.__setattr__(self, "_kept", value)
        return value

    def complete(self) -> None:
        """Works out now what was left for later, so that a mistake shows before the first request.

        Raises:
            InvalidSignature: An annotation names what does not exist, or means nothing in JSON.
        """
        self.peek()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name != type(self).late_field:
                return super().__getattr__(name)
            value = self.__dict__[name] = self.peek()
            # From now on it may change without notice, so the next listing has to begin to watch it.
            self.edits.note()
            return value

    # What pydantic does with a whole model, it does with the fields that are there.

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        getattr(self, self.late_field)
        return super().__repr_args__()

    @model_serializer(mode="wrap")
    def _serialized(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        getattr(self, self.late_field)
        return handler(self)
