"""The resources that come ready-made: texts, bytes, files, directories, and what HTTP servers say."""

import gzip
import json
import os
import sys
from pathlib import Path

import anyio
import pytest
import scripted_http_server
from pydantic import AnyUrl, ValidationError
from scripted_http_server import Posted, Reply

from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, UnexpectedResourceError
from mcp.server.mcpserver.resources import (
    BinaryResource,
    DirectoryResource,
    FileResource,
    HttpResource,
    Resource,
    TextResource,
)
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.anyio


class Clock(Resource):
    """A resource of a program's own."""

    now: str = "12:00"

    async def read(self) -> str:
        return self.now


def test_a_resource_without_a_name_is_called_by_its_uri() -> None:
    assert TextResource(uri="notes://1", text="").name == "notes://1"
    assert TextResource(uri="notes://1", name="", text="").name == "notes://1"
    assert TextResource(uri="notes://1", name="first", text="").name == "first"


def test_a_resource_needs_a_uri() -> None:
    with pytest.raises(ValidationError, match="needs a URI"):
        TextResource(uri="", text="")


def test_a_uri_may_be_an_object_of_pydantic() -> None:
    assert TextResource(uri=AnyUrl("https://example.com"), text="").uri == "https://example.com/"  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["is_binary", "mimetype"])
def test_an_argument_that_does_not_exist_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=name):
        TextResource.model_validate({"uri": "notes://1", "text": "", name: True})


def test_the_size_is_known_of_texts_and_bytes() -> None:
    assert TextResource(uri="a://1", text="h\xe9").known_size == 3
    assert TextResource(uri="a://1", text="h\xe9", size=7).known_size == 7
    assert BinaryResource(uri="a://1", data=b"\xff\x00").known_size == 2
    assert BinaryResource(uri="a://1", data=b"", size=7).known_size == 7
    assert Clock(uri="a://1").known_size is None
    assert Clock(uri="a://1", size=5).known_size == 5
    with pytest.raises(ValidationError, match="size"):
        Clock(uri="a://1", size=-1)


async def test_texts_and_bytes_are_read_as_they_are() -> None:
    assert await TextResource(uri="a://1", text="h\xe9").read() == "h\xe9"
    assert await BinaryResource(uri="a://1", data=b"\xff").read() == b"\xff"


async def test_contents_carry_the_type_and_the_meta_of_their_resource() -> None:
    resource = Clock(uri="clock://now", mime_type="text/x-time", meta={"zone": "UTC"})
    assert await resource.read_contents() == [ReadResourceContents("12:00", "text/x-time", {"zone": "UTC"})]


class Broken(Resource):
    async def read(self) -> str:
        raise OSError("disk 7 is gone")


async def test_a_resource_that_fails_says_so_without_the_reason() -> None:
    with pytest.raises(UnexpectedResourceError, match=r"^Error reading resource broken://1$") as caught:
        await Broken(uri="broken://1").read_contents()
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize("error", [ResourceNotFoundError("gone"), MCPError(-32000, "busy", {"wait": 5})])
async def test_errors_that_are_meant_for_the_client_pass_as_they_are(error: Exception) -> None:
    class Raising(Resource):
        async def read(self) -> str:
            raise error

    with pytest.raises(type(error)) as caught:
        await Raising(uri="raising://1").read_contents()
    assert caught.value is error


async def test_what_is_neither_text_nor_bytes_is_an_error_that_names_the_class() -> None:
    class Counting(Resource):
        async def read(self) -> str:
            return 5  # pyright: ignore[reportReturnType]

    with pytest.raises(UnexpectedResourceError) as caught:
        await Counting(uri="count://1").read_contents()
    assert str(caught.value.__cause__) == "Counting.read() gave a int; what can be sent is str or bytes"


async def test_half_a_surrogate_pair_is_an_error_of_its_resource() -> None:
    with pytest.raises(UnexpectedResourceError) as caught:
        await TextResource(uri="a://1", text="file-\udcff").read_contents()
    assert isinstance(caught.value.__cause__, UnicodeEncodeError)


