"""Resources of an `MCPServer`, as its clients see them in both eras."""

import json
import logging
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from mcp import Client, MCPError
from mcp.server import MCPServer
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context, ResourceSecurity
from mcp.server.mcpserver.exceptions import InvalidSignature, ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.resources import BinaryResource, FileResource, TextResource
from mcp.shared.path_security import safe_join
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Annotations,
    BlobResourceContents,
    Icon,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", ["auto", "legacy"])]


async def read(server: MCPServer[Any], mode: str, uri: str) -> ReadResourceResult:
    async with Client(server, mode=mode) as client:
        return await client.read_resource(uri)


async def text_at(server: MCPServer[Any], mode: str, uri: str) -> str:
    [content] = (await read(server, mode, uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


async def refusal(server: MCPServer[Any], mode: str, uri: str) -> tuple[int, str, Any]:
    with pytest.raises(MCPError) as caught:
        await read(server, mode, uri)
    return caught.value.code, caught.value.message, caught.value.data


async def test_listings_tell_what_is_known_and_call_no_function(mode: str) -> None:
    server = MCPServer("shop")
    icon = Icon(src="https://example.com/i.png")

    @server.resource(
        "config://app", title="Settings", icons=[icon], annotations=Annotations(priority=0.5), meta={"k": 1}
    )
    def get_config() -> str:
        """The active settings."""
        raise AssertionError("not read")

    @server.resource("users://{user_id}/profile", mime_type="application/json")
    def get_profile(user_id: str) -> dict[str, str]:
        """A customer."""
        raise AssertionError("not read")

    server.add_resource(TextResource(uri="text://hello", text="h\xe9llo"))
    server.add_resource(BinaryResource(uri="bytes://hello", name="bytes", data=b"\xff\x00", mime_type="image/png"))

    async with Client(server, mode=mode) as client:
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
    assert resources == [
        Resource(
            uri="config://app",
            name="get_config",
            title="Settings",
            description="The active settings.",
            mime_type="text/plain",
            icons=[icon],
            annotations=Annotations(priority=0.5),
            _meta={"k": 1},
        ),
        Resource(uri="text://hello", name="text://hello", mime_type="text/plain", size=6),
        Resource(uri="bytes://hello", name="bytes", mime_type="image/png", size=2),
    ]
    assert templates == [
        ResourceTemplate(
            uri_template="users://{user_id}/profile",
            name="get_profile",
            description="A customer.",
            mime_type="application/json",
        )
    ]


async def test_what_is_read_is_text_json_or_a_blob(mode: str) -> None:
    server = MCPServer("shop")
    server.resource("a://text", name="t")(lambda: "h\xe9")
    server.resource("a://json", name="j", mime_type="application/json")(lambda: {"a": [1]})
    server.resource("a://blob", name="b", mime_type="image/gif", meta={"k": 1})(lambda: b"\xff\x00")
    assert await text_at(server, mode, "a://text") == "h\xe9"
    assert json.loads(await text_at(server, mode, "a://json")) == {"a": [1]}
    [blob] = (await read(server, mode, "a://blob")).contents
    assert isinstance(blob, BlobResourceContents)
    assert (blob.uri, b64decode(blob.blob), blob.mime_type, blob.meta) == (
        "a://blob",
        b"\xff\x00",
        "image/gif",
        {"k": 1},
    )


async def test_several_contents_of_one_read(mode: str) -> None:
    server = MCPServer("shop")

    @server.resource("album://{name}")
    def album(name: str) -> list[ReadResourceContents]:
        return [ReadResourceContents(name), ReadResourceContents(b"\xff", "image/png")]

    text, blob = (await read(server, mode, "album://rome")).contents
    assert isinstance(text, TextResourceContents)
    assert isinstance(blob, BlobResourceContents)
    assert (text.uri, text.text, text.mime_type) == ("album://rome", "rome", "text/plain")
    assert (blob.uri, blob.blob, blob.mime_type) == ("album://rome", "/w==", "image/png")


async def test_a_template_is_read_at_the_uri_that_was_asked_for(mode: str) -> None:
    server = MCPServer("shop")

    @server.resource("orders://{order_id}{?currency}")
    def get_order(order_id: int, currency: str = "EUR") -> str:
        return f"{order_id + 1} {currency}"

    [content] = (await read(server, mode, "orders://41?currency=USD")).contents
    assert content == TextResourceContents(uri="orders://41?currency=USD", text="42 USD", mime_type="text/plain")
    assert await text_at(server, mode, "orders://1") == "2 EUR"
    code, message, data = await refusal(server, mode, "orders://one")
    assert (code, data) == (INVALID_PARAMS, {"uri": "orders://one"})
    assert "'order_id': Input should be a valid integer" in message


async def test_the_context_of_a_template_is_that_of_the_request(mode: str) -> None:
    server = MCPServer("shop")

    @server.resource("about://{topic}")
    async def about(topic: str, ctx: Context[dict[str, Any], Any]) -> str:
        [content] = await ctx.read_resource("facts://all")
        return f"{topic} {ctx.request_context.lifespan_context} {content.content} {ctx.mcp_server.name}"

    server.resource("facts://all", name="facts")(lambda: "facts")
    assert await text_at(server, mode, "about://trains") == "trains {} facts shop"


async def test_unknown_resources_are_told_by_their_uri(mode: str) -> None:
    server = MCPServer("shop")
    server.resource("a://1", name="one")(lambda: "")
    for uri in ("a://2", "", "no uri"):
        assert await refusal(server, mode, uri) == (INVALID_PARAMS, f"Unknown resource: {uri}", {"uri": uri})


async def test_a_function_says_that_there_is_no_such_resource(mode: str) -> None:
    server = MCPServer("shop")

    @server.resource("books://{title}")
    def get_book(title: str) -> str:
        raise ResourceNotFoundError(f"No book titled {title!r} in the catalog.")

    @server.resource("books://all")
    def all_books() -> str:
        raise ResourceNotFoundError("Closed.")

    text = "No book titled 'Nothing' in the catalog."
    assert await refusal(server, mode, "books://Nothing") == (INVALID_PARAMS, text, {"uri": "books://Nothing"})
    assert await refusal(server, mode, "books://all") == (INVALID_PARAMS, "Closed.", {"uri": "books://all"})


async def test_other_failures_of_functions(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    server = MCPServer("shop")

    @server.resource("fail://{how}")
    def fail(how: str) -> Any:
        if how == "mcp":
            raise MCPError(-32001, "busy", {"wait": 5})
        if how == "exit":
            raise SystemExit(3)
        if how == "surrogate":
            return "file-\udcff"
        raise ResourceError("locked") if how == "resource" else KeyError("secret")

    @server.resource("fail://now")
    def fail_now() -> str:
        raise KeyError("secret")

    assert await refusal(server, mode, "fail://mcp") == (-32001, "busy", {"wait": 5})
    assert await refusal(server, mode, "fail://resource") == (INTERNAL_ERROR, "locked", {"uri": "fail://resource"})
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert await refusal(server, mode, "fail://surrogate") == (
        INTERNAL_ERROR,
        "Error reading resource fail://surrogate",
        {"uri": "fail://surrogate"},
    )
    for how in ("key", "exit"):
        text = f"Error creating resource from template fail://{how}"
        assert await refusal(server, mode, f"fail://{how}") == (INTERNAL_ERROR, text, {"uri": f"fail://{how}"})
    assert await refusal(server, mode, "fail://now") == (
        INTERNAL_ERROR,
        "Error reading resource fail://now",
        {"uri": "fail://now"},
    )
    assert any("KeyError" in (record.exc_text or "") or record.exc_info for record in caplog.records)


async def test_paths_stay_in_their_directory(mode: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("page")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "docs" / "link.md").symlink_to(tmp_path / "secret.txt")
    server = MCPServer("shop")

    @server.resource("docs://{+path}")
    def get_doc(path: str) -> str:
        return safe_join(tmp_path / "docs", path).read_text()

    assert await text_at(server, mode, "docs://page.md") == "page"
    for path in ("../secret.txt", "..%2Fsecret.txt", "%2E%2E%5Csecret.txt", str(tmp_path / "secret.txt"), "a%00"):
        uri = f"docs://{path}"
        assert await refusal(server, mode, uri) == (INVALID_PARAMS, f"Unknown resource: {uri}", {"uri": uri})
    code, message, _ = await refusal(server, mode, "docs://link.md")
    assert (code, message) == (INTERNAL_ERROR, "Error creating resource from template docs://link.md")


async def test_security_is_a_matter_of_the_server_and_of_each_template(mode: str) -> None:
    server = MCPServer("shop", resource_security=ResourceSecurity(reject_path_traversal=False))
    server.resource("loose://{+path}", name="loose")(_echo)
    server.resource("strict://{+path}", name="strict", security=ResourceSecurity())(_echo)
    assert await text_at(server, mode, "loose://../x") == "../x"
    assert (await refusal(server, mode, "loose:///x"))[0] == INVALID_PARAMS
    assert (await refusal(server, mode, "strict://../x"))[0] == INVALID_PARAMS


def _echo(path: str) -> str:
    return path


async def test_a_file_that_is_gone_is_an_error_that_does_not_tell_where_it_was(mode: str, tmp_path: Path) -> None:
    server = MCPServer("shop", resources=[FileResource(uri="file:///notes.txt", path=tmp_path / "notes.txt")])
    code, message, data = await refusal(server, mode, "file:///notes.txt")
    assert (code, message, data) == (
        INTERNAL_ERROR,
        "Error reading resource file:///notes.txt",
        {"uri": "file:///notes.txt"},
    )


async def test_what_is_wrong_with_a_function_shows_when_the_program_starts(mode: str) -> None:
    server = MCPServer("shop")
    with pytest.raises(ValueError, match=r"^Mismatch between URI parameters {'user_id'} and function parameters"):
        server.resource("users://{user_id}/profile")(_echo)
    with pytest.raises(ValueError, match="needs 'path'"):
        server.resource("users://all")(_echo)
    with pytest.raises(TypeError, match="Did you forget to call it"):
        server.resource(_echo)  # pyright: ignore[reportArgumentType]
    async with Client(server, mode=mode) as client:
        assert (await client.list_resources()).resources == []


async def test_changes_in_place_are_in_the_next_listing(mode: str) -> None:
    note = TextResource(uri="note://1", text="old")
    server = MCPServer("shop", resources=[note])
    server.resource("echo://{path}", name="echo")(_echo)
    async with Client(server, mode=mode, cache=False) as client:
        [before] = (await client.list_resources()).resources
        [template] = (await client.list_resource_templates()).resource_templates
        note.text, note.title = "longer", "Note"
        server.managers[2].list_templates()[0].title = "Echo"
        [after] = (await client.list_resources()).resources
        [renamed] = (await client.list_resource_templates()).resource_templates
    assert (before.size, before.title, after.size, after.title) == (3, None, 6, "Note")
    assert (template.title, renamed.title) == (None, "Echo")


async def test_what_is_changed_within_is_in_the_next_listing(mode: str) -> None:
    note = TextResource(uri="note://1", text="", meta={"tags": ["a"]}, annotations=Annotations(priority=0.1))
    server = MCPServer("shop", resources=[note])
    server.resource("echo://{path}", name="echo", meta={"n": 1})(_echo)
    [template] = server.managers[2].list_templates()
    assert note.meta is not None
    assert note.annotations is not None
    assert template.meta is not None
    async with Client(server, mode=mode, cache=False) as client:
        await client.list_resources()
        await client.list_resource_templates()
        note.meta["tags"].append("b")
        [listed] = (await client.list_resources()).resources
        assert listed.meta == {"tags": ["a", "b"]}
        note.annotations.priority = 0.9
        [listed] = (await client.list_resources()).resources
        assert listed.annotations == Annotations(priority=0.9)
        template.meta["n"] = 2
        [listed_template] = (await client.list_resource_templates()).resource_templates
        assert listed_template.meta == {"n": 2}


async def test_what_is_given_another_uri_stays_where_it_was_added(mode: str) -> None:
    note = TextResource(uri="note://1", text="here")
    server = MCPServer("shop", resources=[note])
    note.uri = "note://2"
    async with Client(server, mode=mode) as client:
        [listed] = (await client.list_resources()).resources
        [direct] = await server.list_resources()
        assert listed.uri == direct.uri == "note://1"
    assert await text_at(server, mode, listed.uri) == "here"


async def test_a_template_that_no_client_could_read_keeps_the_server_from_starting(mode: str) -> None:
    def late(path: Any) -> str:
        return ""

    late.__annotations__["path"] = "Missing"
    server = MCPServer("shop")
    server.resource("late://{path}")(late)
    with pytest.raises(InvalidSignature, match="Missing"):
        async with Client(server, mode=mode):
            pass
