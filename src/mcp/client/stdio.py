"""Talking to a server over the stdin and stdout of a process that the client starts.

Specification: basic/transports/stdio.
"""

import logging
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from mcp.engine.streams import TransportStreams

__all__ = [
    "DEFAULT_INHERITED_ENV_VARS",
    "FORCE_KILL_TIMEOUT",
    "PROCESS_TERMINATION_TIMEOUT",
    "StdioServerParameters",
    "get_default_environment",
    "stdio_client",
]

logger = logging.getLogger(__name__)

DEFAULT_INHERITED_ENV_VARS = (
    [
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
    ]
    if sys.platform == "win32"
    else ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]
)
"""The variables of the own environment that a server process gets: what programs need, and nothing secret."""

PROCESS_TERMINATION_TIMEOUT = 2.0
"""Seconds that a server gets to exit after its stdin was closed, before it is told to (SIGTERM)."""

FORCE_KILL_TIMEOUT = 2.0
"""Seconds after which a server that was told to exit is gone: within this time it is killed (SIGKILL)."""


class StdioServerParameters(BaseModel):
    """How to start a server process."""

    model_config = ConfigDict(defer_build=True)

    command: str
    """The program: a path, or a name that is looked up on `PATH`."""

    args: list[str] = Field(default_factory=list[str])
    """Its arguments."""

    env: dict[str, str] | None = None
    """Environment variables, on top of those of `get_default_environment()`."""

    cwd: str | Path | None = None
    """The directory to start it in; by default the current one."""

    encoding: str = "utf-8"
    """The encoding of both pipes. The protocol demands UTF-8; this is for servers that do not keep to it."""

    encoding_error_handler: Literal["strict", "ignore", "replace"] = "strict"
    """What is done about bytes outside that encoding: refuse the message, leave them out, or replace them."""


def get_default_environment() -> dict[str, str]:
    """The environment of a server process when none is asked for.

    Returns:
        The variables named in `DEFAULT_INHERITED_ENV_VARS` that are set. Exported shell functions are left out, since
        a shell that the server starts would run them.
    """
    wanted = {name: os.environ.get(name) for name in DEFAULT_INHERITED_ENV_VARS}
    return {name: value for name, value in wanted.items() if value is not None and not value.startswith("()")}


@asynccontextmanager
async def stdio_client(
    server: StdioServerParameters,
    errlog: TextIO | None = None,
    *,
    shutdown_grace: float | None = None,
    max_message_size: int | None = None,
) -> "AsyncGenerator[TransportStreams, None]":
    """Starts a server process; yields the stream pair to talk to it; ends the process.

    Leaving the block closes the server's stdin and waits for it to exit. One that does not is told to (SIGTERM), and
    then killed, along with every process it started in its own process group.

    Args:
        server: How to start it.
        errlog: Gets what the process writes to stderr: a file, or anything with `write`. The own stderr by default.
        shutdown_grace: Seconds to wait before the process is told to exit; `PROCESS_TERMINATION_TIMEOUT` by default.
        max_message_size: Bytes that one message of the server's may have, 64 MiB by default; a longer one is refused.

    Yields:
        Where messages come from, and where they go.

    Raises:
        TransportError: The process cannot be started.
    """
    from mcp.client._process_link import start_server
    from mcp.engine.streams import open_streams

    link = start_server(server, sys.stderr if errlog is None else errlog, max_message_size)
    try:
        yield open_streams(link)
    finally:
        grace = PROCESS_TERMINATION_TIMEOUT if shutdown_grace is None else shutdown_grace
        await link.shut_down(grace, FORCE_KILL_TIMEOUT)
