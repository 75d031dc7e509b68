"""Our client against the reference servers, programs on the TypeScript SDK 1.x that many hosts run."""

import os
import socket
import subprocess
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import pytest
from held_port import held_port
from peer_programs import package
from pydantic import FileUrl

from mcp import Client
from mcp.client import ClientRequestContext, IncomingMessage
from mcp.client.stdio import StdioServerParameters
from mcp.types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ImageContent,
    ListRootsResult,
    LoggingMessageNotificationParams,
    PromptReference,
    ResourceUpdatedNotification,
    Root,
    TextContent,
    TextResourceContents,
)

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),
]

EVERYTHING = "@modelcontextprotocol/server-everything/dist/index.js"
FILESYSTEM = "@modelcontextprotocol/server-filesystem/dist/index.js"
MEMORY = "@modelcontextprotocol/server-memory/dist/index.js"
WATCHED = "demo://resource/dynamic/text/1"
SECONDS_OF_PATIENCE = 20


@pytest.fixture
def anyio_backend() -> str:
    """One event loop is enough: the peer is what these tests vary."""
    return "asyncio"


def stdio_server(path: str, *arguments: str, **environment: str) -> StdioServerParameters:
    command, script = package(path)
    return StdioServerParameters(command=command, args=[script, *arguments], env=environment or None)


@contextmanager
def everything_over(kind: str, path: str) -> Generator[str]:
    """Runs server-everything on a free port and gives its URL once it takes connections."""
    with held_port(for_server=True) as port:
        environment = {**os.environ, "PORT": str(port)}
        with subprocess.Popen([*package(EVERYTHING), kind], env=environment, stderr=subprocess.DEVNULL) as server:
            try:
                wait_for_port(port, server)
                yield f"http://127.0.0.1:{port}{path}"
            finally:
                server.terminate()


