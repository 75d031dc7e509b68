"""What docs/servers/resources.md, prompts.md, completions.md and uri-templates.md say about their programs."""

import base64
import logging
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel
from upstream_statements import asked, call, error_of, in_both_eras, printed, read, refusal, resource, states, wire

from mcp import Client
from mcp.client.subscriptions import PromptsListChanged
from mcp.server.mcpserver.resources import TextResource
from mcp.types import (
    BlobResourceContents,
    PromptListChangedNotification,
    PromptReference,
    ResourceTemplateReference,
    TextResourceContents,
)

# docs/servers/resources.md


@states(
    "resources/tutorial001",
    "the listing",
    [
        {
            "name": "get_config",
            "uri": "config://app",
            "description": "The active shop configuration.",
            "mimeType": "text/plain",
        }
    ],
)
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, resources)


async def resources(client: Client) -> object:
    return [wire(listed) for listed in (await client.list_resources()).resources]


async def templates(client: Client) -> object:
    return [wire(listed) for listed in (await client.list_resource_templates()).resource_templates]


async def contents(client: Client, uri: str) -> object:
    return [wire(content) for content in (await client.read_resource(uri)).contents]


@states(
    "resources/tutorial001",
    "reading runs the function",
    [{"uri": "config://app", "mimeType": "text/plain", "text": "theme=dark\nlanguage=en"}],
)
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, lambda client: contents(client, "config://app"))


@states("resources/tutorial001", "listing calls no function", 0)
async def _(program: ModuleType) -> object:
    calls: list[str] = []

    @program.mcp.resource("calls://{name}")
    def one(name: str) -> str:
        calls.append(name)
        return name

    async def ask(client: Client) -> object:
        return [await resources(client), await templates(client)]

    await in_both_eras(program, ask)
    return len(calls)


@states("resources/tutorial001", "ready-made classes are registered with add_resource", "hello")
async def _(program: ModuleType) -> object:
    program.mcp.add_resource(TextResource(uri="note://hello", name="hello", text="hello"))
    return await in_both_eras(program, lambda client: read(client, "note://hello"))


@states(
    "resources/tutorial002",
    "a template moves house",
    [
        ["config://app"],
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
    async def ask(client: Client) -> object:
        return [[str(one.uri) for one in (await client.list_resources()).resources], await templates(client)]

    return await in_both_eras(program, ask)


@states(
    "resources/tutorial002",
    "the concrete URI is answered",
    [{"uri": "users://42/profile", "mimeType": "text/plain", "text": "User 42: 12 orders since 2021."}],
)
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, lambda client: contents(client, "users://42/profile"))


@states(
    "resources/tutorial002",
    "placeholders and parameters have to agree",
    "ValueError: Mismatch between URI parameters {'user_id'} and function parameters {'user'}",
)
async def _(program: ModuleType) -> object:
    def get_user_profile(user: str) -> str: ...

    return refusal(lambda: program.mcp.resource("users://{user_id}/profile")(get_user_profile))


@states(
    "resources/tutorial003",
    "a str is sent as it is",
    ["text/markdown", "# Bookshop\n\nSearch the catalog with the `search_books` tool."],
)
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, lambda client: labelled(client, "docs://readme"))


async def labelled(client: Client, uri: str) -> object:
    [content] = (await client.read_resource(uri)).contents
    return [content.mime_type, content.text if isinstance(content, TextResourceContents) else content.blob]


@states(
    "resources/tutorial003", "a dict is JSON text", ["application/json", '{\n  "books": 1204,\n  "authors": 391\n}']
)
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, lambda client: labelled(client, "stats://catalog"))


@states("resources/tutorial003", "bytes are a blob in base64", [BlobResourceContents, "image/gif", b"GIF89a"])
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        [content] = (await client.read_resource("covers://placeholder")).contents
        assert isinstance(content, BlobResourceContents)
        return [type(content), content.mime_type, base64.b64decode(content.blob)[:6]]

    return await in_both_eras(program, ask)


