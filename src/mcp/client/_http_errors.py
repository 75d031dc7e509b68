"""What a caller is told when an HTTP server cannot be reached, or answers with something else than JSON-RPC.

No text here shows more of a URL than its origin: user names, paths and queries may be secrets. A `Location` or any
other header is on the exception for whoever wants to look.
"""

import os
import socket
import ssl
from collections.abc import Mapping
from typing import Final

import httpx2

from mcp.client.auth._challenges import extract_field_from_www_auth, extract_scope_from_www_auth
from mcp.shared.exceptions import ConnectionClosedError, HTTPResponseError, TransportError
from mcp.types.jsonrpc import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, REQUEST_TIMEOUT

__all__ = [
    "BODY_START",
    "ENDPOINT_HINTS",
    "SESSION_HINTS",
    "STREAM_HINTS",
    "media_type",
    "origin_of",
    "refusal",
    "too_large",
    "transport_failure",
    "unexpected",
]

BODY_START = 500
"""How many characters of a body an error shows."""

_HINTS = {
    401: "It wants authorization: give the `http_client` an `auth=`, or an Authorization header.",
    403: "It refuses this client: look at the authorization, and at the server's host and origin protection"
    " (`transport_security=`).",
    407: "The HTTP proxy wants authorization.",
    413: "The message is larger than the server takes.",
    421: "It does not know itself by this host name: look at the server's host protection (`transport_security=`).",
    429: "It wants fewer requests.",
    502: "A gateway answers, and the server behind it does not.",
    503: "The server is there, and does not serve now.",
    504: "A gateway answers, and the server behind it was too slow.",
}
ENDPOINT_HINTS: Final[Mapping[int, str]] = {
    404: "Nothing is served at this path: check the path of the URL.",
    405: "What is served at this path is no MCP endpoint: check the path of the URL.",
}
"""What some statuses mean in answer to a message, or to whatever else tells whether there is an endpoint."""

STREAM_HINTS: Final[Mapping[int, str]] = {
    404: "It knows no such stream, or no longer knows the session.",
    405: "It offers no event stream.",
}
"""What they mean in answer to the GET of a session, which not every endpoint takes."""

SESSION_HINTS: Final[Mapping[int, str]] = dict.fromkeys((404, 410), "It no longer knows the session.")
"""What they mean in answer to a message at a place that the server has named itself."""


