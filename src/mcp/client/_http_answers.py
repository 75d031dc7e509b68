"""From the response to a POST to the answer to the request in it: a JSON body, or an event stream.

Specification: basic/transports/streamable-http under "Receiving Messages" (2026-07-28).
"""

import logging
from typing import Any

import anyio
import httpx2

from mcp.client._http_client import reading, run_out
from mcp.client._http_errors import BODY_START, STREAM_HINTS, media_type, origin_of, refusal, too_large, unexpected
from mcp.engine.pending import cancelled_by_peer
from mcp.engine.requester import CallOptions, NotificationSink
from mcp.protocol.codec import (
    Batch,
    DecodeError,
    ErrorResponse,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
    decode,
)
from mcp.protocol.sse import SSEEvent, SSEEventTooLarge, SSEParser
from mcp.shared.exceptions import ConnectionClosedError, HTTPResponseError, MCPError

__all__ = [
    "Answer",
    "AnswerReader",
    "LoneAnswerReader",
    "error_in",
    "read_refusal",
    "read_start",
    "read_stream_refusal",
    "result_in",
]

logger = logging.getLogger("mcp.client.streamable_http")

Answer = Response | ErrorResponse

_REFUSAL_SIZE = 1024 * 1024
_REFUSAL_SECONDS = 5.0
"""How much of the body of a refusal is read, and for how long: what it says is for the error alone."""


async def read_refusal(response: httpx2.Response) -> MCPError:
    """The error that a response without success stands for: the JSON-RPC error in its body, or one about HTTP."""
    body = await read_start(response)
    error = error_in(body)
    return refusal(response, body) if error is None else MCPError(error.code, error.message, error.data)


async def read_stream_refusal(response: httpx2.Response) -> HTTPResponseError:
    """The error for a stream that was asked for and refused. It has the status, which says whether to ask again."""
    body = await read_start(response)
    error = error_in(body)
    if error is None:
        return refusal(response, body, STREAM_HINTS)
    start = body.decode("utf-8", "replace")[:BODY_START]
    return HTTPResponseError(
        error.code, error.message, status=response.status_code, headers=response.headers, body=start
    )


def error_in(body: bytes) -> ErrorResponse | None:
    """The JSON-RPC error that a body holds, if it does."""
    try:
        message = decode(body)
    except DecodeError:
        return None
    return message if isinstance(message, ErrorResponse) else None


async def read_start(response: httpx2.Response) -> bytes:
    """The start of a body that is of no use but to say so."""
    start = bytearray()
    with anyio.move_on_after(_REFUSAL_SECONDS):
        async with reading(response) as chunks:
            async for chunk in chunks:
                start += chunk
                if len(start) >= _REFUSAL_SIZE:
                    break
    return bytes(start)


def result_in(answer: Answer) -> dict[str, Any]:
    """The result of an answer.

    Raises:
        MCPError: It is an error.
    """
    if isinstance(answer, ErrorResponse):
        raise MCPError(answer.code, answer.message, answer.data)
    return answer.result


