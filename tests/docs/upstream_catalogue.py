"""What docs/servers/{resources,uri-templates,prompts,media}.md say about their programs, as checks."""

from base64 import b64decode
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, cast

from upstream_statements import states

from mcp import Client, MCPError
from mcp.client.subscriptions import PromptsListChanged
from mcp.types import GetPromptResult

UNKNOWN = "Unknown resource: "
PNG = b"\x89PNG\r\n"


async def contents(server: Any, uri: str) -> Any:
    """Everything that a server serves at a URI, or the error it answers with."""
    async with Client(server) as client:
        try:
            result = await client.read_resource(uri)
        except MCPError as error:
            return error.code, error.message, error.data
    return [content.model_dump(by_alias=True, exclude_none=True) for content in result.contents]


async def text(server: Any, uri: str) -> Any:
    """The one text that a server serves at a URI, or the error it answers with."""
    found = await contents(server, uri)
    return cast("tuple[int, str, Any]", found) if isinstance(found, tuple) else found[0]["text"]


async def rendered(server: Any, name: str, **arguments: str) -> GetPromptResult:
    async with Client(server) as client:
        return await client.get_prompt(name, arguments)


async def entries(server: Any, kind: str) -> list[dict[str, Any]]:
    async with Client(server) as client:
        if kind == "prompts":
            listed: list[Any] = [*(await client.list_prompts()).prompts]
        elif kind == "templates":
            listed = [*(await client.list_resource_templates()).resource_templates]
        else:
            listed = [*(await client.list_resources()).resources]
    return [entry.model_dump(by_alias=True, exclude_none=True) for entry in listed]


def messages_of(result: GetPromptResult) -> list[Any]:
    return [message.model_dump(by_alias=True, exclude_none=True) for message in result.messages]


# docs/servers/resources.md


CONFIG = {
    "name": "get_config",
    "uri": "config://app",
    "description": "The active shop configuration.",
    "mimeType": "text/plain",
}


@states("resources/tutorial001", "what the client gets during resources/list", [CONFIG])
async def _(program: ModuleType) -> object:
    return await entries(program.mcp, "resources")


@states(
    "resources/tutorial001",
    "the return value comes back as text",
    [{"uri": "config://app", "mimeType": "text/plain", "text": "theme=dark\nlanguage=en"}],
)
async def _(program: ModuleType) -> object:
    return await contents(program.mcp, "config://app")


@states(
    "resources/tutorial002",
    "a template moves to resources/templates/list",
    [
        [CONFIG],
        [
            {
                "name": "get_user_profile",
                "uriTemplate": "users://{user_id}/profile",
                "description": "A customer's profile.",
                "mimeType": "text/plain",
            }
        ],
    ],
)
async def _(program: ModuleType) -> object:
    return [await entries(program.mcp, kind) for kind in ("resources", "templates")]


@states("resources/tutorial002", "the uri in the result is the concrete one", "users://42/profile")
async def _(program: ModuleType) -> object:
    return (await contents(program.mcp, "users://42/profile"))[0]["uri"]


@states(
    "resources/tutorial002",
    "placeholders and parameters have to agree",
    "Mismatch between URI parameters {'user_id'} and function parameters {'user'}",
)
async def _(program: ModuleType) -> object:
    def profile(user: str) -> str:
        return user

    try:
        program.mcp.resource("users://{user_id}/profile")(profile)
    except ValueError as error:
        return str(error)
    return None


@states("resources/tutorial003", "a dict becomes JSON text", '{\n  "books": 1204,\n  "authors": 391\n}')
async def _(program: ModuleType) -> object:
    return await text(program.mcp, "stats://catalog")


@states("resources/tutorial003", "bytes become a base64 blob", ["image/gif", b"GIF89a"])
async def _(program: ModuleType) -> object:
    [blob] = await contents(program.mcp, "covers://placeholder")
    return [blob["mimeType"], b64decode(blob["blob"])[:6]]


# docs/servers/uri-templates.md

OPERATORS = "uri_templates/tutorial001"


