"""Which contents are text, and in which encoding."""

import codecs
import re
from typing import Final

__all__ = ["checked_encoding", "declared_charset", "encoding_for", "is_textual"]

_CHARSET: Final = re.compile(r';\s*charset\s*=\s*(?:"([^"]*)"|([^\s;"]*))', re.IGNORECASE)
_TEXTUAL: Final = frozenset({"application/json", "application/xml"})
_TEXTUAL_SUFFIXES: Final = ("+json", "+xml")


def encoding_for(mime_type: str) -> str | None:
    """The encoding of a file, by its MIME type; None for bytes.

    It is the charset that the type declares, or else UTF-8 for types that are text, with or without a byte order mark.

    Args:
        mime_type: With or without parameters.
    """
    return declared_charset(mime_type) or ("utf-8-sig" if is_textual(mime_type) else None)


def declared_charset(mime_type: str) -> str | None:
    """The `charset` parameter of a MIME type.

    Args:
        mime_type: With or without parameters.
    """
    found = _CHARSET.search(mime_type)
    return (found[1] or found[2] or None) if found else None


def is_textual(mime_type: str) -> bool:
    """Whether a MIME type is text: `text/*`, JSON and XML, and what is written in them.

    Args:
        mime_type: With or without parameters.
    """
    essence = mime_type.partition(";")[0].strip().lower()
    return essence.startswith("text/") or essence in _TEXTUAL or essence.endswith(_TEXTUAL_SUFFIXES)


def checked_encoding(encoding: str) -> str:
    """An encoding of text that Python knows, as given.

    Raises:
        ValueError: There is none of that name, or it encodes no text.
    """
    try:
        codecs.lookup(encoding)
        "".encode(encoding)
        b"".decode(encoding)
    except LookupError as error:
        raise ValueError(
            f"{encoding!r} is no text encoding: expected a name such as 'utf-8', or None for bytes"
        ) from error
    return encoding
