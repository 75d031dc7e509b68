"""Reports about resources and their templates, as clients of an `MCPServer` meet them."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import AnyUrl

from mcp import Client, MCPError, UriTemplate, types
from mcp.server.mcpserver import MCPServer, ResourceSecurity
from mcp.shared.path_security import safe_join

pytestmark = pytest.mark.anyio

ANY_VALUE = ResourceSecurity(reject_path_traversal=False, reject_absolute_paths=False, reject_null_bytes=False)


async def text_at(client: Client, uri: Any) -> str:
    """What a resource says, or which one is unknown."""
    try:
        [content] = (await client.read_resource(uri)).contents
    except MCPError as error:
        return f"unknown {error.data['uri']}" if error.code == -32602 else repr(error)
    assert isinstance(content, types.TextResourceContents)
    return content.text


def echoing(template: str) -> MCPServer:
    """A server whose resource is the value of `p`."""
    mcp = MCPServer("echo")

    @mcp.resource(template)
    def echo(p: str) -> str:
        return repr(p)

    _ = echo
    return mcp


# B90


@pytest.mark.parametrize(
    ("template", "uri", "said"),
    [
        ("a://{p}", "a://a%2Fb", "'a/b'"),
        ("a://{p}", "a://a/b", "unknown a://a/b"),
        ("a://{+p}", "a://a/b", "'a/b'"),
        ("a://{p}", "a://%2520", "'%20'"),
        ("a://{p}", "a://1+1", "'1+1'"),
        ("a://x/{p}", "a://x/%C5%BElu%C5%A5", "'žluť'"),
    ],
)
async def test_b90_slashes_and_percent_codes_in_values(template: str, uri: str, said: str, mode: str) -> None:
    """Values were cut at slashes, decoded twice, or came with spaces for plus signs."""
    async with Client(echoing(template), mode=mode) as client:
        assert await text_at(client, uri) == said


async def test_b90_values_become_what_the_function_takes(mode: str) -> None:
    """A value that does not is no resource of that template."""
    mcp = MCPServer("typed")

    @mcp.resource("a://{n}")
    async def number(n: int) -> str:
        return repr(n + 1)

    _ = number
    async with Client(mcp, mode=mode) as client:
        assert await text_at(client, "a://4") == "5"
        with pytest.raises(MCPError) as caught:
            await client.read_resource("a://four")
        assert caught.value.code == -32602


# B91


@pytest.mark.parametrize("uri", ["docs://caf\xe9 bar/1", "docs://caf%C3%A9%20bar/1", "docs://caf%c3%a9 bar/1"])
async def test_b91_a_space_or_an_accent_in_the_fixed_part(uri: str, mode: str) -> None:
    """Such a template was listed, and could not be read by clients that encode URIs."""
    async with Client(echoing("docs://caf\xe9 bar/{p}"), mode=mode) as client:
        assert await text_at(client, uri) == "'1'"


@pytest.mark.parametrize("uri", ["docs://caf\xe9 bar", "docs://caf%C3%A9%20bar"])
async def test_b91_the_same_without_any_variable(uri: str, mode: str) -> None:
    """The URI of a resource may be written in both ways too."""
    mcp = MCPServer("fixed")

    @mcp.resource("docs://caf\xe9 bar")
    def bar() -> str:
        return "open"

    _ = bar
    async with Client(mcp, mode=mode) as client:
        assert await text_at(client, uri) == "open"


# B92


@pytest.mark.parametrize(
    ("template", "values"),
    [
        ("a://{p}", {"p": "x/y z?\xe9%"}),
        ("a://{+p}", {"p": "x/y z\xe9"}),
        ("a://b{?p,n}", {"p": "x&y=z", "n": "2"}),
        ("a://b{?p,n}", {"n": "2"}),
        ("a://b{/p*}", {"p": ["x/y", "", "z"]}),
        ("a://b{;p*}", {"p": ["x;y", "", "z"]}),
    ],
)
async def test_b92_a_client_fills_in_a_listed_template(
    template: str, values: dict[str, str | list[str]], mode: str
) -> None:
    """Clients that replaced braces by hand got queries and lists wrong."""
    mcp = MCPServer("echo", resource_security=ANY_VALUE)

    def echo(p: str | list[str] = "", n: str = "") -> str:
        return repr([p, n])

    def only(p: str | list[str]) -> str:
        return repr([p, ""])

    mcp.resource(template)(echo if "n" in template else only)
    async with Client(mcp, mode=mode) as client:
        [listed] = (await client.list_resource_templates()).resource_templates
        uri = UriTemplate.parse(listed.uri_template).expand(values)
        assert await text_at(client, uri) == repr([values.get("p", ""), values.get("n", "")])


# B102


async def test_b102_a_uri_may_be_text_or_an_object(mode: str) -> None:
    """Programs that passed the one broke where only the other was taken."""
    mcp = MCPServer("both")

    @mcp.resource("https://example.com/a")
    def page() -> str:
        return "page"

    _ = page
    async with Client(mcp, mode=mode) as client:
        for uri in ("https://example.com/a", AnyUrl("https://example.com/a")):
            assert await text_at(client, uri) == "page"
            contents = await mcp.read_resource(uri)
            assert not isinstance(contents, types.InputRequiredResult)
            assert [content.content for content in contents] == ["page"]


# B120


ESCAPES = [
    *("../secret.txt", "..%2fsecret.txt", "..%2Fsecret.txt", "%2e%2e/secret.txt", "x/../../secret.txt"),
    *("/etc/passwd", "%2Fetc%2Fpasswd", "//host/share", "%5C%5Chost%5Cshare", "C:%5CWindows", "C:secret.txt"),
    *("page.txt%00", "..%2Fsecret.txt%00.txt", "%00"),
]


@pytest.mark.parametrize("screened", [True, False], ids=["screened", "joined"])
async def test_b120_no_path_leads_out_of_the_folder(tmp_path: Path, screened: bool, mode: str) -> None:
    """Values of a path went to the file system as they came."""
    folder = tmp_path / "public"
    folder.mkdir()
    (folder / "page.txt").write_text("public", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    asked: list[str] = []
    mcp = MCPServer("files", resource_security=ResourceSecurity() if screened else ANY_VALUE)

    @mcp.resource("files://{+path}")
    def read(path: str) -> str:
        asked.append(path)
        return safe_join(folder, path).read_text(encoding="utf-8")

    _ = read
    async with Client(mcp, mode=mode) as client:
        for path in ESCAPES:
            with pytest.raises(MCPError) as caught:
                await client.read_resource(f"files://{path}")
            assert "secret" not in caught.value.message.replace(path, "")
        assert bool(asked) is not screened
        assert await text_at(client, "files://page.txt") == "public"
