"""The client: one object, entered with `async with`, with a method for every verb of the protocol."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, get_args

from mcp import types
from mcp.client.cache_setup import DEFAULT_CACHE, LateCache, check_cache, open_cache
from mcp.client.cacheable_verbs import CacheableVerbs
from mcp.client.callbacks import (
    ElicitationFnT,
    ListRootsFnT,
    LoggingFnT,
    MessageHandlerFnT,
    ProgressFnT,
    SamplingFnT,
)
from mcp.client.connect import Transport, open_requester
from mcp.client.folding import FoldedExtensions, finish_claimed, fold_extensions
from mcp.client.input_rounds import ResultT, Try, further_rounds, in_rounds
from mcp.client.negotiation import PROBE_SECONDS, negotiate_auto, settle_version
from mcp.client.output_schema import OutputSchemas, ValidateOutput
from mcp.client.session import ClientSession
from mcp.engine.supervisor import Held
from mcp.lazy import lazy_exports
from mcp.shared._checks import check_whole
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.client.caching import CacheConfig
    from mcp.client.extension import ClientExtension
    from mcp.client.response_cache import ClientResponseCache
    from mcp.client.stdio import StdioServerParameters
    from mcp.client.subscriptions import Subscription
    from mcp.engine.memory import LocalServer

__all__ = ["Client", "ConnectMode", "negotiate_auto"]

logger = logging.getLogger(__name__)

ConnectMode = Literal["legacy", "auto"] | str
"""How to settle the protocol version: by asking ("auto"), by a handshake ("legacy"), or as given ("2026-07-28")."""


@dataclass
class Client(CacheableVerbs):
    """A client of one server.

        async with Client("http://localhost:8000/mcp") as client:
            result = await client.call_tool("add", {"a": 1, "b": 2})

    Entering connects and settles the protocol version; leaving disconnects. A client is used once. On asyncio it may
    be entered, used and left in different tasks.

    Attributes:
        server: What to connect to: a server object (in this process), a URL (streamable HTTP),
            `StdioServerParameters` (a subprocess), or a transport (anything that is entered with
            `async with ... as (read, write)`).
        raise_exceptions: In this process only: errors say what the handler raised. For tests.
        read_timeout_seconds: How long each request may take, in seconds; `math.inf` sets no limit. When left out, a
            tool's call may take an hour (`mcp.client.limits.MAX_TIMEOUT_SECONDS`) and any other request five minutes
            (`DEFAULT_TIMEOUT_SECONDS`); in this process there is no limit then.
        reset_timeout_on_progress: Whether the time limit of a request starts again with each progress report, up to an
            hour in all or to the limit itself if that is longer. Every request asks for progress then.
        sampling_callback: Answers the server's requests for a message from a model; declares the capability.
        sampling_capabilities: What sampling supports beyond the basics.
        list_roots_callback: Answers the server's requests for root directories; declares the capability.
        logging_callback: Takes the server's log messages.
        log_level: The least severe log message to ask for, with every request.
        message_handler: Takes every notification of the server's.
        client_info: Who the client is.
        mode: "auto" asks the server what it speaks; a version speaks that one without asking; "legacy" opens with a
            handshake, as the revisions up to 2025-11-25 have it.
        probe_seconds: With mode "auto", how long a server on a pipe may be silent about what it speaks before it is
            offered a handshake, in seconds. It is still listened to: the first valid answer decides.
        prior_discover: What the server said of itself on an earlier connection; used with a version as `mode`.
        elicitation_callback: Answers the server's questions to the user; declares the capability.
        input_required_max_rounds: How often the server may ask for input before it answers a call. What it asks goes
            to the callbacks above (revision 2026-07-28; specification: basic/patterns/mrtr).
        extensions: Client extensions: servers are told of them, and the results that they claim are finished by them
            before `call_tool` returns. Their settings are read now.
        cache: How to cache listings and resources whose server says how long they stay fresh; see `CacheConfig`. None
            and False cache nothing (specification: server/utilities/caching).
        validate_output: What to do about a tool's result that breaks its output schema: raise ("error"), log ("warn"),
            or not look ("off").
        tracing: Whether requests get a span and carry its context, once the program has an OpenTelemetry provider.

    Raises:
        ValueError: `mode`, `log_level` or `validate_output` is not one of the above, `input_required_max_rounds` is
            negative, or `cache` has a store, and nothing says what server the results there are from. Or two
            extensions have one identifier, or claim one kind of result or notification.
        TypeError: `cache` is no `CacheConfig`, `input_required_max_rounds` no whole number, or one of `extensions` no
            extension.
    """

    server: LocalServer | Transport | StdioServerParameters | str
    raise_exceptions: bool = field(default=False, kw_only=True)
    read_timeout_seconds: float | None = field(default=None, kw_only=True)
    reset_timeout_on_progress: bool = field(default=False, kw_only=True)
    sampling_callback: SamplingFnT | None = field(default=None, kw_only=True)
    sampling_capabilities: types.SamplingCapability | None = field(default=None, kw_only=True)
    list_roots_callback: ListRootsFnT | None = field(default=None, kw_only=True)
    logging_callback: LoggingFnT | None = field(default=None, kw_only=True)
    log_level: types.LoggingLevel | None = field(default=None, kw_only=True)
    message_handler: MessageHandlerFnT | None = field(default=None, kw_only=True)
    client_info: types.Implementation | None = field(default=None, kw_only=True)
    mode: ConnectMode = field(default="auto", kw_only=True)
    probe_seconds: float = field(default=PROBE_SECONDS, kw_only=True)
    prior_discover: types.DiscoverResult | None = field(default=None, kw_only=True)
    elicitation_callback: ElicitationFnT | None = field(default=None, kw_only=True)
    input_required_max_rounds: int = field(default=10, kw_only=True)
    extensions: Sequence[ClientExtension] | None = field(default=None, kw_only=True)
    cache: CacheConfig | Literal[False] | None = field(default=DEFAULT_CACHE, kw_only=True)
    validate_output: ValidateOutput = field(default="error", kw_only=True)
    tracing: bool = field(default=True, kw_only=True)

    _folded: FoldedExtensions = field(init=False, repr=False)
    _held: Held[ClientSession] | None = field(init=False, default=None, repr=False)
    _session: ClientSession | None = field(init=False, default=None, repr=False)
    _response_cache: ClientResponseCache | LateCache | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        _check_mode(self.mode)
        self._folded = fold_extensions(self.extensions)
        check_cache(self.cache, self.server)
        check_whole("input_required_max_rounds", self.input_required_max_rounds)
        if self.validate_output not in ("error", "warn", "off"):
            raise ValueError(f"validate_output must be 'error', 'warn' or 'off', got {self.validate_output!r}")
        if self.log_level is not None and self.log_level not in get_args(types.LoggingLevel):
            raise ValueError(
                f"log_level must be one of {', '.join(get_args(types.LoggingLevel))}, got {self.log_level!r}"
            )

    async def __aenter__(self) -> Client:
        if self._session is not None:
            raise RuntimeError("Client is already entered; cannot reenter")
        if self._held is not None:
            raise RuntimeError("Client was entered before: a client is used once, so make another one")
        self._held = Held(self._open())
        self._session = await self._held.open()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self._session = None
        if self._held is not None:
            await self._held.close()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[ClientSession, None]:
        cache = self._response_cache = (
            open_cache(self.cache, self.server, lambda: session.protocol_version) if self.cache else None
        )
        session = ClientSession(
            read_timeout_seconds=self.read_timeout_seconds,
            sampling_callback=self.sampling_callback,
            elicitation_callback=self.elicitation_callback,
            list_roots_callback=self.list_roots_callback,
            logging_callback=self.logging_callback,
            message_handler=self.message_handler,
            client_info=self.client_info,
            log_level=self.log_level,
            sampling_capabilities=self.sampling_capabilities,
            extensions=self._folded.ad,
            result_claims=self._folded.claims,
            notification_bindings=self._folded.bindings,
            connector=lambda inbound: open_requester(
                self.server, inbound, handshake=self.mode == "legacy", raise_exceptions=self.raise_exceptions
            ),
            output_schemas=OutputSchemas(self.validate_output),
            reset_timeout_on_progress=self.reset_timeout_on_progress,
            on_notification=cache and cache.on_notification,
            tracing=self.tracing,
        )
        async with session:
            await settle_version(session, self.mode, self.prior_discover, self.probe_seconds)
            yield session

    # What is known of the server.

    @property
    def session(self) -> ClientSession:
        """The connection underneath, for methods that have no verb here.

        Raises:
            RuntimeError: The client is not entered.
        """
        if self._session is None:
            raise RuntimeError("Client must be used within an async context manager")
        return self._session

    @property
    def protocol_version(self) -> str:
        """The revision that both sides speak."""
        version = self.session.protocol_version
        assert version is not None, "an entered client has settled its version"
        return version

    @property
    def server_info(self) -> types.Implementation | None:
        """Who the server is; None where it does not say, or was not asked."""
        return self.session.server_info

    @property
    def server_capabilities(self) -> types.ServerCapabilities:
        """What the server can do; what it cannot is None. Empty where it was not asked."""
        return self.session.server_capabilities or types.ServerCapabilities()

    @property
    def instructions(self) -> str | None:
        """How a model should use the server; None where it does not say, or was not asked."""
        return self.session.instructions

    # Verbs.

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
    ) -> types.CallToolResult:
        """Calls a tool.

        Args:
            name: The tool.
            arguments: Its arguments.
            read_timeout_seconds: How long each round may take, in seconds; the client's limit when left out.
            progress_callback: Takes progress reports, in order, before the call returns.
            input_responses: Answers to what an earlier try asked for.
            request_state: The state that the earlier try returned.
            meta: The request's `_meta`.

        Returns:
            The result. A tool that failed returns one with `is_error` set; it does not raise.

        Raises:
            MCPError: The server answered with an error, or a callback refused to answer what it asked.
            RuntimeError: The result breaks the tool's output schema; see `validate_output`.
            InputRequiredRoundsExceededError: It asked for input more often than `input_required_max_rounds`.
            TypeError: An extension finished a result of its own with something that is no `CallToolResult`.
        """
        once: Try[types.Result] = partial(
            self.session.call_tool,
            name,
            arguments,
            read_timeout_seconds,
            progress_callback,
            meta=meta,
            allow_input_required=True,
            allow_claimed=True,
            by_callbacks=True,
        )
        result = await once(input_responses=input_responses, request_state=request_state)
        if isinstance(result, types.CallToolResult):
            return result
        if isinstance(result, types.InputRequiredResult):
            result = await further_rounds(self.session, once, result, self.input_required_max_rounds)
            if isinstance(result, types.CallToolResult):
                return result
        return await finish_claimed(self.session, self._folded.by_model, result, name, read_timeout_seconds)

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, str] | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
    ) -> types.GetPromptResult:
        """Renders a prompt.

        Args:
            name: The prompt.
            arguments: Its arguments; prompt arguments are always strings.
            input_responses: Answers to what an earlier try asked for.
            request_state: The state that the earlier try returned.
            meta: The request's `_meta`.

        Raises:
            MCPError: The server answered with an error, or a callback refused to answer what it asked.
            InputRequiredRoundsExceededError: It asked for input more often than `input_required_max_rounds`.
        """
        once = partial(
            self.session.get_prompt, name, arguments, meta=meta, allow_input_required=True, by_callbacks=True
        )
        return await self._in_rounds(once, input_responses, request_state)

    def _in_rounds(
        self, once: Try[ResultT], input_responses: types.InputResponses | None, request_state: str | None
    ) -> Coroutine[Any, Any, ResultT]:
        return in_rounds(self.session, once, input_responses, request_state, self.input_required_max_rounds)

    async def complete(
        self,
        ref: types.ResourceTemplateReference | types.PromptReference,
        argument: dict[str, str],
        context_arguments: dict[str, str] | None = None,
    ) -> types.CompleteResult:
        """Asks for completions of an argument.

        Args:
            ref: The prompt or resource template.
            argument: `{"name": ..., "value": ...}`: the argument, and what has been typed of it.
            context_arguments: The arguments that are already settled.

        Raises:
            MCPError: The server answered with an error.
        """
        return await self.session.complete(ref, argument, context_arguments)

    def listen(
        self,
        *,
        tools_list_changed: bool = False,
        prompts_list_changed: bool = False,
        resources_list_changed: bool = False,
        resource_subscriptions: Sequence[str] = (),
    ) -> AbstractAsyncContextManager[Subscription]:
        """Watches for changes. A function `listen` of `mcp.client.subscriptions` does the same on a `ClientSession`.

            async with client.listen(resource_subscriptions=["board://sprint"]) as subscription:
                async for event in subscription:
                    ...

        Entering waits until the server acknowledges: no change from then on is missed. Leaving ends the subscription.

        Args:
            tools_list_changed: Whether to be told that the list of tools changed.
            prompts_list_changed: Whether to be told that the list of prompts changed.
            resources_list_changed: Whether to be told that the list of resources changed.
            resource_subscriptions: The URIs of the resources whose changes to be told of.

        Returns:
            A context manager; see `Subscription` for what it yields. Entering it raises `ListenNotSupportedError` on a
            connection of a handshake revision, `MCPError` if the server refuses or the connection fails, and
            `TimeoutError` if the server does not acknowledge within `read_timeout_seconds` (five minutes, when left
            out).

        Raises:
            RuntimeError: The client is not entered.
        """
        from mcp.client.subscriptions import listen

        return listen(
            self.session,
            tools_list_changed=tools_list_changed,
            prompts_list_changed=prompts_list_changed,
            resources_list_changed=resources_list_changed,
            resource_subscriptions=resource_subscriptions,
            on_event=None if self._response_cache is None else self._forget,
        )


def _check_mode(mode: str) -> None:
    if mode in ("auto", "legacy") or mode in MODERN_PROTOCOL_VERSIONS:
        return
    hint = f" ({mode!r} is a handshake-era version; use mode='legacy')" if mode in HANDSHAKE_PROTOCOL_VERSIONS else ""
    raise ValueError(f"mode must be 'legacy', 'auto', or one of {list(MODERN_PROTOCOL_VERSIONS)}; got {mode!r}{hint}")


# Programs import these from here; the homes of the names are where these lead.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "_evicting_message_handler": "mcp.client.cache_setup:evicting_message_handler",
        "_fold_extensions": "mcp.client.folding:fold_extensions",
        "_synthesize_discover": "mcp.client.negotiation:presumed_discovery",
    },
)
