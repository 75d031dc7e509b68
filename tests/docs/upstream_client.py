"""What docs/client/{index,transports,session-groups}.md and docs/protocol-versions.md say about their programs."""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path
from types import ModuleType
from typing import Any

from upstream_statements import (
    ERAS,
    anew,
    error_of,
    in_both_eras,
    printed,
    read,
    refusal,
    states,
    texts,
)

sys.path.insert(0, str(Path(__file__).parents[1] / "drivers"))

from scripted_http_server import own_client
from served_app import served

from mcp import Client, ClientSessionGroup
from mcp.client.session_group import StreamableHttpParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import DiscoverResult, Implementation, PromptReference

BOOK = {"title": "Dune", "author": "Frank Herbert", "year": 1965}
BOOK_TEXT = '{\n  "title": "Dune",\n  "author": "Frank Herbert",\n  "year": 1965\n}'
SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"title": "Query", "type": "string"},
        "limit": {"default": 10, "title": "Limit", "type": "integer"},
    },
    "required": ["query"],
    "title": "search_booksArguments",
}

# docs/client/index.md


@states(
    "client/tutorial001",
    "main() prints what a connection knows",
    [True, True, "2026-07-28", "Search the catalog before recommending a book."],
)
async def _(program: ModuleType) -> object:
    info, capabilities, *rest = (await printed(program.main())).splitlines()
    return ["name='Bookshop'" in info or info, "tools=ToolsCapability" in capabilities or capabilities, *rest]


@states("client/tutorial001", "a capability the server does not have is None", [None, "2026-07-28", None, "2025-11-25"])
async def _(program: ModuleType) -> object:
    seen: list[object] = []
    for mode in ERAS:
        async with Client(program.mcp, mode=mode) as client:
            seen += [client.server_capabilities.completions, client.protocol_version]
    return seen


@states("client/tutorial001", "a Client cannot be reused", True)
async def _(program: ModuleType) -> object:
    client = Client(program.mcp)
    async with client:
        pass

    async def again() -> None:
        async with client:
            pass

    seen = await error_of(again())
    return "no error" not in str(seen) or seen


@states(
    "client/tutorial002",
    "main() prints each tool",
    ["search_books", "Search the catalog", "Search the catalog by title or author.", str(SCHEMA)],
)
async def _(program: ModuleType) -> object:
    *lines, schema = (await printed(program.main())).splitlines()
    return [*lines, schema if eval(schema) != SCHEMA else str(SCHEMA)]


@states("client/tutorial002", "get_display_name picks the title", ["Search the catalog", "plain"])
async def _(program: ModuleType) -> object:
    from mcp.shared.metadata_utils import get_display_name

    program.mcp.tool(name="plain")(lambda: "x")
    async with Client(program.mcp) as client:
        return [get_display_name(tool) for tool in (await client.list_tools()).tools]


@states("client/tutorial003", "main() prints text, object and success", f"{BOOK_TEXT}\n{BOOK}\nFalse\n")
async def _(program: ModuleType) -> object:
    return await printed(program.main())


@states(
    "client/tutorial003",
    "a raising tool is a result, and so is an unknown one",
    [
        [True, ["Error executing tool lookup_book: No book titled 'Solaris' in the catalog."], None],
        [True, ["Unknown tool: does_not_exist"], None],
    ],
)
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        results = [
            await client.call_tool("lookup_book", {"title": "Solaris"}),
            await client.call_tool("does_not_exist", {}),
        ]
        return [[result.is_error, texts(result), result.structured_content] for result in results]

    return await in_both_eras(program, ask)


@states(
    "client/tutorial004",
    "main() prints both lists and a reading",
    "['catalog://genres']\n['catalog://genres/{genre}']\n3 books filed under poetry.\n",
)
async def _(program: ModuleType) -> object:
    return await printed(program.main())


