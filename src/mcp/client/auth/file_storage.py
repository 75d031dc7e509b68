"""Tokens in a file: written whole or not at all, read by nobody else, and shared by the processes of one user.

Besides what a `TokenStorage` keeps, a file holds the key that tokens are bound to (RFC 9449).
"""

import json
import logging
import os
import re
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar, cast
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from pydantic import BaseModel, ValidationError

from mcp.client.auth._file_lock import FileLock
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from mcp.shared.auth_utils import resource_url_from_server_url

__all__ = ["FileTokenStorage"]

logger = logging.getLogger(__name__)

_MAX_BYTES: Final = 1024 * 1024
_POLL_SECONDS: Final = 0.05
_WRITE_TIMEOUT: Final = 10.0
_DIGEST_CHARACTERS: Final = 16

_Document = dict[str, Any]
_ModelT = TypeVar("_ModelT", bound=BaseModel)
_ResultT = TypeVar("_ResultT")


class FileTokenStorage:
    """A `TokenStorage` of one server, in a file of its own.

    The file's name is made from the server's URL, so that any number of servers share a directory and none is ever sent
    another's token. The file has the mode 0600, and a directory that is missing is created with 0700. A write replaces
    the file in one step: whoever reads meanwhile sees the old content or the new, and a crash leaves the old. A file
    that cannot be read as what it should be is set aside as `*.corrupt` with a warning, and the user logs in again. One
    that others may read is made private with a warning.

    Args:
        directory: Where the file is. `~` stands for the user's home.
        server_url: The server that the tokens are for.
        exclusive_timeout: How long `exclusive` waits for another process, in seconds.

    Raises:
        PermissionError: Others may write to the directory, and so replace what is in it.
    """

    def __init__(self, directory: str | os.PathLike[str], server_url: str, *, exclusive_timeout: float = 60.0) -> None:
        self._server_url = resource_url_from_server_url(server_url)
        self._path = Path(directory).expanduser() / f"{_name(self._server_url)}.json"
        self._exclusive_timeout = exclusive_timeout
        _make_private(self._path.parent)

    @property
    def path(self) -> Path:
        """The file. It need not exist."""
        return self._path

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens, if there are any."""
        return await self._get("tokens", OAuthToken)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keeps tokens, in place of those that were there."""
        await self._set("tokens", _dumped(tokens))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client's registration, if there is one."""
        return await self._get("client_info", OAuthClientInformationFull)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keeps a registration, in place of the one that was there."""
        await self._set("client_info", _dumped(client_info))

    async def get_dpop_key(self) -> dict[str, Any] | None:
        """The private key that tokens are bound to, as a JWK, if there is one."""
        key = (await _in_thread(self._read)).get("dpop_key")
        return cast("dict[str, Any]", key) if isinstance(key, dict) else None

    async def set_dpop_key(self, key: dict[str, Any]) -> None:
        """Keeps the private key that tokens are bound to, as a JWK."""
        await self._set("dpop_key", key)

    async def clear(self) -> None:
        """Forgets everything: tokens, registration and key, and what was set aside."""
        await _in_thread(self._clear)

    @asynccontextmanager
    async def exclusive(self) -> AsyncGenerator[None]:
        """Keeps other processes out while tokens are refreshed.

        Two that sent the same refresh token at once would be taken for a thief and his victim. Whoever comes second
        waits here, and finds the new tokens when it looks again. Reading and writing need no such care.

        Raises:
            OAuthFlowError: Another process has been at it for longer than `exclusive_timeout`.
        """
        lock = FileLock(self._path.with_suffix(".refresh.lock"))
        deadline = anyio.current_time() + self._exclusive_timeout
        while not lock.acquire():
            if anyio.current_time() >= deadline:
                raise OAuthFlowError(
                    f"Another process has been refreshing the tokens in {self._path} for {self._exclusive_timeout:g} s"
                )
            await anyio.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            lock.release()

    async def _get(self, section: str, model: type[_ModelT]) -> _ModelT | None:
        document = await _in_thread(self._read)
        if document.get(section) is None:
            return None
        try:
            return model.model_validate(document[section])
        except ValidationError as error:
            fields = ", ".join(sorted({".".join(map(str, one["loc"])) for one in error.errors(include_input=False)}))
            await _in_thread(lambda: self._set_aside(f"{section}: {fields}", document))
            return None

    async def _set(self, section: str, value: _Document) -> None:
        await _in_thread(lambda: self._update(section, value))

    def _read(self) -> _Document:
        content = _content(self._path)
        if content is None:
            return {}
        document = _parsed(content)
        if document is not None and document.get("server_url") == self._server_url:
            return document
        self._set_aside("not what this storage writes for its server", document)
        return {}

    def _update(self, section: str, value: _Document) -> None:
        with FileLock(self._path.with_suffix(".lock")).held(_WRITE_TIMEOUT):
            self._remove_leftovers()
            document = _parsed(_content(self._path) or b"")
            if document is None or document.get("server_url") != self._server_url:
                document = {"server_url": self._server_url}
            _replace(self._path, json.dumps({**document, section: value}, indent=2).encode())

    def _clear(self) -> None:
        with FileLock(self._path.with_suffix(".lock")).held(_WRITE_TIMEOUT):
            self._remove_leftovers()
            for path in (self._path, self._path.with_suffix(".corrupt")):
                path.unlink(missing_ok=True)

    def _remove_leftovers(self) -> None:
        """Removes what a process left that died while it wrote. No other writes now: the lock is held."""
        for path in self._path.parent.glob(f".{self._path.name}.*"):
            path.unlink(missing_ok=True)

    def _set_aside(self, problem: str, seen: _Document | None) -> None:
        """Moves the file out of the way, unless another process has written a new one since it was read."""
        with FileLock(self._path.with_suffix(".lock")).held(_WRITE_TIMEOUT):
            content = _content(self._path)
            if content is None or _parsed(content) != seen:
                return
            aside = self._path.with_suffix(".corrupt")
            os.replace(self._path, aside)
        logger.warning("%s cannot be used (%s): it is now %s, and the login begins anew", self._path, problem, aside)


def _name(server_url: str) -> str:
    """A file's name: the host for whoever looks, and a digest of the URL against confusion."""
    host = re.sub(r"[^a-z0-9.-]", "_", urlsplit(server_url).netloc.rpartition("@")[2])[:100]
    return f"{host}-{sha256(server_url.encode()).hexdigest()[:_DIGEST_CHARACTERS]}"


def _make_private(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "posix" and directory.stat().st_mode & 0o022:
        raise PermissionError(
            f"Others may write to {directory}, so tokens are not safe there. Take the right away: "
            f"chmod go-w {directory}"
        )


def _content(path: Path) -> bytes | None:
    """What a file holds, which nobody else can read from then on; None where there is none."""
    try:
        with path.open("rb") as file:
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                os.fchmod(file.fileno(), 0o600)
                logger.warning("Others could read %s, and the tokens in it: it is private now", path)
            return file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return None


def _parsed(content: bytes) -> _Document | None:
    """The document; None where it is none."""
    if len(content) > _MAX_BYTES:
        return None
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return cast("_Document", document) if isinstance(document, dict) else None


def _replace(path: Path, content: bytes) -> None:
    """Writes a file in one step: beside it first, down to the disk, and then over it."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    """Lets a rename survive a power cut; Windows has no such call."""
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _dumped(model: BaseModel) -> _Document:
    return model.model_dump(mode="json", exclude_none=True)


async def _in_thread(work: Callable[[], _ResultT]) -> _ResultT:
    return await anyio.to_thread.run_sync(work)