@states(
    "resources/tutorial003",
    "a list and a model become JSON, the label stays text/plain",
    [["text/plain", "[\n  1,\n  2\n]"], ["text/plain", '{\n  "ok": true\n}']],
)
async def _(program: ModuleType) -> object:
    class Health(BaseModel):
        ok: bool

    program.mcp.resource("a://list", name="list")(lambda: [1, 2])
    program.mcp.resource("a://model", name="model")(lambda: Health(ok=True))
    return [await asked(program, lambda client: labelled(client, uri)) for uri in ("a://list", "a://model")]  # noqa: B023


# docs/servers/prompts.md


async def prompts(client: Client) -> object:
    return [wire(prompt) for prompt in (await client.list_prompts()).prompts]


REVIEW = {
    "name": "review_code",
    "description": "Review a piece of code.",
    "arguments": [{"name": "code", "required": True}],
}


@states("prompts/tutorial001", "the listing", [REVIEW])
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, prompts)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": {"type": "text", "text": text}}


@states(
    "prompts/tutorial001",
    "rendered: one user message",
    {
        "description": "Review a piece of code.",
        "messages": [user("Please review this code:\n\ndef add(a, b): return a + b")],
        "resultType": "complete",
    },
)
async def _(program: ModuleType) -> object:
    return await rendered(program, "review_code", code="def add(a, b): return a + b")


async def rendered(program: ModuleType, prompt: str, **arguments: str) -> dict[str, Any]:
    async with Client(program.mcp) as client:
        return wire(await client.get_prompt(prompt, arguments))


@states(
    "prompts/tutorial001",
    "without code the request fails (ours: -32602 that names it)",
    (-32602, "Invalid arguments for prompt 'review_code': missing required argument 'code'"),
)
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, lambda client: error_of(client.get_prompt("review_code")))


@states(
    "prompts/tutorial002",
    "three messages, in order",
    {
        "description": "Start a debugging conversation.",
        "messages": [
            user("I'm seeing this error:"),
            user("TypeError: 'int' object is not iterable"),
            {
                "role": "assistant",
                "content": {"type": "text", "text": "I'll help debug that. What have you tried so far?"},
            },
        ],
        "resultType": "complete",
    },
)
async def _(program: ModuleType) -> object:
    return await rendered(program, "debug_error", error="TypeError: 'int' object is not iterable")


@states("prompts/tutorial002", "both are listed", ["review_code", "debug_error"])
async def _(program: ModuleType) -> object:
    return [prompt["name"] for prompt in await asked(program, prompts)]


