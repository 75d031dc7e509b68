"""Links over descriptors: the same behaviour whichever way the bytes are read and written."""

import os
import select
import socket
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import aclosing
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from mcp.engine.bytelink import CLOSE_TIMEOUT, HIGH_WATER, READ_AHEAD, ByteLink
from mcp.engine.descriptors import open_byte_link, private_duplicate
from mcp.engine.fdlink import FdLink
from mcp.engine.link import Frame
from mcp.engine.threadlink import ThreadLink

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="pipes that can be watched")]


class Peer:
    """The other ends of a link's two pipes, as raw descriptors."""

    def __init__(self) -> None:
        self.link_reads, self.writes = os.pipe()
        self.reads, self.link_writes = os.pipe()

    def write(self, data: bytes) -> None:
        os.write(self.writes, data)

    async def read(self, size: int) -> bytes:
        """Exactly `size` bytes, in a thread, so that the link can write on meanwhile."""
        data = bytearray()
        while len(data) < size:
            chunk = await anyio.to_thread.run_sync(os.read, self.reads, min(65536, size - len(data)))
            assert chunk, f"the link has closed its side after {bytes(data)!r}"
            data += chunk
        return bytes(data)

    def close_writing(self) -> None:
        os.close(self.writes)
        self.writes = -1

    def close_reading(self) -> None:
        os.close(self.reads)
        self.reads = -1

    def close(self) -> None:
        for fd in (self.writes, self.reads):
            if fd >= 0:
                os.close(fd)


@pytest.fixture
def peer() -> Generator[Peer, None, None]:
    peer = Peer()
    yield peer
    peer.close()


def polled(peer: Peer) -> ByteLink:
    return FdLink(peer.link_reads, peer.link_writes)


def nonblocking(peer: Peer) -> ByteLink:
    os.set_blocking(peer.link_writes, False)
    return FdLink(peer.link_reads, peer.link_writes, nonblocking=True)


def threads(peer: Peer) -> ByteLink:
    return ThreadLink(peer.link_reads, peer.link_writes)


Opener = Callable[[Peer], ByteLink]


@pytest.fixture(params=[polled, nonblocking, threads])
def opener(request: pytest.FixtureRequest) -> Opener:
    return request.param


async def receive(link: ByteLink, count: int) -> list[Frame]:
    frames: list[Frame] = []
    while len(frames) < count:
        frames += await link.receive()
    return frames


async def send_for_ever(link: ByteLink) -> None:
    while True:
        link.send(b"hello")
        await link.drain()
        await anyio.lowlevel.checkpoint()


def write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def write_lines(peer: Peer, count: int) -> None:
    """Writes lines of a kilobyte each."""
    write_all(peer.writes, (b"x" * 1023 + b"\n") * count)


