"""Reports about the stream on which servers of a session say what nobody asked for."""

import itertools
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from connections import SECONDS_OF_PATIENCE, over_http, text_of
from pitfall_server import server
from scripted_handshake_server import TOOLS_CHANGED, Ear, Script, connected, said_by, text, updated, uris
from scripted_http_server import Posted, Reply

from mcp import Client, types

pytestmark = pytest.mark.anyio

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])

# B31


async def test_b31_a_server_without_the_stream_is_asked_for_it_once(caplog: pytest.LogCaptureFixture) -> None:
    """It was asked again and again, without a word, and later calls hung."""
    script = Script()

    @script.on("tools/list")
    async def list_tools(request: Posted, reply: Reply) -> None:
        await reply.result(request, {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})

    with caplog.at_level(logging.DEBUG), anyio.fail_after(SECONDS_OF_PATIENCE):
        async with connected(script) as client:
            await script.until("GET")
            for _ in range(3):
                assert [tool.name for tool in (await client.list_tools()).tools] == ["t"]
                await anyio.sleep(0.5)

    assert script.asked["GET"] == 1
    told = [record for record in caplog.records if "offers no stream for messages of its own" in record.getMessage()]
    assert [record.levelno for record in told] == [logging.DEBUG], "405 is the specified way to say so"
    assert all(record.levelno < logging.WARNING for record in caplog.records)


# B33


async def note_and_end(times: list[float], reply: Reply, comment: bytes) -> None:
    times.append(anyio.current_time())
    await reply.open_events()
    await reply.chunk(comment)
    await reply.end()


@asyncio_only
async def test_b33_a_server_that_ends_idle_streams_is_not_asked_once_a_second() -> None:
    """It was, for as long as the client lived."""
    script = Script()
    times: list[float] = []

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await note_and_end(times, reply, b": idle\r\n\r\n")

    async with connected(script) as client:
        with anyio.move_on_after(4.5):
            await script.until("GET", 4)
        await client.session.send_ping()

    # At once, after 1 and after 3 seconds: five at most in eight.
    assert 1 <= len(times) <= 3
    gaps = [later - sooner for sooner, later in itertools.pairwise(times)]
    assert all(gap >= 0.99 * 2**number for number, gap in enumerate(gaps))


@asyncio_only
async def test_b33_the_time_to_wait_is_the_servers_to_say() -> None:
    """The same with a server that says how long it wants to be left alone."""
    script = Script()
    times: list[float] = []

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await note_and_end(times, reply, b"retry: 2200\r\n\r\n")

    with anyio.fail_after(SECONDS_OF_PATIENCE):
        async with connected(script):
            await script.until("GET", 2)

    assert times[1] - times[0] >= 2.19


# B34


