"""Fixtures for the tests of what users reported."""

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