@pytest.mark.parametrize(
    ("mime_type", "encoding"),
    [
        ("text/plain", "utf-8-sig"),
        ("TEXT/HTML", "utf-8-sig"),
        ("application/json", "utf-8-sig"),
        ("application/xml", "utf-8-sig"),
        ("application/ld+json", "utf-8-sig"),
        ("image/svg+xml; a=b", "utf-8-sig"),
        ("text/plain; charset=latin-1", "latin-1"),
        ('text/plain; a=b; CHARSET="utf-16"', "utf-16"),
        ("application/octet-stream;charset=utf-8", "utf-8"),
        ("text/plain; charset=", "utf-8-sig"),
        ("image/png", None),
        ("application/pdf", None),
        ("application/javascript", None),
    ],
)
def test_the_encoding_of_a_file_follows_from_its_type(mime_type: str, encoding: str | None) -> None:
    assert FileResource(uri="file:///a", path=Path("/a"), mime_type=mime_type).encoding == encoding


def test_an_encoding_that_is_given_wins() -> None:
    assert FileResource(uri="file:///a", path=Path("/a"), encoding=None).encoding is None
    assert FileResource(uri="file:///a", path=Path("/a"), mime_type="image/png", encoding="ascii").encoding == "ascii"


@pytest.mark.parametrize("encoding", ["utf-ate", "hex", ""])
def test_an_encoding_that_is_none_is_refused_at_once(encoding: str) -> None:
    with pytest.raises(ValidationError, match="is no text encoding"):
        FileResource(uri="file:///a", path=Path("/a"), encoding=encoding)


def test_a_charset_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(ValidationError, match="'bogus' is no text encoding"):
        FileResource(uri="file:///a", path=Path("/a"), mime_type="text/plain; charset=bogus")


@pytest.mark.parametrize("kind", [FileResource, DirectoryResource])
def test_relative_paths_are_refused(kind: type[FileResource] | type[DirectoryResource]) -> None:
    with pytest.raises(ValidationError, match=r"Path must be absolute, got 'notes\.txt'"):
        kind(uri="file:///notes.txt", path=Path("notes.txt"))


async def test_a_file_of_text(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes("\ufeffh\xe9\r\nllo\rend\n".encode())
    assert await FileResource(uri="file:///notes.txt", path=path).read() == "h\xe9\nllo\nend\n"
    assert await FileResource(uri="file:///notes.txt", path=path, encoding=None).read() == path.read_bytes()
    assert await FileResource(uri="file:///notes.txt", path=path, mime_type="image/png").read() == path.read_bytes()


async def test_a_file_is_read_anew_each_time(tmp_path: Path) -> None:
    path = tmp_path / "counter.txt"
    resource = FileResource(uri="file:///counter.txt", path=path)
    for text in ("1", "2"):
        path.write_text(text)
        assert await resource.read() == text


async def test_a_file_in_another_encoding_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "data.xml"
    path.write_bytes("<\xe9/>".encode("latin-1"))
    resource = FileResource(uri="file:///data.xml", path=path, mime_type="application/xml")
    with pytest.raises(UnexpectedResourceError) as caught:
        await resource.read_contents()
    assert isinstance(caught.value.__cause__, UnicodeDecodeError)


async def test_a_file_that_is_not_there_is_an_error_that_does_not_tell_its_path(tmp_path: Path) -> None:
    resource = FileResource(uri="file:///secret.txt", path=tmp_path / "secret.txt")
    with pytest.raises(UnexpectedResourceError) as caught:
        await resource.read_contents()
    assert str(tmp_path) not in str(caught.value)
    assert isinstance(caught.value.__cause__, FileNotFoundError)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.md", "a.txt", "sub/c.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("recursive", "pattern", "files"),
    [
        (False, None, ["a.txt", "b.md"]),
        (True, None, ["a.txt", "b.md", "sub/c.txt"]),
        (False, "*.txt", ["a.txt"]),
        (True, "*.txt", ["a.txt", "sub/c.txt"]),
    ],
)
async def test_a_directory_lists_its_files(tree: Path, recursive: bool, pattern: str | None, files: list[str]) -> None:
    resource = DirectoryResource(uri="file:///tree", path=tree, recursive=recursive, pattern=pattern)
    assert json.loads(await resource.read()) == {"files": files}
    assert resource.mime_type == "application/json"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are UTF-8 there")
