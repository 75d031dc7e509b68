"""How a client and its server settle the revision they speak, and what the client says where they cannot."""

import logging
from typing import Any

import house
import pytest
from played_server import serving
from pydantic import ValidationError

from mcp import Client, MCPError, types
from mcp.client import ClientSession
from mcp.server import Server
from mcp.shared.exceptions import MalformedResultError, RequestTimeoutError

pytestmark = pytest.mark.anyio

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"


class Recorder:
    """Middleware that writes down the methods a server is asked for."""

    def __init__(self) -> None:
        self.methods: list[str] = []

    async def __call__(self, ctx: house.Context, call_next: Any) -> Any:
        self.methods.append(ctx.method)
        return await call_next(ctx)


def recorded(server: Server[Any]) -> list[str]:
    recorder = Recorder()
    server.middleware.append(recorder)
    return recorder.methods


def discovering(handler: Any) -> Server:
    """A server with this answer to `server/discover`."""
    server = Server("house", on_call_tool=house.call_tool)
    server.add_request_handler("server/discover", types.RequestParams, handler)
    return server


def answering(result: dict[str, Any]) -> Server:
    """A server that says just this to `server/discover`, be it a result or not."""

    async def say(ctx: house.Context, call_next: Any) -> Any:
        return result if ctx.method == "server/discover" else await call_next(ctx)

    server = Server("house", on_call_tool=house.call_tool)
    server.middleware.append(say)
    return server


def refusing(error: Exception) -> Server:
    async def discover(ctx: house.Context, params: types.RequestParams) -> types.DiscoverResult:
        raise error

    return discovering(discover)


def known(*versions: str, **fields: Any) -> types.DiscoverResult:
    return types.DiscoverResult(
        supported_versions=list(versions),
        capabilities=types.ServerCapabilities(tools=types.ToolsCapability()),
        instructions="Knock first.",
        _meta={types.SERVER_INFO_META_KEY: {"name": "old friend", "version": "1"}},
        **fields,
    )


# Asking.


async def test_a_client_asks_once_what_its_server_speaks() -> None:
    server = house.build()
    methods = recorded(server)
    async with Client(server) as client:
        assert methods == ["server/discover"]
        await client.get_prompt("greet")
    assert methods == ["server/discover", "prompts/get"]


async def test_a_server_that_was_asked_need_not_have_a_name() -> None:
    server = answering({"supportedVersions": [MODERN], "capabilities": {}})
    async with Client(server) as client:
        assert client.server_info is None
        assert client.instructions is None


async def test_a_malformed_name_counts_as_none_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    meta = {types.SERVER_INFO_META_KEY: {"name": 5}}
    server = answering({"supportedVersions": [MODERN], "capabilities": {}, "_meta": meta})
    async with Client(server) as client:
        with caplog.at_level(logging.WARNING, "client"):
            assert client.server_info is None
    assert "the server's identity is malformed and counts as absent: {'name': 5}" in caplog.text


async def test_what_an_earlier_connection_learned_is_not_used_when_asking() -> None:
    async with Client(house.build(), prior_discover=known(MODERN)) as client:
        assert client.server_info is not None
        assert client.server_info.name == "house"


# Knowing.


async def test_a_version_as_mode_sends_nothing_and_knows_nothing() -> None:
    server = house.build()
    methods = recorded(server)
    async with Client(server, mode=MODERN) as client:
        assert methods == []
        assert client.protocol_version == MODERN
        assert client.server_info is None
        assert client.instructions is None
        assert client.server_capabilities == types.ServerCapabilities()
        assert client.session.discover_result is not None
        await client.list_prompts()
    assert methods == ["prompts/list"]


async def test_a_version_as_mode_works_everywhere(target: house.Target) -> None:
    async with Client(target, mode=MODERN) as client:
        assert (await client.call_tool("add", {"a": 20, "b": 3})).structured_content == {"sum": 23}


