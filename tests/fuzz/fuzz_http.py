"""The `http` target: requests straight into the ASGI application, as no decent client would send them."""

import asyncio
import atexit
import json
from collections.abc import Mapping
from random import Random
from typing import Any, Final

from fuzz_parsers import target
from fuzz_server import (
    FRAGMENTS,
    LOOP,
    META,
    MOST_SECONDS,
    SERVER,
    check_answer,
    check_nothing_broke,
    distorted,
    request,
    run,
)

from mcp.protocol.codec import DecodeError, Message, Notification, Request, decode
from mcp.protocol.sse import SSEParser
from mcp.protocol.trees import is_object
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

Headers = list[tuple[bytes, bytes]]
Sent = list[dict[str, Any]]

MOST_BYTES: Final = 20_000
REFUSALS: Final = {400, 403, 404, 405, 406, 413, 415, 421}

REFUSED_UNREAD: Final = {405, 406}
"""Refusals of a POST that may be of a handshake revision: in JSON-RPC, and before the body with its id is read."""
HEADERS: Final = {
    "host": "127.0.0.1:8000",
    "content-length": "1",
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
}


def _text(message: dict[str, Any], **headers: str) -> bytes:
    """A request as text: method and path, headers, body."""
    lines = ["POST /mcp", *(f"{name}: {value}" for name, value in {**HEADERS, **headers}.items()), "", ""]
    return "\r\n".join(lines).encode() + json.dumps(message, ensure_ascii=False).encode()


def _call(tool: str, more_headers: Mapping[str, str] | None = None, **arguments: Any) -> bytes:
    headers = {"mcp-method": "tools/call", "mcp-name": tool, **(more_headers or {})}
    return _text(request(1, "tools/call", name=tool, arguments=arguments), **headers)


PLACE: Final = {"mcp-param-place": "=?base64?xb51?=", "mcp-param-number": "4"}
CORPUS: Final = (
    _text(request("a", "server/discover"), **{"mcp-method": "server/discover"}),
    _text(request(1, "tools/list"), **{"mcp-method": "tools/list", "origin": "http://localhost:8000"}),
    _call("echo", PLACE, place="žu", n=4),
    _text(request(3, "resources/read", uri="a://b"), **{"mcp-method": "resources/read", "mcp-name": "a://b"}),
    _text({"jsonrpc": "2.0", "method": "notifications/of_ours", "params": {"_meta": META}}, **{"mcp-method": "x"}),
    *map(_call, ("report", "fail", "refuse", "wait", "surrogate", "surrogate refusal", "no such tool")),
)


@target("http", CORPUS, FRAGMENTS)
def check_http(data: bytes, random: Random) -> None:
    """Every request gets one whole response, whatever it says, and the next one is served."""
    odd = random.random() < 0.5
    # Damaged text seldom gets beyond the parser, so half of the requests are well-formed, and odd in what they say.
    method, path, headers, body = _parsed(random.choice(CORPUS) if odd else data)
    if odd:
        headers, body = _distorted(headers, body, random)
    client = _Client(method, path, headers, body, random)
    run(_APPLICATION(client.scope, client.receive, client.send))
    if not client.gone:
        _check_response(client, headers, body)
    good = _Client("POST", "/mcp", *GOOD)
    run(_APPLICATION(good.scope, good.receive, good.send))
    assert check_answer(_check_response(good, *GOOD))["result"]["tools"]
    check_nothing_broke()


# Requests.