@states(
    "client/tutorial004",
    "on the 2026 wire subscribe_resource is unknown, listening is served",
    [(-32601, "Method not found"), True],
)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        error = await error_of(client.subscribe_resource("catalog://genres"))  # pyright: ignore[reportDeprecated]
        assert client.server_capabilities.resources is not None
        return [error, client.server_capabilities.resources.subscribe]


@states(
    "client/tutorial005",
    "the listing and the rendered message",
    [
        ["recommend", "Recommend a book", [("genre", True)]],
        ["user", "Recommend one poetry book from the catalog and say why."],
    ],
)
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        [prompt] = (await client.list_prompts()).prompts
        [message] = (await client.get_prompt("recommend", {"genre": "poetry"})).messages
        arguments = [(argument.name, argument.required) for argument in prompt.arguments or []]
        text = message.content.text if message.content.type == "text" else None
        return [[prompt.name, prompt.title, arguments], [message.role, text]]

    return await in_both_eras(program, ask)


@states("client/tutorial005", "main() prints them", [2, True])
async def _(program: ModuleType) -> object:
    lines = (await printed(program.main())).splitlines()
    words = "user type='text' text='Recommend one poetry book from the catalog and say why.'"
    return [len(lines), lines[-1].startswith(words) or lines[-1]]


@states("client/tutorial006", "main() prints the suggestion", "['poetry']\n")
async def _(program: ModuleType) -> object:
    return await printed(program.main())


@states("client/tutorial006", "in either era", ["fiction", "non-fiction", "poetry"])
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        ref = PromptReference(type="ref/prompt", name="recommend")
        return (await client.complete(ref=ref, argument={"name": "genre", "value": ""})).completion.values

    return await in_both_eras(program, ask)


@states("client/tutorial007", "main() prints both tools, in one page", ["['search_books', 'reserve_book']\n", None])
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        return (await client.list_tools()).next_cursor

    return [await printed(program.main()), await in_both_eras(program, ask)]


# docs/client/transports.md

IN_MEMORY = "client_transports/tutorial001"
FOUND = {"result": "Found 3 books matching 'dune'."}


@states(IN_MEMORY, "main() prints", f"{FOUND}\n")
async def _(program: ModuleType) -> object:
    return await printed(program.main())


@states(IN_MEMORY, "a Client that is not entered", "RuntimeError: Client must be used within an async context manager")
async def _(program: ModuleType) -> object:
    client = Client("http://localhost:8000/mcp")
    return await error_of(client.list_tools())


@contextlib.contextmanager
def bookshop(*headers_seen: list[str | None]) -> Generator[str, None, None]:
    """The address of the page's server, over HTTP; notes the Authorization header of each request."""
    program = anew(IN_MEMORY)
    app = program.mcp.streamable_http_app()

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            for seen in headers_seen:
                value = dict(scope["headers"]).get(b"authorization")
                seen.append(value.decode() if value else None)
        await app(scope, receive, send)

    with served(noting) as address:
        yield address


def redirected(function: Callable[..., Any], address: str) -> Callable[..., Any]:
    """The function, with its first argument replaced: the programs name a port that may be in use."""

    def call(_: str, **options: Any) -> Any:
        return function(f"{address}/mcp", **options)

    return call


TOOL_NAMES = "['search_books']\n"


@states("client_transports/tutorial002", "a URL is Streamable HTTP", TOOL_NAMES)
async def _(program: ModuleType) -> object:
    with bookshop() as address:
        vars(program)["Client"] = redirected(Client, address)
        return await printed(program.main())


@states(
    "client_transports/tutorial003",
    "headers belong on the HTTP client, which stays yours",
    [TOOL_NAMES, {"Bearer ..."}],
)
async def _(program: ModuleType) -> object:
    seen: list[str | None] = []
    with bookshop(seen) as address:
        vars(program)["streamable_http_client"] = redirected(streamable_http_client, address)
        return [await printed(program.main()), set(seen)]


