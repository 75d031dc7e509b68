"""The state of one open connection of a client, and how a request goes out on it.

`ClientSession` adds a method for each of the protocol's verbs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import cache, partial
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from typing_extensions import Self

from mcp import types
from mcp.client.callbacks import (
    ElicitationFnT,
    ListRootsFnT,
    LoggingFnT,
    MessageHandlerFnT,
    ProgressFnT,
    SamplingFnT,
)
from mcp.client.connect import stream_requester
from mcp.client.envelope import declared_capabilities, envelope_meta, wire_meta
from mcp.client.inbound import Inbound
from mcp.client.output_schema import OutputSchemas
from mcp.client.results import Parser, own_result_of, parser_of, result_of
from mcp.client.role import ClientRole
from mcp.engine.progress import progress_reporter
from mcp.engine.requester import CallOptions, Requester
from mcp.protocol.codec import RequestId
from mcp.shared.exceptions import ConnectionClosedError
from mcp.types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

if TYPE_CHECKING:
    from mcp.client.session import ClientSession
    from mcp.engine.streams import ReadStream, WriteStream
    from mcp.shared.message import ClientMessageMetadata, SessionMessage

__all__ = ["DISCOVER_TIMEOUT_SECONDS", "SessionCore", "default_client_info"]

logger = logging.getLogger("client")

DISCOVER_TIMEOUT_SECONDS = 10.0
"""How long `server/discover` may take before the server counts as one that does not know it."""

ReceiveResultT = TypeVar("ReceiveResultT", bound=BaseModel)
_T = TypeVar("_T")

Connector = Callable[[Inbound], AbstractAsyncContextManager[Requester]]
"""Opens a connection, given what takes what the server sends unasked."""


@cache
def default_client_info() -> types.Implementation:
    """Who a client is that does not say."""
    return types.Implementation(name="mcp", version="0.1.0")


def _seconds(limit: Any) -> float | None:
    """A time limit. Older versions of the protocol's SDK took a `timedelta`, and plain comparisons fail late with one.

    Raises:
        TypeError: It is no number.
    """
    if limit is None or isinstance(limit, (int, float)):
        return limit
    raise TypeError(f"a time limit is a number of seconds, got {type(limit).__name__}")


class SessionCore:
    """A connection to a server.

    Args:
        read_stream: Where messages come from.
        write_stream: Where messages go.
        read_timeout_seconds: How long each request may take, in seconds; None sets no limit.
        sampling_callback: Answers the server's requests for a message from a model; declares the capability.
        elicitation_callback: Answers the server's questions to the user; declares the capability.
        list_roots_callback: Answers the server's requests for root directories; declares the capability.
        logging_callback: Takes the server's log messages.
        message_handler: Takes every notification of the server's.
        client_info: Who the client is.
        log_level: The least severe log message to ask for, with every request.
        sampling_capabilities: What sampling supports beyond the basics.
        extensions: Settings to declare, by extension identifier.
        result_claims: Result types of extensions. Not built yet: raises.
        notification_bindings: Notifications of extensions. Not built yet: raises.
        dispatcher: A message dispatcher to use in place of the streams. This library has none: raises.
        connector: Opens the connection, in place of the streams.
        output_schemas: Checks what tools return; a new one in mode "error" when left out.

    Raises:
        NotImplementedError: An argument asks for something that is not built yet.
    """

    def __init__(
        self,
        read_stream: ReadStream[SessionMessage | Exception] | None = None,
        write_stream: WriteStream[SessionMessage] | None = None,
        read_timeout_seconds: float | None = None,
        sampling_callback: SamplingFnT | None = None,
        elicitation_callback: ElicitationFnT | None = None,
        list_roots_callback: ListRootsFnT | None = None,
        logging_callback: LoggingFnT | None = None,
        message_handler: MessageHandlerFnT | None = None,
        client_info: types.Implementation | None = None,
        *,
        log_level: types.LoggingLevel | None = None,
        sampling_capabilities: types.SamplingCapability | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        result_claims: Mapping[str, Sequence[Any]] | None = None,
        notification_bindings: Sequence[Any] | None = None,
        dispatcher: Any = None,
        connector: Connector | None = None,
        output_schemas: OutputSchemas | None = None,
    ) -> None:
        if result_claims or notification_bindings:
            raise NotImplementedError("client extensions are not part of this version of the library yet")
        if dispatcher is not None:
            raise NotImplementedError("dispatcher= is not supported; pass a pair of streams")
        self._connector: Connector = connector or partial(stream_requester, read_stream, write_stream)
        self._timeout = _seconds(read_timeout_seconds)
        self._inbound = Inbound(logging_callback, message_handler)
        self._inbound.role = ClientRole(
            cast("ClientSession", self),
            sampling=sampling_callback,
            elicitation=elicitation_callback,
            list_roots=list_roots_callback,
        )
        self._client_info = client_info or default_client_info()
        self._log_level: types.LoggingLevel | None = log_level
        self._capabilities = declared_capabilities(
            sampling=sampling_capabilities or (types.SamplingCapability() if sampling_callback else None),
            elicitation=elicitation_callback is not None,
            roots=list_roots_callback is not None,
            extensions=extensions,
        )
        self._schemas = output_schemas or OutputSchemas()
        self._ids = count(1)
        self._requester: Requester | None = None
        self._resources = AsyncExitStack()
        self._discovered: types.DiscoverResult | None = None
        self._initialized: types.InitializeResult | None = None
        self._version: str | None = None
        self._envelope = self._envelope_for(LATEST_MODERN_VERSION)

    async def __aenter__(self) -> Self:
        self._requester = await self._resources.enter_async_context(self._connector(self._inbound))
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        try:
            # Kept: a closed connection refuses requests by itself, and says that it is closed.
            if self._requester is not None:
                await self._requester.aclose()
        finally:
            await self._resources.__aexit__(exc_type, exc_val, exc_tb)
        return None

    # What is known of the server.

    @property
    def initialize_result(self) -> types.InitializeResult | None:
        """What the server answered to `initialize`; None on a 2026-07-28 connection."""
        return self._initialized

    @property
    def discover_result(self) -> types.DiscoverResult | None:
        """What the server says of itself, as asked or as adopted; None before."""
        return self._discovered

    @property
    def protocol_version(self) -> str | None:
        """The revision that is spoken; None before it is settled."""
        return self._version

    @property
    def server_info(self) -> types.Implementation | None:
        """Who the server is; None where it does not say."""
        if self._initialized is not None:
            return self._initialized.server_info
        meta = self._discovered.meta if self._discovered is not None else None
        info = (meta or {}).get(types.SERVER_INFO_META_KEY)
        if info is None:
            return None
        try:
            return types.Implementation.model_validate(info)
        except ValidationError:
            logger.warning("the server's identity is malformed and counts as absent: %r", info)
            return None

    @property
    def server_capabilities(self) -> types.ServerCapabilities | None:
        """What the server can do; None before it is known."""
        known = self._initialized or self._discovered
        return known.capabilities if known is not None else None

    @property
    def instructions(self) -> str | None:
        """How a model should use the server; None where it does not say."""
        known = self._initialized or self._discovered
        return known.instructions if known is not None else None

    def adopt(self, result: types.InitializeResult | types.DiscoverResult) -> None:
        """Takes what a server says of itself as settled, and speaks the newest revision that both know.

        Args:
            result: What the server said, now or on an earlier connection.

        Raises:
            RuntimeError: There is no revision that both know.
        """
        if isinstance(result, types.InitializeResult):
            self._adopt_handshake(result)
            return
        common = [version for version in MODERN_PROTOCOL_VERSIONS if version in result.supported_versions]
        if not common:
            raise RuntimeError(
                f"No mutually supported modern protocol version (server: {result.supported_versions}, "
                f"client: {list(MODERN_PROTOCOL_VERSIONS)})"
            )
        self._discovered = result
        self._version = common[-1]
        self._envelope = self._envelope_for(self._version)

    def _adopt_handshake(self, result: types.InitializeResult) -> None:
        if result.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            raise RuntimeError(
                f"Unsupported protocol version from the server: {result.protocol_version!r} "
                f"(this client asked for {LATEST_HANDSHAKE_VERSION!r} and knows {list(HANDSHAKE_PROTOCOL_VERSIONS)})"
            )
        self._initialized = result
        self._discovered = None
        self._version = self._inbound.version = result.protocol_version
        self._envelope = {}

    def _envelope_for(self, version: str) -> dict[str, Any]:
        return envelope_meta(version, self._client_info, self._capabilities, self._log_level)

    async def initialize(self) -> types.InitializeResult:
        """Opens a connection of a handshake revision, and adopts what the server answers.

        Raises:
            MCPError: The server answered with an error.
            RuntimeError: The server wants a revision that this client does not know.
        """
        requester = self._connected()
        params: dict[str, Any] = {
            "protocolVersion": LATEST_HANDSHAKE_VERSION,
            "capabilities": self._capabilities.model_dump(by_alias=True, exclude_none=True, mode="json"),
            "clientInfo": self._client_info.model_dump(by_alias=True, exclude_none=True, mode="json"),
        }
        raw = await requester.request(next(self._ids), "initialize", params, CallOptions(self._timeout))
        result = result_of("initialize", raw, parser_of(types.InitializeResult))
        self.adopt(result)
        await requester.established(result.protocol_version)
        await requester.notify("notifications/initialized", None)
        return result

    async def send_discover(self, version: str) -> dict[str, Any]:
        """Asks a server what it supports, in the name of a revision, and returns the raw result.

        Args:
            version: The revision to ask in.

        Raises:
            MCPError: The server answered with an error, or not within `DISCOVER_TIMEOUT_SECONDS`.
        """
        limit = DISCOVER_TIMEOUT_SECONDS if self._timeout is None else min(self._timeout, DISCOVER_TIMEOUT_SECONDS)
        params = {"_meta": self._envelope_for(version)}
        return await self._connected().request(next(self._ids), "server/discover", params, CallOptions(limit))

    async def discover(self) -> types.DiscoverResult:
        """Asks a server what it supports, and adopts the answer.

        Raises:
            MCPError: The server answered with an error, or not within `DISCOVER_TIMEOUT_SECONDS`.
            RuntimeError: There is no revision that both know.
        """
        raw = await self.send_discover(LATEST_MODERN_VERSION)
        result = result_of("server/discover", raw, parser_of(types.DiscoverResult))
        self.adopt(result)
        return result

    # Requests.

    def _connected(self) -> Requester:
        if self._requester is None:
            raise RuntimeError("ClientSession must be used within an async context manager")
        return self._requester

    async def _request(
        self,
        method: str,
        params: dict[str, Any],
        parse: Parser[_T],
        *,
        meta: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        progress: ProgressFnT | None = None,
        headers: Mapping[str, str] | None = None,
        input_required: bool = False,
        any_kind: bool = False,
    ) -> Any:
        requester = self._connected()
        id: RequestId = next(self._ids)
        envelope = wire_meta(meta, self._envelope) if meta else self._envelope
        on_progress = None
        if progress is not None:
            envelope = {**envelope, "progressToken": id}
            on_progress = progress_reporter(progress)
        if envelope:
            params["_meta"] = envelope
        options = CallOptions(self._timeout if timeout is None else _seconds(timeout), headers, on_progress)
        raw = await requester.request(id, method, params, options)
        if any_kind:
            return own_result_of(method, raw, parse)
        return result_of(method, raw, parse, input_required=input_required)

    async def send_request(
        self,
        request: types.ClientRequest | types.Request[Any, Any],
        result_type: type[ReceiveResultT] | TypeAdapter[ReceiveResultT],
        request_read_timeout_seconds: float | None = None,
        metadata: ClientMessageMetadata | None = None,
        progress_callback: ProgressFnT | None = None,
    ) -> ReceiveResultT:
        """Sends any request, also one of a method that the protocol does not define.

        Args:
            request: The request.
            result_type: What its result is validated against.
            request_read_timeout_seconds: How long it may take, in seconds; the session's limit when left out.
            metadata: HTTP headers for this request.
            progress_callback: Takes progress reports.

        Raises:
            MCPError: The server answered with an error, or the connection failed or has closed.
            ValidationError: The result does not fit.
            RuntimeError: The session is not entered.
        """
        wire = request.model_dump(by_alias=True, exclude_none=True, mode="json")
        params: dict[str, Any] = wire.get("params") or {}
        return await self._request(
            request.method,
            params,
            parser_of(result_type),
            meta=params.pop("_meta", None),
            timeout=request_read_timeout_seconds,
            progress=progress_callback,
            headers=metadata.headers if metadata is not None else None,
            any_kind=True,
        )

    async def request(
        self,
        method: str,
        params: types.RequestParams,
        result_type: type[ReceiveResultT],
        *,
        meta: Mapping[str, Any] | None = None,
    ) -> ReceiveResultT:
        """Sends a request by its method's name.

        Args:
            method: The method.
            params: Its params.
            result_type: What its result is validated against.
            meta: The request's `_meta`, on top of that of `params`.

        Raises:
            MCPError: The server answered with an error.
            ValidationError: The result does not fit.
        """
        wire = params.model_dump(by_alias=True, exclude_none=True, mode="json")
        meta = {**wire.pop("_meta", {}), **(meta or {})}
        return await self._request(method, wire, parser_of(result_type), meta=meta, any_kind=True)

    async def send_notification(self, notification: types.ClientNotification) -> None:
        """Sends a notification; drops it if the connection has closed.

        Args:
            notification: The notification.

        Raises:
            MCPError: The server refused it.
        """
        wire = notification.model_dump(by_alias=True, exclude_none=True, mode="json")
        params: dict[str, Any] = wire.get("params") or {}
        params["_meta"] = wire_meta(params.get("_meta") or {}, self._envelope)
        try:
            await self._connected().notify(notification.method, params)
        except ConnectionClosedError as error:
            logger.debug("dropped %s: %s", notification.method, error)
