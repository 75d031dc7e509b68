"""Results by their method: their models, and whether one is valid in a revision. Read from the table of methods."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails

from mcp import types
from mcp.types.methods import METHODS, SPEC_CLIENT_METHODS, Method, find_method, is_input_required
from mcp.types.version import KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

__all__ = ["result_models", "validate_server_result"]

_ResultModel = type[types.Result] | UnionType


@cache
def result_models() -> Mapping[str, _ResultModel]:
    """The model of every request's result, a union where there are several; tasks have none here."""
    requests = [row for row in METHODS.values() if row.kind == "request" and not row.name.startswith("tasks/")]
    return MappingProxyType({row.name: _model(row) for row in requests})


def _model(row: Method) -> _ResultModel:
    first, *further = row.result_types + ((types.InputRequiredResult,) if row.input_required else ())
    model: _ResultModel = first
    for other in further:
        model = model | other
    return model


def validate_server_result(method: str, version: str, data: Mapping[str, Any]) -> None:
    """Checks a result that a server sent, in its wire form.

    There is one model per type for all revisions, so a nested member that a revision does not have yet passes.

    Args:
        method: The method of the request.
        version: The revision that is spoken.
        data: The result.

    Raises:
        KeyError: A client cannot send that method in that revision.
        ValueError: There is no such revision. Or, as a pydantic `ValidationError`, the result is not valid.
    """
    if version not in KNOWN_PROTOCOL_VERSIONS:
        raise ValueError(f"{version!r} is no revision of the protocol: there are {', '.join(KNOWN_PROTOCOL_VERSIONS)}")
    row = find_method(method, sender="client", version=version)
    if row is None or method not in SPEC_CLIENT_METHODS:
        raise KeyError((method, version))
    modern = version in MODERN_PROTOCOL_VERSIONS
    asks = modern and row.input_required and is_input_required(dict(data))
    if modern:
        _require(row, data, ("resultType", *(("ttlMs", "cacheScope") if row.cacheable and not asks else ())))
    _adapter(types.InputRequiredResult if asks else row.result_types[0]).validate_python(data)


def _require(row: Method, wire: Mapping[str, Any], members: tuple[str, ...]) -> None:
    """The models have defaults for what revision 2026-07-28 wants to be there."""
    missing = [InitErrorDetails(type="missing", loc=(name,), input=wire) for name in members if name not in wire]
    if missing:
        raise ValidationError.from_exception_data(row.result_names[0], missing)


@cache
def _adapter(model: type[types.Result]) -> TypeAdapter[types.Result]:
    return TypeAdapter(model)