def wait_for_port(port: int, server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            continue
        return
    pytest.fail("the server ended before it took a connection")


def text_of(result: CallToolResult) -> str:
    assert not result.is_error, result
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def eventually(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(SECONDS_OF_PATIENCE):
        while not condition():
            await anyio.sleep(0.02)


class Host:
    """An application with every callback, which notes what reaches it."""

    def __init__(self) -> None:
        self.logged: list[LoggingMessageNotificationParams] = []
        self.updated: list[str] = []
        self.visited: list[str] = []

    @asynccontextmanager
    async def connected(self, server: StdioServerParameters | str) -> AsyncGenerator[Client]:
        client = Client(
            server,
            sampling_callback=self.sample,
            elicitation_callback=self.elicit,
            list_roots_callback=self.list_roots,
            logging_callback=self.note_log,
            message_handler=self.note_message,
        )
        async with client:
            yield client

    async def sample(self, context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(text="forty-two"), model="oracle")

    async def elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        if isinstance(params, ElicitRequestFormParams):
            return ElicitResult(action="accept", content={"name": "Ada"})
        self.visited.append(params.url)
        return ElicitResult(action="accept")

    async def list_roots(self, context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///a/folder"), name="A folder")])

    async def note_log(self, params: LoggingMessageNotificationParams) -> None:
        self.logged.append(params)

    async def note_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            self.updated.append(str(message.params.uri))


async def assert_offers_everything(client: Client) -> None:
    assert client.protocol_version == "2025-11-25"
    assert client.server_info is not None
    assert client.server_info.name == "mcp-servers/everything"
    assert client.instructions

    assert text_of(await client.call_tool("echo", {"message": "Grüße, 世界"})) == "Echo: Grüße, 世界"
    weather = await client.call_tool("get-structured-content", {"location": "New York"})
    assert set(weather.structured_content or {}) == {"temperature", "conditions", "humidity"}
    assert any(isinstance(block, ImageContent) for block in (await client.call_tool("get-tiny-image")).content)
    assert (await client.call_tool("get-sum", {"a": "two"})).is_error

    assert len((await client.list_resources()).resources) >= 5
    assert len((await client.list_resource_templates()).resource_templates) == 2
    read = (await client.read_resource(WATCHED)).contents[0]
    assert isinstance(read, TextResourceContents)
    assert read.text.startswith("Resource 1: ")

    assert "args-prompt" in [prompt.name for prompt in (await client.list_prompts()).prompts]
    asked = (await client.get_prompt("args-prompt", {"city": "Oslo"})).messages[0]
    assert isinstance(asked.content, TextContent)
    assert "Oslo" in asked.content.text
    reference = PromptReference(name="completable-prompt")
    completed = await client.complete(reference, {"name": "department", "value": "E"})
    assert completed.completion.values == ["Engineering"]
    await client.send_ping()  # pyright: ignore[reportDeprecated]


async def assert_reports_progress(client: Client) -> None:
    reports: list[tuple[float, float | None]] = []

    async def note_progress(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total))

    steps = {"duration": 1, "steps": 4}
    await client.call_tool("trigger-long-running-operation", steps, progress_callback=note_progress)
    assert reports == [(1, 4), (2, 4), (3, 4), (4, 4)]


async def assert_asks_the_client(client: Client, host: Host) -> None:
    # The server offers these tools once it knows what the client can do.
    with anyio.fail_after(SECONDS_OF_PATIENCE):
        while "trigger-sampling-request" not in [tool.name for tool in (await client.list_tools()).tools]:
            pass
    sampled = await client.call_tool("trigger-sampling-request", {"prompt": "why", "maxTokens": 10})
    assert "forty-two" in text_of(sampled)
    assert "Name: Ada" in text_of(await client.call_tool("trigger-elicitation-request"))
    page = {"url": "https://example.com/sign", "message": "Please sign", "elicitationId": "one"}
    assert "completed the URL elicitation" in text_of(await client.call_tool("trigger-url-elicitation", page))
    assert host.visited == ["https://example.com/sign"]
    assert "file:///a/folder" in text_of(await client.call_tool("get-roots-list"))


async def assert_hears_about_changes(client: Client, host: Host) -> None:
    await client.set_logging_level("debug")  # pyright: ignore[reportDeprecated]
    await client.subscribe_resource(WATCHED)  # pyright: ignore[reportDeprecated]
    await client.call_tool("toggle-subscriber-updates")
    await client.call_tool("toggle-simulated-logging")
    await eventually(lambda: WATCHED in host.updated and bool(host.logged))
    await client.unsubscribe_resource(WATCHED)  # pyright: ignore[reportDeprecated]


async def test_everything_over_stdio() -> None:
    host = Host()
    async with host.connected(stdio_server(EVERYTHING)) as client:
        await assert_offers_everything(client)
        await assert_reports_progress(client)
        await assert_asks_the_client(client, host)
        await assert_hears_about_changes(client, host)


@pytest.mark.parametrize(("kind", "path"), [("streamableHttp", "/mcp"), ("sse", "/sse")])
async def test_everything_over_http(kind: str, path: str) -> None:
    host = Host()
    with everything_over(kind, path) as url:
        async with host.connected(url) as client:
            await assert_offers_everything(client)
            await assert_reports_progress(client)
            await assert_asks_the_client(client, host)
            await assert_hears_about_changes(client, host)


async def test_filesystem_over_stdio(tmp_path: Path) -> None:
    (tmp_path / "there.txt").write_text("Grüße\n", encoding="utf-8")
    async with Client(stdio_server(FILESYSTEM, str(tmp_path))) as client:
        assert client.protocol_version == "2025-11-25"
        read = await client.call_tool("read_text_file", {"path": str(tmp_path / "there.txt")})
        assert text_of(read) == "Grüße\n"
        written = await client.call_tool("write_file", {"path": str(tmp_path / "new.txt"), "content": "x" * 100_000})
        assert not written.is_error
        listed = text_of(await client.call_tool("list_directory", {"path": str(tmp_path)}))
        assert listed.splitlines() == ["[FILE] new.txt", "[FILE] there.txt"]
        outside = await client.call_tool("read_text_file", {"path": str(tmp_path.parent / "secret.txt")})
        assert outside.is_error
    assert (tmp_path / "new.txt").read_text(encoding="utf-8") == "x" * 100_000


async def test_memory_over_stdio(tmp_path: Path) -> None:
    entity = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
    environment = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    async with Client(stdio_server(MEMORY, **environment)) as client:
        created = await client.call_tool("create_entities", {"entities": [entity]})
        assert created.structured_content == {"entities": [entity]}
    # Another process finds what the first one kept.
    async with Client(stdio_server(MEMORY, **environment)) as client:
        graph = await client.call_tool("read_graph")
        assert graph.structured_content == {"entities": [entity], "relations": []}
