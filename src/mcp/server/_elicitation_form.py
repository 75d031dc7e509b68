"""The form that a pydantic model is for the user who fills it in, and what comes back from there.

Specification: client/elicitation under "Requested Schema".
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import to_json

from mcp.server.mcpserver.exceptions import ToolError

__all__ = ["Form", "MismatchedAnswerError", "form_of"]

_Schema = dict[str, Any]

_FORMATS: Final = frozenset({None, "date", "date-time", "email", "uri"})


class MismatchedAnswerError(ToolError, ValueError):
    """A user accepted a form with content that does not fit it. The `__cause__` says which field, and why."""

    def __init__(self) -> None:
        super().__init__("Received an accepted elicitation whose content does not match the requested schema")


class Form:
    """A flat JSON Schema, and the way back from an answer to the model.

    Args:
        model: A model whose fields are strings, numbers, booleans, dates and choices.

    Attributes:
        schema: The JSON Schema. It is shared, and not to be changed.

    Raises:
        TypeError: The model is none, or a field of it cannot be part of a form.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        schema = _schema_of(model)
        definitions: _Schema = schema.pop("$defs", {})
        written: dict[str, _Schema] = schema["properties"]
        required: list[str] = schema.get("required", [])
        # A form has no null: leaving a field out has to be enough.
        self._none_if_left_out = [name for name in required if _without_null(written[name]) is not written[name]]
        schema["properties"] = {name: _field(name, field, definitions) for name, field in written.items()}
        schema["required"] = [name for name in required if name not in self._none_if_left_out]
        if not schema["required"]:
            del schema["required"]
        self.schema: _Schema = schema

    def read(self, model: type[BaseModel], content: Mapping[str, Any] | None) -> BaseModel:
        """What a user filled in, as the model.

        Args:
            model: The one that this is the form of.
            content: What the client sent.

        Raises:
            MismatchedAnswerError: It does not fit.
        """
        try:
            filled = model.model_validate_json(to_json({**dict.fromkeys(self._none_if_left_out), **(content or {})}))
        except ValidationError as error:
            raise MismatchedAnswerError from error
        for name, value in vars(filled).items():
            if isinstance(value, float) and not math.isfinite(value):
                raise MismatchedAnswerError from ValueError(f"{name} is {value}, expected a finite number")
        return filled


_forms: "WeakKeyDictionary[type[BaseModel], Form]" = WeakKeyDictionary()


def form_of(model: type[BaseModel]) -> Form:
    """The form of a model, which is made once.

    Raises:
        TypeError: As `Form` does.
    """
    form = _forms.get(model) if isinstance(model, type) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if form is None:
        form = Form(model)
        _forms[model] = form
    return form


def _schema_of(model: Any) -> _Schema:
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise TypeError(f"An elicitation asks for a pydantic model with flat fields, got {model!r}")
    try:
        schema = model.model_json_schema()
    except PydanticUserError as error:
        raise TypeError(f"Elicitation schema {model.__name__} cannot be shown as a form: {error.message}") from error
    if schema.get("type") != "object" or "properties" not in schema:
        raise TypeError(f"Elicitation schema {model.__name__} rendered as {schema}, which is not an object with fields")
    return schema


def _field(name: str, written: _Schema, definitions: _Schema) -> _Schema:
    """One field as a form has it.

    Raises:
        TypeError: There is no such field in a form.
    """
    field = _inlined(_without_null(written), definitions)
    if "$ref" in written or "anyOf" in written:
        # Else fields of one type would all have its name.
        field.setdefault("title", name.replace("_", " ").strip().title())
    items = field.get("items")
    if isinstance(items, dict):
        field["items"] = _listed(_inlined(cast("_Schema", items), definitions))
    field = _listed(field)
    is_legal = _LEGAL.get(field.get("type", ""))
    if is_legal is None or not is_legal(field) or not _is_finite(field.get("default")):
        raise TypeError(
            f"Elicitation schema field {name!r} rendered as {written}, which is not a valid PrimitiveSchemaDefinition"
        )
    return field


def _without_null(field: _Schema) -> _Schema:
    """The field that may be None as one that may be left out; any other as it is."""
    members: list[_Schema] = field.get("anyOf", [])
    rest = [member for member in members if member.get("type") != "null"]
    if len(rest) != 1 or len(members) == 1:
        return field
    flat = {**rest[0], **{key: value for key, value in field.items() if key != "anyOf"}}
    if flat.get("default", ...) is None:
        del flat["default"]
    return flat


def _inlined(schema: _Schema, definitions: _Schema) -> _Schema:
    """A choice that pydantic defines elsewhere, at its place. Models stay where they are."""
    definition: _Schema = definitions.get(schema.get("$ref", "").rpartition("/")[2], {})
    if "enum" not in definition and "const" not in definition:
        return dict(schema)
    inner = {key: value for key, value in definition.items() if key != "title"}
    return {**inner, **{key: value for key, value in schema.items() if key != "$ref"}}


def _listed(schema: _Schema) -> _Schema:
    """A choice of one as a list of choices: clients know no constants."""
    if "const" not in schema:
        return schema
    return {**{key: value for key, value in schema.items() if key != "const"}, "enum": [schema["const"]]}


def _is_text(field: _Schema) -> bool:
    choices: list[Any] = field.get("enum", [])
    titled: list[Any] = field.get("oneOf", [])
    return (
        field.get("format") in _FORMATS
        and all(isinstance(choice, str) for choice in choices)
        and all(_is_titled(choice) for choice in titled)
    )


def _is_selection(field: _Schema) -> bool:
    """Several of some choices: any number of strings would be no choice."""
    items: Any = field.get("items")
    if not isinstance(items, dict):
        return False
    choices = cast("_Schema", items)
    if "anyOf" in choices:
        return all(_is_titled(choice) for choice in choices["anyOf"])
    return choices.get("type") == "string" and "enum" in choices and _is_text(choices)


def _is_titled(choice: Any) -> bool:
    return isinstance(choice, dict) and isinstance(cast("_Schema", choice).get("const"), str)


def _is_scalar(field: _Schema) -> bool:
    return True


_LEGAL: Final[Mapping[str, Callable[[_Schema], bool]]] = {
    "array": _is_selection,
    "boolean": _is_scalar,
    "integer": _is_scalar,
    "number": _is_scalar,
    "string": _is_text,
}


def _is_finite(default: Any) -> bool:
    return not isinstance(default, float) or math.isfinite(default)
