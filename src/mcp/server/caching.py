"""Cache hints: how long, and by whom, the results of a method may be kept.

Specification: server/utilities/caching.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from mcp.shared._checks import check_whole
from mcp.types.base import CacheableResult
from mcp.types.methods import CACHEABLE_METHODS, CacheableMethod

__all__ = ["CACHEABLE_METHODS", "CacheHint", "CacheableMethod", "apply_cache_hint", "validate_cache_hints"]

CacheableResultT = TypeVar("CacheableResultT", bound=CacheableResult)


@dataclass(frozen=True)
class CacheHint:
    """How results of a method may be cached, unless a handler says otherwise on the result itself.

    Attributes:
        ttl_ms: For how many milliseconds a result stays fresh; 0 means it is stale at once.
        scope: Who may reuse it: "private" the same caller only, "public" anybody.

    Raises:
        TypeError: `ttl_ms` is no whole number.
        ValueError: It is negative, or `scope` is neither of the two.
    """

    ttl_ms: int = 0
    scope: Literal["public", "private"] = "private"

    def __post_init__(self) -> None:
        check_whole("ttl_ms", self.ttl_ms)
        if self.scope not in ("public", "private"):
            raise ValueError(f"scope must be 'public' or 'private', got {self.scope!r}")


def apply_cache_hint(result: CacheableResultT, hint: CacheHint) -> CacheableResultT:
    """The result with the hint's values in the fields that were not set on it.

    Args:
        result: What a handler returned; it is not changed.
        hint: The values to fill in.
    """
    given = result.model_fields_set
    values = {"ttl_ms": hint.ttl_ms, "cache_scope": hint.scope}
    update = {field: value for field, value in values.items() if field not in given}
    return result.model_copy(update=update) if update else result


def validate_cache_hints(cache_hints: Mapping[Any, Any] | None) -> dict[str, CacheHint]:
    """A copy of `cache_hints`, checked.

    Args:
        cache_hints: Hints by method; None is none.

    Raises:
        ValueError: A key is not a cacheable method.
        TypeError: A value is not a `CacheHint`.
    """
    hints = dict(cache_hints or {})
    for method, hint in hints.items():
        if method not in CACHEABLE_METHODS:
            known = ", ".join(sorted(CACHEABLE_METHODS))
            raise ValueError(f"cache_hints: {method!r} is not a cacheable method; those are: {known}")
        if not isinstance(hint, CacheHint):
            raise TypeError(f"cache_hints[{method!r}] must be a CacheHint, got {type(hint).__name__}")
    return cast("dict[str, CacheHint]", hints)
