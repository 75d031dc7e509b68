"""Hypothesis strategies for the messages that the JSON Schema of a protocol revision allows."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

SPEC = Path(__file__).parents[2] / "data" / "spec"
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

JSON_SCALARS = st.none() | st.booleans() | st.integers(-(2**31), 2**31) | st.text(max_size=5)
JSON = st.recursive(
    JSON_SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
# Capabilities whose mere presence is the message: models keep none of what may be in them.
MARKERS = {
    *("roots", "sampling", "context", "tools", "elicitation", "form", "url", "logging", "completions"),
    *("list", "cancel", "call", "create", "createMessage"),
}
URIS = st.sampled_from(["file:///home/me", "file:///srv/a%20b.txt"])


@cache
def definitions(revision: str) -> dict[str, Any]:
    """The definitions of a revision's schema, by type name."""
    schema = json.loads((SPEC / f"{revision}.schema.json").read_text(encoding="utf-8"))
    return schema.get("$defs") or schema["definitions"]


@cache
def _validator(revision: str, name: str) -> Any:
    keyword = "definitions" if revision < "2025-11-25" else "$defs"
    validator = Draft7Validator if revision < "2025-11-25" else Draft202012Validator
    return validator({"$ref": f"#/{keyword}/{name}", keyword: definitions(revision)})


def assert_valid(revision: str, name: str, message: object) -> None:
    """Check a message against the definition of its type in a revision's schema."""
    _validator(revision, name).validate(message)


def referenced(reference: str) -> str:
    """The type name at the end of a `$ref`."""
    return reference.rsplit("/", 1)[-1]


@cache
def messages_of(revision: str, name: str) -> st.SearchStrategy[Any]:
    """Values of the type called `name`."""
    values = st.deferred(lambda: _values(revision, definitions(revision)[name]))
    if name == "InputRequiredResult":  # whose `resultType` the schema leaves open, and the text does not
        return values.map(lambda message: {**message, "resultType": "input_required"})
    return values


def _values(revision: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return messages_of(revision, referenced(schema["$ref"]))
    if "allOf" in schema:
        parts = [_values(revision, part) for part in schema["allOf"]]
        return st.tuples(*parts).map(lambda objects: {key: value for part in objects for key, value in part.items()})
    if "anyOf" in schema:
        return st.one_of([_values(revision, option) for option in schema["anyOf"]])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema.get("type", "any")
    return st.one_of([_of_kind(revision, schema, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)])


def _of_kind(revision: str, schema: dict[str, Any], kind: str) -> st.SearchStrategy[Any]:
    low, high = schema.get("minimum"), schema.get("maximum")
    match kind:
        case "object":
            return _objects(revision, schema)
        case "array":
            return st.lists(_values(revision, schema.get("items", {})), max_size=2)
        case "string":
            return URIS if schema.get("format") == "uri" else st.text(max_size=5)
        case "integer":
            return st.integers(-(2**31) if low is None else low, 2**31 if high is None else high)
        case "number":
            return st.floats(low, high, allow_nan=False, allow_infinity=False, width=32)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case _:
            return JSON


def _objects(revision: str, schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    properties = {
        name: st.just(dict[str, Any]()) if name in MARKERS and _is_free_form(value) else _values(revision, value)
        for name, value in schema.get("properties", {}).items()
    }
    required = set(schema.get("required", ()))
    known = st.fixed_dictionaries(
        {name: values for name, values in properties.items() if name in required},
        optional={name: values for name, values in properties.items() if name not in required},
    )
    extra = schema.get("additionalProperties", True)
    if properties or extra is False:
        return known  # and nothing beside it, since models drop what they do not know
    return st.dictionaries(st.text(max_size=5), JSON if extra is True else _values(revision, extra), max_size=2)


def _is_free_form(schema: dict[str, Any]) -> bool:
    if "$ref" in schema:
        return referenced(schema["$ref"]) == "JSONObject"
    return schema.get("type") == "object" and not schema.get("properties")
