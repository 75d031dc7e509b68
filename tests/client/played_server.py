"""Both ways to be a server for a session under test: a real one on streams, and one that a test plays."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from mcp.server import Server
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from mcp.types.jsonrpc import ErrorData

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def serving(server: Server) -> AsyncGenerator[Streams, None]:
    """A pair of streams with a real server at the other end."""
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](10)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](10)
    async with anyio.create_task_group() as group:
        group.start_soon(server.run, from_client, to_client, server.create_initialization_options())
        yield from_server, to_server
        group.cancel_scope.cancel()
    for stream in (to_server, from_client, to_client, from_server):
        stream.close()


class Peer:
    """The other end of a session, as a test plays it."""

    def __init__(self) -> None:
        self._sending, self.read = anyio.create_memory_object_stream[SessionMessage | Exception](100)
        self.write, self._receiving = anyio.create_memory_object_stream[SessionMessage](100)

    async def next(self) -> JSONRPCRequest | JSONRPCNotification:
        message = (await self._receiving.receive()).message
        assert isinstance(message, (JSONRPCRequest, JSONRPCNotification))
        return message

    async def request(self) -> JSONRPCRequest:
        message = await self.next()
        assert isinstance(message, JSONRPCRequest)
        return message

    async def reply(self) -> JSONRPCResponse | JSONRPCError:
        """The client's answer to a question."""
        message = (await self._receiving.receive()).message
        assert isinstance(message, (JSONRPCResponse, JSONRPCError))
        return message

    async def answer(self, request: Any, result: dict[str, Any]) -> None:
        await self.say(JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result))

    async def refuse(self, request: Any, code: int, message: str = "no", data: Any = None) -> None:
        error = ErrorData(code=code, message=message, data=data)
        await self.say(JSONRPCError(jsonrpc="2.0", id=request.id, error=error))

    async def say(self, message: Any) -> None:
        await self._sending.send(message if isinstance(message, Exception) else SessionMessage(message))

    def hang_up(self) -> None:
        self._sending.close()

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self._sending, self._receiving, self.read, self.write):
            stream.close()
