"""Fixtures for the tests of what users reported."""

from pathlib import Path
from typing import Any

import pytest
from connections import Transport
from eras import ERAS, Era


@pytest.fixture(params=["memory", "stdio", "http"])
def transport(request: pytest.FixtureRequest) -> Transport:
    """A report is about what users do, so it is tried on every way to reach a server."""
    return request.param


@pytest.fixture(params=ERAS, ids=[era.version for era in ERAS])
def era(request: pytest.FixtureRequest) -> Era:
    """What depends on the protocol is tried in both of its eras."""
    return request.param


@pytest.fixture
def mode(era: Era) -> str:
    """The `mode` of a client of that era."""
    return era.mode


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what runs on trio and has a process or a socket in between.

    A report is about what travels. How each event loop reaches the other end is tested with the transports, and each of
    these starts a process.
    """
    left_out = [item for item in items if _is_far_and_on_trio(item)]
    config.hook.pytest_deselected(items=left_out)
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]


def _is_far_and_on_trio(item: pytest.Item) -> bool:
    params: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    far = params.get("transport") in ("stdio", "http")
    return far and params.get("anyio_backend") == "trio" and Path(__file__).parent in item.path.parents
