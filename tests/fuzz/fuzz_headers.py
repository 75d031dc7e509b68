"""The `headers` and `params` targets: values of `Mcp-Name` and `Mcp-Param-*`, and the arguments they are held against.

What a header may mean is worked out here a second time, by other means, so that one that is wrongly accepted shows.
"""

import re
from binascii import a2b_base64, b2a_base64
from decimal import Decimal
from random import Random
from typing import Any, Final

from fuzz_parsers import target

from mcp.protocol.headers import decode_header_value, encode_header_value
from mcp.protocol.param_headers import check_param_headers, param_headers

VALUES: Final = (
    b"us-west1",
    b"=?base64?SGVsbG8sIOS4lueVjA==?=",
    b"=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
    b"=?base64?bGluZTEKbGluZTI=?=",
    b"=?base64?IA==?=",
    b"=?base64??=",
    b"file:///a b.txt",
    b"42.0",
    b"-7",
    b"9007199254740991",
    b"true",
)
FRAGMENTS: Final = (
    *(b"=?base64?", b"=?BASE64?", b"?=", b"=", b"==", b"?", b" ", b"\t", b"\r\n", b"\x00", b"\x7f", b"\xe9", b"\xa0"),
    *(b"/w==", b"7aCA", b"wIA=", b"SGVsbG8", b"SGVsbG9=", b"-_", b"+/", b"\n"),
    *(b"0", b".0", b"1e1", b"E+999", b"e-1", b"-", b"+", b"_", b"0x1", b"NaN", b"Infinity", b"\xb2", b"9" * 400),
    *(b"True", b"false", b"1"),
)
CANONICAL: Final = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?")
NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
MAP: Final[dict[tuple[str, ...], str]] = {("outer", "x"): "X"}


def meaning(header: bytes) -> str | None:
    """What a header line says, by the letter of the specification; None where it may not stand there."""
    header = header.strip(b" \t")
    if any(byte != 0x09 and not 0x20 <= byte <= 0x7E for byte in header):
        return None
    if not (header[:9] == b"=?base64?" and header[-2:] == b"?=" and len(header) >= 11):
        return header.decode("ascii")
    payload = header[9:-2]
    if CANONICAL.fullmatch(payload) is None:
        return None
    raw = a2b_base64(payload)
    try:
        # Bits that the last letter has too many of must be zero.
        return raw.decode("utf-8") if b2a_base64(raw, newline=False) == payload else None
    except UnicodeDecodeError:
        return None


@target("headers", VALUES, FRAGMENTS)
def check_headers(data: bytes, _random: Random) -> None:
    """Any header has one value or none, and a value is sent in a form that is read back as it was."""
    value = decode_header_value(data.decode("latin-1"))
    assert value == meaning(data)
    if value is not None:
        header = encode_header_value(value)
        assert header.isascii()
        assert header.isprintable()
        assert header == header.strip()
        assert decode_header_value(header) == value


@target("params", VALUES, FRAGMENTS)
def check_params(data: bytes, random: Random) -> None:
    """A header is accepted if it says what the argument says, and the client's own header always is."""
    value = _argument(data, random)
    accepted = _accepts(value, data)
    text = meaning(data)
    if isinstance(value, bool):
        assert accepted == (text == ("true" if value else "false"))
    elif isinstance(value, str):
        assert accepted == (text == value)
    elif isinstance(value, int):
        assert not accepted or _is_number(text, value)
        assert accepted or abs(value) >= 2**53 or text != str(value)
    else:
        assert not accepted
    if isinstance(value, str | int) and (isinstance(value, str) or abs(value) < 2**53):
        [(name, header)] = param_headers(MAP, {"outer": {"x": value}}).items()
        assert name == "Mcp-Param-X"
        assert _accepts(value, header.encode("ascii"))


def _argument(data: bytes, random: Random) -> Any:
    """An argument that the header may well be about, or just miss."""
    text = meaning(data)
    near = data.decode("latin-1") if text is None else text
    careless = _read_carelessly(data)
    number = int(near) if re.fullmatch(r"-?\d{1,30}", near, re.ASCII) else random.choice((42, 0, -7, 2**53, 1))
    return random.choice(
        (careless, near, near.strip(), near + "\t", near.upper(), data.decode("latin-1"), number, True, False, None)
    )


def _read_carelessly(header: bytes) -> str:
    """What a decoder that overlooks damage would make of the header."""
    payload = re.sub(rb"[^A-Za-z0-9+/]", b"", header.strip().removeprefix(b"=?base64?"))
    return a2b_base64(payload[: len(payload) & ~3] or b"IA==").decode("utf-8", "replace")


def _accepts(value: Any, header: bytes) -> bool:
    headers = {"mcp-param-x": header.decode("latin-1")}
    return check_param_headers(MAP, {"outer": {"x": value}}, headers) is None


def _is_number(text: str | None, value: int) -> bool:
    return text is not None and NUMBER.fullmatch(text) is not None and Decimal(text) == value
