"""JSON that an authorization server or a protected resource answers with."""

from typing import Any, Final, TypeVar, cast

import httpx2
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

__all__ = ["ModelT", "error_text", "json_object", "problem_of", "read_model", "validated"]

ModelT = TypeVar("ModelT", bound=BaseModel)

_MAX_TEXT: Final = 200


def json_object(body: bytes) -> dict[str, Any] | None:
    """A JSON object; None if the body is something else."""
    try:
        value: object = from_json(body, allow_inf_nan=False)
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def read_model(model: type[ModelT], body: bytes) -> ModelT:
    """A model from JSON.

    Raises:
        ValueError: It does not fit. The text says where; it shows no value, since a value may be a secret.
    """
    document = json_object(body)
    if document is None:
        raise ValueError("it is no JSON object")
    return validated(model, document)


def validated(model: type[ModelT], document: dict[str, Any]) -> ModelT:
    """A model from a JSON object; see `read_model`.

    Raises:
        ValueError: It does not fit.
    """
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise ValueError(problem_of(error)) from None


def problem_of(error: ValidationError) -> str:
    """What does not fit, without the values."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def error_text(response: httpx2.Response, secrets: "tuple[str, ...]" = ()) -> tuple[str | None, str]:
    """The error of a response, as a code and in words. RFC 6749, section 5.2; RFC 7591, section 3.2.2.

    Args:
        response: Its body has been read.
        secrets: What was sent. A server may repeat it, and then the words are left out.
    """
    found = json_object(response.content) or {}
    code, description = found.get("error"), found.get("error_description")
    status = f"HTTP {response.status_code}"
    if not isinstance(code, str):
        return None, status
    text = f"{status}, {_shown(code)}"
    if isinstance(description, str) and description:
        text += f" ({_shown(description)})"
    if any(secret in text for secret in secrets if secret):
        return None, status
    return code, text


def _shown(text: str) -> str:
    cleaned = "".join(character if character.isprintable() else " " for character in text)
    return cleaned[:_MAX_TEXT]
