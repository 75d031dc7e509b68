"""From a request in wire form to the model that a subclass's `send_request` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter

from mcp import types
from mcp.types.methods import METHODS

__all__ = ["AnsweredBy", "answered_by", "or_input_required", "request_model", "who_answers"]

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


def who_answers(allow_input_required: bool, by_callbacks: bool) -> AnsweredBy | None:
    """Who answers, by the arguments of a session's verbs; None where the server may not ask."""
    if not allow_input_required:
        return None
    return "callbacks" if by_callbacks else "caller"


_OR_INPUT_REQUIRED: dict[tuple[type[BaseModel], AnsweredBy], TypeAdapter[Any]] = {}


def or_input_required(model: type[BaseModel], answered_by: AnsweredBy) -> TypeAdapter[Any]:
    """What says to `send_request` that a request for input may come in the place of a result of this model."""
    adapter = _OR_INPUT_REQUIRED.get((model, answered_by))
    if adapter is None:
        adapter = _OR_INPUT_REQUIRED[model, answered_by] = TypeAdapter[Any](model)
    return adapter


def answered_by(kind: object) -> AnsweredBy | None:
    """Who answers, if `or_input_required` made this."""
    if isinstance(kind, TypeAdapter):
        for (_, who), adapter in _OR_INPUT_REQUIRED.items():
            if adapter is kind:
                return who
    return None
