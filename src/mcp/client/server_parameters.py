"""How to reach a server, as data, and what to make a session with; and the session that the two make."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from mcp import types
from mcp.client.callbacks import ElicitationFnT, ListRootsFnT, LoggingFnT, MessageHandlerFnT, SamplingFnT
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

if TYPE_CHECKING:
    from mcp.engine.streams import TransportStreams

__all__ = [
    "ClientSessionParameters",
    "ServerParameters",
    "SseServerParameters",
    "StreamableHttpParameters",
    "open_session",
]


class SseServerParameters(BaseModel):
    """How to reach a server that speaks HTTP+SSE; see `mcp.client.sse.sse_client`."""

    model_config = ConfigDict(defer_build=True)

    url: str
    """The URL of the event stream."""

    headers: dict[str, Any] | None = None
    """Headers for every request."""

    timeout: float = 5.0
    """Seconds for connecting, for each write, and for the first event."""

    sse_read_timeout: float = 300.0
    """Seconds of silence after which the stream is given up."""


def _largest_event() -> int:
    # Importing this module loads no HTTP client, for groups of processes alone.
    from mcp.client.streamable_http import DEFAULT_MAX_SSE_EVENT_SIZE

    return DEFAULT_MAX_SSE_EVENT_SIZE


class StreamableHttpParameters(BaseModel):
    """How to reach a server that speaks streamable HTTP; see `mcp.client.streamable_http.streamable_http_client`."""

    model_config = ConfigDict(defer_build=True)

    url: str
    """The endpoint."""

    headers: dict[str, Any] | None = None
    """Headers for every request."""

    timeout: float = 30.0
    """Seconds for connecting and for each write."""

    sse_read_timeout: float = 300.0
    """Seconds of silence after which an answer is given up."""

    terminate_on_close: bool = True
    """Whether the session is ended when the connection is."""

    max_sse_event_size: int | None = Field(default_factory=_largest_event)
    """The most bytes that one message of the server's may have; None for no limit."""


ServerParameters: TypeAlias = StdioServerParameters | SseServerParameters | StreamableHttpParameters
"""How to reach a server."""


@dataclass
class ClientSessionParameters:
    """What the session with a server is made with; see `ClientSession`."""

    read_timeout_seconds: float | None = None
    sampling_callback: SamplingFnT | None = None
    elicitation_callback: ElicitationFnT | None = None
    list_roots_callback: ListRootsFnT | None = None
    logging_callback: LoggingFnT | None = None
    message_handler: MessageHandlerFnT | None = None
    client_info: types.Implementation | None = None


@asynccontextmanager
async def open_session(
    server_params: ServerParameters, session_params: ClientSessionParameters
) -> AsyncGenerator[tuple[types.Implementation, ClientSession], None]:
    """Connects to a server, opens a session with a handshake, and yields the server's identity with it.

    Args:
        server_params: How to reach the server.
        session_params: What to make the session with.

    Raises:
        MCPError: The connection failed.
        TypeError: `server_params` is of none of the known types.
    """
    async with (
        _open_transport(server_params) as (read, write),
        ClientSession(
            read,
            write,
            read_timeout_seconds=session_params.read_timeout_seconds,
            sampling_callback=session_params.sampling_callback,
            elicitation_callback=session_params.elicitation_callback,
            list_roots_callback=session_params.list_roots_callback,
            logging_callback=session_params.logging_callback,
            message_handler=session_params.message_handler,
            client_info=session_params.client_info,
        ) as session,
    ):
        result = await session.initialize()
        yield result.server_info, session


def _open_transport(server_params: ServerParameters) -> AbstractAsyncContextManager[TransportStreams]:
    if isinstance(server_params, StdioServerParameters):
        return stdio_client(server_params)
    if isinstance(server_params, SseServerParameters):
        from mcp.client.sse import sse_client

        return sse_client(
            server_params.url,
            headers=server_params.headers,
            timeout=server_params.timeout,
            sse_read_timeout=server_params.sse_read_timeout,
        )
    if isinstance(server_params, StreamableHttpParameters):  # pyright: ignore[reportUnnecessaryIsInstance]
        return _open_streamable_http(server_params)
    raise TypeError(
        "connect_to_server takes StdioServerParameters, SseServerParameters or StreamableHttpParameters, got "
        f"{type(server_params).__name__}"
    )


@asynccontextmanager
async def _open_streamable_http(parameters: StreamableHttpParameters) -> AsyncGenerator[TransportStreams, None]:
    import httpx2

    from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

    timeout = httpx2.Timeout(parameters.timeout, read=parameters.sse_read_timeout)
    client = create_mcp_http_client(headers=parameters.headers, timeout=timeout)
    async with (
        client,
        streamable_http_client(
            parameters.url,
            http_client=client,
            terminate_on_close=parameters.terminate_on_close,
            max_sse_event_size=parameters.max_sse_event_size,
        ) as streams,
    ):
        yield streams
