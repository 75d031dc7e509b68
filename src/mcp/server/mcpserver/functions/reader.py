"""From the arguments of a request to those of a function."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from pydantic import AliasChoices, AliasPath

from mcp.server.mcpserver.functions.arguments import ArgModelBase, UnknownArguments, refuse_unknown
from mcp.server.mcpserver.functions.jsontext import decoded, takes_json_text

__all__ = ["ArgumentReader"]


class ArgumentReader:
    """Validates arguments.

    Args:
        model: Of the arguments.
        positional: The parameters that the function takes by position only.
        reserved: Parameters that no caller can fill.
        unknown: What happens to arguments that no parameter has the name of.
    """

    def __init__(
        self,
        model: type[ArgModelBase],
        positional: Sequence[str] = (),
        reserved: Collection[str] = (),
        unknown: UnknownArguments = "suggest",
    ) -> None:
        self.positional = tuple(positional)
        self._model = model
        self._reserved = reserved
        self._policy: UnknownArguments = unknown
        self._open = model.model_config.get("extra") == "allow"
        self._names = None if self._open else _names(model)
        self._validate = model.__pydantic_validator__.validate_python
        self._is_direct = not self._open and model.names_are_parameters()

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments for the function, by the names of its parameters.

        Raises:
            ValidationError: An argument is missing or wrong, or its name is.
        """
        given = self.decode(given)
        if self._open:
            given = {name: value for name, value in given.items() if name not in self._reserved}
        elif self._names is not None and not self._names >= given.keys():
            refuse_unknown(self._model, given, self._names, self._policy)
        arguments: ArgModelBase = self._validate(given)
        # Nobody else has the model.
        return vars(arguments) if self._is_direct else arguments.model_dump_one_level()

    def decode(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments, in which JSON text has been decoded if its parameter can hold no string."""
        changed: dict[str, Any] = {}
        for name, value in given.items():
            if isinstance(value, str) and (meant := decoded(value)) is not value and name in self._json_text:
                changed[name] = meant
        return {**given, **changed} if changed else given

    @cached_property
    def _json_text(self) -> frozenset[str]:
        return takes_json_text(self._model.model_json_schema())


def _names(model: type[ArgModelBase]) -> frozenset[str] | None:
    """The names that arguments can have; None where there is no telling."""
    names: set[str] = set()
    for field, info in model.model_fields.items():
        alias = info.validation_alias or info.alias or field
        if isinstance(alias, (AliasChoices, AliasPath)):
            return None
        names.add(alias)
    return frozenset(names)
