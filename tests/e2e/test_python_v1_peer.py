"""The 1.x releases of the Python SDK, as a client of our server and as a server for our client."""

import json
from collections.abc import Generator
from typing import Any

import anyio
import pytest
from peer_programs import PEERS, output_of, stdio_workshop, url_of, v1_python, workshop_url
from pydantic import FileUrl

from mcp import Client
from mcp.client import ClientRequestContext, IncomingMessage
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    LoggingMessageNotificationParams,
    ResourceUpdatedNotification,
    Root,
    TextContent,
    TextResourceContents,
    ToolListChangedNotification,
)

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")]

SECONDS_OF_PATIENCE = 20
NO_CHANNEL = "this transport context has no back-channel for server-initiated requests."


@pytest.fixture
def anyio_backend() -> str:
    """One event loop is enough: the peer is what these tests vary."""
    return "asyncio"


def seen_by_v1(*arguments: str) -> dict[str, Any]:
    return json.loads(output_of([v1_python(), str(PEERS / "python_v1_client.py"), *arguments]))


def assert_saw_the_workshop(seen: dict[str, Any]) -> None:
    assert seen["version"] == "2025-11-25"
    assert seen["server"] == {"name": "workshop", "version": "4.5.6"}
    assert seen["instructions"] == "Mind the glue"
    assert "add" in seen["tools"]
    assert seen["sum"] == "5"
    assert seen["unknown"] == {"code": -32602, "message": "Unknown tool: burn"}
    assert seen["resource"] == {"uri": "workshop://board", "mimeType": "text/plain", "text": "Grüße, 世界"}
    assert seen["prompt"] == {"role": "user", "content": {"type": "text", "text": "Greet Ada"}}
    assert seen["pong"] == {}
    assert seen["counted"] == "counted 3"
    assert set(seen["changes"]) == {"tools", "workshop://board"}


def assert_had_it_all(seen: dict[str, Any]) -> None:
    assert_saw_the_workshop(seen)
    assert seen["model"] == "oracle said yes to why"
    assert seen["folders"] == "file:///a/folder"
    assert seen["user"] == "accept {'name': 'asked: Who are you?'}"
    assert seen["progress"] == [[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]]
    assert [message["level"] for message in seen["logged"]] == ["info", "error"]


def test_a_v1_client_uses_our_server_over_stdio() -> None:
    assert_had_it_all(seen_by_v1("stdio", *stdio_workshop()))


def test_a_v1_client_uses_our_server_over_http() -> None:
    with workshop_url() as url:
        assert_had_it_all(seen_by_v1("http", url))


def test_a_v1_client_uses_our_server_over_the_older_http_transport() -> None:
    with workshop_url("sse") as url:
        assert_had_it_all(seen_by_v1("sse", url))


def test_a_v1_client_uses_our_server_with_json_answers() -> None:
    with workshop_url("json") as url:
        seen = seen_by_v1("http", url)
    assert_saw_the_workshop(seen)
    for call, method in (("model", "sampling/createMessage"), ("folders", "roots/list")):
        assert seen[call] == {"code": -32600, "message": f"Cannot send '{method}': {NO_CHANNEL}"}
    assert seen["progress"] == []


@pytest.fixture
def v1_server(kind: str) -> Generator[StdioServerParameters | str]:
    """A 1.x server: the way to start it, or the URL it serves."""
    program = str(PEERS / "python_v1_server.py")
    if kind == "stdio":
        yield StdioServerParameters(command=v1_python(), args=[program, kind])
    else:
        with url_of(v1_python(), program, kind) as url:
            yield url


class Host:
    """An application with every callback, which notes what reaches it."""

    def __init__(self) -> None:
        self.logged: list[LoggingMessageNotificationParams] = []
        self.changed: set[str] = set()
        self.progress: list[tuple[float, float | None, str | None]] = []

    def client(self, server: StdioServerParameters | str) -> Client:
        return Client(
            # A URL stands for either transport, and what follows is about the older one alone.
            sse_client(server) if isinstance(server, str) and server.endswith("/sse") else server,
            sampling_callback=self.sample,
            elicitation_callback=self.elicit,
            list_roots_callback=self.list_roots,
            logging_callback=self.note_log,
            message_handler=self.note_message,
        )

    async def sample(self, context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(text="forty-two"), model="oracle")

    async def elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def list_roots(self, context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///a/folder"))])

    async def note_log(self, params: LoggingMessageNotificationParams) -> None:
        self.logged.append(params)

    async def note_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            self.changed.add(str(message.params.uri))
        elif isinstance(message, ToolListChangedNotification):
            self.changed.add("tools")

    async def note_progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))


def text_of(result: CallToolResult) -> str:
    assert not result.is_error, result
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def assert_offers_a_server(client: Client) -> None:
    assert client.protocol_version == "2025-11-25"
    assert client.server_info is not None
    assert client.server_info.name == "python-v1"
    assert client.instructions == "An older server"
    assert "find_book" in [tool.name for tool in (await client.list_tools()).tools]
    found = await client.call_tool("find_book", {"title": "Dune"})
    assert found.structured_content == {"title": "Dune", "pages": 412}
    failed = await client.call_tool("fail")
    assert failed.is_error
    board = (await client.read_resource("workshop://board")).contents[0]
    assert isinstance(board, TextResourceContents)
    assert board.text == "Grüße, 世界"
    greeting = (await client.get_prompt("greet", {"name": "Ada"})).messages[0]
    assert greeting.content == TextContent(text="Greet Ada")
    await client.send_ping()  # pyright: ignore[reportDeprecated]


async def assert_asks_and_tells(client: Client, host: Host) -> None:
    assert text_of(await client.call_tool("ask_model", {"question": "why"})) == "oracle said forty-two"
    assert text_of(await client.call_tool("ask_user")) == "accept Ada"
    assert text_of(await client.call_tool("folders")) == "file:///a/folder"
    counted = await client.call_tool("count", {"steps": 3}, progress_callback=host.note_progress)
    assert text_of(counted) == "counted 3"
    with anyio.fail_after(SECONDS_OF_PATIENCE):
        while host.changed != {"tools", "workshop://board"} or not host.logged or len(host.progress) < 3:
            await client.call_tool("change_board")
    assert host.progress == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]
    assert host.logged[0].data == "counted 3"


async def assert_cancels(client: Client) -> None:
    async def give_up(progress: float, total: float | None, message: str | None) -> None:
        scope.cancel()

    with anyio.CancelScope() as scope:
        await client.call_tool("wait_for_cancellation", progress_callback=give_up)
    assert scope.cancelled_caught
    with anyio.fail_after(SECONDS_OF_PATIENCE):
        while text_of(await client.call_tool("count_cancelled")) == "0":
            pass


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["stdio", "http", "sse"])
async def test_our_client_uses_a_v1_server(v1_server: StdioServerParameters | str) -> None:
    host = Host()
    async with host.client(v1_server) as client:
        await assert_offers_a_server(client)
        await assert_asks_and_tells(client, host)
        await assert_cancels(client)


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["http-stateless", "http-json"])
async def test_our_client_uses_a_v1_server_that_keeps_or_streams_nothing(
    v1_server: StdioServerParameters | str,
) -> None:
    async with Host().client(v1_server) as client:
        await assert_offers_a_server(client)
