"""The kinds of resources that come ready-made."""

import json
from pathlib import Path
from typing import Annotated

from anyio import CancelScope, fail_after
from pydantic import Field, field_validator

from mcp.engine.workers import run_in_worker
from mcp.server.mcpserver.exceptions import ResourceError
from mcp.server.mcpserver.resources.base import Resource
from mcp.server.mcpserver.resources.encodings import checked_encoding, declared_charset, encoding_for, is_textual
from mcp.server.mcpserver.resources.functions import FunctionResource
from mcp.shared._handshakes import HandshakeTrace

__all__ = ["BinaryResource", "DirectoryResource", "FileResource", "FunctionResource", "HttpResource", "TextResource"]

_ANYTHING = "application/octet-stream"


class TextResource(Resource):
    """A text.

    Attributes:
        text: The text.
    """

    text: str

    @property
    def known_size(self) -> int | None:
        """The length of the text in UTF-8."""
        return len(self.text.encode(errors="surrogatepass")) if self.size is None else self.size

    async def read(self) -> str:
        """The text."""
        return self.text


class BinaryResource(Resource):
    """Bytes.

    Attributes:
        data: The bytes.
    """

    data: bytes

    @property
    def known_size(self) -> int | None:
        """The number of bytes."""
        return len(self.data) if self.size is None else self.size

    async def read(self) -> bytes:
        """The bytes."""
        return self.data


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError(f"Path must be absolute, got {str(path)!r}: what it is relative to may change")
    return path


class FileResource(Resource):
    """A file, read each time a client reads the resource.

    Attributes:
        path: Where it is, as an absolute path.
        encoding: That of its text; None serves it as bytes. Without being given it is the charset that `mime_type`
            declares, UTF-8 for text, JSON and XML, and None for everything else.
    """

    path: Path
    encoding: str | None = Field(
        default_factory=lambda data: encoding_for(data.get("mime_type", "")), validate_default=True
    )

    @field_validator("path")
    @classmethod
    def validate_absolute_path(cls, path: Path) -> Path:
        """The path.

        Raises:
            ValueError: It is not absolute.
        """
        return _absolute(path)

    @field_validator("encoding")
    @classmethod
    def validate_text_encoding(cls, encoding: str | None) -> str | None:
        """The encoding.

        Raises:
            ValueError: Python knows no such encoding of text.
        """
        return None if encoding is None else checked_encoding(encoding)

    async def read(self) -> str | bytes:
        """The contents of the file, read in a worker thread.

        Raises:
            OSError: It cannot be read.
            UnicodeDecodeError: It is not in its encoding.
        """
        data = await run_in_worker(self.path.read_bytes)
        if self.encoding is None:
            return data
        text = data.decode(self.encoding)
        return text.replace("\r\n", "\n").replace("\r", "\n")


class HttpResource(Resource):
    """What an HTTP server answers to GET, asked each time a client reads the resource.

    Attributes:
        url: Its URL. Redirects are not followed.
        max_bytes: The largest body, decompressed.
        timeout: For how many seconds the whole answer may take.
    """

    mime_type: str = "application/json"
    url: str
    max_bytes: Annotated[int, Field(gt=0)] = 64 * 1024 * 1024
    timeout: Annotated[float, Field(gt=0)] = 30

    async def read(self) -> str | bytes:
        """The body of the answer: as text if its type is text or its bytes are, and as bytes otherwise.

        Raises:
            httpx2.HTTPError: The server cannot be reached, or answers with an error or a redirect.
            ResourceError: The answer is too large, or takes too long.
        """
        try:
            with fail_after(self.timeout):
                return await self._fetched()
        except TimeoutError as error:
            raise ResourceError(
                f"Resource {self.uri}: its HTTP server has not answered within {self.timeout:g} seconds"
            ) from error

    async def _fetched(self) -> str | bytes:
        import httpx2

        body, kind = bytearray(), _ANYTHING
        # The time limit is that of the whole answer.
        client = httpx2.AsyncClient(timeout=None)
        with CancelScope() as enough:
            async with client, client.stream("GET", self.url, extensions={"trace": HandshakeTrace()}) as answer:
                answer.raise_for_status()
                kind = answer.headers.get("content-type") or _ANYTHING
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > self.max_bytes:
                        # To leave the loop would leave the iterators inside it to the garbage collector. A cancelled
                        # read ends them all.
                        enough.cancel()
        if len(body) > self.max_bytes:
            raise ResourceError(f"Resource {self.uri}: its HTTP server answers with more than {self.max_bytes} bytes")
        response = httpx2.Response(200, headers={"content-type": kind}, content=bytes(body))
        if is_textual(kind) or declared_charset(kind):
            return response.text
        try:
            return response.content.decode()
        except UnicodeDecodeError:
            return response.content


class DirectoryResource(Resource):
    """The names of the files in a directory, as JSON: `{"files": [...]}`.

    Attributes:
        path: Where it is, as an absolute path.
        recursive: Whether the files in its subdirectories are listed too.
        pattern: Which files are listed, as a glob such as `*.md`; None lists all.
    """

    mime_type: str = "application/json"
    path: Path
    recursive: bool = False
    pattern: str | None = None

    @field_validator("path")
    @classmethod
    def validate_absolute_path(cls, path: Path) -> Path:
        """The path.

        Raises:
            ValueError: It is not absolute.
        """
        return _absolute(path)

    def list_files(self) -> list[Path]:
        """What is in the directory, directories among it, in order.

        Raises:
            FileNotFoundError: There is no such directory.
            NotADirectoryError: It is something else.
        """
        if not self.path.exists():
            raise FileNotFoundError(f"Directory not found: {self.path}")
        if not self.path.is_dir():
            raise NotADirectoryError(f"Not a directory: {self.path}")
        pattern = self.pattern or "*"
        return sorted(self.path.rglob(pattern) if self.recursive else self.path.glob(pattern))

    async def read(self) -> str:
        """The listing, made in a worker thread.

        Raises:
            OSError: The directory cannot be read.
        """
        return await run_in_worker(self._listing)

    def _listing(self) -> str:
        files = [path for path in self.list_files() if path.is_file()]
        text = json.dumps(
            {"files": [path.relative_to(self.path).as_posix() for path in files]}, ensure_ascii=False, indent=2
        )
        # A name that is no UTF-8 holds halves of surrogate pairs, and what replaces them is an escape of JSON as well.
        return text.encode("utf-8", "backslashreplace").decode()
