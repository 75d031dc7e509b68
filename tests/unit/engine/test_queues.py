"""The write queue of a link."""

import pytest

from mcp.engine.queues import Backlog, Outbox
from mcp.engine.reactor import current_reactor

pytestmark = pytest.mark.anyio


async def test_what_is_queued_is_joined_and_what_is_written_leaves_the_front() -> None:
    backlog = Backlog(current_reactor())
    outbox = Outbox(backlog)
    outbox.push((b"one ",))
    outbox.push((b"two",))
    assert (outbox.front(), backlog.size) == (b"one two", 7)

    outbox.consume(5)
    outbox.push((b" three",))
    assert (outbox.front(), backlog.size) == (b"wo", 8)

    outbox.consume(2)
    assert (outbox.front(), backlog.size) == (b" three", 6)

    outbox.clear()
    assert (outbox.front(), backlog.size) == (b"", 0)


async def test_a_large_piece_is_written_as_it_is_and_not_copied() -> None:
    large = b"x" * 1_000_000
    outbox = Outbox(Backlog(current_reactor()))
    outbox.push((large, b"\n"))
    outbox.push((b"small", b"\n"))
    assert outbox.front().obj is large

    outbox.consume(len(large))
    assert outbox.front() == b"\nsmall\n"


async def test_what_is_written_is_not_kept_in_memory() -> None:
    outbox = Outbox(Backlog(current_reactor()))
    outbox.push((b"x" * 1000,))
    outbox.consume(len(outbox.front()))

    assert outbox.front().obj == b""
