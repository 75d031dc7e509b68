"""How a client finds out on a pipe that its server is an old one: it may answer with any error, or not at all.

Specification: basic/transports/stdio under "Backward Compatibility" (2026-07-28).
"""

import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from mcp import Client, MCPError, StdioServerParameters
from mcp.shared.exceptions import ConnectionClosedError, MalformedResultError, ProcessExitedError, RequestTimeoutError
from mcp.shared.message import SessionMessage
from mcp.types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

pytestmark = pytest.mark.anyio

MODERN = "2026-07-28"
DISCOVERED: dict[str, Any] = {"supportedVersions": [MODERN], "capabilities": {}, "resultType": "complete"}
INITIALIZED: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "serverInfo": {"name": "old", "version": "1"},
}

OLD_SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}
    elif message["method"] == "ping":
        result = {}
    elif "id" in message and len(sys.argv) > 1:
        error = {"code": int(sys.argv[1]), "message": "Unknown method"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def old_server(*args: str) -> StdioServerParameters:
    """A server that answers what it does not know with an error of this code, or else with silence."""
    return StdioServerParameters(command=sys.executable, args=["-c", OLD_SERVER, *args])


class Peer:
    """The server at the other end, as a test plays it. As a transport, it is given to a client."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.open = anyio.Event()
        self._sending: MemoryObjectSendStream[SessionMessage | Exception]
        self._receiving: MemoryObjectReceiveStream[SessionMessage]

    @asynccontextmanager
    async def transport(self) -> AsyncGenerator[Any, None]:
        self._sending, read = anyio.create_memory_object_stream[SessionMessage | Exception](100)
        write, self._receiving = anyio.create_memory_object_stream[SessionMessage](100)
        self.open.set()
        try:
            yield read, write
        finally:
            for stream in (self._sending, self._receiving, read, write):
                stream.close()

    async def next(self, method: str) -> JSONRPCRequest:
        """The next request, which is of this method."""
        while True:
            message = (await self._receiving.receive()).message
            if isinstance(message, JSONRPCRequest | JSONRPCNotification):
                self.sent.append(message.method)
            if isinstance(message, JSONRPCRequest):
                assert message.method == method
                return message

    async def answer(self, request: JSONRPCRequest, result: dict[str, Any]) -> None:
        await self._sending.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)))

    async def refuse(self, request: JSONRPCRequest, code: int, data: Any = None) -> None:
        error = ErrorData(code=code, message="No.", data=data)
        await self._sending.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=request.id, error=error)))

    def hang_up(self) -> None:
        self._sending.close()


Part = Callable[[Peer], Awaitable[None]]


async def settled(part: Part, probe_seconds: float = 0.05, **options: Any) -> tuple[str, list[str]]:
    """The revision that a client settles on with a server that plays this part, and the methods it was asked for.

    A failure of the client is raised.
    """
    peer = Peer()
    outcome: list[str | Exception] = []
    done = anyio.Event()

    async def connect() -> None:
        try:
            async with Client(peer.transport(), probe_seconds=probe_seconds, **options) as client:
                outcome.append(client.protocol_version)
                ping = anyio.create_task_group()
                async with ping:
                    ping.start_soon(client.session.send_ping)
                    await peer.answer(await peer.next("ping"), {})
        except Exception as failure:
            outcome.append(failure)
        done.set()

    async with anyio.create_task_group() as group:
        group.start_soon(connect)
        await peer.open.wait()
        await part(peer)
        await done.wait()
    if isinstance(outcome[-1], Exception):
        raise outcome[-1]
    return str(outcome[0]), peer.sent


# Real pipes.


async def test_b18_a_server_that_ignores_what_it_does_not_know_is_offered_a_handshake_after_two_seconds() -> None:
    """A new client hung on it."""
    started = time.monotonic()
    async with Client(old_server()) as client:
        taken = time.monotonic() - started
        assert client.protocol_version == "2025-06-18"
        await client.session.send_ping()
    assert 2 <= taken < 5


async def test_b18_the_time_can_be_set() -> None:
    started = time.monotonic()
    async with Client(old_server(), probe_seconds=0.1) as client:
        assert client.protocol_version == "2025-06-18"
    assert time.monotonic() - started < 1.8


@pytest.mark.parametrize("code", ["-32601", "-32602", "-32600", "-32603", "-32000", "0"])
async def test_b18_any_error_of_an_old_server_is_answered_with_a_handshake_at_once(code: str) -> None:
    started = time.monotonic()
    async with Client(old_server(code), probe_seconds=30) as client:
        assert client.protocol_version == "2025-06-18"
        await client.session.send_ping()
    assert time.monotonic() - started < 10


# Who answers when.


async def test_a_modern_server_is_not_offered_a_handshake() -> None:
    async def part(peer: Peer) -> None:
        await peer.answer(await peer.next("server/discover"), DISCOVERED)

    version, sent = await settled(part, probe_seconds=0.05)
    assert version == MODERN
    assert "initialize" not in sent


async def test_a_modern_server_that_is_slow_to_start_is_still_a_modern_one() -> None:
    async def part(peer: Peer) -> None:
        discover, initialize = await peer.next("server/discover"), await peer.next("initialize")
        await peer.answer(discover, DISCOVERED)
        await peer.refuse(initialize, -32601)

    assert (await settled(part))[0] == MODERN


async def test_a_slow_modern_server_that_refuses_the_handshake_first_is_waited_for() -> None:
    async def part(peer: Peer) -> None:
        discover, initialize = await peer.next("server/discover"), await peer.next("initialize")
        await peer.refuse(initialize, -32601)
        with anyio.move_on_after(0.1):
            await peer.next("anything")
        await peer.answer(discover, DISCOVERED)

    assert (await settled(part))[0] == MODERN


@pytest.mark.parametrize("late", [DISCOVERED, None], ids=["result", "error"])
async def test_an_old_server_that_answers_the_question_late_is_still_an_old_one(late: dict[str, Any] | None) -> None:
    async def part(peer: Peer) -> None:
        discover, initialize = await peer.next("server/discover"), await peer.next("initialize")
        await peer.answer(initialize, INITIALIZED)
        await (peer.refuse(discover, -32601) if late is None else peer.answer(discover, late))

    version, sent = await settled(part)
    assert version == "2025-06-18"
    assert sent[:2] == ["server/discover", "initialize"]
    assert "notifications/initialized" in sent


async def test_a_server_of_both_eras_that_is_slow_gives_what_it_answers_first() -> None:
    async def part(peer: Peer) -> None:
        discover, initialize = await peer.next("server/discover"), await peer.next("initialize")
        await peer.answer(discover, DISCOVERED)
        await peer.answer(initialize, INITIALIZED)

    assert (await settled(part))[0] in (MODERN, "2025-06-18")


async def test_an_answer_that_is_of_no_use_is_one_of_an_old_server() -> None:
    async def part(peer: Peer) -> None:
        await peer.answer(await peer.next("server/discover"), {})
        await peer.answer(await peer.next("initialize"), INITIALIZED)

    assert (await settled(part, probe_seconds=30))[0] == "2025-06-18"


async def test_a_server_that_names_old_revisions_is_offered_a_handshake() -> None:
    async def part(peer: Peer) -> None:
        data = {"supported": ["2025-11-25"], "requested": MODERN}
        await peer.refuse(await peer.next("server/discover"), -32022, data)
        await peer.answer(await peer.next("initialize"), INITIALIZED)

    assert (await settled(part, probe_seconds=30))[0] == "2025-06-18"


# Failures.


async def test_a_modern_error_is_final() -> None:
    async def part(peer: Peer) -> None:
        await peer.refuse(await peer.next("server/discover"), -32022, {"supported": ["2099-01-01"]})

    with pytest.raises(MCPError, match=r"^No\.$") as raised:
        await settled(part, probe_seconds=30)
    assert raised.value.code == -32022


async def test_a_server_that_hangs_up_is_gone() -> None:
    async def part(peer: Peer) -> None:
        await peer.next("server/discover")
        peer.hang_up()

    with pytest.raises(ConnectionClosedError, match="Connection closed") as raised:
        await settled(part, probe_seconds=30)
    if sys.version_info >= (3, 11):
        (note,) = raised.value.__notes__
        assert "use mode='legacy'" in note


async def test_a_server_that_ends_at_the_question_is_reached_as_the_note_says() -> None:
    question = 'elif message["method"] == "server/discover":\n        sys.exit(7)\n    '
    ends = OLD_SERVER.replace('elif "id" in message and', f'{question}elif "id" in message and')
    server = StdioServerParameters(command=sys.executable, args=["-c", ends])
    with pytest.raises(ProcessExitedError) as raised:
        async with Client(server):
            pass
    assert raised.value.exit_code == 7
    if sys.version_info >= (3, 11):
        assert "use mode='legacy'" in raised.value.__notes__[0]
    async with Client(server, mode="legacy") as client:
        assert client.protocol_version == "2025-06-18"


async def test_a_server_that_refuses_both_is_quoted_for_the_handshake() -> None:
    async def part(peer: Peer) -> None:
        await peer.refuse(await peer.next("server/discover"), -32601)
        await peer.refuse(await peer.next("initialize"), -32000, "no licence")

    with pytest.raises(MCPError) as raised:
        await settled(part)
    assert (raised.value.code, raised.value.data) == (-32000, "no licence")


async def test_a_modern_server_that_fails_is_quoted_for_that() -> None:
    async def part(peer: Peer) -> None:
        await peer.answer(await peer.next("server/discover"), {"resultType": "sulk"})
        await peer.refuse(await peer.next("initialize"), -32601)

    with pytest.raises(MalformedResultError, match="resultType 'sulk'"):
        await settled(part)


async def test_a_server_that_answers_neither_runs_into_the_limit() -> None:
    async def part(peer: Peer) -> None:
        await peer.next("server/discover")
        await peer.next("initialize")

    with pytest.raises(RequestTimeoutError, match=r"0\.2s waiting for 'server/discover'"):
        await settled(part, read_timeout_seconds=0.2)
