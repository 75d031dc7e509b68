"""From what a handler returned to the `result` member on the wire.

What differs between revisions is data here: whether results carry a `resultType`, the server's identity, and cache
hints. A model goes straight to bytes, and what the SDK adds is spliced in; a dict, or a server whose middleware must
see the finished wire form, goes through a dict. Both ways give the same JSON.

Specification: basic/index under "ResultType" and "Per-response protocol fields", basic/patterns/mrtr,
server/utilities/caching.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic import BaseModel, ValidationError

from mcp.protocol.codec import RequestId, dumps, encode_response, encode_result, loads
from mcp.protocol.trees import is_object
from mcp.types.base import SERVER_INFO_META_KEY
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

__all__ = [
    "EncodedResult",
    "InvalidResultError",
    "KeptResult",
    "ResultShape",
    "Stamp",
    "WireRules",
    "plain",
    "says_tool_failed",
    "wire_rules",
]


@dataclass(frozen=True)
class WireRules:
    """What the results of one revision carry besides what their handler put there.

    Attributes:
        result_type: Every result says `resultType`; without it, the member is dropped.
        stamp: Every result names the server in `_meta`.
        cache_hints: Results of cacheable methods carry `ttlMs` and `cacheScope`; without it, both are dropped.
    """

    result_type: bool
    stamp: bool
    cache_hints: bool


_MODERN = WireRules(result_type=True, stamp=True, cache_hints=True)
_HANDSHAKE = WireRules(result_type=False, stamp=False, cache_hints=False)
_RULES: Mapping[str, WireRules] = {
    **dict.fromkeys(HANDSHAKE_PROTOCOL_VERSIONS, _HANDSHAKE),
    **dict.fromkeys(MODERN_PROTOCOL_VERSIONS, _MODERN),
}
_MODERN_ONLY_MEMBERS = ("resultType", "ttlMs", "cacheScope")


def wire_rules(version: str) -> WireRules:
    """The rules of a protocol revision."""
    return _RULES[version]


_Pieces = tuple[bytes | memoryview, bytes]
"""JSON text that stands in two places, of which the first may be large and is not copied to be cut."""


class InvalidResultError(Exception):
    """A handler returned something that cannot be the result of its method. The text says what."""


class Stamp:
    """A server's identity as results carry it, encoded once.

    Attributes:
        info: The server's `Implementation` in wire form.
    """

    __slots__ = ("info", "tail", "typed_tail")

    def __init__(self, info: dict[str, Any]) -> None:
        self.info = info
        meta = dumps({SERVER_INFO_META_KEY: info})
        self.tail = b',"_meta":' + meta + b"}"
        self.typed_tail = b',"resultType":"complete"' + self.tail


class KeptResult:
    """A result that answers many requests, and is encoded for the first of them in each revision.

    Args:
        result: The result. It must not change any more.
    """

    __slots__ = ("_encoded", "result")

    def __init__(self, result: BaseModel) -> None:
        self.result = result
        self._encoded: dict[ResultShape, tuple[Stamp, bytes]] = {}

    def to_json(self, shape: "ResultShape", stamp: Stamp) -> bytes:
        """The result as JSON text; it raises what `ResultShape.to_json` does."""
        kept = self._encoded.get(shape)
        if kept is None or kept[0] is not stamp:
            kept = self._encoded[shape] = (stamp, shape.to_json(self.result, stamp))
        return kept[1]


class EncodedResult:
    """A complete result that was written as JSON text at once.

    Args:
        body: A valid result of its method, as a JSON object: it names neither `_meta` nor `resultType`.
    """

    __slots__ = ("_body",)

    def __init__(self, body: bytes) -> None:
        self._body = body

    def to_dict(self) -> dict[str, Any]:
        """What `body` says."""
        return loads(self._body)

    def to_json(self, shape: "ResultShape", stamp: Stamp) -> bytes:
        """The result as JSON text."""
        return b"".join((memoryview(self._body)[:-1], stamp.typed_tail)) if shape.is_stamped else self._body


class ResultShape:
    """How the results of one method become wire form under one revision's rules.

    Args:
        rules: The revision's rules.
        model: The method's result model, which anything else is checked against; None checks nothing.
        cacheable: Whether results of the method carry cache hints.
        input_required: Whether a request for input may take the place of a result.
        hint: `ttlMs` and `cacheScope` for results whose handler set none.

    Attributes:
        is_stamped: Results say their type and name the server.
    """

    __slots__ = ("_cacheable", "_check", "_hint", "_input_required", "_model", "_rules", "_splicers", "is_stamped")

    def __init__(
        self,
        rules: WireRules,
        *,
        model: type[BaseModel] | None = None,
        cacheable: bool = False,
        input_required: bool = False,
        hint: tuple[int, Literal["public", "private"]] | None = None,
    ) -> None:
        self._rules = rules
        self.is_stamped = rules.stamp
        self._model = model
        self._check = None if model is None else _CHECKS.get(model.__name__)
        self._cacheable = cacheable
        self._input_required = input_required and rules.result_type
        self._hint = hint
        self._splicers: dict[type, Callable[[Any, Stamp], _Pieces] | None] = {}

    def to_json(self, result: BaseModel | KeptResult | EncodedResult | dict[str, Any] | None, stamp: Stamp) -> bytes:
        """The result as JSON text.

        Raises:
            InvalidResultError: It cannot be a result of the method.
            ValueError: It holds something that has no JSON form.
        """
        if isinstance(result, (KeptResult, EncodedResult)):
            return result.to_json(self, stamp)
        pieces = self._spliced(result, stamp)
        return dumps(self.to_dict(result, stamp)) if pieces is None else b"".join(pieces)

    def to_frame(
        self, id: RequestId, result: BaseModel | KeptResult | EncodedResult | dict[str, Any] | None, stamp: Stamp
    ) -> bytes:
        """The response that carries the result, as JSON text; it raises what `to_json` does."""
        if isinstance(result, (KeptResult, EncodedResult)):
            return encode_result(id, result.to_json(self, stamp))
        pieces = self._spliced(result, stamp)
        if pieces is None:
            return encode_response(id, self.to_dict(result, stamp))
        return encode_result(id, *pieces)

    def _spliced(self, result: BaseModel | dict[str, Any] | None, stamp: Stamp) -> _Pieces | None:
        """The result as JSON text the fast way; None where only the way through a dict is right."""
        kind = type(result)
        try:
            splice = self._splicers[kind]
        except KeyError:
            splice = self._splicers[kind] = self._splicer(kind) if issubclass(kind, BaseModel) else None
        if splice is None or getattr(result, "meta", None) is not None:
            return None
        if self._check is not None:
            self._check(cast("BaseModel", result))
        return splice(result, stamp)

    def to_dict(
        self, result: BaseModel | KeptResult | EncodedResult | dict[str, Any] | None, stamp: Stamp
    ) -> dict[str, Any]:
        """The result as the dict that `to_json` would encode."""
        if isinstance(result, EncodedResult):
            wire = result.to_dict()
        else:
            wire = self._plain(result.result if isinstance(result, KeptResult) else result)
        if not self._rules.result_type:
            for member in _MODERN_ONLY_MEMBERS:
                wire.pop(member, None)
            return wire
        wire.setdefault("resultType", "complete")
        if self._cacheable and wire["resultType"] == "complete":
            self._default_hints(wire)
        meta = wire.pop("_meta", None)
        if meta is not None and not isinstance(meta, dict):
            raise InvalidResultError(f"_meta of a result must be an object, got {type(meta).__name__}")
        wire["_meta"] = {SERVER_INFO_META_KEY: stamp.info, **cast("dict[str, Any]", meta or {})}
        return wire

    def _plain(self, result: object) -> dict[str, Any]:
        wire = plain(self._hinted(result) if isinstance(result, BaseModel) else result)
        kind = wire.get("resultType", "complete")
        if kind == "input_required":
            self._check_question(wire)
            return wire
        if self._model is None or (kind != "complete" and self._rules.result_type):
            return wire
        if not isinstance(result, self._model):
            try:
                result = self._model.model_validate(wire, by_alias=True, by_name=False)
            except ValidationError as error:
                raise InvalidResultError(f"not a valid {self._model.__name__}: {error}") from error
        if self._check is not None:
            self._check(result)
        return wire

    def _check_question(self, wire: dict[str, Any]) -> None:
        if not self._input_required:
            raise InvalidResultError("no request of this method and revision can be answered by asking for input")
        if not wire.get("inputRequests") and wire.get("requestState") is None:
            raise InvalidResultError("what asks for input must hold inputRequests or requestState")

    def _default_hints(self, wire: dict[str, Any]) -> None:
        ttl_ms, scope = self._hint or (0, "private")
        wire.setdefault("ttlMs", ttl_ms)
        wire.setdefault("cacheScope", scope)

    def _hinted(self, result: BaseModel) -> BaseModel:
        """The result with the hint, if there is one, in the fields that the handler left alone."""
        fields = type(result).model_fields
        hint = zip(("ttl_ms", "cache_scope"), self._hint or (), strict=False)
        update = {name: value for name, value in hint if name in fields and name not in result.model_fields_set}
        return result.model_copy(update=update) if update else result

    def _splicer(self, kind: type[BaseModel]) -> Callable[[Any, Stamp], _Pieces] | None:
        """The fast way for results of this class; None where only the dict way is right."""
        if not kind.__pydantic_complete__:
            kind.model_rebuild()
        fields = kind.model_fields
        others = any("_meta" in (f.alias, f.serialization_alias) for name, f in fields.items() if name != "meta")
        open_ended = kind.model_config.get("extra") == "allow"
        foreign_meta = "meta" in fields and fields["meta"].alias != "_meta"
        unchecked = self._model is not None and not issubclass(kind, self._model)
        lacks_hints = self._cacheable and "ttl_ms" not in fields
        if not self._rules.stamp or others or open_ended or foreign_meta or unchecked or lacks_hints:
            return None
        typed = "result_type" in fields
        encode = kind.__pydantic_serializer__.to_json
        hinted = self._hinted if self._hint is not None else None

        def splice(result: BaseModel, stamp: Stamp) -> _Pieces:
            if hinted is not None:
                result = hinted(result)
            body = encode(result, by_alias=True, exclude_none=True)
            tail = stamp.tail if typed and result.result_type is not None else stamp.typed_tail  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            return (memoryview(body)[:-1], tail) if body != b"{}" else (b"{", tail[1:])

        return splice


def _refuse_rootless_schemas(result: Any) -> None:
    """A tool's arguments are an object, so the root of their schema must say so; a model alone cannot tell."""
    for tool in result.tools:
        if tool.input_schema.get("type") != "object":
            raise InvalidResultError(f'the inputSchema of tool {tool.name!r} must have "type": "object" at its root')


_CHECKS: Mapping[str, Callable[[Any], None]] = {"ListToolsResult": _refuse_rootless_schemas}


def says_tool_failed(method: str, result: object) -> bool:
    """Whether a result, as a model or in wire form, is that of a tool that failed."""
    if method != "tools/call":
        return False
    return result.get("isError") is True if is_object(result) else getattr(result, "is_error", None) is True


def plain(result: object) -> dict[str, Any]:
    """What a handler or a middleware returned, as a dict in wire form, with nothing added.

    Raises:
        InvalidResultError: It is neither a model, nor a dict, nor None.
    """
    if isinstance(result, BaseModel):
        return result.model_dump(by_alias=True, exclude_none=True, mode="json")
    if result is None:
        return {}
    if isinstance(result, dict):
        return dict(cast("dict[str, Any]", result))
    raise InvalidResultError(f"expected a pydantic model, a dict or None, got {type(result).__name__}")
