"""How characters are spelled in a URI, and one spelling in which two URIs can be compared.

Specification: RFC 3986, section 2; RFC 6570, sections 1.5 and 3.1.
"""

import re
from typing import Final
from urllib.parse import quote

__all__ = ["canonical", "decode", "encode", "encode_keeping_reserved"]

_UNRESERVED_OR_RESERVED: Final = r"A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;="
_TRIPLETS: Final = r"(?:%[0-9A-Fa-f]{2})+"
_LONE_PERCENT: Final = r"%(?![0-9A-Fa-f]{2})"
_FOREIGN: Final = f"[^%{_UNRESERVED_OR_RESERVED}]+"
_is_plain: Final = re.compile(f"[{_UNRESERVED_OR_RESERVED}]*").fullmatch
_UNENCODED: Final = re.compile(f"{_FOREIGN}|{_LONE_PERCENT}")
_ENCODABLE: Final = re.compile(f"{_FOREIGN}|{_LONE_PERCENT}|{_TRIPLETS}")

_ASIDE: Final = {octet: octet + 0x100 for octet in range(0x80)}
_BACK: Final = {aside: octet for octet, aside in _ASIDE.items()}


def encode(text: str) -> str:
    """Percent-encodes all but letters, digits and `-._~`.

    Raises:
        UnicodeEncodeError: The text holds a lone surrogate.
    """
    return quote(text, safe="")


def encode_keeping_reserved(text: str) -> str:
    """Percent-encodes what no URI may hold as it is, and leaves delimiters and percent-encoded triplets alone.

    Raises:
        UnicodeEncodeError: The text holds a lone surrogate.
    """
    return _UNENCODED.sub(lambda found: quote(found[0], safe=""), text)


def canonical(text: str) -> str:
    """The one form of a URI or a part of one, with a character for each octet.

    `é` and `%c3%A9` give the same two characters. Encoded ASCII is set aside, above U+0100, so that `%2F` is never
    taken for a slash, nor the 2 in it for a digit. What is encoded without need stays apart too: `%2E` may be there to
    tell a dot from a delimiter.

    Raises:
        UnicodeEncodeError: The text holds a lone surrogate.
    """
    return text if _is_plain(text) else _ENCODABLE.sub(_octets, text)


def _octets(found: re.Match[str]) -> str:
    text = found[0]
    octets = bytes.fromhex(text.replace("%", "")) if text[0] == "%" != text else text.encode()
    return octets.decode("latin-1").translate(_ASIDE)


def decode(form: str) -> str:
    """The text of a canonical form. Octets that are no UTF-8 become U+FFFD."""
    return form if form.isascii() else form.translate(_BACK).encode("latin-1").decode("utf-8", "replace")
