"""Which endpoints of authorization a web page of any origin may use: all that a client needs to get in."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from starlette.middleware.cors import CORSMiddleware
from starlette.routing import request_response

from mcp.protocol.headers import MCP_PROTOCOL_VERSION_HEADER

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

__all__ = ["cors_middleware"]

_ALLOWED_HEADERS: Final = [MCP_PROTOCOL_VERSION_HEADER, "Authorization"]


def cors_middleware(
    handler: "Callable[[Request], Response | Awaitable[Response]]", allow_methods: list[str]
) -> "ASGIApp":
    """An endpoint that browsers let web pages of every origin use. No cookie and no session comes with it.

    Args:
        handler: Answers a request.
        allow_methods: The verbs that a page may use.
    """
    return CORSMiddleware(
        request_response(handler),
        allow_origins=("*",),
        allow_methods=allow_methods,
        allow_headers=_ALLOWED_HEADERS,
    )