async def test_frames_arrive_whole_and_in_order(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    peer.write(b"one\ntwo\nth")
    assert await receive(link, 2) == [b"one", b"two"]

    peer.write(b"ree\n")
    assert await receive(link, 1) == [b"three"]

    await link.aclose()


async def test_frames_are_written_as_lines_in_order(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    link.send(b"one")
    link.send(b"two")
    assert await peer.read(8) == b"one\ntwo\n"

    link.send(b"three")
    assert await peer.read(6) == b"three\n"

    await link.aclose()


async def test_an_echo_keeps_up(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    for number in range(100):
        message = f"message {number}\n".encode()
        peer.write(message)
        for frame in await link.receive():
            assert isinstance(frame, bytes)
            link.send(frame)
        assert await peer.read(len(message)) == message

    await link.aclose()


async def test_what_is_sent_in_one_turn_of_the_loop_is_one_write() -> None:
    # A socket of this kind keeps the borders between writes.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        link = FdLink(os.dup(ours.fileno()), os.dup(ours.fileno()))
        for number in range(10):
            link.send(b"%d" % number)
        await link.drain()
        await link.end_writing()

        assert theirs.recv(1000) == b"".join(b"%d\n" % number for number in range(10))
        await link.aclose()


@pytest.mark.parametrize("opener", [polled, nonblocking])
async def test_what_fills_a_write_is_written_within_the_turn(peer: Peer, opener: Opener) -> None:
    async with aclosing(opener(peer)) as link:
        frame = b"x" * 99
        for _ in range(select.PIPE_BUF // 100 + 1):
            link.send(frame)
        assert len(os.read(peer.reads, 1 << 16)) > select.PIPE_BUF
        link.send(frame)
        assert await peer.read(100) == frame + b"\n"


async def test_the_peers_end_is_the_end(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    peer.write(b"one\ntwo")
    peer.close_writing()

    assert await receive(link, 2) == [b"one", b"two"]
    with pytest.raises(anyio.EndOfStream):
        await link.receive()
    with pytest.raises(anyio.EndOfStream):
        await link.receive()

    await link.aclose()


async def test_after_the_peers_end_answers_can_still_be_written(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    peer.close_writing()
    with pytest.raises(anyio.EndOfStream):
        await link.receive()

    link.send(b"answer")

    assert await peer.read(7) == b"answer\n"
    await link.aclose()


async def test_a_peer_that_no_longer_reads_breaks_the_link_after_what_it_wrote(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    peer.close_reading()
    peer.write(b"last words\n")
    with anyio.fail_after(10):
        with pytest.raises(anyio.BrokenResourceError):
            await send_for_ever(link)

        assert await receive(link, 1) == [b"last words"]
        if isinstance(link, FdLink):
            with pytest.raises(anyio.EndOfStream):
                await link.receive()

    await link.aclose()


async def test_closing_writes_what_is_queued(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    link.send(b"goodbye")
    await link.aclose()

    assert await peer.read(8) == b"goodbye\n"
    assert await anyio.to_thread.run_sync(os.read, peer.reads, 1) == b""


async def test_a_closed_link_refuses_and_has_ended(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    await link.aclose()
    await link.aclose()

    with pytest.raises(anyio.ClosedResourceError):
        link.send(b"too late")
    with pytest.raises(anyio.EndOfStream):
        await link.receive()
    await link.drain()


async def test_closing_wakes_the_receiver(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    ended = anyio.Event()

    async def receiver() -> None:
        with pytest.raises(anyio.EndOfStream):
            await link.receive()
        ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(receiver)
        await anyio.wait_all_tasks_blocked()
        await link.aclose()
        with anyio.fail_after(5):
            await ended.wait()


async def test_a_second_receiver_is_refused(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    async with anyio.create_task_group() as group:
        group.start_soon(receive, link, 1)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(anyio.BusyResourceError):
            await link.receive()
        peer.write(b"one\n")

    await link.aclose()


async def test_a_cancelled_receiver_loses_nothing(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    async with anyio.create_task_group() as group:
        group.start_soon(receive, link, 1)
        await anyio.wait_all_tasks_blocked()
        peer.write(b"one\n")
        group.cancel_scope.cancel()

    assert await receive(link, 1) == [b"one"]
    await link.aclose()


async def test_a_peer_that_does_not_read_holds_up_drain_but_not_the_loop(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    frame = b"x" * (2 * HIGH_WATER)
    link.send(frame)
    drained = anyio.Event()

    async def drainer() -> None:
        await link.drain()
        drained.set()

    async with anyio.create_task_group() as group:
        group.start_soon(drainer)
        await anyio.wait_all_tasks_blocked()
        assert not drained.is_set()

        assert await peer.read(len(frame) + 1) == frame + b"\n"
        with anyio.fail_after(5):
            await drained.wait()

    await link.aclose()


async def test_closing_does_not_wait_for_ever_for_a_peer_that_does_not_read(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    link.send(b"x" * 1_000_000)
    with anyio.fail_after(CLOSE_TIMEOUT + 5):
        await link.aclose()


async def test_a_cancelled_close_still_closes(peer: Peer) -> None:
    link = polled(peer)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await link.aclose()

    assert await anyio.to_thread.run_sync(os.read, peer.reads, 1) == b""


async def test_messages_of_24_megabytes_pass_both_ways(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    message = os.urandom(12 * 1024 * 1024).hex().encode()

    async with anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, write_all, peer.writes, message + b"\n")
        assert await receive(link, 1) == [message]
    link.send(message)
    assert await peer.read(len(message) + 1) == message + b"\n"

    await link.aclose()


async def test_inherited_descriptors_stay_in_blocking_mode(peer: Peer) -> None:
    shared = os.dup(peer.link_writes)
    link = polled(peer)
    link.send(b"x" * 1_000_000)
    await anyio.wait_all_tasks_blocked()

    assert os.get_blocking(shared)
    os.close(shared)
    peer.close_reading()
    await link.aclose()


async def test_reading_stops_while_nobody_takes_what_has_arrived(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    count = 2 * READ_AHEAD // 1024
    written = anyio.Event()

    async def writer() -> None:
        await anyio.to_thread.run_sync(write_lines, peer, count)
        written.set()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(writer)
            while link._inbox.backlog <= READ_AHEAD:
                await anyio.lowlevel.checkpoint()
            assert not written.is_set()
            assert len(await receive(link, count)) == count
            await written.wait()

    await link.aclose()


async def test_a_link_that_discards_has_ended_but_reads_on(peer: Peer, opener: Opener) -> None:
    link = opener(peer)
    peer.write(b"one\n")
    link.discard()
    with pytest.raises(anyio.EndOfStream):
        await link.receive()

    async with aclosing(link):
        with anyio.fail_after(10):
            await anyio.to_thread.run_sync(write_lines, peer, 2 * READ_AHEAD // 1024, abandon_on_cancel=True)


async def test_pipes_and_sockets_are_watched(peer: Peer) -> None:
    piped = open_byte_link(peer.link_reads, peer.link_writes)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connected = open_byte_link(os.dup(ours.fileno()), os.dup(ours.fileno()))

    assert isinstance(piped, FdLink)
    assert isinstance(connected, FdLink)
    await piped.aclose()
    await connected.aclose()


async def test_files_and_devices_are_served_by_threads(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"one\ntwo\n")
    with tempfile.TemporaryFile() as output:
        link = open_byte_link(os.open(tmp_path / "in", os.O_RDONLY), os.dup(output.fileno()))
        assert isinstance(link, ThreadLink)
        assert await receive(link, 2) == [b"one", b"two"]
        link.send(b"three")
        await link.aclose()
        output.seek(0)
        assert output.read() == b"three\n"

    empty = open_byte_link(os.open(os.devnull, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY))
    with pytest.raises(anyio.EndOfStream):
        await empty.receive()
    await empty.aclose()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_private_duplicate_of_a_pipe_has_a_mode_of_its_own(peer: Peer) -> None:
    for fd, flags in ((peer.link_reads, os.O_RDONLY), (peer.link_writes, os.O_WRONLY)):
        duplicate, is_nonblocking = private_duplicate(fd, flags)
        assert is_nonblocking
        assert (os.get_blocking(fd), os.get_blocking(duplicate), os.get_inheritable(duplicate)) == (True, False, False)
        os.close(duplicate)
        os.close(fd)


def test_the_private_duplicate_of_anything_else_is_a_plain_one() -> None:
    with tempfile.TemporaryFile() as file:
        duplicate, is_nonblocking = private_duplicate(file.fileno(), os.O_RDONLY)
        assert not is_nonblocking
        assert os.path.sameopenfile(duplicate, file.fileno())
        os.close(duplicate)
