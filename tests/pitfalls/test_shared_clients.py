"""Reports about clients that many tasks use, and that are kept open for long."""

import asyncio
import random
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from connections import (
    PROGRAM,
    SECONDS_OF_PATIENCE,
    Transport,
    exists,
    only_text,
    python,
    reachable,
    subprocess_server,
    text_of,
)
from scripted_handshake_server import Script, connected, said_by, text
from scripted_http_server import Posted, Reply

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

pytestmark = pytest.mark.anyio

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])

# B24


class Shared:
    """A client as frameworks share it: who comes first opens it, and who leaves last closes it."""

    def __init__(self, new: Callable[[], Client]) -> None:
        self._new = new
        self._client: Client | None = None
        self._users = 0
        self._lock = anyio.Lock()
        self.opened = 0

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[Client, None]:
        async with self._lock:
            if self._client is None:
                self._client = await self._new().__aenter__()
                self.opened += 1
            self._users += 1
        try:
            yield self._client
        finally:
            async with self._lock:
                self._users -= 1
                if self._users == 0:
                    await self._client.__aexit__(None, None, None)
                    self._client = None


@asyncio_only
async def test_b24_the_task_that_opens_a_client_need_not_be_the_last_to_leave_it(
    transport: Transport, mode: str
) -> None:
    """A client that was shared broke down when the task that had opened it left before the others."""
    with reachable(transport) as target:
        shared = Shared(lambda: Client(target, mode=mode))
        arrived = [anyio.Event() for _ in range(11)]

        async def use(number: int) -> None:
            async with shared.use() as client:
                arrived[number].set()
                assert await text_of(client, "echo", text=str(number)) == str(number)
                # Nobody leaves before the next has come, and everybody before the one after that.
                await arrived[number + 1].wait()

        with anyio.fail_after(SECONDS_OF_PATIENCE):
            async with anyio.create_task_group() as group:
                for number in range(10):
                    group.start_soon(use, number)
                    await arrived[number].wait()
                arrived[10].set()

    assert shared.opened == 1


@asynccontextmanager
async def wrapped(target: Any) -> AsyncGenerator[Any, None]:
    """A transport of the user's own, which can only be left in the task that entered it."""
    async with anyio.create_task_group(), stdio_client(target) as streams:
        yield streams


@asyncio_only
async def test_b24_nor_has_it_to_be_there_at_all_any_more(mode: str) -> None:
    """The same where the opener has ended, and with a transport that insists on being left where it was entered."""
    client = Client(wrapped(subprocess_server()), mode=mode)
    with anyio.fail_after(SECONDS_OF_PATIENCE):
        await asyncio.create_task(client.__aenter__())
        for number in range(3):
            assert await asyncio.create_task(text_of(client, "echo", text=str(number))) == str(number)
        pid = int(await text_of(client, "pid"))
        await asyncio.create_task(client.__aexit__(None, None, None))

    assert not exists(pid)


@asyncio_only
@pytest.mark.parametrize("seed", range(3))
async def test_b24_tasks_come_and_go_in_any_order(transport: Transport, mode: str, seed: int) -> None:
    """The same in random order, where the client is opened and closed again and again."""
    chance = random.Random(seed)
    with reachable(transport) as target:
        shared = Shared(lambda: Client(target, mode=mode))

        async def use(number: int) -> None:
            await anyio.sleep(chance.random() / 50)
            async with shared.use() as client:
                assert await text_of(client, "echo", text=str(number)) == str(number)
                await anyio.sleep(chance.random() / 100)

        with anyio.fail_after(SECONDS_OF_PATIENCE):
            async with anyio.create_task_group() as group:
                for number in range(10):
                    group.start_soon(use, number)

    assert shared.opened >= 1


# B27

POOL_SIZES: dict[Transport, int] = {"memory": 10, "http": 10, "stdio": 3}


class Pool:
    """Open clients, each of which is lent to one task at a time."""

    def __init__(self, clients: list[Client]) -> None:
        self._idle = clients
        self._free = anyio.Semaphore(len(clients))

    @asynccontextmanager
    async def borrow(self) -> AsyncGenerator[Client, None]:
        async with self._free:
            client = self._idle.pop()
            try:
                yield client
            finally:
                self._idle.append(client)


