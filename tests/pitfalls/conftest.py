"""Fixtures for the tests of what users reported."""

import pytest
from connections import Transport


@pytest.fixture(params=["memory", "stdio", "http"])
def transport(request: pytest.FixtureRequest) -> Transport:
    """A report is about what users do, so it is tried on every way to reach a server."""
    return request.param
