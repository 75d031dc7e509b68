"""From a request in wire form to the model that a subclass's `send_request` takes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter

from mcp import types
from mcp.types.methods import METHODS

__all__ = ["OrInputRequired", "or_input_required", "request_model"]

ModelT = TypeVar("ModelT", bound=BaseModel)


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


class OrInputRequired(TypeAdapter[Any]):
    """Validates results of a model, where a request for input may come in their place."""


@lru_cache(maxsize=64)
def or_input_required(model: type[BaseModel]) -> OrInputRequired:
    """The adapter for results of a model, or requests for input."""
    return OrInputRequired(model)
