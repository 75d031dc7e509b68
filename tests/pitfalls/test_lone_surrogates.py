"""B93: text that no UTF-8 can hold, such as undecodable file names, and emoji that a model cut in half."""

import logging
from typing import Any

import anyio
import pytest
from connections import (
    SECONDS_OF_PATIENCE,
    Transport,
    connected,
    only_text,
    over_http,
    subprocess_server,
    text_of,
)
from eras import Era
from pitfall_server import HALF_AN_EMOJI, Context, server
from raw_peers import answers_on_stdio, posting, request

from mcp import Client, MCPError, types
from mcp.server import Server

pytestmark = pytest.mark.anyio

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@pytest.fixture(autouse=True)
def unlogged(caplog: pytest.LogCaptureFixture) -> None:
    """Handlers' exceptions are logged as they are, and the test runner's own connections break of such text."""
    caplog.set_level(logging.CRITICAL + 1, "mcp")


WAYS_TO_SAY_IT = ["text", "structured content", "a key", "error message", "error data", "exception", "progress"]


async def test_b93_a_server_that_says_it_fails_in_that_call_alone(transport: Transport, mode: str) -> None:
    """A tool returned a file name that is not UTF-8, and the connection was lost."""
    async with connected(transport, mode=mode) as client:
        for where in WAYS_TO_SAY_IT:
            with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(MCPError) as caught:
                await client.call_tool("name_a_file", {"where": where}, progress_callback=_ignore)
            str(caught.value).encode()
            assert await text_of(client, "echo", text="next") == "next"


async def _ignore(progress: float, total: float | None, message: str | None) -> None: ...


async def test_b93_a_client_that_says_it_fails_in_that_call_alone(transport: Transport, mode: str) -> None:
    """The same the other way round, wherever a caller has a word in the request."""
    half = f"a{HALF_AN_EMOJI}"
    async with connected(transport, mode=mode) as client:
        calls = [
            lambda: client.call_tool("echo", {"text": half}),
            lambda: client.call_tool("echo", {half: 1}),
            lambda: client.call_tool(half),
            lambda: client.call_tool("echo", meta={"example.com/note": half}),
            lambda: client.list_tools(cursor=half),
            lambda: client.read_resource(f"file:///{half}"),
            lambda: client.get_prompt(half, {"name": half}),
            lambda: client.complete(types.PromptReference(name="p"), {"name": "n", "value": half}),
        ]
        for call in calls:
            with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises((ValueError, MCPError)):
                await call()
            assert await text_of(client, "echo", text="next") == "next"


async def test_b93_whole_emoji_pass(transport: Transport, mode: str) -> None:
    """What is not broken must not be "repaired": text beyond the first plane, and what looks like an escape."""
    text = "a😀\u2028\x00\x7f\\ud83d\ufffd"
    async with connected(transport, mode=mode) as client:
        assert await text_of(client, "echo", text=text) == text


@asyncio_only
async def test_b93_a_client_whose_name_says_it_cannot_connect_and_hangs_nowhere(
    transport: Transport, mode: str
) -> None:
    """The same in what goes with every request."""
    info = types.Implementation(name=HALF_AN_EMOJI, version="1")
    with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises((ValueError, MCPError)):
        async with connected(transport, mode=mode, client_info=info):
            pytest.fail("that name cannot be sent")


@asyncio_only
@pytest.mark.parametrize("over_network", [False, True])
async def test_b93_a_listing_that_says_it_fails_alone(over_network: bool, mode: str) -> None:
    """The same in a listing: one bad description took every tool with it, and the connection too."""

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        tool = types.Tool(name="t", description=HALF_AN_EMOJI, input_schema={"type": "object"})
        return types.ListToolsResult(tools=[tool])

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text="called")])

    odd = Server("odd", on_list_tools=list_tools, on_call_tool=call_tool)
    with over_http(odd.streamable_http_app()) as url:
        target: Any = url if over_network else odd
        async with Client(target, mode=mode) as client:
            with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(MCPError):
                await client.list_tools()
            assert only_text(await client.call_tool("t")) == "called"


def _with_text(era: Era, escaped: str) -> bytes:
    return request(era, 7, "tools/call", name="echo", arguments={"text": "TEXT"}).replace(b"TEXT", escaped.encode())


BROKEN_ESCAPES = ["\\ud83d", "\\ude00", "\\ude00\\ud83d", "\\ud83dx", "\\ud83d\\n", "\\ud83"]


def test_b93_broken_escapes_are_refused_on_stdio(era: Era) -> None:
    """Peers that escape what they send pass half an emoji on; the request it is in must be answered."""
    escapes = [*BROKEN_ESCAPES, "\\ud83d\\ude00"]
    answers = answers_on_stdio(era, [_with_text(era, escape) for escape in escapes])

    assert [answer["id"] for answer in answers] == [7] * len(answers)
    assert [answer["error"]["code"] for answer in answers[:-1]] == [-32700] * len(BROKEN_ESCAPES)
    assert answers[-1]["result"]["content"][0]["text"] == "😀"


@asyncio_only
async def test_b93_broken_escapes_are_refused_over_http(era: Era) -> None:
    """The same over HTTP."""
    headers = {"mcp-method": "tools/call", "mcp-name": "echo"}
    with over_http(server.streamable_http_app()) as url:
        async with posting(era, url) as (post, _):
            for escape in BROKEN_ESCAPES:
                response = await post(_with_text(era, escape), **headers)
                assert response.status_code == 400
                assert (response.json()["id"], response.json()["error"]["code"]) == (7, -32700)
            assert (await post(_with_text(era, "\\ud83d\\ude00"), **headers)).status_code == 200


@asyncio_only
async def test_b93_concurrent_calls_are_not_touched(transport: Transport, mode: str) -> None:
    """The writer that broke was shared, so calls that had nothing to do with it were lost."""
    answers: list[str] = []

    async def call(client: Client, text: str) -> None:
        answers.append(await text_of(client, "echo", text=text))

    async with connected(transport, mode=mode) as client, anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(call, client, str(number))
            with pytest.raises(MCPError):
                await client.call_tool("name_a_file", {"where": "text"})

    assert sorted(answers, key=int) == [str(number) for number in range(20)]


@asyncio_only
async def test_b93_an_argument_of_the_server_process_may_say_it() -> None:
    """A file name among the arguments of the command; the system takes it, so the client must."""
    parameters = subprocess_server()
    parameters.args.append(b"caf\xe9".decode("utf-8", "surrogateescape"))
    async with Client(parameters) as client:
        assert await text_of(client, "echo", text="started") == "started"