async def test_a_name_that_is_no_utf_8_does_not_hide_the_others(tree: Path) -> None:
    (tree / os.fsdecode(b"b\xff.txt")).touch()
    text = await DirectoryResource(uri="file:///tree", path=tree).read()
    assert "b\\udcff.txt" in text
    assert json.loads(text) == {"files": ["a.txt", "b.md", os.fsdecode(b"b\xff.txt")]}


def test_what_is_in_a_directory_besides_files(tree: Path) -> None:
    assert DirectoryResource(uri="file:///tree", path=tree).list_files() == [
        tree / "a.txt",
        tree / "b.md",
        tree / "sub",
    ]


def test_a_directory_that_is_none(tree: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"Directory not found: .*nowhere"):
        DirectoryResource(uri="file:///x", path=tree / "nowhere").list_files()
    with pytest.raises(NotADirectoryError, match=r"Not a directory: .*a\.txt"):
        DirectoryResource(uri="file:///x", path=tree / "a.txt").list_files()


@pytest.mark.parametrize(
    ("content_type", "body", "content"),
    [
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("text/plain; charset=latin-1", b"h\xe9", "h\xe9"),
        ("application/javascript", "h\xe9".encode(), "h\xe9"),
        (None, b"plain", "plain"),
        ("image/png", b"\x89PNG\xff", b"\x89PNG\xff"),
    ],
)
async def test_what_an_http_server_says(content_type: str | None, body: bytes, content: str | bytes) -> None:
    async def answer(request: Posted, reply: Reply) -> None:
        await reply.send("200 OK", body, content_type)

    async with scripted_http_server.serve(answer) as server:
        resource = HttpResource(uri="web://page", url=server.origin)
        assert await resource.read() == content
    assert resource.mime_type == "application/json"


@pytest.mark.parametrize("status", ["404 Not Found", "302 Found", "500 Internal Server Error"])
async def test_an_http_server_that_refuses_is_an_error(status: str) -> None:
    async def answer(request: Posted, reply: Reply) -> None:
        await reply.send(status, headers={"location": "/elsewhere"})

    async with scripted_http_server.serve(answer) as server:
        with pytest.raises(UnexpectedResourceError, match=r"^Error reading resource web://page$") as caught:
            await HttpResource(uri="web://page", url=server.origin).read_contents()
    assert status[:3] in str(caught.value.__cause__)


@pytest.mark.parametrize("compressed", [False, True])
async def test_an_answer_that_is_too_large_is_not_read_to_its_end(compressed: bool) -> None:
    body = b"x" * 1001

    async def answer(request: Posted, reply: Reply) -> None:
        if compressed:
            await reply.send("200 OK", gzip.compress(body), "text/plain", headers={"content-encoding": "gzip"})
        else:
            await reply.send("200 OK", body, "text/plain")

    async with scripted_http_server.serve(answer) as server:
        fits = HttpResource(uri="web://page", url=server.origin, max_bytes=1001)
        assert await fits.read() == body.decode()
        tight = HttpResource(uri="web://page", url=server.origin, max_bytes=1000)
        with pytest.raises(ResourceError, match=r"^Resource web://page: .* more than 1000 bytes$") as caught:
            await tight.read_contents()
    assert type(caught.value) is ResourceError


async def test_an_answer_that_never_comes_is_not_waited_for() -> None:
    async def answer(request: Posted, reply: Reply) -> None:
        await anyio.sleep_forever()

    async with scripted_http_server.serve(answer) as server:
        resource = HttpResource(uri="web://page", url=server.origin, timeout=0.05)
        with pytest.raises(
            ResourceError, match=r"^Resource web://page: .* not answered within 0.05 seconds$"
        ) as caught:
            await resource.read_contents()
    assert type(caught.value) is ResourceError
