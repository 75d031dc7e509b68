"""What a client's callbacks return, checked: nothing makes them return what their types promise."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ValidationError

from mcp import types
from mcp.protocol.results import InvalidResultError, plain
from mcp.shared.exceptions import MCPError
from mcp.types.methods import METHODS

__all__ = ["CALLBACKS", "checked_answer"]

CALLBACKS: Final = {
    "sampling/createMessage": "sampling_callback",
    "elicitation/create": "elicitation_callback",
    "roots/list": "list_roots_callback",
}
"""The argument of a client that answers each question."""


def checked_answer(method: str, answer: object) -> BaseModel:
    """The result that a callback returned.

    Args:
        method: The method of the question.
        answer: What it returned: a result, or the same as a dict in wire form.

    Raises:
        MCPError: It returned an error.
        InvalidResultError: It returned what is no result of the method.
    """
    if isinstance(answer, types.ErrorData):
        raise MCPError.from_error_data(answer)
    models = METHODS[method].result_types
    if isinstance(answer, models):
        return answer
    if isinstance(answer, BaseModel | dict):
        wire = plain(answer)  # pyright: ignore[reportUnknownArgumentType]
        for model in models:
            try:
                return model.model_validate(wire, by_alias=True, by_name=False)
            except ValidationError:
                continue
    expected = ", ".join(model.__name__ for model in models)
    raise InvalidResultError(f"{CALLBACKS[method]} must return {expected} or ErrorData, got {answer!r:.200}")