@states(OPERATORS, "a plain {name} stops at the first /", UNKNOWN + "books://978/extra")
async def _(program: ModuleType) -> object:
    return (await contents(program.mcp, "books://978/extra"))[1]


@states(
    OPERATORS, "order_id arrives as an int", '{\n  "order_id": 12345,\n  "next_order": 12346,\n  "status": "shipped"\n}'
)
async def _(program: ModuleType) -> object:
    return await text(program.mcp, "orders://12345")


@states(OPERATORS, "{+path} keeps its slashes", ["# Returns policy", "# Printer setup"])
async def _(program: ModuleType) -> object:
    pages = [await text(program.mcp, f"manuals://{path}") for path in ("returns.md", "printing/setup.md")]
    return [page.splitlines()[0] for page in pages]


@states(OPERATORS, "omitted query parameters fall to defaults", ["10 newest reviews of Dune", "10 top reviews of Dune"])
async def _(program: ModuleType) -> object:
    return [await text(program.mcp, f"reviews://978-0441172719{query}") for query in ("", "?sort=top")]


@states(OPERATORS, "{/path*} is a list", "catalog > fiction > sci-fi")
async def _(program: ModuleType) -> object:
    return await text(program.mcp, "shelves://browse/fiction/sci-fi")


@states(OPERATORS, "traversal is an unknown resource", [(-32602, UNKNOWN + "manuals://../etc/passwd")] * 2)
async def _(program: ModuleType) -> object:
    plain, encoded = [await contents(program.mcp, f"manuals://{path}/passwd") for path in ("../etc", "..%2Fetc")]
    return [plain[:2], (encoded[0], encoded[1].replace("%2F", "/"))]


@states("uri_templates/tutorial002", "safe_join catches what leads out", ["page", -32603])
async def _(program: ModuleType) -> object:
    with TemporaryDirectory() as folder:
        vars(program)["DOCS_ROOT"] = Path(folder)
        Path(folder, "page.md").write_text("page")
        Path(folder, "link.md").symlink_to(__file__)
        return [await text(program.mcp, "manuals://page.md"), (await contents(program.mcp, "manuals://link.md"))[0]]


@states(
    "uri_templates/tutorial003",
    "exempt here, relaxed there",
    ["Would import from /etc/books", "Would import from ../books", -32602],
)
async def _(program: ModuleType) -> object:
    return [
        await text(program.mcp, "imports://preview//etc/books"),
        await text(program.relaxed, "imports://preview/../books"),
        (await contents(program.relaxed, "imports://preview//etc/books"))[0],
    ]


# docs/servers/handling-errors.md


@states(
    "handling_errors/tutorial003",
    "a missing resource is told with its URI",
    (-32602, "No book titled 'Nothing' in the catalog.", {"uri": "books://Nothing"}),
)
async def _(program: ModuleType) -> object:
    return await contents(program.mcp, "books://Nothing")


# docs/servers/prompts.md


@states(
    "prompts/tutorial001",
    "what a client gets back from prompts/list",
    [
        {
            "name": "review_code",
            "description": "Review a piece of code.",
            "arguments": [{"name": "code", "required": True}],
        }
    ],
)
async def _(program: ModuleType) -> object:
    return await entries(program.mcp, "prompts")


@states(
    "prompts/tutorial001",
    "the str becomes one user message",
    [{"role": "user", "content": {"type": "text", "text": "Please review this code:\n\ndef add(a, b): return a + b"}}],
)
async def _(program: ModuleType) -> object:
    return messages_of(await rendered(program.mcp, "review_code", code="def add(a, b): return a + b"))


@states(
    "prompts/tutorial001",
    "required is enforced before the function runs (by -32602, see docs/differences.md)",
    (-32602, "Invalid arguments for prompt 'review_code': missing required argument 'code'"),
)
async def _(program: ModuleType) -> object:
    try:
        return await rendered(program.mcp, "review_code")
    except MCPError as error:
        return error.code, error.message


@states("prompts/tutorial002", "three messages, in order", ["user", "user", "assistant"])
async def _(program: ModuleType) -> object:
    return [message.role for message in (await rendered(program.mcp, "debug_error", error="TypeError")).messages]


