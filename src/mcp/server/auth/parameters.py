"""The parameters of a request to an authorization server, read once and in full before anything is done.

RFC 6749, sections 3.1 and 3.2 and appendix B: form-encoded UTF-8, nothing twice, and what is empty is not there.
"""

import re
from contextlib import aclosing
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import ClientDisconnect

from mcp.server.auth.errors import RefusedRequest
from mcp.server.transport_security import declares_more

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["MAX_BODY_SIZE", "Parameters", "read_body", "read_parameters", "resource_problem"]

MAX_BODY_SIZE: Final = 64 * 1024
"""The largest body that an endpoint of an authorization server reads, in bytes."""

_FORM: Final = "application/x-www-form-urlencoded"
_MAX_PARAMETERS: Final = 100
_CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x1f\x7f]")
_BODY_KEY: Final = "mcp.authorization_body"

# What may not be read in a log.
_SECRETS: Final = (
    "assertion",
    "client_assertion",
    "client_secret",
    "code",
    "code_verifier",
    "refresh_token",
    "state",
    "token",
)


class Parameters:
    """Named texts.

    Args:
        pairs: Names and values, as they came.

    Attributes:
        values: What was given, and once.
        repeated: The names that were given more than once.
    """

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.values: dict[str, str] = {}
        self.repeated: set[str] = set()
        for name, value in pairs:
            if not value:
                continue
            if name in self.values:
                self.repeated.add(name)
            self.values[name] = value
        for name in self.repeated:
            del self.values[name]

    def get(self, name: str) -> str | None:
        """A value; None where it was not given, or more than once."""
        return self.values.get(name)

    def check_repetition(self) -> None:
        """Refuses what was given more than once.

        Raises:
            RefusedRequest: Something was.
        """
        # RFC 8707, section 2: a client may name many resources, and a server may refuse to issue a token for them all.
        if self.repeated == {"resource"}:
            raise RefusedRequest("resource: this server issues tokens for one resource at a time", "invalid_target")
        if self.repeated:
            names = ", ".join(sorted(self.repeated))
            raise RefusedRequest(f"Parameters must not be given more than once: {names}")

    @property
    def secrets(self) -> list[str]:
        """The values that must not be read in a log."""
        return [self.values[name] for name in _SECRETS if name in self.values]


async def read_body(request: "Request") -> bytes:
    """The body of a request. It can be asked for again.

    Args:
        request: The request.

    Raises:
        RefusedRequest: It is too large, or never came in full.
    """
    kept: bytes | None = request.scope.get(_BODY_KEY)
    if kept is not None:
        return kept
    if declares_more(request.headers.get("content-length", "").encode("latin-1"), MAX_BODY_SIZE):
        raise _too_large()
    body = bytearray()
    try:
        async with aclosing(request.stream()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > MAX_BODY_SIZE:
                    raise _too_large()
    except ClientDisconnect:
        raise RefusedRequest("The request ended before its body did") from None
    request.scope[_BODY_KEY] = bytes(body)
    return bytes(body)


def _too_large() -> RefusedRequest:
    return RefusedRequest(f"Request body too large: the limit is {MAX_BODY_SIZE} bytes", status=413)


async def read_parameters(request: "Request") -> Parameters:
    """The parameters of a request: those in the query of a GET, and those in the body of a POST.

    Args:
        request: The request.

    Raises:
        RefusedRequest: They cannot be read.
    """
    if request.method != "POST":
        return _parse(request.scope["query_string"])
    content_type = request.headers.get("content-type", "")
    if content_type.split(";")[0].strip().lower() != _FORM:
        raise RefusedRequest(f"Invalid Content-Type header: expected {_FORM}, got '{content_type}'")
    return _parse(await read_body(request))


def _parse(encoded: bytes) -> Parameters:
    try:
        pairs = parse_qsl(
            encoded.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MAX_PARAMETERS, separator="&"
        )
    except UnicodeDecodeError:
        raise RefusedRequest("The parameters are not UTF-8") from None
    except ValueError:
        raise RefusedRequest(f"Too many parameters: the limit is {_MAX_PARAMETERS}") from None
    for name, value in pairs:
        if _CONTROL_CHARACTER.search(name) or _CONTROL_CHARACTER.search(value):
            raise RefusedRequest(f"Parameters must not hold control characters: {name}")
    return Parameters(pairs)


def resource_problem(resource: str | None) -> str | None:
    """Why a parameter names no resource; None where it does, or is not there. RFC 8707, section 2.

    Args:
        resource: The parameter.
    """
    if resource is None:
        return None
    try:
        is_absolute = bool(urlsplit(resource).scheme)
    except ValueError:
        is_absolute = False
    return None if is_absolute and "#" not in resource else "resource: expected an absolute URI without a fragment"
