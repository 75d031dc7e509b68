"""Many sessions at once whose clients misbehave: nothing may be left of them, and no call may be lost or doubled."""

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from chaos_guests import RECEIVE_BUFFER, Guest, Ledger
from peer_programs import url_of

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

GUESTS = 200
ROUNDS = 3
ROUND_SECONDS = float(os.environ.get("CHAOS_ROUND_SECONDS", "3"))
SECONDS_TO_CLEAR = 30
FLOODS = 60
GROWTH_ALLOWED = 1.10

Stats = dict[str, Any]


@pytest.fixture
def anyio_backend() -> str:
    """The load runs on one event loop; what it tests is the server, in a process of its own."""
    return "asyncio"


async def stats_when(http: httpx2.AsyncClient, url: str, condition: Callable[[Stats], bool]) -> Stats:
    """What the server tells about itself once the condition holds, or when it did not come to hold in time."""
    stats: Stats = {}
    with anyio.move_on_after(SECONDS_TO_CLEAR):
        while True:
            stats = (await http.get(url)).json()
            if condition(stats):
                break
            await anyio.sleep(0.2)
    return stats


async def fill_the_event_store(http: httpx2.AsyncClient, url: str) -> None:
    """Lets the server keep as many events as it ever will, so that its memory can be compared afterwards."""
    ledger = Ledger()
    async with anyio.create_task_group() as group:
        for seed in range(FLOODS):
            group.start_soon(Guest(http, url, ledger, random.Random(seed)).flood_and_leave)
    assert ledger.wrongs == []


async def run_round(http: httpx2.AsyncClient, url: str, ledger: Ledger, seed: int) -> None:
    end = anyio.current_time() + ROUND_SECONDS
    async with anyio.create_task_group() as group:
        for number in range(GUESTS):
            guest = Guest(http, url, ledger, random.Random(seed * GUESTS + number))
            group.start_soon(guest.stay, end)


def open_connections() -> httpx2.AsyncClient:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=GUESTS, keepalive_expiry=1)
    transport = httpx2.AsyncHTTPTransport(limits=limits, socket_options=RECEIVE_BUFFER)
    return httpx2.AsyncClient(transport=transport, timeout=60, trust_env=False)


@pytest.mark.timeout(ROUNDS * (ROUND_SECONDS + 60))
async def test_nothing_is_left_of_clients_that_misbehave() -> None:
    resident: list[int] = []
    with url_of(sys.executable, str(Path(__file__).parent / "chaos_server.py")) as url:
        http = open_connections()
        async with http:
            address = url.replace("/mcp", "/stats")
            before = await stats_when(http, address, lambda stats: True)
            await fill_the_event_store(http, url)
            for seed in range(ROUNDS):
                ledger = Ledger()
                await run_round(http, url, ledger, seed)
                after = await stats_when(
                    http,
                    address,
                    lambda stats: stats["sessions"] == before["sessions"] and stats["tasks"] <= before["tasks"],
                )
                print(f"round {seed}: {dict(sorted(ledger.outcomes.items()))}, {after['resident_bytes'] >> 20} MiB")
                assert ledger.wrongs == []
                assert ledger.outcomes["echo answered"] > 0
                assert after["errors"] == []
                assert (after["sessions"], after["tasks"]) == (before["sessions"], before["tasks"])
                resident.append(after["resident_bytes"])
    assert resident[-1] <= resident[0] * GROWTH_ALLOWED, resident
