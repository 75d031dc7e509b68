"""As much of HTTP as it takes to meet a browser once: one request line in, one static page out."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream

__all__ = ["Page", "receive_target", "send_page"]

_MAX_HEAD_BYTES: Final = 16 * 1024

_HTML: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
    "<body><h1>{title}</h1><p>{text}</p></body></html>\n"
)
_HEAD: Final = (
    "HTTP/1.1 {status} {reason}\r\n"
    "Content-Type: text/html; charset=utf-8\r\n"
    "Content-Length: {length}\r\n"
    "Connection: close\r\n"
    "Cache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "\r\n"
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of fixed text: nothing that anybody sent is in it.

    Attributes:
        status: The status of the answer.
        title: The heading.
        text: What the user reads.
    """

    status: int
    title: str
    text: str


async def receive_target(stream: anyio.abc.ByteReceiveStream, authority: str) -> str | None:
    """The target of a GET request.

    Args:
        stream: The connection.
        authority: The host and port that the request must be for: a name that somebody else has pointed to this
            machine is not it.

    Returns:
        None where it is no such request.
    """
    try:
        head = await BufferedByteReceiveStream(stream).receive_until(b"\r\n\r\n", _MAX_HEAD_BYTES)
    except (anyio.DelimiterNotFound, anyio.IncompleteRead, anyio.BrokenResourceError):
        return None
    request, *headers = head.decode("latin-1").split("\r\n")
    match request.split(" "):
        case ["GET", target, "HTTP/1.1" | "HTTP/1.0"] if _host(headers) == authority.lower():
            return target
        case _:
            return None


async def send_page(stream: anyio.abc.ByteSendStream, page: Page) -> None:
    """Answers with a page, and that the connection ends.

    Args:
        stream: The connection. Whether anybody still listens there is none of our business.
        page: The page.
    """
    body = _HTML.format(title=page.title, text=page.text)
    head = _HEAD.format(status=page.status, reason=HTTPStatus(page.status).phrase, length=len(body))
    try:
        await stream.send((head + body).encode("ascii"))
    except anyio.BrokenResourceError:
        return


def _host(headers: list[str]) -> str | None:
    hosts = [
        value.strip().lower() for name, _, value in (line.partition(":") for line in headers) if name.lower() == "host"
    ]
    return hosts[0] if len(hosts) == 1 else None
