"""A server process: starting it, knowing whether it runs, ending it."""

import os
import shlex
import subprocess
import sys
from abc import ABC, abstractmethod
from typing import IO, TYPE_CHECKING

from mcp.client.stdio import get_default_environment
from mcp.shared.exceptions import TransportError
from mcp.types.jsonrpc import CONNECTION_CLOSED

if TYPE_CHECKING:
    from mcp.client.stdio import StdioServerParameters

__all__ = ["CommandNotFoundError", "ServerProcess", "ServerStartError", "start_process"]


class ServerStartError(TransportError):
    """A server process could not be started."""


