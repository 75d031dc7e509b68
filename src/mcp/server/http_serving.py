"""The POSTs and GETs of a session, once it is known which session that is.

Specification: basic/transports of 2025-11-25, under "Sending Messages to the Server" and what follows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from mcp.protocol.codec import Batch, DecodeError, Message, Request, RequestId
from mcp.server.handshake import negotiated_version
from mcp.server.http_forward import Forwarder
from mcp.server.http_gate import HTTPGate, HTTPRequest, Refusal
from mcp.server.http_replay import Replay, event_id_of
from mcp.server.http_response import HTTPResponse, RawHeader, respond
from mcp.server.http_session import PRIMING_VERSION, PostOrigin, SessionPort
from mcp.server.http_streams import Reader, Stream
from mcp.server.http_watch import RequestWatch
from mcp.server.shutdown import ShutdownWatch

if TYPE_CHECKING:
    from mcp.server.streamable_http import EventStore

__all__ = ["SessionServing"]

logger = logging.getLogger(__name__)

_LAST_EVENT_ID = b"last-event-id"

Opened = Callable[[], "tuple[RawHeader, ...]"]
"""Called once `initialize` is answered, before the answer is sent; gives the headers to send with it."""


class SessionServing:
    """Serves the HTTP requests of sessions.

    Args:
        gate: Knows what clients accept.
        watch: Notices clients that hang up.
        json_only: Answer with plain JSON always.
        retry: How long a client shall wait before it reconnects, in ms; None leaves it to the client.
    """

    def __init__(self, gate: HTTPGate, watch: RequestWatch, *, json_only: bool, retry: int | None) -> None:
        self._gate = gate
        self._watch = watch
        self._json_only = json_only
        self._retry = retry
        self._listening: set[Reader] = set()
        self._shutdown = ShutdownWatch(lambda: bool(self._listening), self._end_listening)

    async def post(
        self,
        session: SessionPort,
        request: HTTPRequest,
        message: Message | Batch | DecodeError,
        opened: Opened | None = None,
    ) -> None:
        """Serves a POST.

        Args:
            session: Its session.
            request: The HTTP request.
            message: What its body holds.
            opened: Called where the request opens the session.

        Raises:
            Refusal: It is not served.
        """
        if isinstance(message, Batch):
            _check_batch(session, message)
        ids = _answered_ids(message)
        session.entered()
        try:
            if ids:
                await self._answer(session, request, message, ids, opened)
                return
            if isinstance(message, DecodeError):
                if message.response_id is not None:
                    await session.take(message, PostOrigin(request, session, None))
                raise Refusal.of_error(message, message.id, 400)
            await session.take(message, PostOrigin(request, session, None))
            await respond(request.send, 202, [(b"content-length", b"0")], b"")
        finally:
            session.left()

    async def _answer(
        self,
        session: SessionPort,
        request: HTTPRequest,
        message: Message | Batch | DecodeError,
        ids: tuple[RequestId | None, ...],
        opened: Opened | None,
    ) -> None:
        streams = session.streams
        if streams.in_use(ids):
            text = f"Request id {ids[0]!r} is in use by a request that still runs"
            raise Refusal.of_request(400, text, id=ids[0])
        primed = not self._json_only and streams.resumable and _primed(session, message)
        stream = streams.open(ids, answer_only=self._json_only, primed=primed)
        reader = stream.attach()
        plain = self._json_only or not streams.resumable
        forwarder = Forwarder(reader, HTTPResponse(request.send), retry=self._retry, plain=plain, quiet=self._json_only)

        async def work() -> None:
            await session.take(message, PostOrigin(request, session, stream))
            if opened is not None:
                forwarder.response.headers = opened()
            await forwarder.run()

        await self._forward(stream, reader, forwarder, request, work())

    async def _forward(
        self,
        stream: Stream,
        reader: Reader,
        forwarder: Forwarder,
        request: HTTPRequest,
        work: Coroutine[Any, Any, None],
    ) -> None:
        if stream.standalone:
            # It has no end of its own, and must not hold up the end of the process.
            self._listening.add(reader)
            self._shutdown.start()
        try:
            await self._watch.run(forwarder, request.receive, work)
        finally:
            self._listening.discard(reader)
            stream.detach(reader)

    def _end_listening(self) -> None:
        for reader in self._listening:
            reader.close()

    # GET.

    async def get(self, session: SessionPort, request: HTTPRequest) -> None:
        """Serves a GET: the session's standalone stream, or the rest of the stream that the client lost.

        Raises:
            Refusal: It is not served.
        """
        self._gate.check_get(request)
        last = request.raw_headers.get(_LAST_EVENT_ID)
        store = session.streams.store
        session.entered()
        try:
            if last is not None and store is not None:
                await self._resume(session, request, store, event_id_of(last))
            else:
                await self._standalone(session, request)
        finally:
            session.left()

    async def _standalone(self, session: SessionPort, request: HTTPRequest) -> None:
        stream = session.streams.standalone
        assert stream is not None, "a session that can be found has a standalone stream"
        reader = stream.attach()
        if session.version >= PRIMING_VERSION:
            session.streams.prime(stream)
        forwarder = self._events(reader, request)

        async def work() -> None:
            # Begun at once: a client may wait for the headers before it goes on.
            await forwarder.response.events(b"")
            await forwarder.run()

        await self._forward(stream, reader, forwarder, request, work())

    def _events(self, reader: Reader, request: HTTPRequest) -> Forwarder:
        return Forwarder(reader, HTTPResponse(request.send), retry=self._retry, plain=False)

    async def _replay(self, session: SessionPort, request: HTTPRequest, store: EventStore, last: str) -> Replay | None:
        """What the store has after an event; None where the client hung up before it was there."""
        replay = None

        async def work() -> None:
            nonlocal replay
            replay = await Replay.of(session, store, last)

        await self._watch.run(_Silence(), request.receive, work())
        return replay

    async def _replay_rest(self, replay: Replay, store: EventStore, response: HTTPResponse) -> None:
        """Replays a stream that has ended; but something may have been stored since the store was asked."""
        await replay.go_on(store)
        await response.events(replay.events(self._retry), last=True)

    async def _resume(self, session: SessionPort, request: HTTPRequest, store: EventStore, last: str) -> None:
        replay = await self._replay(session, request, store, last)
        if replay is None:
            return
        stream = session.streams.find(replay.key)
        response = HTTPResponse(request.send)
        if stream is None:
            await self._watch.run(_Silence(), request.receive, self._replay_rest(replay, store, response))
            return
        # From here on the reader gets what is stored; what was stored since the store was asked is asked for again.
        reader = stream.attach()
        forwarder = Forwarder(reader, response, retry=self._retry, plain=False)

        async def work() -> None:
            await replay.go_on(store)
            forwarder.skip(replay.ids)
            await response.events(replay.events(self._retry), last=replay.complete)
            if not replay.complete:
                await forwarder.run()

        await self._forward(stream, reader, forwarder, request, work())


class _Silence:
    """The response to a request while there is nothing to send yet."""

    def disconnect(self) -> None:
        """See `WatchedResponse.disconnect`."""

    async def keep_alive(self) -> None:
        """See `WatchedResponse.keep_alive`."""


def _check_batch(session: SessionPort, batch: Batch) -> None:
    if not session.takes_batches:
        raise Refusal.of_request(400, "JSON-RPC batches are not supported in this protocol revision")
    if any(isinstance(item, Request) and item.method == "initialize" for item in batch.items):
        raise Refusal.of_request(400, "initialize must not be part of a JSON-RPC batch")


def _answered_ids(message: Message | Batch | DecodeError) -> tuple[RequestId | None, ...]:
    """The requests whose answer a POST waits for; None stands for the error about what is no message."""
    if isinstance(message, Request):
        return (message.id,)
    if not isinstance(message, Batch):
        return ()
    ids = tuple(item.id for item in message.items if isinstance(item, Request))
    if not ids and any(isinstance(item, DecodeError) and item.response_id is None for item in message.items):
        return (None,)
    return ids


def _primed(session: SessionPort, message: Message | Batch | DecodeError) -> bool:
    version = session.version
    if isinstance(message, Request) and message.method == "initialize":
        version = negotiated_version((message.params or {}).get("protocolVersion"))
    return version >= PRIMING_VERSION
