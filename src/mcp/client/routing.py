"""From a request in wire form to the model that a subclass's `send_request` takes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

from pydantic import BaseModel, TypeAdapter

from mcp import types
from mcp.types.methods import METHODS

__all__ = ["PLAIN", "AnsweredBy", "Expected", "expected", "expecting", "may_come", "request_model"]

AnsweredBy = Literal["callbacks", "caller"]
"""Who answers when a server asks for input: then the request declares what they can answer."""


def request_model(method: str, params: dict[str, Any], meta: Mapping[str, Any] | None) -> types.Request[Any, Any]:
    """The model of a request; a general one for methods that the protocol does not define.

    Args:
        method: The method.
        params: Its params in wire form.
        meta: Its `_meta`.
    """
    wire = {"method": method, "params": {**params, "_meta": dict(meta)} if meta else params}
    spec = METHODS.get(method)
    if spec is None or spec.kind != "request":
        return types.Request[Any, Any].model_validate(wire)
    model: Any = spec.message_type
    return model.model_validate(wire)


class Expected(NamedTuple):
    """What may come in the place of a plain result.

    Attributes:
        answered_by: Who answers a request for input; None where there is to be none.
        claimed: The models of results that extensions claim, by `resultType`.
    """

    answered_by: AnsweredBy | None = None
    claimed: Mapping[str, type[types.Result]] | None = None


PLAIN = Expected()
"""Nothing else may come."""

_BY_CALLBACKS = Expected("callbacks")
_BY_CALLER = Expected("caller")


def may_come(
    allow_input_required: bool, by_callbacks: bool, claimed: Mapping[str, type[types.Result]] | None = None
) -> Expected:
    """What may come, by the arguments of a session's verbs.

    Args:
        allow_input_required: Whether the server may ask for input.
        by_callbacks: Whether the callbacks answer; the caller does otherwise.
        claimed: See `Expected`.
    """
    asked = PLAIN if not allow_input_required else _BY_CALLBACKS if by_callbacks else _BY_CALLER
    return asked._replace(claimed=claimed) if claimed else asked


_EXPECTED: WeakKeyDictionary[TypeAdapter[Any], Expected] = WeakKeyDictionary()


def expecting(model: type[BaseModel], what: Expected) -> TypeAdapter[Any]:
    """What says to `send_request` that something else may come in the place of a result of this model.

    Args:
        model: The model.
        what: What else.
    """
    return _adapter(model, what) if what.claimed else _cached_adapter(model, what.answered_by)


def _adapter(model: type[BaseModel], what: Expected) -> TypeAdapter[Any]:
    adapter = TypeAdapter[Any](model)
    _EXPECTED[adapter] = what
    return adapter


@lru_cache(maxsize=64)
def _cached_adapter(model: type[BaseModel], answered_by: AnsweredBy | None) -> TypeAdapter[Any]:
    return _adapter(model, Expected(answered_by))


def expected(kind: type[BaseModel] | TypeAdapter[Any]) -> Expected | None:
    """What else may come, if `expecting` made this."""
    return _EXPECTED.get(kind) if isinstance(kind, TypeAdapter) else None