@states("client_transports/tutorial003", "the SDK does not close a client it did not create", False)
async def _(program: ModuleType) -> object:
    with bookshop() as address:
        async with own_client() as http_client:
            async with Client(streamable_http_client(f"{address}/mcp", http_client=http_client)):
                pass
            return http_client.is_closed


@states(
    "client_transports/tutorial003",
    "headers= is gone",
    "TypeError: streamable_http_client() got an unexpected keyword argument 'headers'",
)
async def _(program: ModuleType) -> object:
    function: Any = streamable_http_client
    return refusal(lambda: function("http://localhost/mcp", headers={}))


UV = f"""#!/bin/sh
# Stands for uv: runs in the environment there is.
shift
case "$1" in
mcp) exec {Path(sys.executable).parent}/"$@" ;;
*) exec {sys.executable} "$@" ;;
esac
"""


@contextlib.contextmanager
def project(**files: str) -> Generator[Path, None, None]:
    """A folder that holds these programs, to be in, with a `uv` on the PATH."""
    here, path = Path.cwd(), os.environ["PATH"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "uv").write_text(UV)
        (folder / "uv").chmod(0o755)
        for file, program in files.items():
            shutil.copy(str(anew(program).__file__), folder / f"{file}.py")
        os.environ["PATH"] = f"{folder}{os.pathsep}{path}"
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(here)
            os.environ["PATH"] = path


KEY_SERVER = """
import os, sys
from mcp.server import MCPServer
mcp = MCPServer("Bookshop")
@mcp.tool()
def search_books() -> list[str]:
    return sorted(os.environ)
print("started", file=sys.stderr)
mcp.run()
"""


@states("client_transports/tutorial004", "a subprocess is launched, and shut down", TOOL_NAMES)
async def _(program: ModuleType) -> object:
    with project() as folder:
        (folder / "server.py").write_text(KEY_SERVER)
        return await printed(program.main())


@states("client_transports/tutorial004", "env= is merged into an allow-list, nothing is inherited", [True, set[str]()])
async def _(program: ModuleType) -> object:
    os.environ["SECRET"] = "x"
    allowed = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "PWD", "SHLVL", "OLDPWD", "_", "LC_CTYPE"}
    with project() as folder:
        (folder / "server.py").write_text(KEY_SERVER)
        async with Client(program.server) as client:
            result = await client.call_tool("search_books")
    structured: Any = result.structured_content
    names: set[str] = set(structured["result"])
    return ["BOOKSHOP_API_KEY" in names, names - allowed - {"BOOKSHOP_API_KEY"}]


@states("client_transports/tutorial004", "stdio_client sends the child's stderr elsewhere", "started\n")
async def _(program: ModuleType) -> object:
    with project() as folder:
        (folder / "server.py").write_text(KEY_SERVER)
        with open(folder / "log", "w+") as log:
            async with Client(stdio_client(program.server, errlog=log)) as client:
                await client.list_tools()
            return (folder / "log").read_text()


# docs/client/session-groups.md

COLLISION = "{'search'} already exist in group tools."


def libraries() -> contextlib.AbstractContextManager[Path]:
    return project(library_server="session_groups/tutorial001", web_server="session_groups/tutorial002")


@states("session_groups/tutorial003", "the second connect_to_server refuses", COLLISION)
async def _(program: ModuleType) -> object:
    with libraries():
        return (await error_of(program.main()))[1]


@states(
    "session_groups/tutorial004",
    "main() prints both names and the result",
    "['Library.search', 'Web.search']\n{'result': \"12 pages match 'model context protocol'.\"}\n",
)
async def _(program: ModuleType) -> object:
    with libraries():
        return await printed(program.main())


