"""Reports about sessions over HTTP: what they leak, what they mix up, and what ends them."""

import inspect
import logging
import socket
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
from connections import eventually
from http_sessions import HEADERS, Context, call, message, new_server, serving

from mcp.server.context import CallNext
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import JSONRPCMessage

pytestmark = pytest.mark.anyio

MODERN: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
NOT_FOUND = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Session not found"}}


@pytest.fixture
def anyio_backend() -> str:
    """The server runs in a thread of its own, whatever the test runs on."""
    return "asyncio"


# B49


async def test_sessions_that_nobody_uses_end_and_one_with_an_open_stream_does_not() -> None:
    server = new_server()

    async def one_left() -> bool:
        return server.session_manager.open_sessions == 1

    async with serving(server, session_idle_timeout=2) as client:
        listening = await client().open()
        async with listening.http.stream("GET", listening.url, headers=listening.headers) as stream:
            assert stream.status_code == 200
            peers = [await client().open() for _ in range(200)]
            assert server.session_manager.open_sessions > 100
            await eventually(one_left)
            assert (await peers[0].post(call("see"))).status_code == 404
            assert (await listening.post(call("see"))).status_code == 200


# B50


async def test_delete_drops_the_session() -> None:
    server = new_server()
    async with serving(server) as client:
        peer = await client().open()
        assert (await peer.send("DELETE")).status_code == 200
        assert server.session_manager.open_sessions == 0
        assert (await peer.post(call("see"))).status_code == 404


# B51


