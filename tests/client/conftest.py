"""Where the house stands: the same server in this process, behind a pipe, and behind HTTP."""

import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import house
import pytest
import uvicorn
from house import Target

from mcp import StdioServerParameters


@pytest.fixture(scope="session")
def house_url() -> Iterator[str]:
    """The URL of the house."""
    # Bound and listening before the server runs, so that nobody has to wait for it.
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = uvicorn.Server(
        uvicorn.Config(house.build().streamable_http_app(), log_level="warning", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{port}/mcp"
    server.should_exit = True
    thread.join()
    listener.close()


@pytest.fixture(scope="session", params=["memory", "stdio", "http"])
def target(request: pytest.FixtureRequest) -> Target:
    """What a client is given to reach the house."""
    if request.param == "memory":
        return house.build()
    if request.param == "stdio":
        return StdioServerParameters(command=sys.executable, args=[str(Path(house.__file__))])
    return request.getfixturevalue("house_url")