async def test_what_an_earlier_connection_learned_saves_the_question() -> None:
    server = house.build()
    async with Client(server) as client:
        prior = client.session.discover_result
    assert prior is not None
    kept = types.DiscoverResult.model_validate_json(prior.model_dump_json(by_alias=True))
    methods = recorded(server)
    async with Client(server, mode=MODERN, prior_discover=kept) as client:
        assert client.server_info is not None
        assert client.server_info.name == "house"
        assert client.instructions == "Wipe your feet."
        assert client.server_capabilities.prompts is not None
        assert client.session.discover_result is kept
    assert methods == []


@pytest.mark.parametrize("versions", [["2099-01-01"], ["2025-11-25"], []])
async def test_an_earlier_connection_to_a_server_that_shares_no_version_is_no_use(versions: list[str]) -> None:
    with pytest.raises(RuntimeError) as raised:
        async with Client(house.build(), mode=MODERN, prior_discover=known(*versions)):
            pass
    assert str(raised.value) == (
        f"No mutually supported modern protocol version (server: {versions}, client: ['2026-07-28'])"
    )


# Not agreeing.


@pytest.mark.parametrize("versions", [["2099-01-01"], ["2025-11-25"], []])
async def test_a_server_that_shares_no_version_is_named_with_what_it_speaks(versions: list[str]) -> None:
    with pytest.raises(RuntimeError, match="No mutually supported modern protocol version") as raised:
        async with Client(answering({"supportedVersions": versions, "capabilities": {}})):
            pass
    assert f"(server: {versions}, client: ['2026-07-28'])" in str(raised.value)


async def test_a_server_that_speaks_newer_revisions_too_is_spoken_to() -> None:
    server = answering({"supportedVersions": ["2099-01-01", MODERN], "capabilities": {}})
    async with Client(server) as client:
        assert client.protocol_version == MODERN


@pytest.mark.parametrize("code", [types.METHOD_NOT_FOUND, types.INVALID_REQUEST, types.INVALID_PARAMS, -32000])
async def test_a_server_in_this_process_that_does_not_know_the_question_is_quoted(code: int) -> None:
    with pytest.raises(MCPError) as raised:
        async with Client(refusing(MCPError(code, "What?", "server/discover"))):
            pass
    assert (raised.value.code, raised.value.message, raised.value.data) == (code, "What?", "server/discover")


OLD_REVISIONS_ONLY = MCPError(
    types.UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", {"supported": [HANDSHAKE], "requested": MODERN}
)


@pytest.mark.parametrize(
    "error",
    [
        MCPError(types.METHOD_NOT_FOUND, "Method not found"),
        MCPError(types.INVALID_REQUEST, "came before initialize"),
        MCPError(types.INVALID_PARAMS, "What?"),
        MCPError(-32000, "What?"),
        ValueError("boom"),
        OLD_REVISIONS_ONLY,
    ],
    ids=repr,
)
async def test_a_server_on_a_pipe_that_does_not_know_the_question_is_offered_a_handshake(error: Exception) -> None:
    server = refusing(error)
    methods = recorded(server)
    async with Client(serving(server)) as client:
        assert client.protocol_version == HANDSHAKE
        assert client.session.discover_result is None
        assert client.session.initialize_result is not None
        assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}
    assert methods[:2] == ["server/discover", "initialize"]
    assert "notifications/initialized" in methods


async def test_a_server_that_names_unknown_revisions_alone_is_quoted() -> None:
    data = {"supported": ["2099-01-01"], "requested": MODERN}
    error = MCPError(types.UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data)
    with pytest.raises(MCPError) as raised:
        async with Client(refusing(error)):
            pass
    assert raised.value.message == "Unsupported protocol version"
    assert raised.value.data == data
    assert raised.value.__cause__ is not raised.value


@pytest.mark.parametrize("supported", [5, None, [{}], [[MODERN]], {"a": 1}], ids=str)
async def test_a_refusal_with_nonsense_for_versions_is_still_that_error(supported: Any) -> None:
    data = {"supported": supported}
    with pytest.raises(MCPError, match="Unsupported protocol version") as raised:
        async with Client(refusing(MCPError(types.UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data))):
            pass
    assert raised.value.data == data


