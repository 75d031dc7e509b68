"""Lines in another encoding than UTF-8, for servers that do not keep to the protocol."""

import codecs
from typing import Final

from mcp.engine.lines import LineFraming
from mcp.engine.link import Frame

__all__ = ["EncodedLineFraming", "framing_for"]

_NOT_IN_ENCODING: Final = "mcp.not-in-encoding"
_ESCAPE: Final = "mcp.escape"


def framing_for(encoding: str, error_handler: str, max_line_size: int) -> LineFraming:
    """The framing for a server's pipes.

    Args:
        encoding: The name of the encoding.
        error_handler: "strict" (a line that breaks the encoding is refused), "ignore" or "replace".
        max_line_size: The longest line taken, in bytes of UTF-8.

    Raises:
        LookupError: There is no such encoding.
    """
    if codecs.lookup(encoding).name == "utf-8" and error_handler == "strict":
        return LineFraming(max_line_size)
    return EncodedLineFraming(encoding, error_handler, max_line_size)


class EncodedLineFraming(LineFraming):
    """Frames as lines of text in any encoding; see `framing_for`."""

    def __init__(self, encoding: str, error_handler: str, max_line_size: int) -> None:
        super().__init__(max_line_size)
        self._encoder = codecs.getincrementalencoder(encoding)(_ESCAPE)
        self._decoder = codecs.getincrementaldecoder(encoding)(
            _NOT_IN_ENCODING if error_handler == "strict" else error_handler
        )

    def pack(self, frame: bytes) -> tuple[bytes, ...]:
        """The bytes that carry `frame`: what the encoding lacks becomes a JSON escape."""
        return (self._encoder.encode(frame.decode() + "\n"),)

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that `chunk` completes, in UTF-8."""
        return super().feed(_to_utf8(self._decoder.decode(chunk)))

    def flush(self) -> list[Frame]:
        """What the end of the stream completes."""
        return super().feed(_to_utf8(self._decoder.decode(b"", final=True) + "\n"))


def _to_utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _mark(error: UnicodeError) -> tuple[str, int]:
    """Decodes what is not in the encoding as a lone surrogate, which the JSON parser refuses: one bad line, no more."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udfff", error.end


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Encodes what is not in the encoding as JSON does: such a character can only stand in a string."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end].encode("utf-16-be")
    return "".join(f"\\u{missing[i : i + 2].hex()}" for i in range(0, len(missing), 2)), error.end


codecs.register_error(_NOT_IN_ENCODING, _mark)
codecs.register_error(_ESCAPE, _escape)
