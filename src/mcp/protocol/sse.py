"""Server-Sent Events: a parser fed with chunks, and the writer.

Specification: the WHATWG HTML standard under "Interpreting an event stream"; basic/transports/streamable-http for what
travels in the events. The parser works on bytes and decodes text only where somebody looks at it.
"""

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["COMMENT", "SSEEvent", "SSEEventTooLarge", "SSEParser", "format_event"]

COMMENT: Final = b":\r\n\r\n"
"""A comment line, which every client ignores: sent in quiet times, it keeps a connection from being closed as idle."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_LONGEST_RETRY: Final = 15
"""Digits of a `retry:` that is believed; more would be tens of thousands of years."""


@dataclass(slots=True)
class SSEEvent:
    """One event.

    Attributes:
        event: The type of the event.
        raw: The data as it came, its lines joined by LF: what `mcp.protocol.codec.decode` takes.
        id: The id that the stream stands at with this event, its own or that of an event before; None where no event
            so far had one, or the last took it back with an empty `id:`.
        retry: The reconnection delay that came with this event, in milliseconds.
    """

    event: str
    raw: bytes
    id: str | None = None
    retry: int | None = None

    @property
    def data(self) -> str:
        """The data as text, in which bytes that are no UTF-8 are replaced."""
        return self.raw.decode("utf-8", "replace")


class SSEEventTooLarge(ValueError):
    """An event is larger than the receiver takes; what follows it in the stream cannot be read.

    Attributes:
        limit: What `max_event_bytes` was.
        events: The events of the same chunk that were complete before.
    """

    def __init__(self, limit: int, events: list[SSEEvent]) -> None:
        super().__init__(f"an event of the stream is larger than the limit of {limit} bytes")
        self.limit = limit
        self.events = events


class SSEParser:
    """Turns the chunks of one event stream into events, in time linear in the bytes however they are cut.

    At the end of the stream there is nothing to call: an event that no blank line completed is dropped.

    Args:
        max_event_bytes: The most bytes that the lines of one event may have together; None for no limit.

    Attributes:
        last_event_id: The id to resume after, also where it came without data; None for none.
        retry: The reconnection delay that the stream last asked for, in milliseconds; None where it asked for none.
    """

    def __init__(self, max_event_bytes: int | None) -> None:
        self.last_event_id: str | None = None
        self.retry: int | None = None
        self._limit = max_event_bytes
        self._line = bytearray()  # a line whose end has not come yet
        self._at_start = True
        self._after_cr = False
        self._size = 0  # of the complete lines of the event under way
        self._event = b""
        self._data: list[bytes] = []
        self._id: str | None = None
        self._event_retry: int | None = None

    def feed(self, chunk: bytes) -> list[SSEEvent]:
        """Take the next bytes of the stream.

        Returns:
            The events they complete.

        Raises:
            SSEEventTooLarge: The event under way is over the limit. The parser is of no use afterwards.
        """
        events: list[SSEEvent] = []
        # CR ends a line at once, since the next byte may be long in coming; an LF that then comes belongs to it.
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        lines = chunk.splitlines(keepends=True)
        for line in lines:
            content = line.rstrip(b"\r\n")
            size = self._size + len(self._line) + len(content)
            if self._limit is not None and size > self._limit:
                raise SSEEventTooLarge(self._limit, events)
            if len(content) == len(line):
                self._line += line  # only the last line of a chunk can lack its end
                break
            if self._line:
                self._line += content
                content = bytes(self._line)
                self._line.clear()
            if content:
                self._take(content)
            elif (event := self._dispatch()) is not None:
                events.append(event)
        if lines:
            self._after_cr = lines[-1].endswith(b"\r")
        return events

    def _take(self, line: bytes) -> None:
        """One line that is not blank."""
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if line.startswith(b"data: "):  # what nearly every line is, with one copy instead of two
            self._size += len(line)
            self._data.append(line[6:])
            return
        field, _, value = line.partition(b":")
        if not field:
            return  # a comment, or nothing but a byte order mark
        self._size += len(line)
        if value.startswith(b" "):
            value = value[1:]
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._event = value
        elif field == b"id":
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace") or None
        elif field == b"retry" and value.isdigit() and len(value) <= _LONGEST_RETRY:
            self._event_retry = self.retry = int(value)

    def _dispatch(self) -> SSEEvent | None:
        """The blank line that ends an event."""
        self._at_start = False
        self.last_event_id = self._id
        event = None
        if self._data:
            name = self._event.decode("utf-8", "replace") if self._event else "message"
            event = SSEEvent(name, b"\n".join(self._data), self._id, self._event_retry)
        self._size = 0
        self._event = b""
        self._data = []
        self._event_retry = None
        return event


def format_event(data: bytes, *, event: str | None = None, id: str | None = None, retry: int | None = None) -> bytes:
    r"""Write one event.

    Args:
        data: The data; each of its lines becomes a `data:` line, and a CR or CRLF in it arrives as LF.
        event: The type of the event; None for the default, "message".
        id: The id a client can resume after.
        retry: The reconnection delay to ask the client for, in milliseconds.

    Raises:
        ValueError: `event` or `id` holds a line break, `id` holds a NUL, or `retry` is negative.
    """
    fields = b""
    if event is not None:
        fields += b"event: %b\r\n" % _one_line("event", event)
    if id is not None:
        if "\0" in id:
            raise ValueError("the id of an event must not hold a NUL character")
        fields += b"id: %b\r\n" % _one_line("id", id)
    if retry is not None:
        if retry < 0:
            raise ValueError(f"retry must not be negative, got {retry}")
        fields += b"retry: %d\r\n" % retry
    if b"\n" in data or b"\r" in data:
        data = b"\r\ndata: ".join(_LINE_BREAK.split(data))
    return b"%bdata: %b\r\n\r\n" % (fields, data)


_LINE_BREAK: Final = re.compile(rb"\r\n|\r|\n")


def _one_line(field: str, value: str) -> bytes:
    if "\n" in value or "\r" in value:
        raise ValueError(f"the {field} of an event must not hold a line break")
    return value.encode("utf-8")