def _parsed(data: bytes) -> tuple[str, str, Headers, bytes]:
    """Whatever can be made of a text; what every HTTP server ensures holds for it."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    method, _, path = first.decode("latin-1").partition(" ")
    pairs = [line.replace(b"\n", b"").replace(b"\x00", b"").partition(b":") for line in lines]
    headers = [(name.strip().lower(), value.strip()) for name, _, value in pairs]
    return method, path, headers, body


def _distorted(headers: Headers, body: bytes, random: Random) -> tuple[Headers, bytes]:
    """A request whose body is odd, but JSON, and whose headers repeat what it says now."""
    message = distorted(json.loads(body), random)
    mirrored = dict(headers)
    if is_object(message):
        mirrored[b"mcp-method"] = _header(message.get("method"))
        params = message.get("params")
        if is_object(params):
            mirrored[b"mcp-name"] = _header(params.get("name", params.get("uri")))
    return list(mirrored.items()), json.dumps(message).encode("utf-8", "surrogatepass")


def _header(value: Any) -> bytes:
    return str(value).encode("latin-1", "replace")


class _Client:
    """One request, and what comes back. Some clients send in pieces, and some are gone before the end."""

    def __init__(self, method: str, path: str, headers: Headers, body: bytes, random: Random | None = None) -> None:
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode("latin-1", "replace"),
            "root_path": "",
            "query_string": b"",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8000),
        }
        self.sent: Sent = []
        self.gone = False
        self._pieces = [body]
        self._lasts_for = 1000
        if random is not None and random.random() < 0.2:
            place = random.randrange(len(body) + 1)
            self._pieces = [body[:place], b"", body[place:]]
            # What the framework answers at other paths is its own.
            if path == "/mcp" and random.random() < 0.2:
                self._lasts_for = random.randrange(4)

    async def receive(self) -> dict[str, Any]:
        if not self._lasts_for or self.gone:
            self.gone = True
            return {"type": "http.disconnect"}
        if not self._pieces:
            await LOOP.create_future()
        self._lasts_for -= 1
        return {"type": "http.request", "body": self._pieces.pop(0), "more_body": bool(self._pieces)}

    async def send(self, message: dict[str, Any]) -> None:
        if not self._lasts_for or self.gone:
            self.gone = True
            raise OSError("the client is gone")
        self._lasts_for -= 1
        self.sent.append(message)


def _started() -> Any:
    """The application, its lifespan entered, to be left at the end of the program."""
    app: Any = SERVER.streamable_http_app(max_request_body_size=MOST_BYTES)
    ready = LOOP.create_future()
    inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def send(message: dict[str, Any]) -> None:
        if not ready.done():
            ready.set_result(message["type"])

    inbox.put_nowait({"type": "lifespan.startup"})
    lifespan = LOOP.create_task(app({"type": "lifespan"}, inbox.get, send))
    assert LOOP.run_until_complete(ready) == "lifespan.startup.complete"

    def stop() -> None:
        inbox.put_nowait({"type": "lifespan.shutdown"})
        LOOP.run_until_complete(asyncio.wait_for(lifespan, MOST_SECONDS))
        LOOP.close()

    atexit.register(stop)
    return app


_APPLICATION: Final = _started()
GOOD: Final = _parsed(CORPUS[1])[2:]


# Responses.


def _check_response(client: "_Client", asked: Headers, body: bytes) -> bytes:
    """The body of a response; fails if it is no answer to the request with these headers and this body."""
    start, *rest = client.sent
    assert start["type"] == "http.response.start"
    assert [message["type"] for message in rest] == ["http.response.body"] * len(rest)
    assert [message.get("more_body", False) for message in rest] == [True] * (len(rest) - 1) + [False]
    headers = dict(start["headers"])
    assert all(name == name.lower() and b"\n" not in value and b"\r" not in value for name, value in headers.items())
    answer = b"".join(message.get("body", b"") for message in rest)
    assert int(headers.get(b"content-length", len(answer))) == len(answer)
    message = _message_in(body)
    status, kind = start["status"], headers.get(b"content-type", b"").partition(b";")[0]
    if status == 202:
        assert answer == b""
        assert isinstance(message, Notification)
    elif status == 307:
        assert answer == b""
    elif kind == b"text/plain":
        assert status in REFUSALS
        answer.decode("utf-8")
    elif kind == b"text/event-stream":
        assert status == 200
        _check_events(answer, message)
    else:
        assert kind == b"application/json"
        assert status == 200 or status in REFUSALS
        if client.scope["method"] != "POST" or (status in REFUSED_UNREAD and _may_be_handshake(asked)):
            assert check_answer(answer)["id"] is None
        else:
            _check_json(status, answer, message)
    return answer


def _may_be_handshake(headers: Headers) -> bool:
    version = dict(headers).get(b"mcp-protocol-version")
    return version is None or version.decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS


def _message_in(body: bytes) -> Message | DecodeError:
    try:
        return decode(body)
    except DecodeError as error:
        return error


def _check_json(status: int, answer: bytes, message: Message | DecodeError) -> None:
    checked = check_answer(answer)
    if isinstance(message, Request | DecodeError):
        assert checked["id"] == message.id
    else:
        assert status == 400
    if "result" in checked:
        assert isinstance(message, Request)


def _check_events(answer: bytes, message: Message | DecodeError) -> None:
    assert isinstance(message, Request)
    *notifications, last = [check_answer(event.raw) for event in SSEParser(None).feed(answer) if event.raw]
    assert all("method" in notification for notification in notifications)
    assert last["id"] == message.id
