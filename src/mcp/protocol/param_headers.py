"""Tool arguments mirrored into `Mcp-Param-*` headers by `x-mcp-header` annotations in the tool's input schema.

The schema is walked once per tool, by `header_map` and `find_invalid`; a call costs one lookup per annotation.

Specification: basic/transports/streamable-http under "Custom Headers from Tool Parameters".
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import inf, isfinite
from types import NoneType
from typing import Any, Final, cast

from mcp.protocol.headers import MCP_PARAM_HEADER_PREFIX, decode_header_value, encode_header_value
from mcp.protocol.jsontext import dumps, loads
from mcp.protocol.trees import is_object

__all__ = [
    "X_MCP_HEADER_KEY",
    "HeaderMap",
    "annotations",
    "check_param_headers",
    "find_invalid",
    "header_map",
    "param_headers",
]

X_MCP_HEADER_KEY: Final = "x-mcp-header"

HeaderMap = Mapping[tuple[str, ...], str]
"""The path of each mirrored argument to the name of its header, which is what follows the prefix `Mcp-Param-`."""

_PRIMITIVES: Final = frozenset({"integer", "string", "boolean"})
_LARGEST_INTEGER: Final = 2**53 - 1
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+").fullmatch
_NUMBER: Final = re.compile(r"-?[0-9]{1,32}(\.[0-9]{1,32})?([eE][+-]?[0-9]{1,3})?").fullmatch

# The keywords below which schemas stand. What other keywords hold (`default`, `examples`, `const`, ...) is data.
_MAPS_OF_SCHEMAS: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
_SCHEMAS: Final = frozenset(
    {
        *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"),
        *("additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema"),
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
    }
)
# A schema beyond these is hostile or a cycle.
_MOST_SCHEMAS: Final = 100_000
_MOST_LEVELS: Final = 200
_CONTAINERS: Final = (dict, list)
_JSON: Final = (str, int, float, NoneType, list, Mapping)


def annotations(input_schema: object) -> tuple[dict[tuple[str, ...], str], str | None]:
    """What `header_map` and `find_invalid` say of an input schema, for little more than the cost of one of them."""
    if not _mentions_annotation(input_schema):
        return {}, None
    found: dict[tuple[str, ...], str] = {}
    names: set[str] = set()
    invalid: str | None = None
    try:
        for place, schema in _annotated(input_schema):
            fault = _fault(place, schema, names)
            if fault is None:
                found[place.path] = schema[X_MCP_HEADER_KEY]
            elif invalid is None:
                invalid = f"{place}: {fault}"
    except _Unbounded as error:
        invalid = invalid or str(error)
    return found, invalid


def header_map(input_schema: object) -> dict[tuple[str, ...], str]:
    """The annotations of an input schema: the path of each annotated property to the name of its header.

    Annotations that `find_invalid` objects to are left out; of several with one name, the first stays.
    """
    return annotations(input_schema)[0]


def find_invalid(input_schema: object) -> str | None:
    """Why a client must leave a tool with this input schema out of a listing over HTTP; None where it need not.

    Returns:
        A sentence that names the place in the schema and the constraint it breaks ("Schema Extension").
    """
    return annotations(input_schema)[1]


def _mentions_annotation(root: object) -> bool:
    """Whether a schema holds the key of an annotation anywhere, or is too large to tell.

    Few schemas do, and a client looks at every tool of every listing: this costs a fraction of the walk.
    """
    pending: list[Any] = [root]
    for node in pending:
        if isinstance(node, dict):
            if X_MCP_HEADER_KEY in node:
                return True
            node = node.values()  # pyright: ignore[reportUnknownVariableType]
        elif not isinstance(node, list):
            continue
        pending += [inner for inner in node if isinstance(inner, _CONTAINERS)]  # pyright: ignore[reportUnknownVariableType]
        if len(pending) > _MOST_SCHEMAS:
            return True
    return False


def _fault(place: "_Place", schema: dict[str, Any], names: set[str]) -> str | None:
    """What is wrong with one annotation; if nothing, its name is added to those in use."""
    name = schema[X_MCP_HEADER_KEY]
    if not place.reachable or place.parent is None:
        return f"{X_MCP_HEADER_KEY} is only allowed on properties that are reached through `properties` alone"
    if not isinstance(name, str):
        return f"{X_MCP_HEADER_KEY} must be a string, got {type(name).__name__}"
    if not _TOKEN(name):
        shown = ascii(name[:40]) if name else "an empty string"
        return f"{X_MCP_HEADER_KEY} must be an HTTP token (letters, digits and !#$%&'*+-.^_`|~), got {shown}"
    if name.lower() in names:
        return f"{X_MCP_HEADER_KEY} {name!r} is used more than once (the case of its letters does not count)"
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in _PRIMITIVES:
        shown = ascii(kind)[:40] if "type" in schema else "none"
        return f"{X_MCP_HEADER_KEY} needs a property of the one type integer, string or boolean, got {shown}"
    names.add(name.lower())
    return None


class _Unbounded(Exception):
    """A schema is too large or too deep to be looked through."""


@dataclass(slots=True)
class _Place:
    """Where a subschema stands: the keyword and the key that lead to it from its parent."""

    parent: "_Place | None" = None
    keyword: str = ""
    key: str = ""
    level: int = 0
    reachable: bool = True  # from the root, through `properties` alone

    @property
    def path(self) -> tuple[str, ...]:
        """The keys that lead to the value that this subschema describes."""
        return tuple(place.key for place in self._from_root())

    def _from_root(self) -> "list[_Place]":
        places: list[_Place] = []
        place = self
        while place.parent is not None:
            places.append(place)
            place = place.parent
        return places[::-1]

    def __str__(self) -> str:
        steps = [f"{place.keyword}/{place.key}" if place.key else place.keyword for place in self._from_root()]
        return ascii("/".join(steps))[1:-1] or "the root of the schema"


def _annotated(root: object) -> Iterator[tuple[_Place, dict[str, Any]]]:
    """Every annotated subschema, in the order of the text."""
    pending: list[tuple[_Place, dict[str, Any]]] = [(_Place(), root)] if is_object(root) else []
    visited = 0
    while pending:
        place, schema = pending.pop()
        visited += 1
        if visited > _MOST_SCHEMAS or place.level > _MOST_LEVELS:
            raise _Unbounded(f"the schema has more than {_MOST_SCHEMAS} parts or {_MOST_LEVELS} levels, or is a cycle")
        if X_MCP_HEADER_KEY in schema:
            yield place, schema
        pending += reversed(list(_subschemas(place, schema)))


def _subschemas(place: _Place, schema: dict[str, Any]) -> Iterator[tuple[_Place, dict[str, Any]]]:
    for keyword, value in schema.items():
        reachable = place.reachable and keyword == "properties"
        for key, subschema in _members(keyword, value):
            if is_object(subschema):
                yield _Place(place, keyword, str(key), place.level + 1, reachable), subschema


def _members(keyword: str, value: Any) -> Iterable[tuple[object, object]]:
    if keyword in _MAPS_OF_SCHEMAS:
        return value.items() if is_object(value) else ()
    if keyword in _SCHEMAS:
        if isinstance(value, list):
            return enumerate(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return (("", value),)
    return ()


def param_headers(header_map: HeaderMap, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers that mirror the arguments of one call.

    Args:
        header_map: What `header_map` made of the tool's input schema.
        arguments: The arguments as they stand in the body, or objects that become that when they are encoded.

    Returns:
        Header names to encoded values. An argument that is absent, null, or neither text nor number nor truth value
        (the server will refuse it) has none.

    Raises:
        ValueError: An integer is beyond what a header may carry.
        EncodeError: An argument cannot be written as JSON.
        UnicodeEncodeError: A text holds a lone surrogate.
    """
    headers: dict[str, str] = {}
    for path, name in header_map.items():
        value = _value_at(arguments, path)
        if _is_beyond_range(value):
            raise ValueError(_complaint(_BEYOND_RANGE, name, path))
        text = _text(value)
        if text is not None:
            headers[MCP_PARAM_HEADER_PREFIX + name] = encode_header_value(text)
    return headers