@asynccontextmanager
async def pooled(transport: Transport, mode: str) -> AsyncGenerator[Pool, None]:
    async with AsyncExitStack() as stack:
        target = stack.enter_context(reachable(transport))
        size = POOL_SIZES[transport]
        yield Pool([await stack.enter_async_context(Client(target, mode=mode)) for _ in range(size)])


async def test_b27_a_pool_of_clients_outlives_the_cancelled_calls_of_its_users(transport: Transport, mode: str) -> None:
    """A cancelled call left something behind in its client, and up to half of the later calls failed."""
    chance = random.Random(27)
    calls = iter(range(1000))
    answered: list[int] = []
    cancelled: list[int] = []

    async def work(pool: Pool) -> None:
        for call in calls:
            async with pool.borrow() as client:
                if chance.random() < 0.3:
                    with anyio.move_on_after(chance.random() / 500):
                        await client.call_tool(chance.choice(["nap", "echo"]), {"text": "given up"})
                    cancelled.append(call)
                else:
                    assert only_text(await client.call_tool("echo", {"text": str(call)})) == str(call)
                    answered.append(call)

    with anyio.fail_after(2 * SECONDS_OF_PATIENCE):
        async with pooled(transport, mode) as pool, anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(work, pool)

    assert sorted([*answered, *cancelled]) == list(range(1000))
    assert len(answered) > 600


@asyncio_only
async def test_b27_a_user_that_is_cancelled_leaves_its_client_fit_for_the_next(transport: Transport, mode: str) -> None:
    """The same where the whole task is cancelled, as web frameworks do it when a browser goes away."""
    if transport == "http" and sys.version_info < (3, 11):
        pytest.skip("on Python 3.10 anyio.connect_tcp may lose the cancellation of a task that is just connecting")
    async with pooled(transport, mode) as pool:

        async def visit() -> None:
            async with pool.borrow() as client:
                await client.call_tool("nap")

        with anyio.fail_after(SECONDS_OF_PATIENCE):
            for turn in range(50):
                visits = [asyncio.create_task(visit()) for _ in range(5)]
                await asyncio.sleep(turn % 5 / 1000)
                for task in visits:
                    task.cancel()
                assert [type(end) for end in await asyncio.gather(*visits, return_exceptions=True)] == [
                    asyncio.CancelledError
                ] * 5
                async with pool.borrow() as client:
                    assert await text_of(client, "echo", text=str(turn)) == str(turn)
        task = asyncio.current_task()
        assert task is not None
        if sys.version_info >= (3, 11):
            assert task.cancelling() == 0


# B47

STARTS_COUNTED = """
import runpy, sys
with open(sys.argv.pop(1), "a") as starts:
    starts.write("started\\n")
sys.argv.pop(0)
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def counted(starts: Path) -> StdioServerParameters:
    """A server that notes each of its starts in a file."""
    return python(STARTS_COUNTED, str(starts), PROGRAM)


async def test_b47_a_client_that_is_kept_open_starts_its_server_once(mode: str, tmp_path: Path) -> None:
    """A session, and with it a process, was opened for every call."""
    starts = tmp_path / "starts"
    async with Client(counted(starts), mode=mode) as client:
        pids = {await text_of(client, "pid") for _ in range(100)}

    assert len(pids) == 1
    assert starts.read_text() == "started\n"


@asyncio_only
async def test_b47_so_does_one_that_is_opened_in_one_task_and_used_in_many(mode: str, tmp_path: Path) -> None:
    """The same in programs whose parts share nothing but the object, and have no block to put round everything."""
    starts = tmp_path / "starts"
    client = Client(counted(starts), mode=mode)
    pids: list[str] = []

    async def use() -> None:
        pids.append(await text_of(client, "pid"))

    await asyncio.create_task(client.__aenter__())
    async with anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(use)
    await asyncio.create_task(client.__aexit__(None, None, None))

    assert (len(pids), len(set(pids))) == (100, 1)
    assert starts.read_text() == "started\n"


async def test_b47_over_http_it_opens_one_session() -> None:
    """The same over HTTP."""
    script = Script()

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.json(text(request, request.headers["mcp-session-id"]))

    with anyio.fail_after(SECONDS_OF_PATIENCE):
        async with connected(script, validate_output="off") as client:
            assert {await said_by(client, "any") for _ in range(100)} == {"session-1"}

    assert (script.asked["initialize"], script.asked["DELETE"]) == (1, 1)
