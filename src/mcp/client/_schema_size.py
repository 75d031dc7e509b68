"""How large a JSON schema is once its references are followed: what compiling it costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast
from urllib.parse import unquote

__all__ = ["MAX_DEPTH", "MAX_SUBSCHEMAS", "check_schema_size"]

MAX_SUBSCHEMAS: Final = 100_000
MAX_DEPTH: Final = 1_000

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_NAMED_SUBSCHEMAS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
# Compiled only where a reference leads there.
_SHELVES: Final = frozenset({"$defs", "definitions"})


def check_schema_size(schema: dict[str, Any]) -> None:
    """Checks what a schema grows to.

    Raises:
        ValueError: It expands to more than `MAX_SUBSCHEMAS` subschemas, or nests deeper than `MAX_DEPTH`.
    """
    named = _named(schema)
    # None while a node is being counted: to come upon it again is a recursion, which is not expanded.
    sizes: dict[tuple[int, bool], int | None] = {}
    stack = [_Count(schema, False, _children(schema, False, schema, named))]
    sizes[stack[0].key] = None
    while stack:
        count = stack[-1]
        for child, names in count.children:
            key = (id(child), names)
            if key not in sizes:
                if len(stack) == MAX_DEPTH:
                    raise ValueError(f"the schema nests deeper than {MAX_DEPTH} levels")
                sizes[key] = None
                stack.append(_Count(child, names, _children(child, names, schema, named)))
                break
            count.size += sizes[key] or 1
        else:
            stack.pop()
            sizes[count.key] = count.size
            if stack:
                stack[-1].size += count.size
        if count.size > MAX_SUBSCHEMAS:
            raise ValueError(f"the schema expands to more than {MAX_SUBSCHEMAS} subschemas")


class _Count:
    """A node whose children are being counted."""

    __slots__ = ("children", "key", "size")

    def __init__(self, node: Any, names: bool, children: Iterator[tuple[Any, bool]]) -> None:
        self.key = (id(node), names)
        self.size = 1
        self.children = children


def _children(node: Any, names: bool, root: dict[str, Any], named: dict[str, Any]) -> Iterator[tuple[Any, bool]]:
    """What a node leads to, and whether the keys of that are names instead of keywords."""
    if isinstance(node, list):
        for item in cast("list[Any]", node):
            if isinstance(item, (dict, list)):
                yield cast("Any", item), False
        return
    for key, value in cast("dict[str, Any]", node).items():
        if isinstance(value, (dict, list)):
            if names or key not in _SHELVES:
                yield cast("Any", value), not names and key in _NAMED_SUBSCHEMAS
        elif not names and key in _REFERENCES and isinstance(value, str):
            target = _target(value, root, named)
            if isinstance(target, (dict, list)):
                yield cast("Any", target), False


def _target(reference: str, root: dict[str, Any], named: dict[str, Any]) -> Any:
    if reference in named:
        return named[reference]
    base, _, pointer = reference.partition("#")
    target: Any = named.get(base) if base else root
    for part in unquote(pointer).split("/")[1:] if pointer.startswith("/") else ():
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict):
            target = cast("dict[str, Any]", target).get(part)
        elif isinstance(target, list) and part.isdecimal() and int(part) < len(cast("list[Any]", target)):
            target = cast("list[Any]", target)[int(part)]
        else:
            return None
    return target


def _named(schema: dict[str, Any]) -> dict[str, Any]:
    """The nodes that references know by an anchor or an id."""
    named: dict[str, Any] = {}
    seen: set[int] = set()
    todo: list[Any] = [schema]
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        values: Any = node
        if isinstance(node, dict):
            values = cast("dict[str, Any]", node).values()
            for key, prefix in (("$id", ""), ("$anchor", "#"), ("$dynamicAnchor", "#")):
                name = cast("dict[str, Any]", node).get(key)
                if isinstance(name, str):
                    named.setdefault(prefix + name, node)
        todo += [cast("Any", value) for value in values if isinstance(value, (dict, list))]
    return named
