"""Models with a field that few programs look at, and that takes a while to work out."""

import abc
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, SerializerFunctionWrapHandler, model_serializer

__all__ = ["LateModel"]


class LateModel(BaseModel, abc.ABC):
    """A model that can work out one of its fields when it is first used."""

    late_field: ClassVar[str]
    """Its name."""

    @abc.abstractmethod
    def _worked_out(self) -> Any:
        """The value of that field."""

    def _leave_for_later(self) -> None:
        """Forgets the value of that field, until somebody wants it."""
        vars(self).pop(self.late_field, None)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name != type(self).late_field:
                return super().__getattr__(name)
            value = self.__dict__[name] = self._worked_out()
            return value

    # What pydantic does with a whole model, it does with the fields that are there.

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        getattr(self, self.late_field)
        return super().__repr_args__()

    @model_serializer(mode="wrap")
    def _serialized(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        getattr(self, self.late_field)
        return handler(self)
