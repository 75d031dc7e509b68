"""A pair of message streams over HTTP, for whoever handles messages one by one.

`Client` does not read from or write to them: it asks for the `HTTPConnection` that they carry.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream

from mcp.client._http_calls import Calls
from mcp.client._http_requester import HTTPConnection
from mcp.client._http_session import HTTPSession
from mcp.engine.backend import Cancellable, Spawner, open_spawner
from mcp.engine.requester import CallOptions
from mcp.engine.streams import MessageIteration, to_frame
from mcp.protocol.codec import Batch, DecodeError, Message, to_object
from mcp.protocol.eras import claimed_version
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.types.jsonrpc import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)

__all__ = ["HTTPReadStream", "HTTPWriteStream", "open_streams"]

logger = logging.getLogger("mcp.client.streamable_http")

_BACKLOG = 100
"""How many messages may wait for their reader before responses are read no further."""


class HTTPReadStream(MessageIteration):
    """The messages that come back: answers, in the order in which they are complete, and notifications.

    Attributes:
        connection: The connection that they come from.
    """

    def __init__(
        self, connection: HTTPConnection, arrived: MemoryObjectReceiveStream[SessionMessage | Exception]
    ) -> None:
        self.connection = connection
        self._arrived = arrived

    async def receive(self) -> SessionMessage | Exception:
        """The next message. A request whose connection fails is answered by an error message.

        Raises:
            anyio.EndOfStream: The write stream was closed, and everything sent on it is answered.
            anyio.ClosedResourceError: This stream was closed.
        """
        return await self._arrived.receive()

    async def aclose(self) -> None:
        """Ends the use of this side; what still comes back is dropped."""
        self._arrived.close()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class HTTPWriteStream:
    """Takes messages for the server. Each is posted by a task of its own.

    Attributes:
        connection: The connection that they go to.
    """

    def __init__(self, connection: HTTPConnection, poster: "Poster") -> None:
        self.connection = connection
        self._poster = poster
        self._closed = False

    async def send(self, item: SessionMessage, /) -> None:
        """Starts to post a message, and does not wait for the answer.

        `notifications/cancelled` ends the POST of the request it names. To a server of 2026-07-28 it is not posted
        itself: the end of the POST is how that server learns of it. `notifications/initialized` is waited for, since
        nothing else may reach the server before it.

        Raises:
            anyio.ClosedResourceError: This stream was closed.
        """
        if self._closed:
            raise anyio.ClosedResourceError
        await self._poster.take(item)

    async def aclose(self) -> None:
        """Ends the use of this side; what was sent is still answered."""
        self._closed = True
        self._poster.finish()

    async def __aenter__(self) -> "HTTPWriteStream":
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


@asynccontextmanager
async def open_streams(connection: HTTPConnection) -> AsyncGenerator[tuple[HTTPReadStream, HTTPWriteStream], None]:
    """A pair of streams over a connection. Leaving the block ends what is still being posted."""
    failure: Exception | None = None
    outlet, arrived = anyio.create_memory_object_stream[SessionMessage | Exception](_BACKLOG)
    async with open_spawner() as spawner:
        poster = Poster(connection, spawner, outlet.send, outlet.close)
        try:
            yield HTTPReadStream(connection, arrived), HTTPWriteStream(connection, poster)
        except Exception as error:
            # A task group would wrap it.
            failure = error
        finally:
            outlet.close()
            arrived.close()
    if failure is not None:
        raise failure


class Poster:
    """Posts messages in tasks, and collects what comes back.

    Args:
        connection: Where to.
        spawner: Owns the tasks.
        put: Takes what comes back.
        on_done: Called once nothing more will be sent, and everything is answered.
        on_open: Called when a handshake is done; when left out, the session's standalone stream is opened.
    """

    def __init__(
        self,
        connection: HTTPConnection,
        spawner: Spawner,
        put: Callable[[SessionMessage | Exception], Awaitable[None]],
        on_done: Callable[[], object],
        on_open: Callable[[], object] | None = None,
    ) -> None:
        self._connection = connection
        self._requester = connection.open(self._put_notification, self.open_session)
        self._spawner = spawner
        self._put_item = put
        self._on_done = on_done
        self._on_open = on_open
        self._running: dict[object, Cancellable] = {}
        self._modern: set[object] = set()
        self._finished = False
        self.session: HTTPSession | None = None

    async def take(self, item: SessionMessage) -> None:
        message = item.message
        if isinstance(message, JSONRPCRequest):
            metadata = item.metadata if isinstance(item.metadata, ClientMessageMetadata) else ClientMessageMetadata()
            if claimed_version(message.params) is not None:
                self._modern.add(message.id)
            self._running[message.id] = self._spawner.spawn(self._request, message, options_of(metadata))
        elif not isinstance(message, JSONRPCNotification):
            self._take_answer(message)
        elif message.method == "notifications/cancelled":
            self._cancel(message)
        elif message.method == "notifications/initialized":
            await self._notify(object(), message)
        else:
            key = object()
            self._running[key] = self._spawner.spawn(self._notify, key, message)

    def finish(self) -> None:
        """Nothing more will be sent."""
        self._finished = True
        self._close_if_done()

    def open_session(self, calls: Calls) -> HTTPSession:
        """The session of a handshake revision, made when it is first needed."""
        self.session = HTTPSession(self._connection, calls, self._spawner, lambda session: self._put_received)
        if self._on_open is not None:
            self.session.on_open = self._on_open
        return self.session

    def _take_answer(self, answer: JSONRPCResponse | JSONRPCError) -> None:
        if self.session is None:
            logger.warning("dropped an answer to the server, which asks nothing in this protocol revision")
        else:
            self._spawner.spawn(self.session.post_quietly, to_frame(SessionMessage(answer)))

    def _cancel(self, notification: JSONRPCNotification) -> None:
        id = (notification.params or {}).get("requestId")
        task = self._running.pop(id, None) if isinstance(id, int | str) else None
        if task is None:
            return
        task.cancel()
        if id in self._modern:
            self._modern.remove(id)
            self._close_if_done()
        else:
            key = object()
            self._running[key] = self._spawner.spawn(self._notify, key, notification)

    def _ended(self, key: object) -> None:
        self._running.pop(key, None)
        self._modern.discard(key)
        self._close_if_done()

    def _close_if_done(self) -> None:
        if self._finished and not self._running:
            self._on_done()

    async def _request(self, request: JSONRPCRequest, options: CallOptions) -> None:
        await self._put(await self._answer(request, options))
        self._ended(request.id)

    async def _answer(self, request: JSONRPCRequest, options: CallOptions) -> JSONRPCMessage:
        params = request.params or {}
        modern = request.id in self._modern
        send = self._requester.request if modern else self._requester.session(self.open_session).request_only
        try:
            result = await send(request.id, request.method, params, options)
        except MCPError as error:
            return _error(request.id, error.error)
        except Exception as failure:
            # Nobody but the reader of the other stream can be told, and it waits for an answer.
            logger.exception("the request %r could not be sent", request.method)
            return _error(request.id, ErrorData(code=INTERNAL_ERROR, message=f"{type(failure).__name__}: {failure}"))
        return JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)

    async def _notify(self, key: object, notification: JSONRPCNotification) -> None:
        try:
            await self._requester.notify(notification.method, notification.params)
        except Exception as failure:
            logger.warning("the notification %r was not taken: %s", notification.method, failure)
        self._ended(key)

    async def _put_notification(self, method: str, params: dict[str, Any] | None) -> None:
        await self._put(JSONRPCNotification(jsonrpc="2.0", method=method, params=params))

    async def _put_received(self, message: Message | Batch | DecodeError) -> None:
        items = message.items if isinstance(message, Batch) else [message]
        for item in items:
            await self._put(item if isinstance(item, DecodeError) else jsonrpc_message(item))

    async def _put(self, message: JSONRPCMessage | Exception) -> None:
        try:
            await self._put_item(message if isinstance(message, Exception) else SessionMessage(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            logger.debug("dropped a message from the server: nobody reads any more")


def options_of(metadata: ClientMessageMetadata) -> CallOptions:
    """What the metadata of a request asks of its transport."""
    return CallOptions(
        headers=metadata.headers,
        resumption_token=metadata.resumption_token,
        on_resumption_token=metadata.on_resumption_token_update,
    )


def jsonrpc_message(message: Message) -> JSONRPCMessage:
    """A message as the model that travels on streams."""
    return jsonrpc_message_adapter.validate_python(to_object(message))


def _error(id: RequestId, error: ErrorData) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id, error=error)
