"""Newline-delimited JSON on a byte stream: chunks in, frames out, and back. No I/O.

Specification: basic/transports/stdio, "Sending Messages" and "Receiving Messages".
"""

from typing import Final

from mcp.engine.link import Frame
from mcp.protocol.codec import DecodeError, decode
from mcp.types.jsonrpc import INVALID_REQUEST

__all__ = ["DEFAULT_MAX_LINE_SIZE", "LineFraming"]

DEFAULT_MAX_LINE_SIZE = 64 * 1024 * 1024
"""Bytes that one message may have before it is refused: a bound on what a peer can make this process hold."""

_HEAD_SIZE: Final = 4096
"""The part of a refused line that is searched for the message's id."""


class LineFraming:
    """Splits a stream of bytes into frames at newlines, in time linear in the number of bytes.

    Args:
        max_line_size: The longest line taken, in bytes. A longer one is dropped, reported once by a `DecodeError` in
            its place, and reading goes on behind it. The error names the message's id where that stands near the start.
    """

    def __init__(self, max_line_size: int = DEFAULT_MAX_LINE_SIZE) -> None:
        self._max_line_size = max_line_size
        # A growing buffer and no list of chunks: a peer that sends single bytes must not cost an object for each. It
        # becomes the frame as it is: a copy of a large message costs more than reading it does.
        self._partial = bytearray()
        self._skipping = False

    def pack(self, frame: bytes) -> tuple[bytes, ...]:
        """The bytes that carry `frame` to the peer, in as many pieces as spare a copy."""
        return frame, b"\n"

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that `chunk` completes, in order. Blank lines are none."""
        lines: list[bytes | bytearray] = [*chunk.split(b"\n")]
        rest = lines.pop()
        frames: list[Frame] = []
        if lines and (self._partial or self._skipping):
            self._extend(lines[0], frames)
            lines[0] = self._take_partial()
        for line in lines:
            if len(line) > self._max_line_size:
                frames.append(self._too_long(line))
            elif line and not line.isspace():
                frames.append(line[:-1] if line.endswith(b"\r") else line)
        if rest:
            self._extend(rest, frames)
        return frames

    def flush(self) -> list[Frame]:
        """What the end of the stream completes: a last line that no newline ended."""
        return self.feed(b"\n")

    def _extend(self, piece: bytes | bytearray, frames: list[Frame]) -> None:
        if self._skipping:
            return
        if len(self._partial) + len(piece) > self._max_line_size:
            # Reported now: the newline may be long in coming, and the peer may be waiting for an answer.
            frames.append(self._too_long(self._take_partial()[:_HEAD_SIZE] + piece))
            self._skipping = True
        else:
            self._partial += piece

    def _take_partial(self) -> bytearray:
        line = self._partial
        self._partial = bytearray()
        self._skipping = False
        return line

    def _too_long(self, line: bytes | bytearray) -> DecodeError:
        error = DecodeError(INVALID_REQUEST, f"Message is longer than the limit of {self._max_line_size} bytes")
        try:
            decode(line[: min(_HEAD_SIZE, self._max_line_size)])
        except DecodeError as cut_off:
            error.id, error.response_id = cut_off.id, cut_off.response_id
        return error