@states(
    "prompts/tutorial003",
    "everything a client needs to draw a good form",
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
    return await in_both_eras(program, prompts)


@states("prompts/tutorial003", "language has a default", [user("Please review this python code:\n\nx")])
async def _(program: ModuleType) -> object:
    return (await rendered(program, "review_code", code="x"))["messages"]


GUIDE = "* Prefer early returns.\n"


def write(program: ModuleType, name: str, content: bytes) -> None:
    """Makes the file a program reads; the folder of the programs stays as it is."""
    path = Path(tempfile.mkdtemp()) / getattr(program, name).name
    path.write_bytes(content)
    setattr(program, name, path)


@states(
    "prompts/tutorial004",
    "the file is embedded, the request follows",
    [
        {
            "role": "user",
            "content": {
                "type": "resource",
                "resource": {"uri": "style://python", "mimeType": "text/markdown", "text": GUIDE},
            },
        },
        user("Review this code against the style guide above:\n\nx"),
    ],
)
async def _(program: ModuleType) -> object:
    write(program, "STYLE_GUIDE_FILE", GUIDE.encode())
    return (await rendered(program, "review_code", code="x"))["messages"]


@states("prompts/tutorial004", "the style guide is a resource too", GUIDE)
async def _(program: ModuleType) -> object:
    write(program, "STYLE_GUIDE_FILE", GUIDE.encode())
    return await resource(program, "style://python")


@states(
    "prompts/tutorial005",
    "the picture is an image block",
    [
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
        {"type": "text", "text": "Where does the bus sit in this architecture, and what does it talk to?"},
    ],
)
async def _(program: ModuleType) -> object:
    write(program, "DIAGRAM_FILE", b"\x89PNG\r\n\x1a\n")
    messages = (await rendered(program, "explain_component", component="the bus"))["messages"]
    return [message["content"] for message in messages]


@states(
    "prompts/tutorial006",
    "the listing reflects it at once, saving again replaces",
    [["review_code", "mine"], "be harsh"],
)
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        for instruction in ("be kind", "be harsh"):
            await client.call_tool("save_template", {"name": "mine", "instruction": instruction})
        listed = (await client.list_prompts()).prompts
        return [[prompt.name for prompt in listed], listed[-1].description]

    return await in_both_eras(program, ask)


@states("prompts/tutorial006", "what was saved is rendered", [user("be kind\n\nx = 1")])
async def _(program: ModuleType) -> object:
    await call(program, "save_template", name="mine", instruction="be kind")
    return (await rendered(program, "mine", code="x = 1"))["messages"]


@states("prompts/tutorial006", "a listener hears it", PromptsListChanged())
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client, client.listen(prompts_list_changed=True) as subscription:
        await client.call_tool("save_template", {"name": "mine", "instruction": "be kind"})
        return await anext(subscription)


@states("prompts/tutorial006", "a pre-2026 caller hears it", [PromptListChangedNotification])
async def _(program: ModuleType) -> object:
    heard: list[object] = []

    async def hear(message: object) -> None:
        heard.append(type(message))

    async with Client(program.mcp, mode="legacy", message_handler=hear) as client:
        await client.call_tool("save_template", {"name": "mine", "instruction": "be kind"})
        await client.list_prompts()
    return heard


# docs/servers/completions.md

PROMPT = PromptReference(type="ref/prompt", name="review_code")
REPOSITORY = ResourceTemplateReference(type="ref/resource", uri="github://repos/{owner}/{repo}")


async def completed(program: ModuleType, ref: Any, name: str, value: str, **options: Any) -> object:
    async def ask(client: Client) -> object:
        result = await client.complete(ref=ref, argument={"name": name, "value": value}, **options)
        return result.completion.values

    return await in_both_eras(program, ask)


@states("completions/tutorial001", "no handler: Method not found, no capability", [(-32601, "Method not found"), None])
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        error = await error_of(client.complete(ref=PROMPT, argument={"name": "language", "value": "py"}))
        return [error, client.server_capabilities.completions]

    return await in_both_eras(program, ask)


LANGUAGES = ["go", "javascript", "python", "rust", "typescript"]

for number in "23":
    COMPLETING = f"completions/tutorial00{number}"

    @states(COMPLETING, "a prefix, nothing, and an argument it does not know", [["python"], LANGUAGES, []])
    async def _(program: ModuleType) -> object:
        return [
            await completed(program, PROMPT, "language", "py"),
            await completed(program, PROMPT, "language", ""),
            await completed(program, PROMPT, "code", ""),
        ]

    @states(COMPLETING, "the capability is declared for you", "CompletionsCapability()")
    async def _(program: ModuleType) -> object:
        async def ask(client: Client) -> object:
            return repr(client.server_capabilities.completions)

        return await in_both_eras(program, ask)


@states("completions/tutorial003", "what is already resolved", ["python-sdk", "typescript-sdk", "inspector"])
async def _(program: ModuleType) -> object:
    return await completed(program, REPOSITORY, "repo", "", context_arguments={"owner": "modelcontextprotocol"})


@states("completions/tutorial003", "no owner, no suggestions", [])
async def _(program: ModuleType) -> object:
    return await completed(program, REPOSITORY, "repo", "")


# docs/servers/uri-templates.md

OPERATORS = "uri_templates/tutorial001"
UNKNOWN = -32602


async def reading(program: ModuleType, *uris: str) -> list[object]:
    seen: list[object] = []
    for uri in uris:
        answer: Any = await in_both_eras(program, lambda client, uri=uri: read(client, uri))
        seen.append(UNKNOWN if answer[0] == UNKNOWN else answer)
    return seen


DUNE = '{\n  "title": "Dune",\n  "author": "Frank Herbert"\n}'


@states(OPERATORS, "{isbn} stops at the first slash", [DUNE, UNKNOWN])
async def _(program: ModuleType) -> object:
    return await reading(program, "books://978-0441172719", "books://978/extra")


@states(
    OPERATORS,
    "an int parameter is converted",
    ['{\n  "order_id": 12345,\n  "next_order": 12346,\n  "status": "shipped"\n}'],
)
async def _(program: ModuleType) -> object:
    return await reading(program, "orders://12345")


@states(
    OPERATORS,
    "{+path} keeps its slashes",
    ["# Returns policy\n\nThirty days with a receipt.", "# Printer setup\n\nLoad paper, then power on."],
)
async def _(program: ModuleType) -> object:
    return await reading(program, "manuals://returns.md", "manuals://printing/setup.md")


@states(
    OPERATORS,
    "query parameters fall through to their defaults, extras are ignored",
    ["10 newest reviews of Dune", "10 top reviews of Dune", "3 top reviews of Dune"],
)
async def _(program: ModuleType) -> object:
    book = "reviews://978-0441172719"
    return await reading(program, book, f"{book}?sort=top", f"{book}?sort=top&extra=1&limit=3")


@states(OPERATORS, "{/path*} is a list", ["catalog > fiction > sci-fi"])
async def _(program: ModuleType) -> object:
    return await reading(program, "shelves://browse/fiction/sci-fi")


@states(
    OPERATORS,
    "a path that escapes is an unknown resource, and the handler never runs",
    [(UNKNOWN, "Unknown resource")] * 5,
)
async def _(program: ModuleType) -> object:
    seen: list[object] = []
    program.MANUALS.clear()  # a handler that ran would raise KeyError
    for path in ("../etc/passwd", "..%2Fetc", "%2E%2E/etc", "..%5Cetc", "%00"):
        code, message = await in_both_eras(program, lambda client, path=path: read(client, f"manuals://{path}"))
        seen.append((code, message.partition(":")[0]))
    return seen


@states(OPERATORS, "dots that are no path segment pass", ["v1.0..v2.0", "HEAD~3..HEAD"])
async def _(program: ModuleType) -> object:
    ranges = ["v1.0..v2.0", "HEAD~3..HEAD"]
    program.MANUALS.update(zip(ranges, ranges, strict=True))
    return await reading(program, *[f"manuals://{one}" for one in ranges])


@states(
    OPERATORS,
    "what the parser rejects",
    ["InvalidUriTemplate"] * 6 + ["ValueError", "no error"],
)
async def _(program: ModuleType) -> object:
    def handler(path: str, ext: str = "") -> str: ...

    def limited(isbn: str, limit: int) -> str: ...

    def parse(template: str) -> object:
        from mcp.shared.uri_template import UriTemplate

        return UriTemplate.parse(template)

    wrong = ["m://{+path}{ext}", "m://{+a}/{/b*}", "m://{a", "m://{a}/{a}", "m://{var:3}", "m://{?vars*}"]
    seen = [refusal(lambda: parse(template)).partition(":")[0] for template in wrong]  # noqa: B023
    seen.append(refusal(lambda: program.mcp.resource("r://{isbn}{?limit}")(limited)).partition(":")[0])
    seen.append(refusal(lambda: program.mcp.resource("manuals://{+path}{.ext}")(handler)).partition(":")[0])
    return seen


@states(
    "uri_templates/tutorial002",
    "safe_join serves what is inside, and nothing that a link leads out to",
    ["inside", -32602, False],
)
async def _(program: ModuleType) -> object:
    root = Path(tempfile.mkdtemp())
    secret = root / "secret.md"
    manuals = root / "manuals"
    manuals.mkdir()
    vars(program)["DOCS_ROOT"] = manuals
    secret.write_text("secret")
    (manuals / "returns.md").write_text("inside")
    (manuals / "link.md").symlink_to(secret)
    logging.disable(logging.CRITICAL)
    read_in, traversed, linked = await reading(
        program, "manuals://returns.md", "manuals://../secret.md", "manuals://link.md"
    )
    return [read_in, traversed, linked == "secret"]


@states(
    "uri_templates/tutorial003", "the exempt parameter may be an absolute path", ["Would import from /srv/books.csv"]
)
async def _(program: ModuleType) -> object:
    return await reading(program, "imports://preview//srv/books.csv")


@states(
    "uri_templates/tutorial003",
    "relaxed takes .., but still no absolute path",
    ["Would import from ../books.csv", (UNKNOWN, True)],
)
async def _(program: ModuleType) -> object:
    async with Client(program.relaxed) as client:
        escaped = await read(client, "imports://preview/../books.csv")
        code, message = await read(client, "imports://preview//srv/books.csv")
        return [escaped, (code, message.startswith("Unknown resource"))]


# docs/get-started/first-steps.md, docs/index.md, docs/get-started/real-host.md, docs/get-started/testing.md

DEMOS = ("first_steps/tutorial001", "index/tutorial001")

for demo in DEMOS:

    @states(demo, "add is described and answers 3", ["Add two numbers.", ["a", "b"], {"result": 3}])
    async def _(program: ModuleType) -> object:
        async def ask(client: Client) -> object:
            [tool] = (await client.list_tools()).tools
            result = await client.call_tool("add", {"a": 1, "b": 2})
            return [tool.description, tool.input_schema["required"], result.structured_content]

        return await in_both_eras(program, ask)

    @states(demo, "no resource, one template, read", [[], ["greeting://{name}"], "Hello, World!"])
    async def _(program: ModuleType) -> object:
        async def ask(client: Client) -> object:
            return [
                await resources(client),
                [one.uri_template for one in (await client.list_resource_templates()).resource_templates],
                await read(client, "greeting://World"),
            ]

        return await in_both_eras(program, ask)


@states(
    "first_steps/tutorial001",
    "one prompt, one user message",
    [["text"], [user("Summarize the following text in one sentence:\n\nhello")]],
)
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        [prompt] = (await client.list_prompts()).prompts
        result = await client.get_prompt("summarize", {"text": "hello"})
        return [[one.name for one in prompt.arguments or []], [wire(message) for message in result.messages]]

    return await in_both_eras(program, ask)


@states(
    "first_steps/tutorial001",
    "the declared capabilities, as printed",
    "{'prompts': {'list_changed': True}, 'resources': {'subscribe': True, 'list_changed': True}, "
    "'tools': {'list_changed': True}}\n",
)
async def _(program: ModuleType) -> object:
    async def main() -> None:
        async with Client(program.mcp) as client:
            print(client.server_capabilities.model_dump(exclude_none=True))

    return await printed(main())


@states("testing/tutorial001", "the test of the page passes", True)
async def _(program: ModuleType) -> object:
    from mcp.types import CallToolResult, TextContent

    async with Client(program.mcp, raise_exceptions=True) as client:
        result = await client.call_tool("add", {"a": 1, "b": 2})
    result.meta = None
    expected = CallToolResult(content=[TextContent(type="text", text="3")], structured_content={"result": 3})
    return result == expected or (result, expected)


@states(
    "testing/tutorial001",
    "raise_exceptions shows what is wrong outside a tool",
    [(-32603, "Internal server error"), (-32603, "Error rendering prompt broken")],
)
async def _(program: ModuleType) -> object:
    @program.mcp.prompt()
    def broken() -> str:
        raise RuntimeError("disk on fire")

    seen: list[object] = []
    for raised in (False, True):
        async with Client(program.mcp, raise_exceptions=raised) as client:
            seen.append(await error_of(client.get_prompt("broken")))
    return seen


REAL_HOST = "real_host/tutorial001"


@states(REAL_HOST, "two tools and a resource", [["search_books", "get_author"], ["catalog://titles"]])
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        return [tools, [str(one.uri) for one in (await client.list_resources()).resources]]

    return await in_both_eras(program, ask)


@states(
    REAL_HOST,
    "all three answer",
    [{"result": ["Dune"]}, {"result": "Frank Herbert"}, "Dune\nNeuromancer\nThe Left Hand of Darkness"],
)
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        found = await client.call_tool("search_books", {"query": "herbert"})
        author = await client.call_tool("get_author", {"title": "Dune"})
        return [found.structured_content, author.structured_content, await read(client, "catalog://titles")]

    return await in_both_eras(program, ask)