def origin_of(url: httpx2.URL) -> str:
    """Scheme, host and port: all of a URL that may be shown."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def media_type(response: httpx2.Response) -> str:
    """The media type of the body, in lower case and without parameters; empty if there is none."""
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def refusal(response: httpx2.Response, body: bytes, hints: Mapping[int, str] = ENDPOINT_HINTS) -> HTTPResponseError:
    """The error for a status that is no success.

    Args:
        response: What the server answered.
        body: The start of its body.
        hints: What statuses mean in answer to such a request; those that are left out mean the same for all.
    """
    status = response.status_code
    code = METHOD_NOT_FOUND if status == 404 else INTERNAL_ERROR
    hint = hints.get(status) or _authorization_hint(response) or _HINTS.get(status, "")
    if hints is ENDPOINT_HINTS and media_type(response) == "text/html":
        hint = f"{hint} The body is a web page: check that the URL is that of an MCP endpoint.".lstrip()
    return _error(response, code, hint, body)


def _authorization_hint(response: httpx2.Response) -> str:
    """What is wrong with the credentials that a request carried; nothing if it carried none."""
    if response.status_code not in (401, 403) or "authorization" not in response.request.headers:
        return ""
    if extract_field_from_www_auth(response, "error") == "insufficient_scope":
        scope = extract_scope_from_www_auth(response)
        needed = "more scopes" if scope is None else f"the scopes {scope[:BODY_START]!r}"
        return f"It needs {needed}, which the token that was sent does not have."
    if response.status_code == 401:
        return "It refuses the credentials that were sent."
    return ""


def unexpected(
    response: httpx2.Response, problem: str, body: bytes = b"", code: int = INVALID_REQUEST
) -> HTTPResponseError:
    """The error for a success or a redirect that is of no use.

    Args:
        response: What the server answered.
        problem: A sentence that says what is wrong with it, and what was expected.
        body: The start of its body.
        code: The JSON-RPC error code this maps to.
    """
    return _error(response, code, problem, body)


def too_large(response: httpx2.Response, what: str, limit: int) -> HTTPResponseError:
    """The error for an answer over the size limit.

    Args:
        response: What the server answered.
        what: What is too large, as a noun.
        limit: The limit in bytes.
    """
    problem = f"{what} is larger than {limit} bytes: raise `max_sse_event_size` to take it."
    return _error(response, INVALID_REQUEST, problem, b"")


def _error(response: httpx2.Response, code: int, explanation: str, body: bytes) -> HTTPResponseError:
    text = body.decode("utf-8", "replace")[:BODY_START]
    status = f"HTTP {response.status_code} {response.reason_phrase}".rstrip()
    parts = [f"{status} from {origin_of(response.request.url)}.", explanation]
    if shown := " ".join(text.split()):
        parts.append(f"The body starts with: {shown}")
    message = " ".join(part for part in parts if part)
    return HTTPResponseError(code, message, status=response.status_code, headers=dict(response.headers), body=text)


def transport_failure(failure: httpx2.HTTPError | httpx2.StreamError, origin: str) -> TransportError:
    """The error for a request that got no complete answer.

    Args:
        failure: What the HTTP client says.
        origin: The origin of the endpoint. It is another one that failed if that was asked for authorization.
    """
    origin = _origin_asked(failure) or origin
    if isinstance(failure, httpx2.TimeoutException):
        return TransportError(REQUEST_TIMEOUT, _timeout_text(failure, origin))
    if isinstance(failure, httpx2.ConnectError):
        return TransportError(CONNECTION_CLOSED, f"Cannot connect to {origin}: {_reason(failure)}")
    if isinstance(failure, httpx2.ProxyError):
        return TransportError(CONNECTION_CLOSED, f"Cannot reach {origin} through the HTTP proxy: {_reason(failure)}")
    if isinstance(failure, httpx2.LocalProtocolError):
        # The library's text shows the header, and that may be a secret.
        text = "the name or the value of one of its headers, or of the HTTP client's, is not allowed in HTTP"
        return TransportError(INVALID_REQUEST, f"Cannot send the request to {origin}: {text}")
    if isinstance(failure, httpx2.DecodingError):
        return TransportError(INVALID_REQUEST, f"The body of the answer from {origin} is damaged: {_reason(failure)}")
    return ConnectionClosedError(f"The connection to {origin} broke before the answer was complete: {_reason(failure)}")


def _origin_asked(failure: Exception) -> str | None:
    try:
        request = failure.request if isinstance(failure, httpx2.RequestError) else None
    except RuntimeError:
        return None
    return None if request is None else origin_of(request.url)


_TIMEOUTS: tuple[tuple[type[httpx2.TimeoutException], str, str], ...] = (
    (httpx2.ConnectTimeout, "connect", "Cannot connect to {}: no connection"),
    (httpx2.PoolTimeout, "pool", "Too many calls at once: no free connection to {}"),
    (httpx2.WriteTimeout, "write", "{} took nothing more of the request"),
    (httpx2.ReadTimeout, "read", "{} sent nothing"),
)


def _timeout_text(failure: httpx2.TimeoutException, origin: str) -> str:
    for kind, phase, text in _TIMEOUTS:
        if isinstance(failure, kind):
            seconds = failure.request.extensions.get("timeout", {}).get(phase)
            within = "in time" if seconds is None else f"within {seconds:g}s"
            return f"{text.format(origin)} {within} (the {phase} timeout of the HTTP client)"
    return f"{origin} did not answer in time: {_reason(failure)}"


def _reason(failure: BaseException) -> str:
    """The operating system's or the TLS library's own words; the layers above replace them with less."""
    reason = str(failure) or type(failure).__name__
    inner: BaseException | None = failure
    while inner is not None:
        if isinstance(inner, ssl.SSLError):
            return str(inner)
        if isinstance(inner, socket.gaierror):
            return inner.strerror or reason
        if isinstance(inner, OSError) and inner.errno:
            return os.strerror(inner.errno)
        attempts: tuple[BaseException, ...] = getattr(inner, "exceptions", ())
        inner = attempts[0] if attempts else inner.__cause__ or inner.__context__
    return reason
