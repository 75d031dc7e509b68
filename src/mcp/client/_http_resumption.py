"""The answer to a request of a handshake revision, also where its stream breaks off and has to be taken up again.

Specification: basic/transports under "Resumability and Redelivery" (2025-11-25).
"""

from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2

from mcp.client._http_answers import Answer, AnswerReader, result_in
from mcp.engine.requester import CallOptions
from mcp.protocol.codec import (
    Batch,
    DecodeError,
    ErrorResponse,
    Message,
    Notification,
    RequestId,
    Response,
)
from mcp.protocol.sse import SSEEvent, SSEParser
from mcp.shared.exceptions import HTTPResponseError, MCPError, ResumptionError

if TYPE_CHECKING:
    from mcp.client._http_session import HTTPSession

__all__ = [
    "DEFAULT_RECONNECTION_DELAY_MS",
    "MAX_RECONNECTION_ATTEMPTS",
    "Pace",
    "ResumableReader",
    "is_passing",
    "reconnection_delay",
]

DEFAULT_RECONNECTION_DELAY_MS: Final = 1000
"""Milliseconds before a stream that ended is asked for again, where the server names no time."""

MAX_RECONNECTION_ATTEMPTS: Final = 2
"""How often in a row an answer's stream is asked for again without anything coming of it."""

_LONGEST_DELAY: Final = 60.0
_SHORTEST_DELAY: Final = 0.1

_LIVELY_SECONDS: Final = 10.0
"""How long a stream has to stay open, if nothing comes on it, for its end not to count as the server's dislike."""


def reconnection_delay(retry: int | None, fruitless: int) -> float:
    """Seconds before a stream that ended is asked for again, a tenth at least.

    Args:
        retry: The delay that the server asked for, in milliseconds; None where it asked for none.
        fruitless: How many streams in a row brought nothing, this one apart. Each doubles the delay, up to a minute;
            where the server asked for a delay, the shortest one doubles, up to a second.
    """
    doubled = 2 ** min(fruitless, 10)
    if retry is None:
        return min(DEFAULT_RECONNECTION_DELAY_MS / 1000 * doubled, _LONGEST_DELAY)
    return max(retry / 1000, min(_SHORTEST_DELAY * doubled, 1.0))


def is_passing(failure: Exception) -> bool:
    """Whether what kept a stream from being opened may be over at the next try.

    A conflict is: the server has not noticed yet that the stream before this one is gone.
    """
    if isinstance(failure, HTTPResponseError):
        return failure.status >= 500 or failure.status in (408, 409, 429)
    return isinstance(failure, httpx2.HTTPError | httpx2.StreamError)


class Pace:
    """When a stream is asked for again: ever less often while what is opened ends at once, and brings nothing.

    Attributes:
        retry: The delay that the server asked for, in milliseconds; None where it asked for none.
    """

    __slots__ = ("_fruitless", "_heard", "_opened", "retry")

    def __init__(self) -> None:
        self.retry: int | None = None
        self._fruitless = 0
        self._heard = False
        self._opened = 0.0

    def opens(self) -> None:
        """A stream is asked for."""
        self._opened = anyio.current_time()
        self._heard = False

    def hears(self) -> None:
        """A message has come on it."""
        self._heard = True

    def delay(self) -> float:
        """Seconds to wait now that it has ended, or could not be opened."""
        if self._heard or anyio.current_time() - self._opened >= _LIVELY_SECONDS:
            self._fruitless = 0
        delay = reconnection_delay(self.retry, self._fruitless)
        self._fruitless += 1
        return delay


