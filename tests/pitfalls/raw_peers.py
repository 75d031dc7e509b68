"""Peers that write whatever a test wants on the wire."""

import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from connections import PROGRAM, SECONDS_OF_PATIENCE, python
from eras import HANDSHAKE, MODERN, Era

from mcp import StdioServerParameters

META: Mapping[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": MODERN.version,
    "io.modelcontextprotocol/clientCapabilities": {},
}
CLIENT = {"protocolVersion": HANDSHAKE.version, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": "opening", "method": "initialize", "params": CLIENT}).encode()
INITIALIZED_NOTICE = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'

Message = dict[str, Any]


def request(era: Era, id: int, method: str, **params: Any) -> bytes:
    """A request as it should be."""
    if era is MODERN:
        params["_meta"] = META
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


# Clients.


def answers_on_stdio(era: Era, lines: Iterable[bytes]) -> list[Message]:
    """Everything that the server of `pitfall_server` writes when it reads these lines and nothing more.

    A handshake comes before them where the era has one, and its answer is left out.
    """
    opening = [INITIALIZE, INITIALIZED_NOTICE] if era is HANDSHAKE else []
    done = subprocess.run(
        [sys.executable, PROGRAM],
        input=b"".join(line + b"\n" for line in [*opening, *lines]),
        capture_output=True,
        timeout=SECONDS_OF_PATIENCE,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if opening:
        assert answers.pop(0)["result"]["protocolVersion"] == era.version
    return answers


Post = Callable[..., Awaitable[httpx2.Response]]


@asynccontextmanager
async def posting(era: Era, url: str) -> AsyncGenerator[tuple[Post, dict[str, str]], None]:
    """What POSTs, with the headers of a good request and those it is given, and these headers.

    A session is open where the era has one.
    """
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    client = httpx2.AsyncClient(timeout=SECONDS_OF_PATIENCE, trust_env=False)

    async def post(body: bytes, **more: str) -> httpx2.Response:
        return await client.post(url, content=body, headers={**headers, **more})

    try:
        if era is HANDSHAKE:
            headers["mcp-session-id"] = (await post(INITIALIZE)).headers["mcp-session-id"]
            await post(INITIALIZED_NOTICE)
        headers["mcp-protocol-version"] = era.version
        yield post, headers
    finally:
        await client.aclose()


# Servers. Each is a list of steps for every request: what to send, where `ID` stands for the id of the request and
# `EARLIER` for that of the request before it. What opens a connection is answered as usual, and is no step.

Steps = list[str]

OPENINGS = {
    "initialize": '{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},'
    '"serverInfo":{"name":"raw","version":"1"}}}',
    "server/discover": '{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],'
    '"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}',
}

STDIO_SERVER = """
import sys
earlier = "0"
for line in sys.stdin:
    method = line.partition('"method":"')[2].partition('"')[0]
    if not method or method.startswith("notifications/"):
        continue
    id = line.partition('"id":')[2].partition(",")[0]
    opening = OPENINGS.get(method)
    for step in STEPS[0] if opening is None else [opening]:
        sys.stdout.write(step.replace("ID", id).replace("EARLIER", earlier) + "\\n")
    sys.stdout.flush()
    if opening is None:
        STEPS[1:] and STEPS.pop(0)
        earlier = id
"""


def stdio_server_that_sends(*steps: Steps) -> StdioServerParameters:
    """A server on stdio that sends the first steps at the first request, and so on; the last ones from then on."""
    return python(f"STEPS = {list(steps)!r}\nOPENINGS = {OPENINGS!r}" + STDIO_SERVER)


def http_server_that_sends(steps: Steps) -> "Callable[[Any, Any, Any], Awaitable[None]]":
    """An ASGI application that sends the steps as events at every request."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        message = json.loads((await receive())["body"] or "{}")
        if scope["method"] != "POST" or not {"id", "method"} <= message.keys():
            status = 202 if scope["method"] == "POST" else 405
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body"})
            return
        opening = OPENINGS.get(message["method"])
        sent = steps if opening is None else [opening]
        events = "".join(f"data: {step.replace('ID', str(message['id']))}\n\n" for step in sent)
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": events.encode()})

    return app


# What tools/call returns; the client may then look for the tool's output schema, and finds no tools.
RESULT = (
    '{"jsonrpc":"2.0","id":ID,"result":'
    '{"resultType":"complete","content":[{"type":"text","text":"real"}],"tools":[],"ttlMs":0,"cacheScope":"private"}}'
)
