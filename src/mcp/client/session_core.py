"""The state of one open connection of a client, and how a request goes out on it.

`ClientSession` adds a method for each of the protocol's verbs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import cache, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel
from typing_extensions import Self

from mcp import types
from mcp.client.bound_notifications import BoundNotifications
from mcp.client.callbacks import (
    ElicitationFnT,
    ListRootsFnT,
    LoggingFnT,
    MessageHandlerFnT,
    SamplingFnT,
)
from mcp.client.claims import Claims
from mcp.client.connect import sse_requester, stream_requester
from mcp.client.envelope import answering_everything, declared_capabilities, envelope_meta
from mcp.client.inbound import Inbound
from mcp.client.limits import default_bound, seconds
from mcp.client.outbound import Outbound
from mcp.client.output_schema import OutputSchemas
from mcp.client.results import parser_of, result_of
from mcp.client.role import ClientRole
from mcp.client.server_facts import ServerFacts
from mcp.engine.requester import CallOptions, NotificationSink, Requester
from mcp.protocol.trees import is_object
from mcp.shared.exceptions import HTTPResponseError, MCPError
from mcp.types.jsonrpc import UNSUPPORTED_PROTOCOL_VERSION
from mcp.types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION

if TYPE_CHECKING:
    from mcp.client.extension import NotificationBinding, ResultClaim
    from mcp.client.session import ClientSession
    from mcp.engine.streams import ReadStream, WriteStream
    from mcp.shared.message import SessionMessage

__all__ = ["DISCOVER_TIMEOUT_SECONDS", "SessionCore", "default_client_info"]

logger = logging.getLogger("client")

DISCOVER_TIMEOUT_SECONDS = 10.0
"""How long `server/discover` may take before the server counts as one that does not know it."""

ReceiveResultT = TypeVar("ReceiveResultT", bound=BaseModel)

_STANDING = frozenset({"logging/setLevel", "resources/subscribe", "resources/unsubscribe"})

Connector = Callable[[Inbound], AbstractAsyncContextManager[Requester]]
"""Opens a connection, given what takes what the server sends unasked."""


@cache
def default_client_info() -> types.Implementation:
    """Who a client is that does not say."""
    return types.Implementation(name="mcp", version="0.1.0")


class SessionCore(Outbound):
    """A connection to a server.

    Args:
        read_stream: Where messages come from.
        write_stream: Where messages go.
        read_timeout_seconds: How long each request may take, in seconds; `math.inf` sets no limit. When left out, that
            is `mcp.client.limits.DEFAULT_TIMEOUT_SECONDS`, and `MAX_TIMEOUT_SECONDS` for a tool's call.
        sampling_callback: Answers the server's requests for a message from a model; declares the capability.
        elicitation_callback: Answers the server's questions to the user; declares the capability.
        list_roots_callback: Answers the server's requests for root directories; declares the capability.
        logging_callback: Takes the server's log messages.
        message_handler: Takes every notification of the server's.
        client_info: Who the client is.
        log_level: The least severe log message to ask for, with every request.
        sampling_capabilities: What sampling supports beyond the basics.
        extensions: Settings to declare, by extension identifier.
        result_claims: What extensions claim of the results, by their identifier; see `call_tool`.
        notification_bindings: What takes notifications that the protocol does not define.
        dispatcher: A message dispatcher to use in place of the streams. This library has none: raises.
        connector: Opens the connection, in place of the streams.
        output_schemas: Checks what tools return; a new one in mode "error" when left out.
        reset_timeout_on_progress: Whether the time limit of a request starts again with each progress report, up to
            `MAX_TIMEOUT_SECONDS` in all. It asks the server for progress with every request.
        on_notification: Sees every notification, in wire form, before the callbacks do.
        tracing: Whether requests get a span and carry its context, once the program has an OpenTelemetry provider.

    Raises:
        NotImplementedError: `dispatcher` is given.
        ValueError: A claim's extension is not declared, or two claim the same results or notifications.
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
        result_claims: Mapping[str, Sequence[ResultClaim[Any]]] | None = None,
        notification_bindings: Sequence[NotificationBinding[Any]] | None = None,
        dispatcher: Any = None,
        connector: Connector | None = None,
        output_schemas: OutputSchemas | None = None,
        reset_timeout_on_progress: bool = False,
        on_notification: NotificationSink | None = None,
        tracing: bool = True,
    ) -> None:
        if dispatcher is not None:
            raise NotImplementedError("dispatcher= is not supported; pass a pair of streams")
        self._connector: Connector = connector or partial(stream_requester, read_stream, write_stream)
        super().__init__(seconds(read_timeout_seconds), extends=reset_timeout_on_progress, tracing=tracing)
        bindings = BoundNotifications(notification_bindings)
        self._inbound = Inbound(logging_callback, message_handler, on_notification, bindings)
        self._inbound.renewal = self._renewing
        self._inbound.role = self._role = ClientRole(
            cast("ClientSession", self),
            sampling=sampling_callback,
            elicitation=elicitation_callback,
            list_roots=list_roots_callback,
            tracing=tracing,
        )
        self._client_info = client_info or default_client_info()
        self._log_level: types.LoggingLevel | None = log_level
        self._capabilities = declared_capabilities(
            sampling=sampling_capabilities or (types.SamplingCapability() if sampling_callback else None),
            elicitation=elicitation_callback is not None,
            roots=list_roots_callback is not None,
            extensions=extensions,
        )
        self._claims = Claims(extensions, result_claims)
        self._schemas = output_schemas or OutputSchemas()
        self._resources = AsyncExitStack()
        self._facts = ServerFacts()
        self._envelope = self._envelope_for(LATEST_MODERN_VERSION)
        self._wide_envelope: dict[str, Any] | None = None
        self._claimed = self._claims.models(LATEST_MODERN_VERSION)

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
        return self._facts.initialized

    @property
    def discover_result(self) -> types.DiscoverResult | None:
        """What the server says of itself, as asked or as adopted; None before, and where a handshake was made."""
        return self._facts.discovered

    @property
    def protocol_version(self) -> str | None:
        """The revision that is spoken; None before it is settled."""
        return self._facts.version

    @property
    def server_info(self) -> types.Implementation | None:
        """Who the server is; None where it does not say."""
        return self._facts.server_info

    @property
    def server_capabilities(self) -> types.ServerCapabilities | None:
        """What the server can do; None before it is known."""
        return self._facts.capabilities

    @property
    def instructions(self) -> str | None:
        """How a model should use the server; None where it does not say."""
        return self._facts.instructions

    def adopt(self, result: types.InitializeResult | types.DiscoverResult) -> None:
        """Takes what a server says of itself as settled, and speaks the newest revision that both know.

        Args:
            result: What the server said, now or on an earlier connection.

        Raises:
            RuntimeError: There is no revision that both know.
        """
        if isinstance(result, types.InitializeResult):
            self._inbound.version = self._facts.adopt_initialized(result)
            self._envelope = {}
        else:
            self._envelope = self._envelope_for(self._facts.adopt_discovered(result))
            self._inbound.version = None
        self._wide_envelope = None
        assert self._facts.version is not None, "what is adopted has settled the version"
        self._claimed = self._claims.models(self._facts.version)
        self._inbound.bindings.warn_of_shadowed(self._facts.version)

    def _envelope_of_callers(self) -> dict[str, Any]:
        if self._wide_envelope is None:
            declared = self._claims.declared(self._capabilities, self._facts.version or LATEST_MODERN_VERSION)
            self._wide_envelope = self._envelope and answering_everything(self._envelope, declared)
        return self._wide_envelope

    def _envelope_for(self, version: str) -> dict[str, Any]:
        declared = self._claims.declared(self._capabilities, version)
        return envelope_meta(version, self._client_info, declared, self._log_level)

    async def _list(
        self, method: str, model: type[ReceiveResultT], params: types.PaginatedRequestParams | None
    ) -> ReceiveResultT:
        """One page of a listing."""
        wire = params.model_dump(by_alias=True, exclude_none=True, mode="json") if params is not None else {}
        return await self._request(method, wire, model, meta=wire.pop("_meta", None))

    async def initialize(self) -> types.InitializeResult:
        """Opens a connection of a handshake revision, and adopts what the server answers.

        Raises:
            MCPError: The server answered with an error.
            RuntimeError: The server wants a revision that this client does not know.
        """
        result = await self.send_initialize()
        self.adopt(result)
        await self.confirm_handshake()
        return result

    async def send_initialize(self) -> types.InitializeResult:
        """Offers a server a handshake, and returns what it answers. Nothing is adopted, and nothing confirmed.

        Raises:
            MCPError: The server answered with an error.
        """
        declared = self._claims.declared(self._capabilities, LATEST_HANDSHAKE_VERSION)
        params: dict[str, Any] = {
            "protocolVersion": LATEST_HANDSHAKE_VERSION,
            "capabilities": declared.model_dump(by_alias=True, exclude_none=True, mode="json"),
            "clientInfo": self._client_info.model_dump(by_alias=True, exclude_none=True, mode="json"),
        }
        options = CallOptions(self._timeout, bound=default_bound("initialize"))
        raw = await self._way_out()(next(self._ids), "initialize", params, options)
        return result_of("initialize", raw, parser_of(types.InitializeResult))

    async def confirm_handshake(self) -> None:
        """Tells the server that its answer to a handshake is adopted, which ends the handshake.

        Raises:
            MCPError: The server refused it.
        """
        requester = self._connected()
        assert self._facts.version is not None, "what is confirmed was adopted"
        await requester.established(self._facts.version)
        await requester.notify("notifications/initialized", None)

    async def _renew(self) -> None:
        await self.initialize()
        await self._repeat_standing()

    async def fall_back_to_sse(self, refusal: HTTPResponseError) -> None:
        """Goes on over HTTP+SSE, the transport of 2024-11-05, at the same URL.

        Args:
            refusal: What the server answered to `initialize` over streamable HTTP.

        Raises:
            HTTPResponseError: `refusal`: the server does not speak HTTP+SSE either, or this is no HTTP connection.
        """
        older = sse_requester(self._connected(), self._inbound)
        if older is None:
            raise refusal
        try:
            requester = await self._resources.enter_async_context(older)
        except MCPError as failure:
            raise refusal from failure
        await self._connected().aclose()
        self._requester = requester

    async def send_discover(self, version: str) -> dict[str, Any]:
        """Asks a server what it supports, in the name of a revision, and returns the raw result.

        Args:
            version: The revision to ask in.

        Raises:
            MCPError: The server answered with an error, or not within `DISCOVER_TIMEOUT_SECONDS`.
        """
        limit = DISCOVER_TIMEOUT_SECONDS if self._timeout is None else min(self._timeout, DISCOVER_TIMEOUT_SECONDS)
        params = {"_meta": self._envelope_for(version)}
        return await self._way_out()(next(self._ids), "server/discover", params, CallOptions(limit))

    async def fetch_discovery(self) -> types.DiscoverResult:
        """Asks a server what it supports, and returns what it answers. Nothing is adopted.

        Raises:
            MCPError: The server answered with an error, or not within `DISCOVER_TIMEOUT_SECONDS`.
        """
        try:
            raw = await self.send_discover(LATEST_MODERN_VERSION)
        except MCPError as refusal:
            if not _knows_after_all(refusal):
                raise
            raw = await self.send_discover(LATEST_MODERN_VERSION)
        return result_of("server/discover", raw, parser_of(types.DiscoverResult))

    async def discover(self) -> types.DiscoverResult:
        """Asks a server what it supports, and adopts the answer.

        Raises:
            MCPError: The server answered with an error, or not within `DISCOVER_TIMEOUT_SECONDS`.
            RuntimeError: There is no revision that both know.
        """
        result = await self.fetch_discovery()
        self.adopt(result)
        return result


def _knows_after_all(refusal: MCPError) -> bool:
    """Whether a server refuses the version it was asked in, and lists it among those it supports."""
    supported: Any = refusal.data.get("supported") if is_object(refusal.data) else None
    known = isinstance(supported, list) and LATEST_MODERN_VERSION in supported
    return known and refusal.code == UNSUPPORTED_PROTOCOL_VERSION
