"""Fixtures for every test."""

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Asynchronous tests run on both event loops."""
    return request.param
