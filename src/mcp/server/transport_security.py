"""Which requests an HTTP server lets in at all: their `Host`, their `Origin`, and the size of their body.

A page in a user's browser can reach a server on the user's own machine by having its name resolve there (DNS
rebinding). The browser then still sends the page's name as `Host` and `Origin`, so checking both keeps it out.

Specification: basic/transports/streamable-http under "Security & Endpoint".
"""

import logging
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = [
    "DEFAULT_MAX_REQUEST_BODY_SIZE",
    "HostGuard",
    "RequestBodyLimitMiddleware",
    "TransportSecurityMiddleware",
    "TransportSecuritySettings",
    "declares_more",
    "is_json",
    "settings_for_host",
]

logger = logging.getLogger(__name__)

DEFAULT_MAX_REQUEST_BODY_SIZE: Final = 4 * 1024 * 1024
"""The largest request body that is read, in bytes."""

_LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
_MAX_REMEMBERED_VERDICTS = 1024


class TransportSecuritySettings(BaseModel):
    """Which `Host` and `Origin` headers are let in.

    Attributes:
        enable_dns_rebinding_protection: Whether the two headers are checked.
        allowed_hosts: The hosts, with their port: "example.com:8000"; "example.com:*" is any port, and "example.com"
            the host without one.
        allowed_origins: The origins: "https://example.com"; "http://localhost:*" is any port. A request without an
            `Origin` is not from a page and is let in.
    """

    model_config = ConfigDict(defer_build=True)

    enable_dns_rebinding_protection: bool = True
    allowed_hosts: list[str] = Field(default_factory=list)
    allowed_origins: list[str] = Field(default_factory=list)


def settings_for_host(host: str) -> TransportSecuritySettings:
    """The settings for a server on the address `host`: loopback only for a loopback address, else no checks."""
    if host not in _LOOPBACK_HOSTS:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = ["127.0.0.1:*", "localhost:*", "[::1]:*"]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts])


class HostGuard:
    """Decides about `Host` and `Origin`. Decisions are remembered, so a request costs two look-ups.

    Args:
        settings: What to let in; None checks nothing.
    """

    def __init__(self, settings: TransportSecuritySettings | None) -> None:
        self._settings = settings
        self._active = settings is not None and settings.enable_dns_rebinding_protection
        self._verdicts: dict[tuple[bytes | None, bytes | None], tuple[int, str] | None] = {}

    def refusal(self, host: bytes | None, origin: bytes | None) -> tuple[int, str] | None:
        """Why a request is not let in, as an HTTP status and a text; None where it is.

        Args:
            host: The raw `Host` header; None where there is none.
            origin: The raw `Origin` header; None where there is none.
        """
        if not self._active:
            return None
        key = (host, origin)
        if key in self._verdicts:
            return self._verdicts[key]
        verdict = self._judge(_text(host), _text(origin))
        if len(self._verdicts) < _MAX_REMEMBERED_VERDICTS:
            self._verdicts[key] = verdict
        return verdict

    def _judge(self, host: str, origin: str) -> tuple[int, str] | None:
        assert self._settings is not None
        if not _matches(host, self._settings.allowed_hosts):
            logger.warning("Invalid Host header: %s" if host else "Missing Host header in request%s", host)
            return 421, (
                f"Invalid Host header: {host!r} is not in TransportSecuritySettings.allowed_hosts. To serve this name, "
                "pass transport_security=TransportSecuritySettings(allowed_hosts=[...])."
            )
        if origin and not _matches(origin, self._settings.allowed_origins):
            logger.warning("Invalid Origin header: %s", origin)
            return 403, (
                f"Invalid Origin header: {origin!r} is not in TransportSecuritySettings.allowed_origins. To let its "
                "pages in, pass transport_security=TransportSecuritySettings(allowed_origins=[...])."
            )
        return None


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("latin-1")


def _matches(value: str, allowed: list[str]) -> bool:
    if value in allowed:
        return True
    name, colon, port = value.rpartition(":")
    return bool(colon) and port.isdecimal() and f"{name}:*" in allowed


class TransportSecurityMiddleware:
    """The same checks for Starlette requests.

    Args:
        settings: What to let in; None checks nothing.
    """

    def __init__(self, settings: TransportSecuritySettings | None = None) -> None:
        self.settings = settings or TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._guard = HostGuard(self.settings)

    async def validate_request(self, request: "Request", is_post: bool = False) -> "Response | None":
        """The answer for a request that is not let in; None where it is.

        Args:
            request: The request.
            is_post: Whether it is a POST, whose body must be JSON.
        """
        from starlette.responses import Response

        if is_post and not is_json(request.headers.get("content-type", "").encode("latin-1")):
            return Response("Invalid Content-Type header: expected application/json", status_code=415)
        headers = dict(request.scope["headers"])
        refusal = self._guard.refusal(headers.get(b"host"), headers.get(b"origin"))
        return None if refusal is None else Response(refusal[1], status_code=refusal[0])


def is_json(content_type: bytes) -> bool:
    """Whether a `Content-Type` header says JSON."""
    return content_type == b"application/json" or content_type.split(b";")[0].strip().lower() == b"application/json"


def declares_more(content_length: bytes, limit: int) -> bool:
    """Whether a `Content-Length` header announces more than `limit` bytes. What is no number announces nothing."""
    # Python refuses to read very long numbers.
    return content_length.isdigit() and (len(content_length) > 19 or int(content_length) > limit)


class RequestBodyLimitMiddleware:
    """ASGI middleware that refuses request bodies over a size with 413.

    Args:
        app: The application behind it.
        max_body_size: The largest body, in bytes.

    Raises:
        ValueError: `max_body_size` is not positive.
    """

    def __init__(self, app: "ASGIApp", max_body_size: int) -> None:
        if max_body_size <= 0:
            raise ValueError(f"max_body_size must be positive, got {max_body_size}")
        self.app = app
        self.max_body_size = max_body_size

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Passes the request on, and counts its body on the way."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if declares_more(dict(scope["headers"]).get(b"content-length", b""), self.max_body_size):
            await self._refuse(scope, receive, send)
            return
        started = False
        received = 0

        async def counted() -> "Message":
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.max_body_size:
                raise _BodyTooLargeError
            return message

        async def watched(message: "Message") -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, counted, watched)
        except _BodyTooLargeError:
            if started:
                raise
            await self._refuse(scope, receive, send)

    async def _refuse(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        from starlette.responses import Response

        await Response("Request body too large", status_code=413)(scope, receive, send)


class _BodyTooLargeError(Exception):
    pass
