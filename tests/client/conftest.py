"""Where the house stands: the same server in this process, behind a pipe, and behind HTTP."""

import sys
from collections.abc import Iterator
from pathlib import Path

import house
import pytest
from house import Target
from served_app import served

from mcp import StdioServerParameters


@pytest.fixture(scope="session")
def house_url() -> Iterator[str]:
    """The URL of the house."""
    with served(house.build().streamable_http_app()) as origin:
        yield f"{origin}/mcp"


@pytest.fixture(scope="session", params=["memory", "stdio", "http"])
def target(request: pytest.FixtureRequest) -> Target:
    """What a client is given to reach the house."""
    if request.param == "memory":
        return house.build()
    if request.param == "stdio":
        return StdioServerParameters(command=sys.executable, args=[str(Path(house.__file__))])
    return request.getfixturevalue("house_url")
