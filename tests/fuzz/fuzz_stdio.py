"""The `stdio` target: bytes in any chunks, to a server on a link that has no pipe under it."""

import json
from collections import Counter
from random import Random
from typing import Any, Final

import anyio
import anyio.lowlevel
from fuzz_parsers import target
from fuzz_server import FRAGMENTS, META, SERVER, check_answer, check_nothing_broke, distorted, request, run

from mcp.engine.lines import LineFraming
from mcp.engine.link import Frame
from mcp.engine.streams import open_streams
from mcp.protocol.codec import DecodeError, Notification, Request, RequestId, decode

MANY_LINES: Final = 30
LIMITS: Final = (100, 1000, 20_000, 1_000_000)
OPTIONS: Final = SERVER.create_initialization_options()
LAST: Final = json.dumps(request("the last one", "tools/list")).encode()


def _lines(*messages: dict[str, Any], end: bytes = b"\n") -> bytes:
    return b"".join(json.dumps(message, ensure_ascii=False).encode() + end for message in messages)


def _call(id: Any, tool: str) -> dict[str, Any]:
    return request(id, "tools/call", name=tool, arguments={"text": "žluť 😀"})


def _cancel(id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "_meta": META}}


OURS: Final[dict[str, Any]] = {"jsonrpc": "2.0", "method": "notifications/of_ours", "params": {"_meta": META}}
STRAY: Final[dict[str, Any]] = {"jsonrpc": "2.0", "id": 1, "result": {}}

CORPUS: Final = (
    _lines(request(1, "server/discover"), request(2, "tools/list")),
    _lines(_call(1, "wait"), _cancel(1), _call(1, "echo"), end=b"\r\n"),
    _lines(_call(1, "wait"), _call(1, "wait"), _call("1", "report")),
    _lines(_call(1, "report"), _cancel(1), _cancel(2)),
    _lines(_call("a", "fail"), OURS, _call("b", "refuse"), STRAY),
    _lines(_call(1, "surrogate"), request(2, "resources/read", uri="a://b"), end=b"\n\n"),
    _lines(_call(1, "surrogate refusal"), _call(2, "no such tool")),
    _lines(_call(1, "wait"), OURS, OURS, _cancel(1), _call(2, "wait"))[:-1],
    _lines({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}, STRAY),
)
MESSAGES: Final = [line for text in CORPUS for line in text.splitlines() if line]


@target("stdio", CORPUS, FRAGMENTS)
def check_stdio(data: bytes, random: Random) -> None:
    """Every request is answered once, whatever else is on the pipe, unless it was cancelled; and so is the last one."""
    lines = data.split(b"\n")
    if len(lines) > MANY_LINES and random.random() < 0.9:
        # A flood now and then is enough: it takes as long as a hundred other inputs.
        lines = lines[:MANY_LINES]
    if random.random() < 0.5:
        # Damaged text seldom gets beyond the parser, so some lines are well-formed, and odd in what they say.
        odd = json.loads(random.choice(MESSAGES))
        lines.insert(random.randrange(len(lines) + 1), json.dumps(distorted(odd, random)).encode())
    data = b"\n".join([*lines, LAST])
    link = _Link(data, random)
    run(SERVER.run(*open_streams(link), OPTIONS))
    _check_answers(link.sent, _Expected(data, link.limit))
    check_nothing_broke()


class _Link:
    """Gives the bytes in chunks, and keeps what is sent."""

    behind = False

    def __init__(self, data: bytes, random: Random) -> None:
        self.limit = max(random.choice(LIMITS), len(LAST))
        self.sent: list[bytes] = []
        self._framing = LineFraming(self.limit)
        places = sorted(random.randrange(len(data) + 1) for _ in range(random.choice((0, 1, 3, 10))))
        self._chunks = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
        self._flushed = False

    async def receive(self) -> list[Frame]:
        while self._chunks:
            await anyio.lowlevel.checkpoint()
            if frames := self._framing.feed(self._chunks.pop(0)):
                return frames
        if not self._flushed:
            self._flushed = True
            if frames := self._framing.flush():
                return frames
        raise anyio.EndOfStream

    def send(self, frame: bytes) -> None:
        assert b"\n" not in frame
        self.sent.append(frame)

    async def drain(self) -> None:
        await anyio.lowlevel.checkpoint()

    async def aclose(self) -> None: ...


class _Expected:
    """What must come back.

    Attributes:
        answers: How many answers to each id.
        too_long: How many more, of any id, for lines over the limit.
        unanswerable: How many of those lines may be broken answers, to which there is no answer.
        cancelled: The ids that may go without.
    """

    def __init__(self, data: bytes, limit: int) -> None:
        self.answers: Counter[RequestId | None] = Counter()
        self.too_long = 0
        self.unanswerable = 0
        self.cancelled: set[RequestId] = set()
        for line in data.split(b"\n"):
            if len(line) > limit:
                self.too_long += 1
                self.unanswerable += b'"result"' in line or b'"error"' in line
            elif line and not line.isspace():
                self._expect(line.removesuffix(b"\r"))

    def _expect(self, line: bytes) -> None:
        try:
            message = decode(line)
        except DecodeError as error:
            if error.response_id is None:
                self.answers[error.id] += 1
            return
        if isinstance(message, Request):
            self.answers[message.id] += 1
        elif isinstance(message, Notification) and message.method == "notifications/cancelled":
            id: Any = (message.params or {}).get("requestId")
            if type(id) in (int, str):
                self.cancelled.add(id)


def _check_answers(sent: list[bytes], expected: _Expected) -> None:
    found = Counter(answer["id"] for answer in map(check_answer, sent) if "method" not in answer)
    assert found["the last one"] == 1
    assert (expected.answers - found).keys() <= expected.cancelled
    more = sum((found - expected.answers).values())
    assert more <= expected.too_long
    assert more >= expected.too_long - expected.unanswerable or expected.cancelled