class ResumableReader(AnswerReader):
    """Reads the response to one request, and comes back for the rest where its stream breaks off.

    Args:
        id: The id of the request.
        method: Its method, for errors.
        progress_token: Its progress token; None for none.
        options: What takes its progress, and the ids of its events.
        session: The session it was sent on; takes whatever else comes.
    """

    __slots__ = ("_heard", "_is_resumed", "_last_event_id", "_method", "_pace", "_session")

    def __init__(
        self, id: RequestId, method: str, progress_token: object, options: CallOptions, session: "HTTPSession"
    ) -> None:
        super().__init__(id, progress_token, options, session.connection.max_size)
        self._method = method
        self._session = session
        self._last_event_id: str | None = None
        self._pace = Pace()
        self._heard = False
        self._is_resumed = False

    @property
    def takes_batches(self) -> bool:
        """Whether the revision that is spoken has JSON-RPC batches."""
        return self._session.takes_batches

    async def resume(self, token: str) -> dict[str, Any]:
        """The result on a stream that an earlier request, perhaps of another process, left off.

        Args:
            token: The id of the last event that was seen of it.

        Raises:
            ResumptionError: The stream cannot be taken up again.
            MCPError: The server answered with an error.
        """
        self._last_event_id = token
        # The answer is to the id of that request, which nobody here knows.
        self._is_resumed = True
        return result_in(await self._come_back(0.0))

    async def _read_events(self, response: httpx2.Response) -> dict[str, Any]:
        answer = await self._read_until_dropped(response)
        if answer is None and self._last_event_id is None:
            raise self._no_answer(response)
        if answer is None:
            answer = await self._come_back(self._pace.delay())
        return result_in(answer)

    async def _come_back(self, delay: float) -> Answer:
        """Asks for the rest of the stream after a delay in seconds, until the answer is among it."""
        fruitless = 0
        while True:
            await anyio.sleep(delay)
            self._heard = False
            self._pace.opens()
            failure: Exception | None = None
            try:
                if (answer := await self._read_again()) is not None:
                    return answer
            except (httpx2.HTTPError, httpx2.StreamError, MCPError) as problem:
                if not is_passing(problem):
                    raise self._lost(problem) from problem
                failure = problem
            # A server that names a time to come back has something to say then.
            polled = failure is None and self._pace.retry is not None
            fruitless = 0 if self._heard or polled else fruitless + 1
            if fruitless >= MAX_RECONNECTION_ATTEMPTS:
                raise self._lost(failure) from failure
            delay = self._pace.delay()

    async def _read_again(self) -> Answer | None:
        return await self._read_until_dropped(await self._session.open_stream(self._last_event_id))

    async def _read_until_dropped(self, response: httpx2.Response) -> Answer | None:
        """The answer; None where the stream ended before, or broke off at a place from which it can be resumed."""
        try:
            return await self._follow(response)
        except (httpx2.HTTPError, httpx2.StreamError):
            if self._last_event_id is None:
                raise
            return None

    def _lost(self, failure: Exception | None) -> ResumptionError:
        reason = "each time it was taken up again, it ended at once" if failure is None else _reason(failure)
        origin = self._session.connection.origin
        return ResumptionError(
            f"The event stream from {origin} broke off before the answer to {self._method!r},"
            f" and could not be taken up again: {reason}"
        )

    async def _take(self, events: list[SSEEvent], response: httpx2.Response) -> Answer | None:
        for event in events:
            self._heard = True
            if event.raw:
                self._pace.hears()
            answer = await super()._take([event], response)
            await self._passed(event.id)
            if answer is not None:
                return answer
        return None

    async def _fed(self, parser: SSEParser) -> None:
        # Ids also come with events that carry nothing else.
        await self._passed(parser.last_event_id)
        if parser.retry is not None:
            self._pace.retry = parser.retry

    async def _passed(self, event_id: str | None) -> None:
        if event_id is None or event_id == self._last_event_id:
            return
        self._last_event_id = event_id
        self._heard = True
        if self._options.on_resumption_token is not None:
            await self._options.on_resumption_token(event_id)

    async def _sort(self, message: Message | Batch) -> Answer | None:
        if not isinstance(message, Batch):
            return await super()._sort(message)
        answer: Answer | None = None
        rest: list[Message | DecodeError] = []
        for item in message.items:
            if isinstance(item, Response | ErrorResponse) and self._is_ours(item.id):
                answer = item
            elif not (isinstance(item, Notification) and await self._reported(item)):
                rest.append(item)
        if rest:
            await self._session.receive(Batch(rest))
        return answer

    async def _other(self, message: Message | Batch) -> None:
        await self._session.receive(message)

    async def _broken(self, error: DecodeError, event: SSEEvent, response: httpx2.Response) -> None:
        if error.id is not None and error.response_id is None:
            await self._session.receive(error)
        else:
            await super()._broken(error, event, response)

    def _is_ours(self, id: RequestId | None) -> bool:
        return super()._is_ours(id) or (self._is_resumed and id is not None)


def _reason(failure: Exception) -> str:
    return str(failure) or type(failure).__name__
