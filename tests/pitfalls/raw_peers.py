"""Peers that write whatever a test wants on the wire."""

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import httpx2
from connections import PROGRAM, SECONDS_OF_PATIENCE, python

from mcp import StdioServerParameters

VERSION = "2026-07-28"
META: Mapping[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": VERSION,
}

Message = dict[str, Any]


def request(id: int, method: str, **params: Any) -> bytes:
    """A request as it should be."""
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": META}}
    return json.dumps(message).encode()


# Clients.


def answers_on_stdio(lines: Iterable[bytes]) -> list[Message]:
    """Everything that the server of `pitfall_server` writes when it reads these lines and nothing more."""
    done = subprocess.run(
        [sys.executable, PROGRAM],
        input=b"".join(line + b"\n" for line in lines),
        capture_output=True,
        timeout=SECONDS_OF_PATIENCE,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


async def post(url: str, body: bytes, **headers: str) -> httpx2.Response:
    """The server's response to a POST, with the headers of a good request and these."""
    client = httpx2.AsyncClient(timeout=SECONDS_OF_PATIENCE)
    try:
        return await client.post(url, content=body, headers={**HEADERS, **headers})
    finally:
        await client.aclose()


# Servers. Each is a list of steps for every request: what to send, where `ID` stands for the id of the request and
# `EARLIER` for that of the request before it.

Steps = list[str]

STDIO_SERVER = """
import sys
earlier = "0"
for line in sys.stdin:
    if '"method":"notifications/' in line:
        continue
    id = line.partition('"id":')[2].partition(",")[0]
    for step in STEPS[0]:
        sys.stdout.write(step.replace("ID", id).replace("EARLIER", earlier) + "\\n")
    sys.stdout.flush()
    STEPS[1:] and STEPS.pop(0)
    earlier = id
"""


def stdio_server_that_sends(*steps: Steps) -> StdioServerParameters:
    """A server on stdio that sends the first steps at the first request, and so on; the last ones from then on."""
    return python(f"STEPS = {list(steps)!r}" + STDIO_SERVER)


def http_server_that_sends(steps: Steps) -> "Callable[[Any, Any, Any], Awaitable[None]]":
    """An ASGI application that sends the steps as events at every request."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        id = json.loads((await receive())["body"])["id"]
        events = "".join(f"data: {step.replace('ID', str(id))}\n\n" for step in steps)
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": events.encode()})

    return app


# What tools/call returns; the client may then look for the tool's output schema, and finds no tools.
RESULT = (
    '{"jsonrpc":"2.0","id":ID,"result":'
    '{"resultType":"complete","content":[{"type":"text","text":"real"}],"tools":[],"ttlMs":0,"cacheScope":"private"}}'
)
