"""B90, B91, B92, B120: templates of resources, and the files behind them."""

from pathlib import Path
from typing import Any

import pytest

from mcp import Client, MCPError, UriTemplate, types
from mcp.server import Server, ServerRequestContext
from mcp.shared.path_security import PathEscapeError, contains_path_traversal, is_absolute_path, safe_join

pytestmark = pytest.mark.anyio

NOT_FOUND = "Unknown resource"


def echoing(*templates: str) -> Server:
    """A server whose resources are the values that their URIs give to the first template that fits."""
    parsed = [UriTemplate.parse(template) for template in templates]

    async def list_templates(ctx: ServerRequestContext, params: Any) -> types.ListResourceTemplatesResult:
        listed = [types.ResourceTemplate(name=str(template), uri_template=str(template)) for template in parsed]
        return types.ListResourceTemplatesResult(resource_templates=listed)

    async def read(ctx: ServerRequestContext, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        for template in parsed:
            values = template.match(params.uri)
            if values is not None:
                return types.ReadResourceResult(
                    contents=[types.TextResourceContents(uri=params.uri, text=repr(sorted(values.items())))]
                )
        raise MCPError(types.INVALID_PARAMS, NOT_FOUND, {"uri": params.uri})

    return Server("echo", on_list_resource_templates=list_templates, on_read_resource=read)


async def text_at(client: Client, uri: str) -> str:
    """What a resource says, or why it cannot be read."""
    try:
        [content] = (await client.read_resource(uri)).contents
    except MCPError as error:
        return error.message
    assert isinstance(content, types.TextResourceContents)
    return content.text


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("a://{p}", "a://a%2Fb", [("p", "a/b")]),
        ("a://{p}", "a://a/b", None),
        ("a://{+p}", "a://a/b", [("p", "a/b")]),
        ("a://{p}", "a://%2520", [("p", "%20")]),
        ("a://{p}", "a://1+1", [("p", "1+1")]),
    ],
)
async def test_b90_slashes_and_percent_codes_in_values(
    template: str, uri: str, values: list[tuple[str, str]] | None, mode: str
) -> None:
    """Values were cut at slashes, decoded twice, or came with spaces for plus signs."""
    async with Client(echoing(template), mode=mode) as client:
        assert await text_at(client, uri) == (NOT_FOUND if values is None else repr(values))


@pytest.mark.parametrize("uri", ["docs://caf\xe9 bar/1", "docs://caf%C3%A9%20bar/1", "docs://caf%c3%a9 bar/1"])
async def test_b91_a_space_or_an_accent_in_the_fixed_part(uri: str, mode: str) -> None:
    """Such a template was listed, and could not be read by clients that encode URIs."""
    async with Client(echoing("docs://caf\xe9 bar/{p}"), mode=mode) as client:
        assert await text_at(client, uri) == repr([("p", "1")])


@pytest.mark.parametrize(
    ("template", "values"),
    [
        ("a://{p}", {"p": "x/y z?\xe9%"}),
        ("a://{+p}", {"p": "x/y z\xe9"}),
        ("a://b{?q,n}", {"q": "x&y=z", "n": "2"}),
        ("a://b{?q,n}", {"n": "2"}),
        ("a://b{/p*}", {"p": ["x/y", "", "z"]}),
        ("a://b{;p*}", {"p": ["x;y", "", "z"]}),
    ],
)
async def test_b92_a_client_fills_in_a_listed_template(
    template: str, values: dict[str, str | list[str]], mode: str
) -> None:
    """Clients that replaced braces by hand got queries and lists wrong."""
    async with Client(echoing(template), mode=mode) as client:
        [listed] = (await client.list_resource_templates()).resource_templates
        uri = UriTemplate.parse(listed.uri_template).expand(values)
        assert await text_at(client, uri) == repr(sorted(values.items()))


def serving_files(folder: Path, *, screened: bool) -> Server:
    """A server of the files in a folder, with the checks on values before the file system is asked, or without."""
    template = UriTemplate.parse("files://{+path}")

    async def read(ctx: ServerRequestContext, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        values = template.match(params.uri)
        assert values is not None
        path = str(values["path"])
        try:
            if screened and (contains_path_traversal(path) or is_absolute_path(path)):
                raise PathEscapeError(path)
            text = safe_join(folder, path).read_text(encoding="utf-8")
        except (PathEscapeError, FileNotFoundError) as error:
            raise MCPError(types.INVALID_PARAMS, type(error).__name__, {"uri": params.uri}) from None
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text=text)])

    return Server("files", on_read_resource=read)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file in it, a secret beside it, and a link from one to the other."""
    folder = tmp_path / "public"
    folder.mkdir()
    (folder / "page.txt").write_text("public", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


ESCAPES = [
    *(
        "../secret.txt",
        "..%2fsecret.txt",
        "..%2Fsecret.txt",
        "%2e%2e/secret.txt",
        "x/../../secret.txt",
        "x/%2E./../secret.txt",
    ),
    *("/etc/passwd", "%2Fetc%2Fpasswd", "//host/share", "%5C%5Chost%5Cshare", "C:%5CWindows", "C:secret.txt"),
    *("page.txt%00", "..%2Fsecret.txt%00.txt", "%00"),
]


@pytest.mark.parametrize("screened", [True, False], ids=["screened", "joined"])
async def test_b120_no_path_leads_out_of_the_folder(folder: Path, screened: bool, mode: str) -> None:
    """Values of a path went to the file system as they came."""
    async with Client(serving_files(folder, screened=screened), mode=mode) as client:
        for path in [*ESCAPES, "link.txt"]:
            assert await text_at(client, f"files://{path}") == "PathEscapeError", path
        # Encoded twice it is decoded once, which leaves the name of a file that does not exist.
        assert await text_at(client, "files://..%252fsecret.txt") == "FileNotFoundError"
        assert await text_at(client, "files://%252e%252e/secret.txt") == "FileNotFoundError"
        assert await text_at(client, "files://page.txt") == "public"
        assert await text_at(client, "files://x/../page%2Etxt") == "public"