@contextlib.asynccontextmanager
async def group_of(*programs: str, **options: Any) -> AsyncGenerator[tuple[ClientSessionGroup, list[Any]], None]:
    """A group of two of the page's servers, over HTTP, and its sessions."""
    async with contextlib.AsyncExitStack() as stack:
        addresses = [stack.enter_context(served(anew(program).mcp.streamable_http_app())) for program in programs]
        group = await stack.enter_async_context(ClientSessionGroup(**options))
        sessions = [
            await group.connect_to_server(StreamableHttpParameters(url=f"{address}/mcp")) for address in addresses
        ]
        yield group, sessions


@states(
    "session_groups/tutorial004",
    "the key is yours, the tool is untouched, resources too",
    ["search", ["Library.hours"], ["Library.search"], ["Library.hours"]],
)
async def _(program: ModuleType) -> object:
    names = ("session_groups/tutorial001", "session_groups/tutorial002")
    async with group_of(*names, component_name_hook=program.by_server) as (group, [_, web]):
        seen = [group.tools["Web.search"].name, sorted(group.resources)]
        await group.disconnect_from_server(web)
        return [*seen, sorted(group.tools), sorted(group.resources)]


@states("session_groups/tutorial001", "a session you hold is added, and not closed", [["search"], ["hours"], 1])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        async with ClientSessionGroup() as group:
            await group.connect_with_session(Implementation(name="Library", version="1"), client.session)
            seen = [sorted(group.tools), sorted(group.resources)]
        return [*seen, len((await client.list_tools()).tools)]


@states("session_groups/tutorial001", "search", ["3 books match 'x'."])
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        return texts(await client.call_tool("search", {"query": "x"}))

    return await in_both_eras(program, ask)


@states("session_groups/tutorial001", "hours", "Mon-Fri 09:00-17:00")
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, lambda client: read(client, "library://hours"))


@states("session_groups/tutorial002", "search", ["12 pages match 'x'."])
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        return texts(await client.call_tool("search", {"query": "x"}))

    return await in_both_eras(program, ask)


# docs/protocol-versions.md

PRINTED = {"1": "2026-07-28\n", "2": "2025-11-25\n", "3": "2026-07-28\n", "4": "2026-07-28\nBookshop\n"}

for number, lines in PRINTED.items():

    @states(f"protocol_versions/tutorial00{number}", "main() prints", lines)
    async def _(program: ModuleType) -> object:
        return await printed(program.main())


async def traffic(program: ModuleType, mode: str, **options: Any) -> list[str]:
    """The methods that reach a server while a client connects and lists its tools."""
    methods: list[str] = []

    async def note(ctx: Any, call_next: Any) -> Any:
        methods.append(ctx.method)
        return await call_next(ctx)

    program.mcp._lowlevel_server.middleware.append(note)
    async with Client(program.mcp, mode=mode, **options) as client:
        await client.list_tools()
    program.mcp._lowlevel_server.middleware.remove(note)
    return sorted(set(methods) - {"tools/list"})


@states(
    "protocol_versions/tutorial004",
    "the negotiation traffic of the four modes",
    [["server/discover"], ["initialize", "notifications/initialized"], [], []],
)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        saved = client.session.discover_result
    return [
        await traffic(program, "auto"),
        await traffic(program, "legacy"),
        await traffic(program, "2026-07-28"),
        await traffic(program, "2026-07-28", prior_discover=saved),
    ]


@states("protocol_versions/tutorial003", "a pin knows nothing of the server", [None, None])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, mode="2026-07-28") as client:
        return [client.server_info, client.server_capabilities.tools]


@states(
    "protocol_versions/tutorial003",
    "only modern versions can be pinned",
    "ValueError: mode must be 'legacy', 'auto', or one of ['2026-07-28']; got '2025-06-18' "
    "('2025-06-18' is a handshake-era version; use mode='legacy')",
)
async def _(program: ModuleType) -> object:
    return refusal(lambda: Client(program.mcp, mode="2025-06-18"))


@states("protocol_versions/tutorial004", "a DiscoverResult goes into a file and back", True)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        saved = client.session.discover_result
    assert saved is not None
    return DiscoverResult.model_validate_json(saved.model_dump_json()) == saved
