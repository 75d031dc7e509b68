"""The exact bytes of a `tools/call` in both eras, and of what opens a session, for drivers that use no SDK."""

import json
from collections.abc import Callable, Mapping

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"

# Six digits in every id keep each request the same length.
FIRST_ID = 100_000

_ID_MARK = 987654321
_IDENTITY = {"name": "benchmark", "version": "1"}


class CallFormat:
    """How one era writes a `tools/call` of the `shout` tool: its JSON-RPC message and its POST.

    Args:
        meta: The `_meta` of each call.
        headers: The headers that the era adds to each POST.
    """

    def __init__(self, meta: Mapping[str, object], headers: Mapping[str, str]) -> None:
        params: dict[str, object] = {"name": "shout", "arguments": {"text": f"hello {_ID_MARK}"}}
        if meta:
            params["_meta"] = meta
        request = _message("tools/call", params, id=_ID_MARK)
        self._before, self._between, self._after = request.split(str(_ID_MARK).encode())
        self._headers = headers

    def message(self, number: int) -> bytes:
        """Returns the JSON-RPC request with this id; its text argument names the id too."""
        digits = b"%d" % number
        return self._before + digits + self._between + digits + self._after

    def head(self, port: int, session: str | None = None) -> bytes:
        """Returns the head of the POST that carries any one `message`, up to and with the empty line."""
        return post_head(port, len(self.message(FIRST_ID)), {**self._headers, **session_header(session)})


def _message(method: str, params: Mapping[str, object] | None, **members: object) -> bytes:
    message = {"jsonrpc": "2.0", **members, "method": method} | ({} if params is None else {"params": params})
    return json.dumps(message, separators=(",", ":")).encode()


def session_header(session: str | None) -> dict[str, str]:
    """Returns the header that names the session, if there is one."""
    return {} if session is None else {"mcp-session-id": session}


def post_head(port: int, length: int, headers: Mapping[str, str]) -> bytes:
    """Returns the head of a POST to the endpoint, up to and with the empty line."""
    lines = {
        "host": f"127.0.0.1:{port}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        **headers,
        "content-length": str(length),
    }
    return (
        "POST /mcp HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n"
    ).encode()


def expected_text(number: int) -> bytes:
    """Returns what the answer to the call with this number, and to no other, contains."""
    return b"HELLO %d" % number


MODERN_META: dict[str, object] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": _IDENTITY,
    "io.modelcontextprotocol/clientCapabilities": {},
}
MODERN_CALLS = CallFormat(
    MODERN_META,
    {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "shout"},
)
HANDSHAKE_CALLS = CallFormat({}, {"mcp-protocol-version": HANDSHAKE})

INITIALIZE = _message("initialize", {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": _IDENTITY}, id=1)
INITIALIZED = _message("notifications/initialized", None)


def listen_request(port: int, id: str) -> bytes:
    """Returns a whole POST that opens a `subscriptions/listen` stream for changes of the list of tools."""
    return _modern_post(port, "subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id)


def publish_request(port: int) -> bytes:
    """Returns a whole POST of `bench/publish`, by which the benchmark's server tells all streams of a change."""
    return _modern_post(port, "bench/publish", {}, 1)


def _modern_post(port: int, method: str, params: dict[str, object], id: str | int) -> bytes:
    body = _message(method, {**params, "_meta": MODERN_META}, id=id)
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
    return post_head(port, len(body), headers) + body


def listing_request(port: int) -> Callable[[int], bytes]:
    """Returns what writes the whole POST of a `tools/list` request; its answer, too, holds the `expected_text`."""

    def message(number: int) -> bytes:
        return _message("tools/list", {"_meta": MODERN_META}, id=expected_text(number).decode())

    headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/list"}
    head = post_head(port, len(message(FIRST_ID)), headers)
    return lambda number: head + message(number)
