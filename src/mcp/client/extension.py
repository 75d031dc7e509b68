"""Extensions of a client: what it adds under an identifier, which servers are told of.

A client extension may claim results of `tools/call` that are of a kind of its own, and finish them; and it may take
notifications that the protocol does not define. See `Client.extensions`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel

from mcp.shared.extension import check_class_identifier, validate_extension_identifier
from mcp.types import Result
from mcp.types.base import CORE_RESULT_TYPES
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.client.session import ClientSession
    from mcp.types import CallToolResult

__all__ = [
    "ClaimContext",
    "ClientExtension",
    "NotificationBinding",
    "ResultClaim",
    "UnexpectedClaimedResult",
    "advertise",
]

ClaimedT = TypeVar("ClaimedT", bound=Result)
NotifyParamsT = TypeVar("NotifyParamsT", bound=BaseModel)

CLAIMABLE_METHODS = ("tools/call",)


@dataclass(frozen=True, kw_only=True)
class ClaimContext:
    """The call that a claimed result answers.

    Attributes:
        session: The session, for further requests.
        tool_name: The tool that was called.
        read_timeout_seconds: The time limit that the call was given, in seconds; None where it was given none.
    """

    session: ClientSession
    tool_name: str
    read_timeout_seconds: float | None


@dataclass(frozen=True, kw_only=True)
class ResultClaim(Generic[ClaimedT]):
    """A kind of result that an extension knows, and what finishes it.

    Attributes:
        result_type: The `resultType` by which it is known.
        model: What it is validated against. Pins the tag: `result_type: Literal["ticket"] = "ticket"`.
        resolve: `async (claimed, context) -> CallToolResult`.
        method: The method that it answers.
        protocol_versions: The revisions in which it is claimed; None for all that have result types.

    Raises:
        ValueError: The tag is one of the protocol's, the model does not pin it or is not of its own kind, or the
            method or a revision has no claimed results.
    """

    result_type: str
    model: type[ClaimedT]
    resolve: Callable[[ClaimedT, ClaimContext], Awaitable[CallToolResult]]
    method: Literal["tools/call"] = "tools/call"
    protocol_versions: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.result_type in CORE_RESULT_TYPES:
            raise ValueError(f"resultType {self.result_type!r} is the protocol's own, and cannot be claimed")
        if self.method not in CLAIMABLE_METHODS:
            raise ValueError(f"claims are for results of {', '.join(CLAIMABLE_METHODS)} only, got {self.method!r}")
        _check_model(self.model, self.result_type)
        _check_versions(self.protocol_versions)


def _check_model(model: Any, tag: str) -> None:
    from mcp.types import CallToolResult, InputRequiredResult

    name = getattr(model, "__name__", repr(model))
    if not (isinstance(model, type) and issubclass(model, Result)):
        raise ValueError(f"{name} must be a subclass of mcp.types.Result")
    if issubclass(model, (CallToolResult, InputRequiredResult)):
        raise ValueError(f"{name} must be no subclass of CallToolResult or InputRequiredResult")
    if not model.__pydantic_complete__:
        model.model_rebuild()
    field = model.model_fields.get("result_type")
    pinned: Any = None if field is None else field.annotation
    if get_origin(pinned) is not Literal or get_args(pinned) != (tag,):
        raise ValueError(f"{name}.result_type must be Literal[{tag!r}]")


def _check_versions(versions: frozenset[str] | None) -> None:
    if versions is None:
        return
    if not versions:
        raise ValueError("an empty protocol_versions set claims nothing, ever; None claims in every version")
    if strange := sorted(set(versions) - set(MODERN_PROTOCOL_VERSIONS)):
        raise ValueError(
            f"protocol_versions {strange} have no claimed results: only {', '.join(MODERN_PROTOCOL_VERSIONS)} has"
        )


@dataclass(frozen=True, kw_only=True)
class NotificationBinding(Generic[NotifyParamsT]):
    """A notification that an extension takes.

    Attributes:
        method: Its method. Where the protocol defines it, the binding is never used.
        params_type: What its params are validated against.
        handler: `async (params) -> None`. Called for one notification at a time, in order.
    """

    method: str
    params_type: type[NotifyParamsT]
    handler: Callable[[NotifyParamsT], Awaitable[None]]


class ClientExtension:
    """What a client can be given under an identifier. Override what is needed.

    Attributes:
        identifier: `vendor-prefix/name`, with a domain of your own as the prefix: `com.example/tickets`.

    Raises:
        TypeError: A subclass has an identifier of another form.
    """

    identifier: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_class_identifier(cls)

    def settings(self) -> dict[str, Any]:
        """What servers are told beside the identifier. Read once, when a `Client` is constructed."""
        return {}

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """The kinds of results that it finishes.

        Where a connection's revision has none of them, servers are not told of the extension.
        """
        return ()

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        """The notifications that it takes."""
        return ()


class _Advertised(ClientExtension):
    def __init__(self, identifier: str, settings: dict[str, Any]) -> None:
        validate_extension_identifier(identifier, owner="advertise")
        self.identifier = identifier
        self._settings = settings

    def settings(self) -> dict[str, Any]:
        return self._settings


def advertise(identifier: str, settings: dict[str, Any] | None = None) -> ClientExtension:
    """An extension that servers are told of, and that does nothing.

    Args:
        identifier: Its identifier.
        settings: What they are told beside it.

    Raises:
        TypeError: The identifier is not of the form `vendor-prefix/name`.
    """
    return _Advertised(identifier, dict(settings or {}))


class UnexpectedClaimedResult(RuntimeError):
    """A tool answered with a result of an extension's kind, to a caller who had not asked for those.

    Args:
        result: The result. The server may hold something for it.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(
            f"the server answered with {type(result).__name__}, which an extension claims: Client.call_tool() finishes "
            "it, and ClientSession.call_tool(..., allow_claimed=True) returns it. The server may hold something for it "
            "that needs to be cleaned up"
        )
        self.result = result
