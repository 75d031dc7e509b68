"""What is under way on one connection over HTTP: each with its time limit, and all of it ended with the connection."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import httpx2

from mcp.client._http_errors import transport_failure
from mcp.client._request_clock import limited
from mcp.shared.exceptions import ConnectionClosedError, RequestTimeoutError, TransportError
from mcp.types.jsonrpc import INVALID_REQUEST

__all__ = ["Calls"]

T = TypeVar("T")


class Calls:
    """Runs the HTTP requests of one connection, each in its caller's task.

    Args:
        client: The HTTP client that they use.
        origin: The origin of the endpoint, for error texts.

    Attributes:
        closed: Whether the connection was closed.
    """

    def __init__(self, client: httpx2.AsyncClient, origin: str) -> None:
        self._client = client
        self._origin = origin
        self._in_flight: set[anyio.CancelScope] = set()
        self.closed = False

    async def run(self, method: str, limit: float | None, call: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Runs `call(*args)`, which sends one message and reads what comes back to its end, or closes it.

        Args:
            method: The message's method, for errors.
            limit: How long it may take, in seconds; None sets no limit.
            call: Sends the message.
            args: Its arguments.

        Raises:
            ConnectionClosedError: The connection was closed, before or meanwhile.
            RequestTimeoutError: It took longer than the limit.
            TransportError: The server cannot be reached, or the connection broke.
        """
        if self.closed or self._client.is_closed:
            raise ConnectionClosedError
        scope = anyio.CancelScope()
        if limit is not None:
            scope.deadline = anyio.current_time() + limit
        self._in_flight.add(scope)
        try:
            with scope, limited(scope):
                return await call(*args)
        except (httpx2.HTTPError, httpx2.StreamError) as failure:
            if self.closed:
                raise ConnectionClosedError from failure
            raise transport_failure(failure, self._origin) from failure
        except UnicodeEncodeError as failure:
            text = f"Cannot send {method!r}: a header can only hold ASCII"
            raise TransportError(INVALID_REQUEST, text) from failure
        finally:
            self._in_flight.discard(scope)
        if self.closed or limit is None:
            raise ConnectionClosedError
        raise RequestTimeoutError(method, limit)

    def close(self) -> None:
        """Ends what is under way, and refuses what comes later."""
        self.closed = True
        for scope in self._in_flight:
            scope.cancel()
