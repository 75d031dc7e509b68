"""Message streams: views of a link, and links over streams of others."""

from collections.abc import Generator

import anyio
import anyio.lowlevel
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from mcp.engine.link import Frame, Link
from mcp.engine.streampair import StreamPairLink
from mcp.engine.streams import (
    LinkReadStream,
    LinkWriteStream,
    TransportStreams,
    from_frame,
    link_of,
    open_link,
    open_streams,
    to_frame,
)
from mcp.protocol.codec import DecodeError, EncodeError
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

pytestmark = pytest.mark.anyio


class LoopbackLink:
    """A link whose peer sends back what it gets."""

    behind = False

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.closed = False

    async def receive(self) -> list[Frame]:
        await anyio.lowlevel.checkpoint()
        if not self.frames:
            raise anyio.EndOfStream
        frames, self.frames = self.frames, []
        return frames

    def send(self, frame: bytes) -> None:
        self.frames.append(frame)

    async def drain(self) -> None:
        await anyio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        self.closed = True


class WrappedReadStream(LinkReadStream):
    """As instrumentation has it: a stream that sees every message."""


def notification(method: str) -> SessionMessage:
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method=method))


def frame(method: str) -> bytes:
    return b'{"jsonrpc":"2.0","method":"%s"}' % method.encode()


MESSAGES: list[tuple[bytes, JSONRPCMessage]] = [
    (
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":null}}',
        JSONRPCRequest(jsonrpc="2.0", id=1, method="m", params={"a": None}),
    ),
    (b'{"jsonrpc":"2.0","id":"1","method":"m"}', JSONRPCRequest(jsonrpc="2.0", id="1", method="m")),
    (b'{"jsonrpc":"2.0","method":"m"}', JSONRPCNotification(jsonrpc="2.0", method="m")),
    (b'{"jsonrpc":"2.0","id":1,"result":{"a":null}}', JSONRPCResponse(jsonrpc="2.0", id=1, result={"a": None})),
    (
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no","data":[1]}}',
        JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=-32700, message="no", data=[1])),
    ),
]


@pytest.mark.parametrize(("wire", "message"), MESSAGES)
def test_a_message_and_its_frame_are_the_same(wire: bytes, message: JSONRPCMessage) -> None:
    assert from_frame(wire) == SessionMessage(message)
    assert to_frame(SessionMessage(message)) == wire


def test_what_is_no_message_is_the_reason_why() -> None:
    refusal = DecodeError(-32600, "too long")

    assert from_frame(refusal) is refusal
    assert isinstance(from_frame(b"nonsense"), DecodeError)


# Views of a link.


async def test_messages_pass_through_the_views_of_a_link() -> None:
    read, write = open_streams(LoopbackLink())
    async with write, read:
        await write.send(notification("one"))
        await write.send(notification("two"))

        assert await read.receive() == notification("one")
        assert [message async for message in read] == [notification("two")]
        with pytest.raises(anyio.EndOfStream):
            await read.receive()


async def test_a_closed_view_refuses_and_leaves_the_link_open() -> None:
    link = LoopbackLink()
    read, write = open_streams(link)
    await read.aclose()
    await write.aclose()

    with pytest.raises(anyio.ClosedResourceError):
        await read.receive()
    with pytest.raises(anyio.ClosedResourceError):
        await write.send(notification("late"))
    assert not link.closed


async def test_a_message_that_json_cannot_hold_is_refused_and_the_next_one_is_sent() -> None:
    read, write = open_streams(LoopbackLink())
    with pytest.raises(EncodeError):
        await write.send(notification("\ud800"))
    await write.send(notification("next"))

    assert await read.receive() == notification("next")


def test_the_link_under_both_views_is_found() -> None:
    link = LoopbackLink()

    assert link_of(*open_streams(link)) is link


async def test_views_of_which_one_is_closed_have_no_link() -> None:
    for side in (0, 1):
        pair = open_streams(LoopbackLink())
        await pair[side].aclose()
        assert link_of(*pair) is None


async def test_views_with_a_message_at_hand_have_no_link() -> None:
    read, write = open_streams(LoopbackLink())
    await write.send(notification("one"))
    await write.send(notification("two"))
    await read.receive()

    assert link_of(read, write) is None


def test_views_of_two_links_have_no_link() -> None:
    assert link_of(LinkReadStream(LoopbackLink()), LinkWriteStream(LoopbackLink())) is None


def test_a_wrapped_view_has_no_link() -> None:
    link = LoopbackLink()

    assert link_of(WrappedReadStream(link), LinkWriteStream(link)) is None


async def test_opening_the_link_under_two_views_closes_it_in_the_end() -> None:
    link = LoopbackLink()
    async with open_link(*open_streams(link)) as opened:
        assert opened is link
        assert not link.closed

    assert link.closed


# A link over the streams of others.


