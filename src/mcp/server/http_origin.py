"""Where a message that came over HTTP came from, in any revision."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp.engine.exchange import Origin

if TYPE_CHECKING:
    from starlette.types import Receive, Scope

__all__ = ["HTTPOrigin"]


class HTTPOrigin(Origin):
    """What HTTP knows about a request. Each part is made when it is asked for; not every handler asks.

    Args:
        scope: The ASGI scope.
        receive: The ASGI way in.
        body: The request's body, once it is read.
    """

    __slots__ = ("body", "receive", "scope")

    def __init__(self, scope: "Scope", receive: "Receive", body: bytes = b"") -> None:
        self.scope = scope
        self.receive = receive
        self.body = body

    @property
    def headers(self) -> Mapping[str, str]:
        """The request's headers, names in lower case."""
        from starlette.datastructures import Headers

        return Headers(scope=self.scope)

    @property
    def request(self) -> Any:
        """The request as Starlette sees it."""
        from starlette.requests import Request

        request = Request(self.scope, self.receive)
        request._body = self.body
        return request
