"""What the endpoint targets share.

A server whose handlers do all that handlers may do, messages that are odd, and what must hold for answers.
"""

import asyncio
import json
import logging
from collections.abc import Coroutine
from random import Random
from typing import Any, Final, NoReturn, TypeVar

import anyio.lowlevel

from mcp import MCPError, types
from mcp.protocol.trees import is_object
from mcp.server import Server, ServerRequestContext

__all__ = [
    "FRAGMENTS",
    "LOOP",
    "META",
    "MOST_SECONDS",
    "SERVER",
    "check_answer",
    "check_nothing_broke",
    "distorted",
    "request",
    "run",
]

T = TypeVar("T")
Context = ServerRequestContext[Any]

META: Final[dict[str, Any]] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
    "progressToken": 7,
}
MOST_SECONDS: Final = 5.0
CODES: Final = {1, -32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022}


def request(id: Any, method: str, **params: Any) -> dict[str, Any]:
    """A request as it should be."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": META}}


# The server.


class Deliberate(Exception):
    """What a handler raises on purpose."""


async def _list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema={"type": "object"})])


async def _call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = params.arguments or {}
    if params.name == "fail":
        raise Deliberate
    if params.name == "refuse":
        raise MCPError(1, "refused", arguments)
    if params.name == "report":
        for number in range(3):
            await ctx.session.report_progress(number, 3, str(arguments))
    if params.name == "wait":
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
    if params.name == "surrogate refusal":
        raise MCPError(1, "\udcff", {"\udcff": arguments})
    if params.name == "surrogate":
        return types.CallToolResult(content=[types.TextContent(text="\udcff")])
    return types.CallToolResult(content=[types.TextContent(text=str(arguments)[:200])], structured_content=arguments)


async def _read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text="text")])


async def _noticed(ctx: Context, params: types.NotificationParams | None) -> None:
    raise Deliberate


def _input_schema(tool: str) -> dict[str, Any] | None:
    if tool != "echo":
        return None
    header = {"type": "string", "x-mcp-header": "Place"}
    return {"type": "object", "properties": {"place": header, "n": {"type": "integer", "x-mcp-header": "Number"}}}


SERVER: Final = Server(
    "fuzz",
    get_tool_input_schema=_input_schema,
    on_list_tools=_list_tools,
    on_call_tool=_call_tool,
    on_read_resource=_read_resource,
)
SERVER.add_notification_handler("notifications/of_ours", types.NotificationParams, _noticed)


# The loop, and whatever goes wrong in it unseen.


class _Faults(logging.Handler):
    """Takes the exceptions that are logged. One that no handler raised on purpose is a fault of the library."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[object] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, Deliberate) and "surrogate" not in str(error):
            self.seen.append(error)


_FAULTS: Final = _Faults()
for _name in ("mcp", "asyncio"):
    logging.getLogger(_name).addHandler(_FAULTS)
    logging.getLogger(_name).propagate = False

LOOP: Final = asyncio.new_event_loop()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine; one that hangs fails."""
    task = LOOP.create_task(coroutine)
    handle = LOOP.call_later(MOST_SECONDS, _hangs)
    try:
        return LOOP.run_until_complete(task)
    finally:
        handle.cancel()


def _hangs() -> NoReturn:
    raise SystemExit(f"no end within {MOST_SECONDS:g} seconds")


def check_nothing_broke() -> None:
    """Fails if an exception ended a task, or was hidden behind an answer of -32603."""
    assert not _FAULTS.seen, _FAULTS.seen


# Messages.


def check_answer(frame: bytes) -> dict[str, Any]:
    """The answer that a frame is, by a JSON parser that is not ours; fails if it is none."""
    answer: Any = _STRICT.decode(frame.decode("utf-8"))
    assert is_object(answer)
    assert answer["jsonrpc"] == "2.0"
    if "method" in answer:
        assert isinstance(answer["method"], str)
        assert answer.keys() <= {"jsonrpc", "method", "params"}
    elif "result" in answer:
        assert answer.keys() == {"jsonrpc", "id", "result"}
        assert isinstance(answer["result"], dict)
        assert isinstance(answer["id"], (int, str))
    else:
        assert answer.keys() == {"jsonrpc", "id", "error"}
        assert answer["error"].keys() <= {"code", "message", "data"}
        assert answer["error"]["code"] in CODES
        assert isinstance(answer["error"]["message"], str)
    return answer


def _refuse_constant(name: str) -> NoReturn:
    raise AssertionError(f"{name} is no JSON")


_STRICT: Final = json.JSONDecoder(parse_constant=_refuse_constant)


ODD_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1.5, 1e308, 2**63, -(2**64), 10**30, "", " ", "\x00", "é😀", "x" * 300, "2026-07-28"),
    *("1999-01-01", "2025-11-25", "tools/call", "initialize", "ping", "echo", "wait", "fail", "report"),
    *("surrogate", "surrogate refusal"),
    *([], [[]], {}, {"a": {}}, [1, "a", None], {"": None}, {"name": "x"}, {"_meta": META}, [0] * 100),
)


def distorted(message: Any, random: Random) -> Any:
    """A message with an odd value in some place, or a member too many or too few."""
    if not is_object(message) or not message or random.random() < 0.1:
        return _odd(random)
    key = "params" if "params" in message and random.random() < 0.7 else random.choice(list(message))
    if random.random() < 0.1:
        return {name: value for name, value in message.items() if name != key}
    if random.random() < 0.1:
        return {**message, random.choice(("id", "method", "params", "result", "error", "x")): _odd(random)}
    return {**message, key: distorted(message[key], random)}


def _odd(random: Random) -> Any:
    return random.choice(ODD_VALUES)


FRAGMENTS: Final = (
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b" ", b"\n", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf"),
    *(b"null", b"true", b"NaN", b"0", b"-0", b"1e999", b"1" * 400, b"1" * 4301),
    *(b"\\ud83d", b"\\u0000", b"\xed\xa0\x80"),
    *(b'"id":2,', b'"id":null,', b'"result":{},', b'"error":{"code":1,"message":""},', b'"method":"ping",'),
    *(b"[" * 150, b'{"a":' * 150, b"[" * 3000, b'"jsonrpc":"2.0",', b"\r\n\r\n", b"\n\n", b"=?base64?", b"?="),
)
