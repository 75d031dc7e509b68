"""Sessions of the handshake era, opened and closed with plain HTTP and no SDK."""

import http.client
import socket
from collections.abc import Generator
from contextlib import contextmanager

from wire import HANDSHAKE, INITIALIZE, INITIALIZED, session_header

_POST_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class SessionOpener:
    """Opens and closes sessions over one keep-alive connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def open(self) -> str:
        """Initializes a session and returns its id."""
        session = self._send("POST", INITIALIZE, 200).headers["mcp-session-id"]
        self._send("POST", INITIALIZED, 202, session)
        return session

    def close(self, session: str) -> None:
        """Ends the session with a DELETE."""
        self._send("DELETE", None, 200, session)

    def disconnect(self) -> None:
        """Closes the connection; the sessions stay open."""
        self._connection.close()

    def _send(
        self, method: str, body: bytes | None, expected: int, session: str | None = None
    ) -> http.client.HTTPResponse:
        headers = _POST_HEADERS if session is None else {**_POST_HEADERS, **_of_session(session)}
        self._connection.request(method, "/mcp", body, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != expected:
            raise RuntimeError(f"{method} was answered with {answer.status} {text[:500]!r}, not {expected}")
        return answer


@contextmanager
def session_opener(port: int) -> Generator[SessionOpener, None, None]:
    """Yields an opener, and closes its connection afterwards."""
    opener = SessionOpener(port)
    try:
        yield opener
    finally:
        opener.disconnect()


def open_get_stream(port: int, session: str) -> socket.socket:
    """Opens the session's standalone stream and returns its socket once the answer has begun."""
    stream = socket.create_connection(("127.0.0.1", port), timeout=60)
    headers = {"host": f"127.0.0.1:{port}", "accept": "text/event-stream", **_of_session(session)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    stream.sendall(f"GET /mcp HTTP/1.1\r\n{lines}\r\n".encode())
    answer = stream.recv(4096)
    if not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"GET was answered with {answer[:500]!r}")
    return stream


def _of_session(session: str) -> dict[str, str]:
    return {"mcp-protocol-version": HANDSHAKE, **session_header(session)}
