"""Arguments that came as JSON text, because some models send an object or a list that way."""

from collections.abc import Iterator
from typing import Any, Final, cast

from pydantic_core import from_json

__all__ = ["decoded", "takes_json_text"]

_STARTS: Final = ("{", "[", "null")


def takes_json_text(schema: dict[str, Any]) -> frozenset[str]:
    """The properties whose values can never be strings, so that a string must be meant as JSON.

    Args:
        schema: The schema of an object.
    """
    properties: dict[str, Any] = schema.get("properties", {})
    definitions: dict[str, Any] = schema.get("$defs", {})
    return frozenset(name for name, value in properties.items() if not _admits_strings(value, definitions))


def decoded(value: str) -> Any:
    """The object, the list or the None that a text is in JSON; the text itself if it is none of these."""
    if not value.lstrip().startswith(_STARTS):
        return value
    try:
        return from_json(value, allow_inf_nan=False)
    except ValueError:
        return value


def _admits_strings(schema: dict[str, Any], definitions: dict[str, Any], path: tuple[str, ...] = ()) -> bool:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return name not in path and _admits_strings(definitions.get(name, {}), definitions, (*path, name))
    values = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]
    if values:
        return any(isinstance(value, str) for value in values)
    choices = list(_choices(schema))
    if choices:
        return any(_admits_strings(choice, definitions, path) for choice in choices)
    kind = schema.get("type")
    return kind is None or kind == "string" or (isinstance(kind, list) and "string" in kind)


def _choices(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for keyword in ("anyOf", "oneOf", "allOf"):
        yield from cast("list[dict[str, Any]]", schema.get(keyword, []))