class Wire:
    """Passes connections on to a server, and can cut those that carry a GET."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._carries: dict[SocketStream, bytes] = {}
        self._came = anyio.Event()
        self.gets = 0

    async def carry(self, client: SocketStream) -> None:
        server = await anyio.connect_tcp("127.0.0.1", self._port)
        async with client, server, anyio.create_task_group() as group:
            group.start_soon(self._pass, server, client)
            await self._pass(client, server, asks=True)
            group.cancel_scope.cancel()

    async def _pass(self, source: SocketStream, target: SocketStream, asks: bool = False) -> None:
        try:
            async for data in source:
                if asks:
                    self._note(source, data)
                await target.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        await target.aclose()

    def _note(self, client: SocketStream, data: bytes) -> None:
        verb = data.partition(b" ")[0]
        if verb in (b"GET", b"POST", b"DELETE"):
            self._carries[client] = verb
        if verb == b"GET":
            self.gets += 1
            self._came.set()
            self._came = anyio.Event()

    async def until_gets(self, count: int) -> None:
        while self.gets < count:
            await self._came.wait()

    async def cut_gets(self) -> None:
        for client, verb in list(self._carries.items()):
            if verb == b"GET":
                del self._carries[client]
                await client.aclose()


@asynccontextmanager
async def wired(url: str) -> AsyncGenerator[tuple[Wire, str], None]:
    """A wire to the server at a URL, and the URL of its near end."""
    wire = Wire(int(url.split(":")[2].split("/")[0]))
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, wire.carry)
        yield wire, f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/mcp"
        group.cancel_scope.cancel()


@asyncio_only
async def test_b34_a_stream_that_broke_off_is_opened_again_without_event_ids() -> None:
    """Where the server kept no events, the stream was gone for good, and with it all that the server had to say."""
    ear = Ear()
    with over_http(server.streamable_http_app()) as url, anyio.fail_after(SECONDS_OF_PATIENCE):
        async with wired(url) as (wire, near), Client(near, mode="legacy", message_handler=ear) as client:
            for cuts in range(2):
                await wire.until_gets(cuts + 1)
                assert await text_of(client, "change") == "changed"
                await ear.until(cuts + 1)
                await wire.cut_gets()

    assert ear.heard == [types.ToolListChangedNotification()] * 2


async def test_b34_nor_does_it_matter_how_the_stream_ended() -> None:
    """The same with streams that end in the middle of an event, in order, or with a server that is out for a moment."""
    script = Script()
    ear = Ear()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        if script.asked["GET"] == 2:
            await reply.send("503 Service Unavailable", headers={"retry-after": "0"})
            return
        await reply.open_events()
        await reply.event(updated(f"x://{script.asked['GET']}"))
        if script.asked["GET"] == 1:
            await reply.chunk(b"retry: 10\r\n\r\n")
            await reply.chunk(b"data: {")
            await reply.hang_up()
        elif script.asked["GET"] == 3:
            await reply.end()
        else:
            await reply.disconnected()

    with anyio.fail_after(SECONDS_OF_PATIENCE):
        async with connected(script, message_handler=ear):
            await ear.until(3)

    assert uris(ear.heard) == ["x://1", "x://3", "x://4"]


# B35


async def test_b35_the_last_event_id_survives_streams_that_bring_nothing() -> None:
    """A stream that was resumed, and broke off before any event, began anew, and what had been missed was lost."""
    script = Script()
    ear = Ear()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        if script.asked["GET"] == 1:
            await reply.chunk(b"retry: 10\r\n\r\n")
            await reply.event(TOOLS_CHANGED, id="seven")
            await reply.event(TOOLS_CHANGED)
        elif script.asked["GET"] == 4:
            await reply.event(TOOLS_CHANGED, id="eight")
            await reply.disconnected()
        elif script.asked["GET"] == 2:
            await reply.chunk(b": nothing\r\n\r\n")
        await reply.hang_up()

    with anyio.fail_after(SECONDS_OF_PATIENCE):
        async with connected(script, message_handler=ear):
            await ear.until(3)

    ids = [request.headers.get("last-event-id") for request in script.received("GET")]
    assert ids == [None, "seven", "seven", "seven"]


async def test_b35_so_it_does_for_the_stream_of_a_call() -> None:
    """The same with the answer to a call, which never came."""
    script = Script()

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.chunk(b"id: seven\r\nretry: 10\r\ndata:\r\n\r\n")
        await reply.hang_up()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        if "last-event-id" not in request.headers:
            await reply.send("405 Method Not Allowed")
            return
        await reply.open_events()
        if len(resumed()) == 3:
            await reply.event(text(script.received("tools/call")[0], "done"))
            await reply.end()
        elif len(resumed()) == 1:
            await reply.chunk(b": nothing\r\n\r\n")
        await reply.hang_up()

    def resumed() -> list[str]:
        ids = [request.headers.get("last-event-id") for request in script.received("GET")]
        return [id for id in ids if id is not None]

    with anyio.fail_after(SECONDS_OF_PATIENCE):
        async with connected(script, validate_output="off") as client:
            assert await said_by(client, "any") == "done"

    assert resumed() == ["seven"] * 3
    assert script.asked["tools/call"] == 1
