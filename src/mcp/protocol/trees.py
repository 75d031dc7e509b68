"""Walks over JSON-like values: without recursion, so neither depth nor a cycle can exhaust the stack."""

from collections.abc import Callable, Iterable, Mapping
from math import inf, isinf
from typing import Any, TypeGuard

__all__ = ["find_path", "has_infinity", "is_object"]


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a parsed JSON value is an object."""
    return isinstance(value, dict)


def has_infinity(root: object, most_nodes: float = inf) -> bool | None:
    """Whether a parsed JSON value holds an infinite number anywhere; None where it has more nodes than `most_nodes`."""
    pending: list[Any] = [root]
    for node in pending:
        if isinstance(node, (dict, list)):
            pending += node.values() if isinstance(node, dict) else node
            if len(pending) > most_nodes:
                return None
        elif isinstance(node, float) and isinf(node):
            return True
    return False


def find_path(root: object, wanted: Callable[[object], bool]) -> str | None:
    """Where in a value, keys included, something stands that `wanted` accepts.

    Looks into mappings, lists, tuples, sets dataclasses and pydantic models.

    Returns:
        A path such as `$.content[0].text`, in ASCII whatever the keys hold; None where nothing is accepted.
    """
    nodes: list[object] = [root]
    places: list[tuple[int, str]] = [(-1, "$")]  # per node: the index of its parent, and the step from there
    seen: set[int] = set()
    for index, node in enumerate(nodes):
        if wanted(node):
            return _path(places, index)
        if id(node) in seen:
            continue
        seen.add(id(node))
        for key, child in _children(node):
            if wanted(key):
                return f"a key of {_path(places, index)}"
            nodes.append(child)
            places.append((index, f"[{key}]" if isinstance(key, int) else f".{ascii(key)[1:-1]}"))
    return None


def _children(node: Any) -> Iterable[tuple[object, object]]:
    if isinstance(node, Mapping):
        return node.items()  # pyright: ignore[reportUnknownVariableType]
    if isinstance(node, (list, tuple, set, frozenset)):
        return enumerate(node)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if hasattr(node, "__pydantic_fields__") or hasattr(node, "__dataclass_fields__"):
        return getattr(node, "__dict__", {}).items()
    return ()


def _path(places: list[tuple[int, str]], index: int) -> str:
    steps: list[str] = []
    while index >= 0:
        index, step = places[index]
        steps.append(step)
    return "".join(reversed(steps))
