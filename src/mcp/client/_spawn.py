"""Starting a server process, and saying why one cannot be started."""

import os
import sys

from mcp.client._process import ServerProcess
from mcp.client.stdio import StdioServerParameters, get_default_environment
from mcp.shared.exceptions import ServerNotFoundError, ServerStartError

__all__ = ["start_process"]


def start_process(server: StdioServerParameters) -> ServerProcess:
    """Starts a server.

    Args:
        server: How to start it.

    Raises:
        ServerStartError: It cannot be started.
    """
    environment = {**get_default_environment(), **(server.env or {})}
    try:
        if sys.platform == "win32":
            from mcp.client._windows import start_windows_process

            return start_windows_process(server, environment)
        from mcp.client._posix import start_posix_process

        return start_posix_process(server, environment)
    except OSError as error:
        raise _start_error(server, environment, error) from error


def _start_error(server: StdioServerParameters, environment: dict[str, str], error: OSError) -> ServerStartError:
    if server.cwd is not None and not os.path.isdir(server.cwd):
        message = f"Cannot start the server process {server.command!r}: no directory {str(server.cwd)!r} to start it in"
        return ServerNotFoundError(message, str(server.cwd))
    message = f"Cannot start the server process {server.command!r}: {error.strerror or error}"
    if not isinstance(error, FileNotFoundError):
        return ServerStartError(message)
    if not os.path.dirname(server.command):
        message += f"; it was looked for on PATH: {environment.get('PATH', os.defpath)}"
    return ServerNotFoundError(message, server.command)
