"""How the requests of a flow are sent: by the user's own HTTP client, within bounds, and following no redirect away."""

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, Literal

import anyio
import anyio.lowlevel
import httpx2

from mcp.client.auth._places import origin_of, same_origin
from mcp.client.auth._steps import Steps, StepStack
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared._handshakes import HandshakeTrace

__all__ = [
    "MAX_BODY",
    "STEP_SECONDS",
    "RedirectAwareAuth",
    "Steps",
    "drive",
    "read_answer",
    "redirect_note",
    "shorten_body",
]

MAX_BODY: Final = 256 * 1024
"""The most bytes of a response in a flow that are read. Metadata and tokens are far smaller."""

STEP_SECONDS: Final = 10.0
"""Seconds that connecting, sending, waiting for an answer, and reading it may each take."""

ANSWER_SECONDS: Final = 20.0
"""Seconds that all of it may take, redirects included."""

_TIMEOUTS: Final = httpx2.Timeout(STEP_SECONDS).as_dict()
_MAX_REDIRECTS: Final = 5
_REFUSAL_SIZE: Final = 64 * 1024
_REFUSAL_SECONDS: Final = 2.0


class RedirectAwareAuth(httpx2.Auth):
    """An `Auth` whose own requests stay where they are sent, whatever the client does about redirects."""

    requires_response_body = True

    def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Sends a request with authorization; `httpx2` calls it."""
        return _Flow(request, self._auth_flow(request))

    def sync_auth_flow(self, request: httpx2.Request) -> Any:
        """Raises: authorization waits for users and storages.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError(f"{type(self).__name__} needs an httpx2.AsyncClient: it cannot be used with httpx2.Client")

    def _auth_flow(self, request: httpx2.Request) -> Steps:
        """The steps that send a request. It is itself yielded by one of them."""
        raise NotImplementedError


class _Flow(AsyncGenerator[httpx2.Request, httpx2.Response]):
    """What `httpx2` drives. If it is closed early, it knows why, as a generator would not.

    Args:
        main: The request that all is about.
        steps: What to do.
    """

    def __init__(self, main: httpx2.Request, steps: Steps) -> None:
        self._stack = StepStack(steps)
        self._flow = drive(main, self._stack)

    async def asend(self, value: httpx2.Response) -> httpx2.Request:
        """Goes on to the next request."""
        return await self._flow.asend(value)

    async def athrow(self, *problem: Any) -> httpx2.Request:
        """Goes on with an exception."""
        return await self._flow.athrow(*problem)

    async def aclose(self) -> None:
        """Ends the flow. `httpx2` does that while what ended it is on its way: a failure, or a cancellation.

        Raises:
            Exception: A step has another reason.
        """
        reason = sys.exc_info()[1]
        failure = reason if isinstance(reason, Exception) else None
        try:
            await self._flow.aclose()
        except OAuthFlowError as late:
            failure = late
        try:
            await self._stack.aclose(failure)
            if failure is not None and failure is not reason:
                raise failure
        finally:
            # What was seen through although the call was cancelled may have failed: that is no news to anybody.
            await anyio.lowlevel.checkpoint_if_cancelled()


async def drive(main: httpx2.Request, stack: StepStack) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
    """Goes through steps and the steps within them.

    Args:
        main: The request that all is about: it is sent as it is. Any other is bounded in time and size, and follows no
            redirect to another origin.
        stack: What to do.

    Raises:
        OAuthFlowError: A step raises it, or an answer is too large, too slow, or redirects elsewhere.
    """
    response: httpx2.Response | None = None
    failure: Exception | None = None
    while (request := await stack.next_request(response, failure)) is not None:
        failure = None
        if request is main:
            response = yield request
            continue
        try:
            with _in_time(request.url):
                for _ in range(_MAX_REDIRECTS):
                    _bound(request)
                    response = yield request
                    target = _redirect_within(request, response)
                    await read_answer(request, response)
                    if target is None:
                        break
                    request = httpx2.Request("GET", target, headers=_portable(request.headers))
        except Exception as error:
            response, failure = None, error


@contextmanager
def _in_time(url: httpx2.URL) -> Generator[None, None, None]:
    """Bounds what is done within it, whatever its parts take.

    Raises:
        OAuthFlowError: It takes longer than `ANSWER_SECONDS`.
    """
    late = OAuthFlowError(f"No answer from {url} within {ANSWER_SECONDS:g} seconds")
    with anyio.CancelScope(deadline=anyio.current_time() + ANSWER_SECONDS) as scope:
        try:
            yield
        except GeneratorExit:
            # The HTTP client was cancelled by this scope, and has closed the flow.
            if scope.cancel_called:
                raise late from None
            raise
    if scope.cancelled_caught:
        raise late


def redirect_note(response: httpx2.Response) -> str:
    """What to add to the text of an error about a response that is a redirect; nothing for any other."""
    if not response.has_redirect_location:
        return ""
    with suppress(httpx2.InvalidURL, RuntimeError):
        target = response.request.url.join(response.headers["location"])
        return f" (it redirects to {origin_of(target)}{target.path}, and is not followed)"
    return " (it redirects to something that is no URL)"


