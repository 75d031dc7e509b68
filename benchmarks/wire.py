"""The exact bytes of a `tools/call` of the 2026-07-28 revision, for drivers that use no SDK."""

import json

VERSION = "2026-07-28"

# Six digits in every id keep each request the same length.
FIRST_ID = 100_000

_ID_MARK = 987654321
_REQUEST = {
    "jsonrpc": "2.0",
    "id": _ID_MARK,
    "method": "tools/call",
    "params": {
        "name": "shout",
        "arguments": {"text": f"hello {_ID_MARK}"},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}
_HEAD, _MIDDLE, _TAIL = json.dumps(_REQUEST, separators=(",", ":")).encode().split(str(_ID_MARK).encode())

_HEADERS = (
    "POST /mcp HTTP/1.1",
    "host: 127.0.0.1:{port}",
    "content-type: application/json",
    "accept: application/json, text/event-stream",
    f"mcp-protocol-version: {VERSION}",
    "mcp-method: tools/call",
    "mcp-name: shout",
    "content-length: {length}",
)


def call_message(number: int) -> bytes:
    """Returns the JSON-RPC request with this id; its text argument names the id too."""
    digits = b"%d" % number
    return _HEAD + digits + _MIDDLE + digits + _TAIL


def expected_text(number: int) -> bytes:
    """Returns what the answer to `call_message(number)`, and to no other call, contains."""
    return b"HELLO %d" % number


def request_head(port: int) -> bytes:
    """Returns the head of the POST that carries any one `call_message`, up to and with the empty line."""
    length = len(call_message(FIRST_ID))
    return ("\r\n".join(_HEADERS).format(port=port, length=length) + "\r\n\r\n").encode()
