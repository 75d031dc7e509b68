"""Reports about connections that fail, or are given up, and what they leave behind."""

import asyncio
import gc
import io
import os
import socket
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from connections import SECONDS_OF_PATIENCE, over_http

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.server import Server

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def broken(server: Server[Any]) -> AsyncGenerator[dict[str, Any], None]:
    raise ConnectionError("no database")
    yield {}


@asynccontextmanager
async def broken_at_exit(server: Server[Any]) -> AsyncGenerator[dict[str, Any], None]:
    yield {}
    raise ConnectionError("the database is gone")


@asynccontextmanager
async def endless(server: Server[Any]) -> AsyncGenerator[dict[str, Any], None]:
    await anyio.sleep(600)
    yield {}


@asynccontextmanager
async def broken_transport() -> AsyncGenerator[Any, None]:
    raise OSError("no such transport")
    yield


async def not_found(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"nothing here"})


# B25

UNREACHABLE: dict[str, Callable[[], Any]] = {
    "a script that does not exist": lambda: stdio_client(
        StdioServerParameters(command=sys.executable, args=["nope.py"]), io.StringIO()
    ),
    "a command that does not exist": lambda: StdioServerParameters(command="no-such-command"),
    "a port that is closed": lambda: "http://127.0.0.1:1/mcp",
    "a lifespan that fails": lambda: Server("s", lifespan=broken),
    "a lifespan that fails at exit": lambda: Server("s", lifespan=broken_at_exit),
    "a transport that fails": broken_transport,
    "no server at all": lambda: 5,
}


@pytest.mark.parametrize("target", UNREACHABLE.values(), ids=UNREACHABLE)
async def test_b25_after_a_failed_connection_the_task_goes_on_as_before(target: Callable[[], Any], mode: str) -> None:
    """After a connection had failed, every await of the task was cancelled, long after the error was handled."""
    for _ in range(2):
        with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(Exception) as caught:
            async with Client(target(), mode=mode):
                pass
        assert not isinstance(caught.value, AssertionError)
        # What has failed is told, and not that it failed in some task group.
        assert not hasattr(caught.value, "exceptions")

    with anyio.move_on_after(SECONDS_OF_PATIENCE) as scope:
        await anyio.sleep(0.05)
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 0)
        async with Client(Server("works"), mode=mode) as client:
            assert client.protocol_version
    assert not scope.cancel_called


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_b25_after_a_refused_connection_the_task_goes_on_as_before(mode: str) -> None:
    """The same where something answers, but not as a server should."""
    with over_http(not_found) as url, anyio.fail_after(SECONDS_OF_PATIENCE):
        with pytest.raises(Exception, match="404"):
            async with Client(url, mode=mode):
                pytest.fail("there is no server")
        await asyncio.sleep(0.05)
        task = asyncio.current_task()
        assert task is not None
        if sys.version_info >= (3, 11):
            assert task.cancelling() == 0


# B26


@asynccontextmanager
async def silent_listener() -> AsyncGenerator[str, None]:
    """A URL where connections are taken and nothing is ever answered."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("kind", ["memory", "stdio", "http"])
async def test_b26_connects_that_are_cancelled_leave_nothing_behind(kind: str, mode: str) -> None:
    """Each connect that was given up left a task, and with it the whole client."""
    silent = StdioServerParameters(command="sh", args=["-c", "cat >/dev/null"])
    async with silent_listener() as url:
        targets: dict[str, Callable[[], Any]] = {
            "memory": lambda: Server("s", lifespan=endless),
            "stdio": lambda: stdio_client(silent, io.StringIO()),
            "http": lambda: url,
        }
        await _connect_in_vain(targets[kind], mode)  # loads what is loaded once
        before = _left_behind()
        with anyio.fail_after(2 * SECONDS_OF_PATIENCE):
            for _ in range(50):
                await _connect_in_vain(targets[kind], mode)
        # Threads that were told to stop may take a moment.
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            while any(now > then for now, then in zip(_left_behind(), before, strict=True)):
                await anyio.sleep(0.05)


async def _connect_in_vain(target: Callable[[], Any], mode: str) -> None:
    with anyio.move_on_after(0.02) as scope:
        async with Client(target(), mode=mode):
            pytest.fail("nothing answered")
    assert scope.cancelled_caught


def _left_behind() -> tuple[int, int, int, int]:
    """How many tasks, clients, threads and open descriptors there are."""
    gc.collect()
    clients = sum(type(value) is Client for value in gc.get_objects())
    descriptors = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    return len(anyio.get_running_tasks()), clients, threading.active_count(), descriptors
