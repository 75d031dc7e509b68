"""Fixtures for every test, and a bound that nothing escapes."""

import faulthandler
import os
from collections.abc import Generator
from typing import Any

import pytest

SECONDS_TO_GIVE_UP = 60
"""How long a test may go on behind its time limit, which a clean-up that nothing can cancel ignores."""

_STDERR = os.dup(2)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Asynchronous tests run on both event loops."""
    return request.param


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Ends the process, with every thread's stack, where a test's own time limit could not end it."""
    marker = item.get_closest_marker("timeout")
    seconds = float(marker.args[0] if marker is not None and marker.args else item.config.getini("timeout"))
    faulthandler.dump_traceback_later(seconds + SECONDS_TO_GIVE_UP, exit=True, file=_STDERR)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