class AnswerReader:
    """Reads the response to one request: whatever belongs to it, then its answer.

    Args:
        id: The id of the request.
        progress_token: The progress token of the request; None for none.
        options: What takes its progress.
        limit: The most bytes that a JSON body, or an event of a stream, may have; None for no limit.
    """

    __slots__ = ("_id", "_limit", "_options", "_progress_token", "_unreadable")

    def __init__(self, id: RequestId, progress_token: object, options: CallOptions, limit: int | None) -> None:
        self._id = id
        self._progress_token = progress_token
        self._options = options
        self._limit = limit
        self._unreadable: DecodeError | None = None

    @property
    def takes_batches(self) -> bool:
        """Whether the revision that is spoken has JSON-RPC batches."""
        return False

    async def read(self, response: httpx2.Response) -> dict[str, Any]:
        """The result that a response carries.

        Raises:
            MCPError: The server answered with an error.
            HTTPResponseError: The response is of no use.
            ConnectionClosedError: The stream ended before the answer.
        """
        if not response.is_success:
            raise await read_refusal(response)
        kind = media_type(response)
        if kind == "application/json":
            return await self._read_json(response)
        if kind == "text/event-stream":
            return await self._read_events(response)
        found = f"its content type is {kind!r}" if kind else "it has no content type"
        problem = f"It answers a request, but {found} where 'application/json' or 'text/event-stream' was expected."
        raise unexpected(response, problem, await read_start(response))

    async def _read_json(self, response: httpx2.Response) -> dict[str, Any]:
        body = await self._read_body(response)
        try:
            answer = await self._sort(decode(body, allow_batch=self.takes_batches))
        except DecodeError as error:
            raise unexpected(response, f"Its body is no JSON-RPC message: {error}.", body, error.code) from error
        if answer is None:
            raise unexpected(response, f"Its body does not answer the request {self._id!r}.", body)
        return result_in(answer)

    async def _read_body(self, response: httpx2.Response) -> bytes:
        parts: list[bytes] = []
        size = 0
        async with reading(response) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                if self._limit is not None and size > self._limit:
                    raise too_large(response, "The body", self._limit)
                parts.append(chunk)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _read_events(self, response: httpx2.Response) -> dict[str, Any]:
        answer = await self._follow(response)
        if answer is None:
            raise self._no_answer(response)
        return result_in(answer)

    async def _follow(self, response: httpx2.Response) -> Answer | None:
        """Reads a stream up to the answer, or to its end."""
        parser = SSEParser(self._limit)
        async with reading(response) as chunks:
            async for chunk in chunks:
                try:
                    answer = await self._take(parser.feed(chunk), response)
                except SSEEventTooLarge as failure:
                    answer = await self._take(failure.events, response)
                    if answer is None:
                        raise too_large(response, "An event of its stream", failure.limit) from failure
                await self._fed(parser)
                if answer is not None:
                    await run_out(chunks)
                    return answer
        return None

    async def _fed(self, parser: SSEParser) -> None:
        """Takes note of where a stream stands after each chunk."""

    async def _take(self, events: list[SSEEvent], response: httpx2.Response) -> Answer | None:
        """Deals with the next events; the answer, if it is among them."""
        for event in events:
            if event.event != "message" or not event.raw:
                continue
            try:
                message = decode(event.raw, allow_batch=self.takes_batches)
            except DecodeError as error:
                await self._broken(error, event, response)
                continue
            if (answer := await self._sort(message)) is not None:
                return answer
        return None

    async def _sort(self, message: Message | Batch) -> Answer | None:
        """Deals with a message; returns it if it is the answer."""
        if isinstance(message, Response) and self._is_ours(message.id):
            return message
        # A server that could not read the id answers without one, and a response can only be about this request.
        if isinstance(message, ErrorResponse) and (message.id is None or self._is_ours(message.id)):
            return message
        if not (isinstance(message, Notification) and await self._reported(message)):
            await self._other(message)
        return None

    async def _reported(self, notification: Notification) -> bool:
        """Whether it is progress of the request, which is reported here."""
        params = notification.params
        on_progress = self._options.on_progress
        if (
            on_progress is None
            or params is None
            or notification.method != "notifications/progress"
            or params.get("progressToken") != self._progress_token
        ):
            return False
        await on_progress(params)
        return True

    async def _other(self, message: Message | Batch) -> None:
        """Deals with what is neither the answer nor progress."""
        raise NotImplementedError

    async def _broken(self, error: DecodeError, event: SSEEvent, response: httpx2.Response) -> None:
        """Deals with an event that is no message. If it was to be the answer, there is nothing left to wait for."""
        if self._is_ours(error.response_id):
            raise unexpected(response, f"Its answer is no JSON-RPC message: {error}.", event.raw, error.code) from error
        logger.warning("skipped an event that is no JSON-RPC message: %s", error)
        self._unreadable = error

    def _is_ours(self, id: RequestId | None) -> bool:
        """Whether an answer's id is the request's. Some servers turn a number into a string on the way."""
        return id == self._id or (id is not None and str(id) == str(self._id))

    def _no_answer(self, response: httpx2.Response) -> ConnectionClosedError:
        text = f"The event stream from {origin_of(response.request.url)} ended without an answer to the request"
        if self._unreadable is not None:
            text += f"; it carried an event that is no JSON-RPC message: {self._unreadable}"
        return ConnectionClosedError(text)


class LoneAnswerReader(AnswerReader):
    """Reads the response to a request of 2026-07-28: its notifications, then its answer.

    Args:
        id: The id of the request.
        progress_token: The progress token of the request; None for none.
        options: What takes its progress.
        limit: The most bytes that a JSON body, or an event of a stream, may have; None for no limit.
        sink: Takes every other notification.
    """

    __slots__ = ("_sink",)

    def __init__(
        self, id: RequestId, progress_token: object, options: CallOptions, limit: int | None, sink: NotificationSink
    ) -> None:
        super().__init__(id, progress_token, options, limit)
        self._sink = sink

    async def _other(self, message: Message | Batch) -> None:
        if isinstance(message, Notification):
            if not self._noticed(message):
                await self._sink(message.method, message.params)
            return
        what = f"a request for {message.method!r}" if isinstance(message, Request) else "a message"
        logger.warning("ignored %s from the server that does not belong in the response to a request", what)

    def _noticed(self, notification: Notification) -> bool:
        """Offers a notification to the subscription, if this is one; whether nobody else is to have it."""
        taker = self._options.on_notification
        if taker is None:
            return False
        params = notification.params or {}
        if notification.method == "notifications/cancelled" and params.get("requestId") == self._id:
            raise cancelled_by_peer(params)
        return taker(notification.method, params)
