"""Which era a message belongs to, and the per-request envelope of the modern one.

A *modern* request (2026-07-28) names its protocol version and the client's capabilities in `params._meta`. A
*handshake* message (2024-11-05 to 2025-11-25) names neither: its connection opened with `initialize`. The era of a
message is decided here, before anything else looks at it, from its `_meta` and, over HTTP, from its version header.

Specification: basic/versioning, and basic/index under "Per-request protocol fields".
"""

from collections.abc import Sequence
from typing import Any, Final, Literal, cast

from mcp.protocol.codec import Notification, Request, RequestId
from mcp.protocol.trees import is_object
from mcp.shared.exceptions import MCPError
from mcp.types.base import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SUBSCRIPTION_ID_META_KEY,
)
from mcp.types.jsonrpc import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

__all__ = [
    "BATCHING_VERSION",
    "SERVED_VERSIONS",
    "Envelope",
    "Era",
    "claimed_version",
    "envelope_of",
    "http_era",
    "meta_for_handlers",
    "named_subscription",
    "read_envelope",
    "stream_era",
    "unsupported_version",
]

SERVED_VERSIONS: Final = MODERN_PROTOCOL_VERSIONS
"""The modern revisions that servers of this library answer: what `server/discover` and -32022 list."""

BATCHING_VERSION: Final = "2025-03-26"
"""The one revision that has JSON-RPC batches."""

Era = Literal["modern", "handshake"]


class Envelope:
    """What a modern request says of itself in `_meta`, in wire form.

    Attributes:
        version: The protocol version of the request.
        client_info: The client's name and version, or None where it keeps them to itself.
        client_capabilities: What the client can do.
        log_level: The least severe log message the client wants for this request; None wants none.
        meta: The whole `_meta` object.
    """

    __slots__ = ("client_capabilities", "client_info", "log_level", "meta", "version")

    def __init__(self, version: str, meta: dict[str, Any]) -> None:
        self.version = version
        self.meta = meta
        self.client_info: Any = meta.get(CLIENT_INFO_META_KEY)
        self.client_capabilities: Any = meta[CLIENT_CAPABILITIES_META_KEY]
        self.log_level: Any = meta.get(LOG_LEVEL_META_KEY)


def meta_for_handlers(meta: Any) -> Any:
    """A request's `_meta` as handlers see it: as sent, but with the progress token under `progress_token`.

    What is no token, such as a boolean, asks for no progress.
    """
    if not isinstance(meta, dict) or "progressToken" not in meta:
        return cast("Any", meta)
    given = dict(cast("dict[str, Any]", meta))
    token = given.pop("progressToken")
    if type(token) in (str, int):
        given["progress_token"] = token
    return given


def claimed_version(params: dict[str, Any] | None) -> object:
    """The protocol version that `_meta` claims, whatever its type; None where it claims none."""
    if params is None:
        return None
    meta = params.get("_meta")
    return meta.get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def named_subscription(params: dict[str, Any] | None) -> RequestId | None:
    """The subscription that `_meta` of a notification names; None where it names none."""
    meta: Any = None if params is None else params.get("_meta")
    id: Any = meta.get(SUBSCRIPTION_ID_META_KEY) if is_object(meta) else None
    return id if type(id) in (str, int) else None


def read_envelope(params: dict[str, Any] | None) -> Envelope:
    """The envelope of a modern request.

    Raises:
        MCPError: -32602 where `_meta` or a required key is missing, -32022 where the version is not served.
    """
    envelope = envelope_of(params)
    if envelope.version not in SERVED_VERSIONS:
        raise unsupported_version(envelope.version)
    return envelope


def envelope_of(params: dict[str, Any] | None) -> Envelope:
    """The envelope of a modern request, whatever its version.

    Raises:
        MCPError: -32602: `_meta` or a required key is missing.
    """
    meta: Any = None if params is None else params.get("_meta")
    if not isinstance(meta, dict):
        raise MCPError(
            INVALID_PARAMS,
            f"params._meta must be an object carrying the required {PROTOCOL_VERSION_META_KEY!r} and "
            f"{CLIENT_CAPABILITIES_META_KEY!r} envelope keys",
        )
    try:
        return Envelope(meta[PROTOCOL_VERSION_META_KEY], meta)  # pyright: ignore[reportUnknownArgumentType]
    except KeyError:
        required = (PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY)
        missing = ", ".join(key for key in required if key not in meta)
        raise MCPError(INVALID_PARAMS, f"params._meta is missing the required envelope key(s): {missing}") from None


def unsupported_version(requested: object, supported: Sequence[str] = SERVED_VERSIONS) -> MCPError:
    """The error -32022 for a version that is not served, with the list of those that are."""
    return MCPError(
        UNSUPPORTED_PROTOCOL_VERSION,
        "Unsupported protocol version",
        {"supported": list(supported), "requested": requested if isinstance(requested, str) else str(requested)},
    )


def stream_era(message: Request | Notification) -> Era:
    """The era of a message on a byte stream: it decides for itself, whatever came before it on the same pipe."""
    return "handshake" if claimed_version(message.params) is None else "modern"


def http_era(header: str | None, message: Request | Notification) -> Era:
    """The era of a POSTed message.

    Args:
        header: The value of `MCP-Protocol-Version`; None where the header is absent.
        message: The message in the body.

    Raises:
        MCPError: Header and body contradict each other (-32020), the header promises an envelope that the body lacks
            (-32602), `initialize` came under a modern header (-32601), or the version is unknown (-32022).
    """
    version = claimed_version(message.params)
    if header is None:
        if version is None:
            return "handshake"
        raise MCPError(
            HEADER_MISMATCH,
            f"mcp-protocol-version header is missing; the request envelope's protocol version is {version!r}",
        )
    if header in HANDSHAKE_PROTOCOL_VERSIONS and version is None:
        return "handshake"
    if isinstance(message, Notification):
        return _notification_era(header, version)
    if message.method == "initialize" and header in MODERN_PROTOCOL_VERSIONS and version == header:
        raise MCPError(METHOD_NOT_FOUND, "Method not found", "initialize")
    if version is not None and version != header:
        raise MCPError(
            HEADER_MISMATCH, "mcp-protocol-version header does not match the request envelope's protocol version"
        )
    return "modern"


def _notification_era(header: str, version: object) -> Era:
    if version is not None and version != header:
        raise MCPError(
            HEADER_MISMATCH, "mcp-protocol-version header does not match the notification's protocol version"
        )
    if header not in MODERN_PROTOCOL_VERSIONS:
        raise unsupported_version(header)
    return "modern"
