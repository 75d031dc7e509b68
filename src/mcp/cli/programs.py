"""Finding the server in a user's file: `server.py`, or `server.py:object`."""

import importlib.util
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, NamedTuple, cast

from mcp.cli.failure import CommandError
from mcp.cli.files import not_a_file
from mcp.server import MCPServer, Server
from mcp.server.mcpserver.serving import ServingRefused, refuse_to_serve

__all__ = ["NAMES", "ProgramImportError", "Spec", "inspect_server", "load_server", "parse_spec"]

NAMES = ("mcp", "server", "app")
"""The names of a module that are looked at, in this order, where none is given."""


class ProgramImportError(CommandError):
    """The user's file could not be imported, because a module that it imports is missing or fails."""


class Spec(NamedTuple):
    """A file, and the name of the server in it, if one was given."""

    file: Path
    name: str | None = None

    def __str__(self) -> str:
        return str(self.file) if self.name is None else f"{self.file}:{self.name}"


def parse_spec(text: str) -> Spec:
    """Reads `file.py` or `file.py:object`; the file's path comes back absolute.

    Args:
        text: As the user wrote it. A path may hold a colon, as those with a drive letter do.

    Raises:
        CommandError: There is no such file, it is something else, or nothing stands behind the colon.
    """
    path, colon, name = text, "", ""
    if not os.path.exists(text):
        path, colon, name = text.rpartition(":")
        # The colon of a drive, as in C:\server.py, separates nothing.
        if not colon or (len(path) == 1 and name[:1] in ("\\", "/")):
            path, colon, name = text, "", ""
    file = Path(path).expanduser().resolve()
    kind = not_a_file(file)
    if kind is not None:
        raise CommandError(f"{file} {kind}. Give the Python file of a server: server.py or server.py:object")
    if colon and not name.isidentifier():
        raise CommandError(f"{text!r} names no object: {name!r} cannot be a global name of {file.name}")
    return Spec(file, name or None)


def load_server(spec: Spec) -> MCPServer[Any]:
    """Imports a file and returns its server. What stands under `if __name__ == "__main__"` does not run.

    Args:
        spec: The file, and which of its globals is the server; without a name `mcp`, `server` and `app` are tried.

    Raises:
        ProgramImportError: An import in the file failed.
        CommandError: The file failed otherwise, or has no `MCPServer` under the name.
    """
    module = _import(spec.file)
    if spec.name is not None:
        if not hasattr(module, spec.name):
            raise CommandError(f"{spec.file} has no global named {spec.name!r}." + _others(spec, module))
        return _checked(spec, getattr(module, spec.name))
    found = [getattr(module, name, None) for name in NAMES]
    for kind in (MCPServer, Server):
        for value in found:
            if isinstance(value, kind):
                return _checked(spec, value)
    raise CommandError(
        f"{spec.file} has no MCPServer under the global names mcp, server or app." + _others(spec, module)
    )


def inspect_server(spec: Spec) -> MCPServer[Any]:
    """Loads a server to ask it about itself. It does not serve, not even where the file does so as it is imported.

    Args:
        spec: As for `load_server`.

    Raises:
        ProgramImportError: As from `load_server`.
        CommandError: As from `load_server`, or the file serves when it is imported.
    """
    stdin = sys.stdin
    with open(os.devnull, encoding="utf-8") as nothing, refuse_to_serve():
        sys.stdin = nothing
        try:
            return load_server(spec)
        finally:
            sys.stdin = stdin


def _checked(spec: Spec, value: Any) -> MCPServer[Any]:
    if isinstance(value, MCPServer):
        return cast("MCPServer[Any]", value)
    if isinstance(value, Server):
        raise CommandError(
            f"The server in {spec} is a low-level Server, and this command serves an MCPServer only. "
            "A low-level Server is served by your own code: put\n\n"
            "    async with stdio_server() as (read, write):\n"
            "        await server.run(read, write, server.create_initialization_options())\n\n"
            f"into the file (from mcp.server.stdio import stdio_server) and start it with: python {spec.file}\n"
            "Over HTTP, give server.streamable_http_app() to an ASGI server such as uvicorn."
        )
    raise CommandError(f"{spec} is of type {type(value).__name__}, and not an MCPServer")


def _others(spec: Spec, module: ModuleType) -> str:
    """Says where servers are that were not asked for."""
    names = [name for name, value in vars(module).items() if isinstance(value, MCPServer)]
    if not names:
        return " Make the server a global of the file, and neither of a function nor under `if __name__ == ...`."
    return " Did you mean " + " or ".join(f"{spec.file.name}:{name}" for name in names) + "?"


def _import(file: Path) -> ModuleType:
    """Imports a file as `python FILE` would find its neighbours, and under its own name.

    So a neighbour that imports it back, for its server, gets this very module.
    """
    folder = str(file.parent)
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)
    name = file.stem if file.stem not in sys.modules else f"__{file.stem}__"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise CommandError(f"{file} is not a Python file: its name must end in .py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ServingRefused as error:
        raise CommandError(
            f"{file} serves as soon as it is imported. Let it do so only as a program:\n\n"
            '    if __name__ == "__main__":\n        mcp.run()'
        ) from error
    except Exception as error:
        del sys.modules[name]
        kind = ProgramImportError if isinstance(error, ImportError) else CommandError
        raise kind(f"{file} could not be imported:\n{_own_traceback(error, file)}") from error
    return module


def _own_traceback(error: Exception, file: Path) -> str:
    """The traceback from the user's file on, without the machinery that imported it."""
    first: TracebackType | None = error.__traceback__
    while first is not None and first.tb_frame.f_code.co_filename != str(file):
        first = first.tb_next
    return "".join(traceback.format_exception(type(error), error, first)).rstrip()