async def test_requests_that_are_refused_open_no_session() -> None:
    server = new_server()
    async with serving(server) as client:
        peer = client()
        refused = [
            await peer.send("GET"),
            await peer.send("GET", accept="application/json"),
            await peer.send("OPTIONS"),
            await peer.send("PUT"),
            await peer.send("DELETE"),
            await peer.post(b"{"),
            await peer.post(b"[]"),
            await peer.post(message("tools/list")),
            await peer.post(message("notifications/initialized", id=None)),
            await peer.post(message("initialize", {"protocolVersion": 5}), accept="application/json"),
            await peer.post(message("initialize", {"protocolVersion": "2025-11-25"}), content_type="text/plain"),
        ]
        assert [answer.status_code // 100 for answer in refused] == [4] * len(refused)
        broken = await peer.post(message("initialize", {"protocolVersion": 5}))
        assert broken.json()["error"]["code"] == -32602
        assert [answer for answer in [*refused, broken] if "mcp-session-id" in answer.headers] == []
        assert server.session_manager.open_sessions == 0


# B52


@pytest.mark.parametrize("stateless", [True, False])
async def test_no_session_leaves_a_task_behind(stateless: bool) -> None:
    server = new_server()
    tasks: list[int] = []
    async with serving(server, stateless_http=stateless) as client:
        for _ in range(300):
            peer = client()
            if not stateless:
                await peer.open()
            tasks.append((await peer.seen(call("see")))["tasks"])
            if not stateless:
                await peer.send("DELETE")
        assert server.session_manager.open_sessions == 0
    assert max(tasks[250:]) <= max(tasks[:50])


# B53


async def test_requests_of_a_session_do_not_outlive_their_answers() -> None:
    async with serving(new_server()) as client:
        peer = await client().open()
        before = (await peer.seen(call("contexts")))["contexts"]
        for id in range(1000):
            await peer.post(call("see", id))
        assert (await peer.seen(call("contexts")))["contexts"] == before


# B54


async def test_discovering_opens_no_session() -> None:
    server = new_server()
    headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": "server/discover"}
    async with serving(server) as client:
        for _ in range(100):
            answer = await client().post(message("server/discover", {"_meta": MODERN}), **headers)
            assert answer.json()["result"]["supportedVersions"] == ["2026-07-28"]
            assert "mcp-session-id" not in answer.headers
        assert server.session_manager.open_sessions == 0


# B55


async def test_an_unknown_session_is_a_404_that_says_so_in_json() -> None:
    async with serving(new_server()) as client:
        peer = client()
        peer.session = "0123456789abcdef"
        for answer in (await peer.post(call("see")), await peer.send("GET"), await peer.send("DELETE")):
            assert (answer.status_code, answer.json()) == (404, NOT_FOUND)


# B56


async def test_clients_that_are_gone_before_the_answer_do_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with serving(new_server()) as client:
        peer = await client().open()
        address = urlsplit(peer.url)
        assert address.hostname is not None
        assert address.port is not None
        for id in range(100):
            body = call("nap", id)
            head = {"host": address.netloc, **peer.headers, "content-length": str(len(body))}
            lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
            with socket.create_connection((address.hostname, address.port)) as connection:
                connection.sendall("\r\n".join(lines).encode() + body)
        assert (await peer.seen(call("see", 1000)))["request"] == 1000

        async def all_answered() -> bool:
            return (await peer.post(call("see", 99))).status_code == 200

        await eventually(all_answered)
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []


# B66


async def test_a_server_stops_with_many_sessions_open(caplog: pytest.LogCaptureFixture) -> None:
    server = new_server()
    async with serving(server) as client:
        for _ in range(200):
            await client().open()
        assert server.session_manager.open_sessions == 200
    assert server.session_manager.open_sessions == 0
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_no_chain_grows_with_the_requests() -> None:
    depths: list[int] = []

    async def measure(ctx: Context, call_next: CallNext) -> Any:
        frame, depth = inspect.currentframe(), 0
        while frame is not None:
            frame, depth = frame.f_back, depth + 1
        depths.append(depth)
        return await call_next(ctx)

    server = new_server()
    server.middleware.append(measure)
    async with serving(server) as client:
        peer = await client().open()
        for id in range(1500):
            await peer.post(call("see", id))
    assert max(depths[500:]) <= max(depths[:500])


# B67


async def test_what_handlers_see_is_of_their_own_request() -> None:
    async with serving(new_server()) as client:
        peers = [await client().open(), await client().open()]

        async def calls(mark: str) -> None:
            peer = peers[int(mark)]
            for id in range(500):
                tool = "nap" if id % 100 == 0 else "see"
                seen = await peer.seen(call(tool, id * 2 + int(mark)), x_mark=mark)
                assert (seen["request"], seen["mark"]) == (id * 2 + int(mark), mark)

        async with anyio.create_task_group() as group:
            group.start_soon(calls, "0")
            group.start_soon(calls, "1")


# B68


class SharedStore(EventStore):
    """One store for all sessions, that looks at nothing but the event's id."""

    def __init__(self) -> None:
        self.events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        place = int(last_event_id)
        for number, (stream, sent) in enumerate(self.events[place:], place + 1):
            if stream == self.events[place - 1][0] and sent is not None:
                await send_callback(EventMessage(sent, str(number)))
        return self.events[place - 1][0]


async def test_a_session_cannot_read_the_events_of_another() -> None:
    store = SharedStore()
    async with serving(new_server(), event_store=store) as client:
        owner, thief = await client().open(), await client().open()
        await owner.post(call("see", 77))
        for place in range(1, len(store.events) + 1):
            stolen = await thief.send("GET", **{"last-event-id": str(place)})
            if stolen.status_code != 400:
                # Its own: the answer to its own initialize.
                assert "serverInfo" in stolen.text or stolen.text == ""
            assert '"id":77' not in stolen.text
        replayed = await owner.send("GET", **{"last-event-id": str(len(store.events) - 1)})
        assert '"id":77' in replayed.text


async def test_sessions_share_no_standalone_stream() -> None:
    async with serving(new_server(), event_store=SharedStore()) as client:
        owner, other = await client().open(), await client().open()
        await owner.post(call("change"))
        await other.post(call("change"))
        for peer in (owner, other):
            async with peer.http.stream("GET", peer.url, headers={**HEADERS, **peer.headers}) as stream:
                events = ""
                async for chunk in stream.aiter_text():
                    events += chunk
                    if "list_changed" in events:
                        break
            assert events.count("list_changed") == 1
