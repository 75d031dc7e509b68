"""Requests that are cancelled on a byte stream, and what handlers send besides their answers."""

import anyio
import pytest
from scripted_link import cancellation
from served_link import Context, answered, serving, work

pytestmark = pytest.mark.anyio


# Cancellation.


async def test_a_cancelled_request_is_never_answered_and_its_id_is_free_again() -> None:
    log: list[str] = []

    async def wait(ctx: Context, name: str) -> None:
        if name == "wait":
            try:
                await anyio.sleep_forever()
            finally:
                log.append("cancelled")

    async with serving(wait) as link:
        link.arrive(work(1, "wait"))
        await anyio.wait_all_tasks_blocked()
        link.arrive(cancellation(1))
        await anyio.wait_all_tasks_blocked()
        assert log == ["cancelled"]
        link.arrive(work(1, "again"))
        assert answered(await link.next()) == (1, "again")
        assert link.sent == []


async def test_a_request_that_is_cancelled_before_it_starts_is_as_if_it_never_came() -> None:
    async def wait(ctx: Context, name: str) -> None:
        if name == "wait":
            await anyio.sleep_forever()

    async with serving(wait) as link:
        link.arrive(work(1, "wait"), cancellation(1))
        await anyio.wait_all_tasks_blocked()
        link.arrive(work(1, "again"))
        assert answered(await link.next()) == (1, "again")
        assert link.sent == []


async def test_a_handler_that_answers_in_spite_of_its_cancellation_is_not_heard() -> None:
    async def stubborn(ctx: Context, name: str) -> None:
        if name == "stubborn":
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                pass
            await ctx.session.report_progress(1)

    async with serving(stubborn) as link:
        link.arrive(work(1, "stubborn", progressToken="t"))
        await anyio.wait_all_tasks_blocked()
        link.arrive(cancellation(1))
        await anyio.wait_all_tasks_blocked()
        link.arrive(work(2, "next"))
        assert answered(await link.next()) == (2, "next")
        assert link.sent == []


async def test_only_the_named_request_is_cancelled() -> None:
    may_finish = anyio.Event()

    async def wait(ctx: Context, name: str) -> None:
        await may_finish.wait()

    async with serving(wait) as link:
        link.arrive(work(1, "one"), work("1", "text one"))
        await anyio.wait_all_tasks_blocked()
        link.arrive(cancellation("1"))
        await anyio.wait_all_tasks_blocked()
        may_finish.set()
        assert answered(await link.next()) == (1, "one")
        assert link.sent == []


@pytest.mark.parametrize("id", [99, "1", None, True, 1.0, [1], {}])
async def test_cancelling_what_does_not_run_changes_nothing(id: object) -> None:
    may_finish = anyio.Event()

    async def wait(ctx: Context, name: str) -> None:
        await may_finish.wait()

    async with serving(wait) as link:
        link.arrive(work(1, "one"))
        await anyio.wait_all_tasks_blocked()
        link.arrive(cancellation(id), b'{"jsonrpc":"2.0","method":"notifications/cancelled"}')
        await anyio.wait_all_tasks_blocked()
        may_finish.set()
        assert answered(await link.next()) == (1, "one")


# What a handler sends besides its answer.


async def test_progress_is_sent_in_order_and_before_the_answer() -> None:
    async def report(ctx: Context, name: str) -> None:
        for step in range(3):
            await ctx.session.report_progress(step)

    async with serving(report) as link:
        link.arrive(work(1, "a", progressToken="t"))
        reports = [await link.next() for _ in range(3)]
        assert [message["params"] for message in reports] == [
            {"progressToken": "t", "progress": step} for step in range(3)
        ]
        assert answered(await link.next()) == (1, "a")


async def test_what_is_sent_after_the_answer_is_dropped() -> None:
    kept: list[Context] = []

    async def keep(ctx: Context, name: str) -> None:
        kept.append(ctx)

    async with serving(keep) as link:
        link.arrive(work(1, "a", progressToken="t"))
        assert answered(await link.next()) == (1, "a")
        await kept[0].session.report_progress(1)
        assert link.sent == []


async def test_a_handler_waits_while_the_peer_is_behind() -> None:
    steps: list[int] = []

    async def report(ctx: Context, name: str) -> None:
        for step in range(2):
            await ctx.session.report_progress(step)
            steps.append(step)

    async with serving(report) as link:
        link.behind = True
        link.arrive(work(1, "a", progressToken="t"))
        await anyio.wait_all_tasks_blocked()
        assert (len(link.sent), steps) == (1, [])
        link.behind = False
        link.changed()
        await anyio.wait_all_tasks_blocked()
        assert (len(link.sent), steps) == (3, [0, 1])


async def test_a_peer_that_no_longer_reads_ends_nothing_but_its_answers() -> None:
    done: list[str] = []

    async def report(ctx: Context, name: str) -> None:
        await ctx.session.report_progress(1)
        done.append(name)

    async with serving(report) as link:
        link.reads = False
        link.arrive(work(1, "a", progressToken="t"), work(2, "b"))
        await anyio.wait_all_tasks_blocked()
        assert sorted(done) == ["a", "b"]
        link.reads = True
        link.arrive(work(3, "c"))
        assert answered(await link.next()) == (3, "c")
