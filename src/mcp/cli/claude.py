"""The configuration of Claude Desktop: where it is, and how a server gets into it."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from math import isinf
from pathlib import Path
from typing import Any

from mcp.cli.failure import CommandError
from mcp.cli.files import locked, not_a_file
from mcp.cli.launching import uv_arguments
from mcp.protocol.trees import is_object

__all__ = ["get_claude_config_path", "get_uv_path", "update_claude_config"]

FILE_NAME = "claude_desktop_config.json"
SERVERS = "mcpServers"


def get_claude_config_path() -> Path | None:
    """The folder of Claude Desktop's configuration, or `None` where Claude Desktop has never run."""
    if sys.platform == "win32":
        roaming = os.environ.get("APPDATA")
        folder = Path(roaming) if roaming else Path.home() / "AppData" / "Roaming"
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support"
    else:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    folder /= "Claude"
    return folder if folder.is_dir() else None


def get_uv_path() -> str:
    """The absolute path of uv, since hosts start servers with a short PATH; `uv` if it is not found."""
    found = shutil.which("uv")
    return os.path.abspath(found) if found else "uv"


def update_claude_config(
    file_spec: str,
    server_name: str,
    *,
    with_editable: Path | None = None,
    with_packages: Sequence[str] = (),
    env_vars: Mapping[str, str] | None = None,
) -> Path:
    """Puts a server into Claude Desktop's configuration, and leaves everything else there as it is.

    An entry of the same name gets the new command, in place of a URL that it may have; its other fields stay, and so do
    its environment variables, but for those that are given. The file is replaced in one step: whoever reads it sees the
    old or the new one, whole. Several commands may do so at once.

    Args:
        file_spec: `file.py` or `file.py:object`, absolute.
        server_name: The name of the entry.
        with_editable: A project to install into the server's environment.
        with_packages: Further requirements of it.
        env_vars: Environment variables for the server.

    Returns:
        The file that was written.

    Raises:
        CommandError: Claude Desktop is not there, or its file cannot be read, or holds what is no configuration.
    """
    folder = get_claude_config_path()
    if folder is None:
        raise CommandError(
            "Claude app not found: its configuration folder does not exist. Install Claude Desktop and start it once."
        )
    # A link to a file that is kept elsewhere stays a link.
    file = Path(os.path.realpath(folder / FILE_NAME))
    with locked(file):
        config = _read(file)
        entry = _object(_object(config, SERVERS, file), server_name, file)
        entry["command"] = get_uv_path()
        entry["args"] = uv_arguments(file_spec, frozen=True, with_packages=with_packages, with_editable=with_editable)
        # What made it a server at an address.
        entry.pop("url", None)
        if entry.get("type") != "stdio":
            entry.pop("type", None)
        if env_vars or "env" in entry:
            _object(entry, "env", file).update(env_vars or {})
        _replace(file, _text(config, file))
    return file


def _read(file: Path) -> dict[str, Any]:
    kind = not_a_file(file)
    if kind == "does not exist":
        return {}
    if kind is not None:
        raise CommandError(f"{file} {kind}, and is left as it is")
    if not file.stat().st_mode & 0o222 or not os.access(file, os.W_OK):
        raise CommandError(f"{file} is read-only, and is left as it is. Make it writable first")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read, and is left as it is: {error}") from error
    if not text.strip():
        return {}
    try:
        config = json.loads(text, parse_constant=_constant, parse_float=_number, parse_int=_whole)
    except RecursionError as error:
        raise CommandError(f"{file} is nested too deeply, and is left as it is") from error
    except ValueError as error:
        raise CommandError(f"{file} is not valid JSON, and is left as it is. Mend it first: {error}") from error
    if not is_object(config):
        raise CommandError(f"{file} must hold a JSON object, and is left as it is: it holds {_kind(config)}")
    return config


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _number(text: str) -> float:
    value = float(text)
    if isinf(value):
        raise ValueError(f"the number {text} is too large")
    return value


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:  # Python converts no more than so many digits
        raise ValueError(f"a number in it has {len(text.lstrip('-'))} digits") from error


def _text(config: dict[str, Any], file: Path) -> str:
    try:
        text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
        text.encode()
    except RecursionError as error:
        raise CommandError(f"{file} is nested too deeply, and is left as it is") from error
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise CommandError(
            f"{file} is left as it is: what is in it or to be added holds {half!a}, half of a character and no text"
        ) from error
    return text


def _object(holder: dict[str, Any], key: str, file: Path) -> dict[str, Any]:
    """The object under a key, made if it is not there."""
    value = holder.setdefault(key, {})
    if not is_object(value):
        raise CommandError(f"{key!r} in {file} must be a JSON object, and is left as it is: it is {_kind(value)}")
    return value


def _kind(value: object) -> str:
    match value:
        case list():
            return "an array"
        case str():
            return "a string"
        case None:
            return "null"
        case _:
            return f"{value}"


def _replace(file: Path, text: str) -> None:
    """Writes a file beside the old one and renames it. A new one is for its owner only, since it may hold secrets."""
    try:
        descriptor, written = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with open(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            if file.exists():
                shutil.copymode(file, written)
            os.replace(written, file)
        except BaseException:
            os.unlink(written)
            raise
    except OSError as error:
        raise CommandError(f"{file} cannot be written, and is left as it is: {error}") from error
