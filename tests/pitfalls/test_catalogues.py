"""B88, B90, B91, B92, B100, B120: resources and prompts of an `MCPServer`."""

from pathlib import Path
from typing import Any

import pytest

from mcp import Client, MCPError, UriTemplate
from mcp.server import MCPServer
from mcp.server.mcpserver import ResourceSecurity
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resources import TextResource
from mcp.shared.path_security import PathEscapeError, safe_join
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, TextContent, TextResourceContents

pytestmark = pytest.mark.anyio


async def text_at(client: Client, uri: str) -> str | int:
    """What a resource says, or the code of the error."""
    try:
        [content] = (await client.read_resource(uri)).contents
    except MCPError as error:
        return error.code
    assert isinstance(content, TextResourceContents)
    return content.text


async def test_b88_what_is_wrong_with_a_prompt_is_told_by_name(mode: str) -> None:
    """A missing, bad or unknown argument, and an unknown prompt, were all "Internal server error"."""
    server = MCPServer("prompts")

    @server.prompt()
    def plan(n: int) -> str:
        return f"{n + 1}"

    async def refused(name: str, arguments: dict[str, str]) -> str:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, arguments)
        assert caught.value.code == INVALID_PARAMS
        return caught.value.message

    async with Client(server, mode=mode) as client:
        assert (await client.get_prompt("plan", {"n": "4"})).messages[0].content == TextContent(text="5")
        assert "'n'" in await refused("plan", {})
        assert "'n'" in await refused("plan", {"n": "four"})
        assert "'m'" in await refused("plan", {"n": "4", "m": "5"})
        assert "nothing" in await refused("nothing", {})


@pytest.mark.parametrize(
    ("template", "uri", "value"),
    [
        ("note://{p}", "note://a%2Fb", "a/b"),
        ("note://{p}", "note://a/b", INVALID_PARAMS),
        ("note://{+p}", "note://a/b", "a/b"),
        ("note://{p}", "note://%2520", "%20"),
        ("note://{p}", "note://1+1", "1+1"),
        ("caf\xe9://a b/{p}", "caf\xe9://a b/1", "1"),
        ("caf\xe9://a b/{p}", "caf%C3%A9://a%20b/1", "1"),
    ],
)
async def test_b90_b91_values_and_fixed_parts_in_either_spelling(
    template: str, uri: str, value: str | int, mode: str
) -> None:
    """Values were cut at slashes or decoded twice; a template with a space could not be read once encoded."""
    server = MCPServer("notes")

    @server.resource(template)
    def note(p: str) -> str:
        return p

    async with Client(server, mode=mode) as client:
        assert await text_at(client, uri) == value


async def test_b91_a_resource_with_a_space_in_its_uri(mode: str) -> None:
    """It was listed, and could not be read by clients that encode URIs."""
    server = MCPServer("notes", resources=[TextResource(uri="caf\xe9://a b", text="here")])
    async with Client(server, mode=mode) as client:
        assert await text_at(client, "caf\xe9://a b") == await text_at(client, "caf%C3%A9://a%20b") == "here"


@pytest.mark.parametrize(
    ("template", "values"),
    [
        ("note://{p}", {"p": "x/y z?\xe9%"}),
        ("note://{+p}", {"p": "x/y z\xe9"}),
        ("note://all{?p,q}", {"p": "x&y=z", "q": "2"}),
        ("note://all{?p,q}", {"q": "2"}),
        ("note://all{/p*}", {"p": ["x/y", "", "z"]}),
    ],
)
async def test_b92_what_a_client_expands_reaches_the_function(template: str, values: dict[str, Any], mode: str) -> None:
    """Expansion and matching did not agree."""
    server = MCPServer("notes")
    kind = list[str] if "*" in template else str

    def note(p: Any = "", q: str = "") -> str:
        return repr((p, q))

    def note_of_one(p: Any) -> str:
        return repr((p, ""))

    note.__annotations__["p"] = note_of_one.__annotations__["p"] = kind
    server.resource(template)(note if "q" in template else note_of_one)
    async with Client(server, mode=mode) as client:
        [listed] = (await client.list_resource_templates()).resource_templates
        uri = UriTemplate.parse(listed.uri_template).expand(values)
        assert await text_at(client, uri) == repr((values.get("p", ""), values.get("q", "")))


def registered_twice(**options: Any) -> MCPServer[Any]:
    server = MCPServer("twice", **options)
    for text in ("first", "second"):

        def said(p: str, text: str = text) -> str:
            return text

        server.add_resource(TextResource(uri="note://1", text=text))
        server.resource("page://{p}{?text}", name=text)(said)
        server.add_prompt(Prompt.from_function(said, name="say"))
    return server


async def texts_of(server: MCPServer[Any], mode: str) -> list[Any]:
    async with Client(server, mode=mode) as client:
        content = (await client.get_prompt("say", {"p": ""})).messages[0].content
        assert isinstance(content, TextContent)
        return [await text_at(client, "note://1"), await text_at(client, "page://1"), content.text]


async def test_b100_the_first_of_two_stays_with_a_warning(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    """The second registration of a name vanished."""
    assert await texts_of(registered_twice(), mode) == ["first"] * 3
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "Resource already exists: note://1",
        "Resource template already exists: page://{p}{?text}",
        "Prompt already exists: say",
    ]


async def test_b100_what_happens_to_the_second_can_be_chosen(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    """There was no choice but the first."""
    assert await texts_of(registered_twice(on_duplicate="replace"), mode) == ["second"] * 3
    assert await texts_of(registered_twice(on_duplicate="ignore"), mode) == ["first"] * 3
    assert not caplog.records
    with pytest.raises(ValueError, match=r"Resource already exists: note://1"):
        registered_twice(on_duplicate="error")


@pytest.mark.parametrize(
    "path", ["..%2fsecret", "../secret", "/etc/passwd", "%2Fetc", "a%00", "%5C%5Chost%5Cshare", "C:%5Ca"]
)
async def test_b120_values_do_not_lead_out_of_a_directory(path: str, mode: str, tmp_path: Path) -> None:
    """Values of templates reached other files, encoded or not."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "root").mkdir()
    server = MCPServer("files")
    escapes: list[str] = []

    @server.resource("files://{+path}")
    def read(path: str) -> str:
        raise AssertionError("not reached")

    @server.resource("open://{+path}", security=ResourceSecurity(exempt_params={"path"}))
    def read_joined(path: str) -> str:
        try:
            return safe_join(tmp_path / "root", path).read_text()
        except PathEscapeError:
            escapes.append(path)
            raise

    async with Client(server, mode=mode) as client:
        assert await text_at(client, f"files://{path}") == INVALID_PARAMS
        assert await text_at(client, f"open://{path}") == INTERNAL_ERROR
    assert len(escapes) == 1
