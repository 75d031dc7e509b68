"""Calling functions: where they run, and what their streams become."""

import functools
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pytest

from mcp.server.mcpserver.functions.signature import is_async_callable
from mcp.server.mcpserver.utilities.func_metadata import func_metadata
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.types import CallToolResult, TextContent

pytestmark = pytest.mark.anyio


async def call(function: Any, given: dict[str, Any] | None = None, **direct: Any) -> Any:
    metadata = func_metadata(function, skip_names=list(direct))
    arguments = metadata.validate_arguments(given or {})
    return await metadata.call_fn(function, is_async_callable(function), arguments, direct)


async def test_a_function_runs_in_a_worker_thread_and_a_coroutine_on_the_loop() -> None:
    def sync() -> int:
        return threading.get_ident()

    async def on_the_loop() -> int:
        return threading.get_ident()

    assert await call(sync) != threading.get_ident()
    assert await call(on_the_loop) == threading.get_ident()


async def test_arguments_reach_parameters_of_every_kind() -> None:
    def f(a: int, /, b: int, *, c: int, ctx: str, **more: Any) -> list[Any]:
        return [a, b, c, ctx, more]

    def g(a: int = 1, /, b: int = 2) -> list[int]:
        return [a, b]

    given = {"a": 1, "b": 2, "c": 3, "d": 4, "ctx": "forged"}
    assert await call(f, given, ctx="ctx") == [1, 2, 3, "ctx", {"d": 4}]
    assert await call(g) == [1, 2]
    assert await call(g, {"b": 3}) == [1, 3]


async def test_a_generator_is_run_to_its_end_in_its_thread() -> None:
    def count() -> Iterator[int]:
        for _ in range(2):
            yield threading.get_ident()

    threads = await call(count)
    assert len(threads) == 2
    assert threading.get_ident() not in threads


async def test_a_generator_without_end_stops_when_nobody_waits_any_more() -> None:
    stopped = threading.Event()

    def count() -> Iterator[int]:
        try:
            while True:
                time.sleep(0.001)
                yield 1
        finally:
            stopped.set()

    with anyio.move_on_after(0.05):
        await call(count)
    with anyio.fail_after(20):
        while not stopped.is_set():
            await anyio.sleep(0.01)


async def test_an_asynchronous_generator_is_run_to_its_end() -> None:
    async def count() -> AsyncIterator[int]:
        for number in range(3):
            await anyio.sleep(0)
            yield number

    assert await call(count) == [0, 1, 2]
    result = func_metadata(count).convert_result(await call(count))
    assert isinstance(result, CallToolResult)
    assert result.structured_content == {"result": [0, 1, 2]}


async def test_what_a_plain_function_gives_to_await_is_awaited() -> None:
    async def later(a: int) -> int:
        return a

    assert await call(lambda: later(1)) == 1
    assert await call(functools.partial(later), {"a": 2}) == 2


async def test_an_exception_comes_through() -> None:
    def fail() -> None:
        raise LookupError("no such book")

    with pytest.raises(LookupError, match="no such book"):
        await call(fail)


async def test_the_old_way_to_call_still_works() -> None:
    def double(a: int) -> int:
        return 2 * a

    metadata = func_metadata(double)
    with pytest.warns(MCPDeprecationWarning, match=r"Use validate_arguments\(\) and call_fn\(\)"):
        assert await metadata.call_fn_with_arg_validation(double, False, {"a": "2"}, None) == 4  # pyright: ignore[reportDeprecated]
    with pytest.warns(MCPDeprecationWarning):
        assert await metadata.call_fn_with_arg_validation(double, False, {}, None, {"a": 3}) == 6  # pyright: ignore[reportDeprecated]


def test_an_iterator_that_nobody_ran_becomes_its_items() -> None:
    def f() -> Any:
        return map(str, (1, 2))

    assert func_metadata(f).convert_result(f()) == CallToolResult(
        content=[TextContent(text="1"), TextContent(text="2")]
    )