async def shorten_body(response: httpx2.Response) -> None:
    """Reads the start of the body of a refusal, before the HTTP client reads all of it to send the request again."""
    with suppress(httpx2.DecodingError):
        await _read_start(response, _REFUSAL_SIZE, _REFUSAL_SECONDS)


async def _read_start(
    response: httpx2.Response, limit: int, seconds: float
) -> Literal["complete", "too large", "too slow"]:
    """Reads a body as far as it may go, and closes its connection if that is not to the end.

    Args:
        response: Its body is what was read, after this.
        limit: The most bytes to read, and a chunk more.
        seconds: The most time to take.

    Returns:
        How far it came.

    Raises:
        httpx2.HTTPError: The connection broke, or the body cannot be unpacked.
    """
    stream = response.stream
    if response.is_closed or not isinstance(stream, httpx2.AsyncByteStream):
        return "too large" if len(await response.aread()) > limit else "complete"
    body = bytearray()
    chunks = stream.__aiter__()
    try:
        with anyio.move_on_after(seconds) as timer:
            async for chunk in chunks:
                body += chunk
                if len(body) > limit:
                    break
    except httpx2.RequestError as failure:
        failure.request = response.request
        raise
    finally:
        # Closing the iterator would leave those inside it to the garbage collector. A cancelled read ends them all.
        with suppress(httpx2.HTTPError), anyio.CancelScope(shield=True) as scope:
            scope.cancel()
            async for _ in chunks:
                pass
        with anyio.CancelScope(shield=True):
            await stream.aclose()
    response.stream = httpx2.ByteStream(bytes(body))
    unpacked = await response.aread()
    if timer.cancelled_caught:
        return "too slow"
    return "too large" if max(len(body), len(unpacked)) > limit else "complete"


class _Once(httpx2.AsyncByteStream):
    """A body that is sent once: a secret in it follows no redirect, whichever transport the client has."""

    def __init__(self, body: bytes, url: httpx2.URL) -> None:
        self._body: bytes | None = body
        self._url = url

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body, self._body = self._body, None
        if body is None:
            raise OAuthFlowError(f"{self._url} redirects a request with credentials: expected an answer")
        yield body


class _Guard:
    """Watches a request, and refuses a redirect before an HTTP client that follows redirects can follow it.

    It is what `httpx2` calls a trace: told of what happens on the connection, and it can raise there. A redirect keeps
    the extensions of its request, so the guard is there for the whole way.
    """

    def __init__(self, request: httpx2.Request) -> None:
        self._request = request
        self._handshakes = HandshakeTrace()

    async def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        await self._handshakes(event, info)
        if not event.endswith(".receive_response_headers.complete"):
            return
        # HTTP/1.1: version, status, reason, headers, ...; HTTP/2: status, headers.
        head = info["return_value"]
        status, headers = (head[1], head[3]) if isinstance(head[0], bytes) else head[:2]
        _redirect_within(self._request, httpx2.Response(status, headers=headers, request=self._request))


def _bound(request: httpx2.Request) -> None:
    """Sets the bounds of a request that belongs to a flow."""
    request.extensions = {"timeout": _TIMEOUTS, **request.extensions, "trace": _Guard(request)}
    # What is read is counted as it arrives, and should not grow when it is unpacked.
    request.headers["Accept-Encoding"] = "identity"
    if request.method != "GET":
        request.stream = _Once(request.content, request.url)


def _portable(headers: httpx2.Headers) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name != "host"}


def _redirect_within(request: httpx2.Request, response: httpx2.Response) -> httpx2.URL | None:
    """Where a response redirects to, within the origin; None if it does not redirect.

    Raises:
        OAuthFlowError: It redirects to another origin, or what it redirects is no GET.
    """
    if not response.has_redirect_location:
        return None
    try:
        target = request.url.join(response.headers["location"])
    except httpx2.InvalidURL:
        raise OAuthFlowError(f"{request.url} redirects to something that is no URL") from None
    if request.method != "GET":
        raise OAuthFlowError(f"{request.url} redirects a request with credentials: expected an answer")
    if not same_origin(target, request.url):
        raise OAuthFlowError(f"{request.url} redirects to {origin_of(target)}, another origin: it is not followed")
    return target


async def read_answer(request: httpx2.Request, response: httpx2.Response) -> None:
    """Reads the body of a response to a request of a flow.

    Raises:
        OAuthFlowError: It is too large, takes too long, is damaged, or comes from another origin.
    """
    _check_source(request, response)
    try:
        outcome = await _read_start(response, MAX_BODY, STEP_SECONDS)
    except httpx2.DecodingError:
        raise OAuthFlowError(f"The answer of {request.url} cannot be unpacked") from None
    if outcome == "too slow":
        raise OAuthFlowError(f"The answer of {request.url} did not end within {STEP_SECONDS:g} seconds")
    if outcome == "too large":
        text = f"The answer of {request.url} is larger than {MAX_BODY} bytes: expected a short JSON document"
        raise OAuthFlowError(text)


def _check_source(request: httpx2.Request, response: httpx2.Response) -> None:
    """A transport that is no network connection has no guard."""
    try:
        source = response.url
    except RuntimeError:
        return
    if not same_origin(source, request.url):
        raise OAuthFlowError(f"{request.url} redirected to {origin_of(source)}, another origin: its answer is not used")
