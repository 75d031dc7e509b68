"""From a request in wire form to the model that a subclass's `send_request` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from mcp import types
from mcp.types.methods import METHODS

__all__ = ["or_input_required", "request_model", "takes_input_required"]


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


_OR_INPUT_REQUIRED: dict[type[BaseModel], TypeAdapter[Any]] = {}


def or_input_required(model: type[BaseModel]) -> TypeAdapter[Any]:
    """What says to `send_request` that a request for input may come in the place of a result of this model."""
    adapter = _OR_INPUT_REQUIRED.get(model)
    if adapter is None:
        adapter = _OR_INPUT_REQUIRED[model] = TypeAdapter[Any](model)
    return adapter


def takes_input_required(kind: object) -> bool:
    """Whether `or_input_required` made this."""
    return isinstance(kind, TypeAdapter) and any(kind is adapter for adapter in _OR_INPUT_REQUIRED.values())
