"""The end of requests that wait beyond their bound."""

import asyncio
import math

import pytest

from mcp.engine.expiry import Expiry


class Waiting:
    """A request, as its table sees it."""

    def __init__(self) -> None:
        self.bound = self.deadline = math.inf
        self.expired = asyncio.Event()

    def expire(self) -> None:
        self.expired.set()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_each_request_ends_at_its_own_bound() -> None:
    table: dict[int, Waiting] = {}
    expiry = Expiry(table)
    for id, bound in enumerate((0.15, 0.05, 0.1)):
        table[id] = Waiting()
        assert expiry.watches(table[id], bound)
    order: list[int] = []

    async def wait(id: int) -> None:
        await table[id].expired.wait()
        order.append(id)
        del table[id]

    await asyncio.gather(*map(wait, range(3)))
    assert order == [1, 2, 0]


@pytest.mark.anyio
async def test_a_request_that_was_answered_is_left_alone() -> None:
    answered, other = Waiting(), Waiting()
    table = {1: answered, 2: other}
    expiry = Expiry(table)
    expiry.watches(answered, 0.01)
    del table[1]
    expiry.watches(other, 0.05)
    await other.expired.wait()
    assert not answered.expired.is_set()


@pytest.mark.anyio
async def test_one_timer_serves_any_number_of_requests() -> None:
    loop = asyncio.get_running_loop()
    table = {id: Waiting() for id in range(1000)}
    expiry = Expiry(table)
    before = len(loop._scheduled)  # type: ignore[attr-defined]
    for request in table.values():
        expiry.watches(request, 300)
    assert len(loop._scheduled) == before + 1  # type: ignore[attr-defined]
    expiry.close()


@pytest.mark.anyio
async def test_nothing_fires_after_the_end() -> None:
    request = Waiting()
    expiry = Expiry({1: request})
    expiry.watches(request, 0.01)
    expiry.close()
    await asyncio.sleep(0.05)
    assert not request.expired.is_set()


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_on_trio_the_caller_has_to_see_to_it(anyio_backend: str) -> None:
    assert not Expiry({}).watches(object.__new__(Waiting), 1)
