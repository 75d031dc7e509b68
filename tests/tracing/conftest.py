"""Fixtures for the tests of tracing."""

from collections.abc import Generator

import pytest
from opentelemetry import context
from spans import Spans, installed, provider


@pytest.fixture
def spans() -> Generator[Spans, None, None]:
    """A provider is installed; this is what it exports."""
    exporter = Spans()
    with installed(provider(exporter)):
        yield exporter
    assert context.get_current() == {}, "a span is still the current one"


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """The `mode` of a client, for either era."""
    return request.param