class MemoryPair:
    """A pair of memory streams for a link, and their other ends."""

    def __init__(self) -> None:
        self.send: MemoryObjectSendStream[SessionMessage | Exception]
        self.send, read = anyio.create_memory_object_stream[SessionMessage | Exception]()
        self.receive: MemoryObjectReceiveStream[SessionMessage]
        write, self.receive = anyio.create_memory_object_stream[SessionMessage]()
        self.streams: TransportStreams = (read, write)

    def close(self) -> None:
        self.send.close()
        self.receive.close()


@pytest.fixture
def pair() -> Generator[MemoryPair, None, None]:
    pair = MemoryPair()
    yield pair
    pair.close()


async def test_messages_of_a_foreign_stream_are_frames(pair: MemoryPair) -> None:
    async with open_link(*pair.streams) as link, anyio.create_task_group() as group:
        assert isinstance(link, StreamPairLink)
        group.start_soon(pair.send.send, notification("one"))
        assert await link.receive() == [frame("one")]


async def test_an_exception_on_a_foreign_stream_is_a_refusal(pair: MemoryPair) -> None:
    refusal = DecodeError(-32700, "no JSON")
    failure = ValueError("bad luck")
    async with open_link(*pair.streams) as link, anyio.create_task_group() as group:
        group.start_soon(pair.send.send, refusal)
        assert await link.receive() == [refusal]
        group.start_soon(pair.send.send, failure)
        (other,) = await link.receive()
        assert isinstance(other, DecodeError)
        assert (other.message, other.__cause__) == ("bad luck", failure)


async def test_a_message_that_json_cannot_hold_is_a_refusal(pair: MemoryPair) -> None:
    async with open_link(*pair.streams) as link, anyio.create_task_group() as group:
        group.start_soon(pair.send.send, notification("\ud800"))
        assert isinstance((await link.receive())[0], DecodeError)


async def test_frames_are_sent_on_a_foreign_stream_in_order(pair: MemoryPair) -> None:
    async with open_link(*pair.streams) as link:
        for number in range(100):
            link.send(frame(str(number)))
        for number in range(100):
            assert await pair.receive.receive() == notification(str(number))


async def test_the_end_of_a_foreign_stream_is_the_end(pair: MemoryPair) -> None:
    async with open_link(*pair.streams) as link:
        await pair.send.aclose()
        with pytest.raises(anyio.EndOfStream):
            await link.receive()


async def test_a_foreign_peer_that_no_longer_receives_ends_the_link(pair: MemoryPair) -> None:
    async with open_link(*pair.streams) as link:
        await pair.receive.aclose()
        link.send(frame("lost"))
        with pytest.raises(anyio.EndOfStream):
            await link.receive()
        with pytest.raises(anyio.BrokenResourceError):
            link.send(frame("late"))


class FailingStream(LinkWriteStream):
    """A transport of the user's that has a bug."""

    async def send(self, item: SessionMessage, /) -> None:
        raise ZeroDivisionError


async def test_a_foreign_stream_that_fails_is_logged_and_ends_the_link(
    pair: MemoryPair, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_link(pair.streams[0], FailingStream(LoopbackLink())) as link:
        link.send(frame("lost"))
        with pytest.raises(anyio.EndOfStream):
            await link.receive()
    await pair.streams[1].aclose()

    assert "ZeroDivisionError" in caplog.text


async def test_drain_waits_for_a_slow_foreign_peer(pair: MemoryPair) -> None:
    drained = anyio.Event()

    async def drainer(link: Link) -> None:
        await link.drain()
        drained.set()

    async with open_link(*pair.streams) as link, anyio.create_task_group() as group:
        for _ in range(100):
            link.send(frame("x"))
        group.start_soon(drainer, link)
        await anyio.wait_all_tasks_blocked()
        assert not drained.is_set()
        for _ in range(100):
            await pair.receive.receive()
        await drained.wait()


async def test_closing_sends_what_is_queued_and_closes_the_foreign_streams(pair: MemoryPair) -> None:
    received: list[SessionMessage] = []

    async def receive_all() -> None:
        received.extend([message async for message in pair.receive])

    async with anyio.create_task_group() as group:
        group.start_soon(receive_all)
        async with open_link(*pair.streams) as link:
            link.send(frame("one"))
            link.send(frame("two"))

    assert received == [notification("one"), notification("two")]
    with pytest.raises(anyio.BrokenResourceError):
        await pair.send.send(notification("late"))


async def test_closing_wakes_the_receiver_of_a_foreign_stream(pair: MemoryPair) -> None:
    async def receive(link: Link) -> None:
        with pytest.raises(anyio.EndOfStream):
            await link.receive()

    async with open_link(*pair.streams) as link, anyio.create_task_group() as group:
        group.start_soon(receive, link)
        await anyio.wait_all_tasks_blocked()
        await link.aclose()
        with pytest.raises(anyio.ClosedResourceError):
            link.send(frame("late"))


async def fail_over(streams: TransportStreams) -> None:
    async with open_link(*streams):
        raise KeyError


async def test_a_failure_inside_comes_out_as_it_is(pair: MemoryPair) -> None:
    with pytest.raises(KeyError):
        await fail_over(pair.streams)
