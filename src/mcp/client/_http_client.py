"""One HTTP request to an MCP endpoint: the HTTP client for it, and the redirects it may follow."""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress

import anyio
import httpx2

from mcp.client._http_errors import origin_of, unexpected
from mcp.shared._handshakes import HandshakeTrace
from mcp.shared.exceptions import TransportError
from mcp.types.jsonrpc import INVALID_REQUEST

__all__ = [
    "READ_TIMEOUT",
    "TIMEOUT",
    "create_mcp_http_client",
    "discard",
    "get_events",
    "http_client_for",
    "patient",
    "post",
    "reading",
    "run_out",
    "send",
]

READ_TIMEOUT = 300.0
"""Seconds without a byte after which our own client gives an answer up; a server may hold a stream open for long."""

TIMEOUT = 30.0
"""Seconds that connecting, a write, and the wait for a free connection may take."""

_TIMEOUTS = httpx2.Timeout(TIMEOUT, read=READ_TIMEOUT)
_LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=32, keepalive_expiry=30.0)
_MAX_REDIRECTS = 5

_END_GRACE = 0.1
"""Seconds for a response to end once nothing more is wanted of it: only then its connection can be used again."""


def create_mcp_http_client(
    headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    """An HTTP client set up the way MCP needs it.

    Certificates are checked against the system's trust store, proxies and `SSL_CERT_FILE` come from the environment,
    as httpx2 does it.

    Args:
        headers: Headers for every request.
        timeout: Time limits in seconds; when left out, 300 between two reads and 30 for connecting, each write, and
            a free connection.
        auth: Authorizes each request.
    """
    return _create(headers, timeout, auth, verify=True)


def http_client_for(url: str) -> httpx2.AsyncClient:
    """The client that a transport makes for itself when it is given none."""
    if url.lower().startswith("http:"):
        # The trust store takes 20 ms to load, and redirects never lead from http to https. A context without any
        # certificate refuses every server, so nothing is lost if one is ever asked.
        return _create(None, None, None, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    return create_mcp_http_client()


def _create(
    headers: dict[str, str] | None,
    timeout: httpx2.Timeout | None,
    auth: httpx2.Auth | None,
    *,
    verify: ssl.SSLContext | bool,
) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        headers=headers,
        timeout=_TIMEOUTS if timeout is None else timeout,
        auth=auth,
        limits=_LIMITS,
        follow_redirects=True,
        verify=verify,
    )


def patient(client: httpx2.AsyncClient) -> httpx2.Timeout:
    """The time limits for a stream that owes nobody anything: it may be silent for `READ_TIMEOUT` at least."""
    own = client.timeout
    read = None if own.read is None else max(own.read, READ_TIMEOUT)
    return httpx2.Timeout(connect=own.connect, read=read, write=own.write, pool=own.pool)


async def post(
    client: httpx2.AsyncClient,
    url: httpx2.URL,
    body: bytes,
    headers: Mapping[str, str],
    timeout: httpx2.Timeout | None,
) -> httpx2.Response:
    """Posts a body and returns the response with its body still to be read; see `send`.

    Args:
        client: Sends it.
        url: Where to.
        body: The message.
        headers: Its headers.
        timeout: Time limits instead of the client's own; None leaves these as they are.
    """
    limits = httpx2.USE_CLIENT_DEFAULT if timeout is None else timeout
    return await send(
        client, url, lambda url: client.build_request("POST", url, content=body, headers=headers, timeout=limits)
    )


async def get_events(client: httpx2.AsyncClient, url: httpx2.URL, headers: Mapping[str, str]) -> httpx2.Response:
    """Asks for an event stream and returns the response with its body still to be read; see `send`.

    The stream may be silent for `READ_TIMEOUT`, even where the client has less patience with answers: nobody has been
    asked anything, so nobody owes one.
    """
    timeout = patient(client)
    # The id of an event is text, and travels as UTF-8.
    encoded = httpx2.Headers(headers, encoding="utf-8")
    return await send(client, url, lambda url: client.build_request("GET", url, headers=encoded, timeout=timeout))


async def send(
    client: httpx2.AsyncClient, url: httpx2.URL, build: Callable[[httpx2.URL], httpx2.Request]
) -> httpx2.Response:
    """Sends a request and returns the response with its body still to be read.

    Redirects that keep method and origin are followed, whatever the client's own setting: the message and its headers
    go to no other server.

    Args:
        client: Sends it, with its own headers, cookies, auth and hooks.
        url: Where to.
        build: Makes the request for a URL; its headers win over those of the client.

    Raises:
        HTTPResponseError: It is redirected elsewhere, or without end.
        TransportError: It is redirected to something that is no URL.
        httpx2.HTTPError: Anything below HTTP.
    """
    redirects = 0
    while True:
        response = await _send(client, build(url))
        if not response.has_redirect_location:
            return response
        await discard(response)
        if redirects == _MAX_REDIRECTS:
            raise unexpected(response, f"It was redirected {redirects} times already, and is not followed further.")
        url = _redirect_target(response)
        redirects += 1


async def _send(client: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
    if request.url.scheme == "https":
        request.extensions = {**request.extensions, "trace": HandshakeTrace(request.extensions.get("trace"))}
    try:
        return await client.send(request, stream=True, follow_redirects=False)
    except httpx2.InvalidURL as error:
        # Some versions of httpx2 look at a redirect although they are not to follow it.
        text = f"{origin_of(request.url)} redirects to something that is no URL: {error}"
        raise TransportError(INVALID_REQUEST, text) from error


def _redirect_target(response: httpx2.Response) -> httpx2.URL:
    source = response.request.url
    try:
        target = source.join(response.headers["location"])
    except httpx2.InvalidURL:
        raise unexpected(response, "It redirects to something that is no URL.") from None
    if origin_of(target) != origin_of(source):
        raise unexpected(response, _leaving_text(source, target))
    method = response.request.method
    if response.status_code not in (307, 308) and method != "GET":
        raise unexpected(
            response,
            f"This redirect may turn a {method} into a GET, and was not followed: use the URL it leads to (see"
            f" `headers` on this error), which {_difference(source, target)}.",
        )
    return target.copy_with(userinfo=source.userinfo)


def _leaving_text(source: httpx2.URL, target: httpx2.URL) -> str:
    text = (
        f"It redirects from {origin_of(source)} to another origin, {origin_of(target)}, and was not followed: a"
        " message and its credentials go to the server they are meant for."
    )
    if target.scheme == "https" and target.host == source.host:
        return f"{text} Use the https:// URL."
    return f"{text} If that is the intended server, use its URL."


def _difference(source: httpx2.URL, target: httpx2.URL) -> str:
    if target.path == f"{source.path}/":
        return "has a slash at the end of the path"
    if f"{target.path}/" == source.path:
        return "has no slash at the end of the path"
    return "has another path"


@asynccontextmanager
async def reading(response: httpx2.Response) -> AsyncGenerator[AsyncIterator[bytes], None]:
    """The chunks of a body. If they are not all read when the block ends, the connection is closed at once."""
    chunks = response.aiter_bytes()
    try:
        yield chunks
    finally:
        if not response.is_closed:
            # Closing the iterator would leave those inside it to the garbage collector. A cancelled read ends them all.
            with suppress(httpx2.HTTPError), anyio.CancelScope(shield=True) as scope:
                scope.cancel()
                async for _ in chunks:
                    pass


async def run_out(chunks: AsyncIterator[bytes]) -> None:
    """Waits a moment for the end of a body that is not wanted, so that its connection can be used again."""
    with suppress(httpx2.HTTPError), anyio.move_on_after(_END_GRACE):
        async for _ in chunks:
            pass


async def discard(response: httpx2.Response) -> None:
    """Reads a response to its end if that is near, and else closes its connection."""
    async with reading(response) as chunks:
        await run_out(chunks)
