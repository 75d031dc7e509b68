"""From the `result` member of an answer to the model that a caller gets, and the params that answers go back in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from mcp import types
from mcp.shared.exceptions import MalformedResultError
from mcp.types.methods import METHODS

__all__ = ["Parser", "own_result_of", "parser_of", "refuse_claimed", "result_of", "with_input"]

T = TypeVar("T")
Parser = Callable[[Any], T]


@lru_cache(maxsize=256)
def _model_parser(model: type[BaseModel]) -> Parser[Any]:
    if not model.__pydantic_complete__:
        model.model_rebuild()
    return model.__pydantic_validator__.validate_python


def parser_of(kind: type[T] | TypeAdapter[T]) -> Parser[T]:
    """The compiled validator of a model or adapter."""
    if isinstance(kind, TypeAdapter):
        return kind.validate_python
    return _model_parser(kind)


def result_of(
    method: str,
    raw: dict[str, Any],
    parse: Parser[T],
    *,
    input_required: bool = False,
    claimed: Mapping[str, type[types.Result]] | None = None,
) -> Any:
    """The result of a request.

    A result without `resultType` counts as complete: servers of older revisions send none.

    Args:
        method: The request's method.
        raw: The `result` member.
        parse: Validates a complete result.
        input_required: Whether a request for input may be returned.
        claimed: The models of results that extensions claim, by `resultType`.

    Raises:
        ValidationError: The result does not fit its model.
        MalformedResultError: Its `resultType` is unknown or not one for this method, or it asks for input and says not
            what for.
        RuntimeError: The server asks for input, and the caller did not expect that.
    """
    kind = raw.get("resultType", "complete")
    if kind == "complete":
        return _parsed(raw, parse)
    if kind != "input_required":
        if claimed is not None and isinstance(kind, str) and kind in claimed:
            return parser_of(claimed[kind])(raw)
        raise MalformedResultError(method, f"resultType {kind!r} is not one that this client knows")
    spec = METHODS.get(method)
    if spec is not None and not spec.input_required:
        raise MalformedResultError(method, "a server may not ask for input to answer this method")
    asked = parser_of(types.InputRequiredResult)(raw)
    if asked.input_requests is None and asked.request_state is None:
        raise MalformedResultError(method, "what asks for input must hold inputRequests or requestState")
    if input_required:
        return asked
    raise RuntimeError(
        f"the server needs input to go on with {method!r}: the methods of Client give it what the callbacks answer, "
        "and allow_input_required=True returns what it asks for"
    )


def _parsed(raw: dict[str, Any], parse: Parser[T]) -> T:
    try:
        return parse(raw)
    except ValidationError:
        # Specification: server/utilities/caching, "If ttlMs is negative, clients SHOULD ignore it and treat it as 0".
        ttl_ms = raw.get("ttlMs")
        if isinstance(ttl_ms, (int, float)) and ttl_ms < 0:
            return parse({**raw, "ttlMs": 0})
        raise


def own_result_of(method: str, raw: dict[str, Any], parse: Parser[T]) -> T:
    """The result of a request whose caller brought the model: what fits it is taken, whatever its `resultType`.

    Raises:
        ValidationError: The result does not fit the model.
        MalformedResultError: It does not, and its `resultType` is unknown.
        RuntimeError: It does not, and the server asks for input.
    """
    try:
        return parse(raw)
    except ValidationError:
        return result_of(method, raw, parse)


def refuse_claimed(result: types.Result) -> None:
    """Refuses the result of a tool that is of an extension's kind.

    Raises:
        UnexpectedClaimedResult: It is.
    """
    if not isinstance(result, (types.CallToolResult, types.InputRequiredResult)):
        from mcp.client.extension import UnexpectedClaimedResult

        raise UnexpectedClaimedResult(result)


def with_input(
    params: dict[str, Any], input_responses: types.InputResponses | None, request_state: str | None
) -> dict[str, Any]:
    """Adds answers and state to the params of a request that is tried again."""
    if input_responses is not None:
        params["inputResponses"] = {
            key: answer.model_dump(by_alias=True, exclude_none=True, mode="json")
            for key, answer in input_responses.items()
        }
    if request_state is not None:
        params["requestState"] = request_state
    return params