@states(
    "prompts/tutorial003",
    "the entry carries titles and descriptions",
    [
        {
            "name": "review_code",
            "title": "Code review",
            "description": "Review a piece of code.",
            "arguments": [
                {"name": "code", "description": "The code to review.", "required": True},
                {"name": "language", "description": "The language the code is written in.", "required": False},
            ],
        }
    ],
)
async def _(program: ModuleType) -> object:
    return await entries(program.mcp, "prompts")


@states(
    "prompts/tutorial004",
    "the first message is a resource block",
    {
        "type": "resource",
        "resource": {"uri": "style://python", "mimeType": "text/markdown", "text": "* Prefer early returns.\n"},
    },
)
async def _(program: ModuleType) -> object:
    with TemporaryDirectory() as folder:
        vars(program)["STYLE_GUIDE_FILE"] = path = Path(folder, "style-guide.md")
        path.write_text("* Prefer early returns.\n")
        return messages_of(await rendered(program.mcp, "review_code", code="x"))[0]["content"]


@states("prompts/tutorial005", "the picture becomes an image block", ["image", "image/png", PNG])
async def _(program: ModuleType) -> object:
    with TemporaryDirectory() as folder:
        vars(program)["DIAGRAM_FILE"] = path = Path(folder, "architecture.png")
        path.write_bytes(PNG)
        content = messages_of(await rendered(program.mcp, "explain_component", component="cache"))[0]["content"]
    return [content["type"], content["mimeType"], b64decode(content["data"])]


@states("prompts/tutorial006", "a listener hears of it, and saving twice replaces", [PromptsListChanged(), "second"])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client, client.listen(prompts_list_changed=True) as changes:
        for instruction in ("first", "second"):
            await client.call_tool("save_template", {"name": "mine", "instruction": instruction})
        event = await changes.__anext__()
        return [event, (await client.list_prompts()).prompts[-1].description]


# docs/servers/media.md


async def one_block(program: ModuleType, tool: str, **files: bytes) -> Any:
    """The only content block of a tool's result, and its structured content; `files` are what the program reads."""
    with TemporaryDirectory() as folder:
        for name, data in files.items():
            path = Path(folder, getattr(program, name).name)
            path.write_bytes(data)
            setattr(program, name, path)
        async with Client(program.mcp) as client:
            result = await client.call_tool(tool)
    return [
        *(block.model_dump(by_alias=True, exclude_none=True) for block in result.content),
        result.structured_content,
    ]


IMAGE = {"type": "image", "data": "iVBORw0K", "mimeType": "image/png"}


@states("media/tutorial001", "an image block, and nothing structured", [IMAGE, None])
async def _(program: ModuleType) -> object:
    return await one_block(program, "logo", LOGO_FILE=PNG)


@states("media/tutorial002", "an audio block", [{"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}, None])
async def _(program: ModuleType) -> object:
    return await one_block(program, "chime", CHIME_FILE=b"RIFF")


@states("media/tutorial003", "bytes with a format", [IMAGE, None])
async def _(program: ModuleType) -> object:
    return await one_block(program, "logo_from_bytes", LOGO_FILE=PNG)


@states("media/tutorial004", "icons travel with what they decorate", ["brand-kit.png", "palette.svg", "brand-kit.png"])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        assert client.server_info is not None
        decorated = [
            client.server_info,
            (await client.list_tools()).tools[0],
            (await client.list_resources()).resources[0],
        ]
    return [icon.src.rpartition("/")[2] for thing in decorated for icon in thing.icons or ()]


@states(
    "media/tutorial005",
    "the document goes into the result untouched",
    [
        {
            "type": "resource",
            "resource": {
                "uri": "brand://guidelines",
                "mimeType": "text/markdown",
                "text": "# Brand guidelines\n\nUse the primary colour for calls to action.\n",
            },
        },
        None,
    ],
)
async def _(program: ModuleType) -> object:
    return await one_block(program, "brand_guidelines")