def check_param_headers(header_map: HeaderMap, arguments: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
    """Compare the headers of a request with the arguments in its body.

    Args:
        header_map: What `header_map` made of the tool's input schema.
        arguments: The arguments in the body.
        headers: All headers of the request, as received; the case of their names does not matter.

    Returns:
        What does not agree, to be answered with -32020; None if all does. Values are not quoted, since they may be
        long or secret.
    """
    received = _received(headers)
    for path, name in header_map.items():
        values = received.get(name.lower(), ())
        if len(values) > 1:
            return f"{MCP_PARAM_HEADER_PREFIX}{name} header is given more than once"
        mismatch = _mismatch(_value_at(arguments, path), values[0] if values else None)
        if mismatch is not None:
            return _complaint(mismatch, name, path)
    return None


def _complaint(template: str, name: str, path: tuple[str, ...]) -> str:
    return template.format(header=MCP_PARAM_HEADER_PREFIX + name, argument=ascii(".".join(path)))


_LOWER_PREFIX: Final = MCP_PARAM_HEADER_PREFIX.lower()


def _received(headers: Mapping[str, str]) -> dict[str, list[str]]:
    """What follows the prefix in each `Mcp-Param-*` header, in lower case, to all values a multi-dictionary holds."""
    received: dict[str, list[str]] = {}
    for header, value in headers.items():
        header = header.lower()
        if header.startswith(_LOWER_PREFIX):
            received.setdefault(header[len(_LOWER_PREFIX) :], []).append(value)
    return received


def _mismatch(value: object, header: str | None) -> str | None:
    if value is None:
        return None if header is None else "{header} header is given, but the argument {argument} is absent or null"
    if _is_beyond_range(value):
        return _BEYOND_RANGE
    text = _text(value)
    if header is None:
        return None if text is None else "{header} header is missing, but the argument {argument} is given"
    decoded = decode_header_value(header)
    if decoded is None:
        return "{header} header is malformed, expected printable ASCII or Base64 of UTF-8 as in =?base64?...?="
    if decoded == text or _are_one_number(value, text, decoded):
        return None
    return "{header} header does not match the argument {argument}"


def _are_one_number(value: object, text: str | None, header: str) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or text is None:
        return False
    return _NUMBER(header) is not None and Decimal(header) == Decimal(text)


def _value_at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = arguments
    for key in path:
        holder = _plain(value)
        if not isinstance(holder, Mapping):
            return None
        value = cast("Mapping[str, Any]", holder).get(key)
    return _plain(value)


def _plain(value: Any) -> Any:
    """A value as it stands in the body: callers may pass whatever can be written as JSON."""
    return value if issubclass(type(value), _JSON) else loads(dumps(value))


def _text(value: object) -> str | None:
    """A value as the specification's "Type conversion" has it; None for what no annotated property can be."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float) and isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    return str.__str__(value) if isinstance(value, str) else None


def _is_beyond_range(value: object) -> bool:
    return isinstance(value, (int, float)) and _LARGEST_INTEGER < abs(value) < inf


_BEYOND_RANGE: Final = "{header} cannot carry the argument {argument}: an integer must be within 2**53 - 1 either way"