@pytest.mark.parametrize("data", [None, "none", [1]], ids=str)
async def test_a_refusal_without_versions_is_still_that_error(data: Any) -> None:
    with pytest.raises(MCPError, match="Unsupported protocol version") as raised:
        async with Client(refusing(MCPError(types.UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data))):
            pass
    assert raised.value.data == data


async def test_a_server_that_fails_to_answer_is_not_taken_for_an_old_one() -> None:
    with pytest.raises(MCPError) as raised:
        async with Client(refusing(ValueError("boom"))):
            pass
    assert (raised.value.code, raised.value.message) == (types.INTERNAL_ERROR, "Internal server error")
    with pytest.raises(MCPError, match=r"^boom$") as raised:
        async with Client(refusing(ValueError("boom")), raise_exceptions=True):
            pass
    assert isinstance(raised.value.__cause__, ValueError)


async def test_an_answer_of_an_unknown_kind_is_not_taken_for_that_of_an_old_server() -> None:
    with pytest.raises(MalformedResultError, match="resultType 'sulk'"):
        async with Client(answering({"resultType": "sulk"})):
            pass


async def test_an_answer_that_does_not_fit_is_a_validation_error() -> None:
    with pytest.raises(ValidationError, match="supportedVersions"):
        async with Client(answering({})):
            pass


async def test_a_question_that_is_not_answered_in_time_is_a_timeout() -> None:
    async def discover(ctx: house.Context, params: types.RequestParams) -> types.DiscoverResult:
        await house.wait(ctx, {})
        raise AssertionError("unreachable")

    with pytest.raises(RequestTimeoutError, match=r"Timed out after 0\.01s waiting for 'server/discover'") as raised:
        async with Client(discovering(discover), read_timeout_seconds=0.01):
            pass
    assert raised.value.code == types.REQUEST_TIMEOUT


# A session by itself.


async def test_a_session_adopts_what_it_is_told() -> None:
    async with Client(house.build(), mode=MODERN) as client:
        prior = known(MODERN)
        client.session.adopt(prior)
        assert client.session.discover_result is prior
        assert client.server_info == types.Implementation(name="old friend", version="1")
        assert client.instructions == "Knock first."


async def test_a_session_asks_again_when_told_to() -> None:
    async with Client(house.build(), mode=MODERN) as client:
        result = await client.session.discover()
        assert result.supported_versions == [MODERN]
        assert client.session.discover_result is result
        raw = await client.session.send_discover(MODERN)
        assert raw["supportedVersions"] == [MODERN]


def greeting(version: str) -> types.InitializeResult:
    return types.InitializeResult(
        protocol_version=version,
        capabilities=types.ServerCapabilities(),
        server_info=types.Implementation(name="old", version="1"),
        instructions="Bow.",
    )


async def test_a_session_adopts_an_earlier_handshake_and_a_later_answer_in_its_place() -> None:
    session = ClientSession()
    session.adopt(greeting("2025-03-26"))
    assert (session.protocol_version, session.discover_result) == ("2025-03-26", None)
    assert session.initialize_result == greeting("2025-03-26")
    assert (session.server_info, session.instructions) == (types.Implementation(name="old", version="1"), "Bow.")
    assert session.server_capabilities == types.ServerCapabilities()
    session.adopt(known(MODERN))
    assert (session.protocol_version, session.initialize_result) == (MODERN, None)
    assert session.instructions == "Knock first."


@pytest.mark.parametrize("version", ["2099-01-01", MODERN, ""])
def test_a_session_adopts_no_handshake_in_a_revision_that_has_none(version: str) -> None:
    session = ClientSession()
    with pytest.raises(RuntimeError, match="Unsupported protocol version from the server") as raised:
        session.adopt(greeting(version))
    assert f"'{version}'" in str(raised.value)
    assert HANDSHAKE in str(raised.value)
    assert session.protocol_version is None


async def test_a_new_session_knows_nothing() -> None:
    session = ClientSession()
    assert session.protocol_version is None
    assert session.server_info is None
    assert session.server_capabilities is None
    assert session.instructions is None
    assert session.discover_result is None
