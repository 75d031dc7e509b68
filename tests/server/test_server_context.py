"""What a handler knows of its request, and of the client that sent it."""

from typing import Any

import pytest
from doing import context_of, server_that
from wire import Context, connected, refusal

from mcp import types
from mcp.protocol.eras import read_envelope
from mcp.server.connection import ClientFacts, Connection
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.anyio

ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


# The request.


async def test_a_context_holds_what_is_known_of_the_request() -> None:
    ctx = await context_of({"a": [1], "_meta": {"acme/k": 1, "progressToken": "p"}})
    assert (ctx.method, ctx.request_id, ctx.protocol_version) == ("acme/do", 1, "2026-07-28")
    assert ctx.params is not None
    assert ctx.params["a"] == [1]
    assert ctx.params["_meta"]["progressToken"] == "p"
    meta: Any = ctx.meta
    assert (meta["acme/k"], meta["progress_token"], "progressToken" in meta) == (1, "p", False)
    assert ctx.request is None
    assert (ctx.close_sse_stream, ctx.close_standalone_sse_stream) == (None, None)


async def test_a_session_knows_the_client() -> None:
    async def elicit(*_: Any) -> Any:
        raise AssertionError("never asked")

    info = types.Implementation(name="me", version="9")
    ctx = await context_of({}, client_info=info, elicitation_callback=elicit)
    session = ctx.session
    assert session.protocol_version == "2026-07-28"
    assert not session.can_send_request
    assert session.client_params is not None
    assert session.client_params.client_info == info
    assert session.client_params.capabilities is session.client_capabilities
    assert session.client_params.capabilities.elicitation is not None


@pytest.mark.parametrize(
    ("capability", "declared"),
    [
        ({}, True),
        ({"elicitation": {}}, True),
        ({"elicitation": {"form": {}}}, True),
        ({"elicitation": {"form": {}, "url": {}}}, True),
        ({"roots": {}}, True),
        ({"roots": {"listChanged": True}}, True),
        ({"roots": {"listChanged": False}}, True),
        ({"sampling": {}}, False),
        ({"experimental": {"acme": {"a": 1}}}, False),
    ],
)
async def test_a_handler_can_ask_what_the_client_is_capable_of(capability: dict[str, Any], declared: bool) -> None:
    async def callback(*_: Any) -> Any:
        raise AssertionError("never asked")

    ctx = await context_of({}, elicitation_callback=callback, list_roots_callback=callback)
    wanted = types.ClientCapabilities.model_validate(capability)
    assert ctx.session.check_client_capability(wanted) is declared


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("clientInfo", {}),
        ("clientInfo", "me"),
        ("clientInfo", {"name": "me"}),
        ("clientCapabilities", None),
        ("clientCapabilities", []),
        ("clientCapabilities", {"elicitation": 5}),
        ("logLevel", "loud"),
        ("logLevel", 5),
        ("logLevel", []),
    ],
)
async def test_a_client_that_describes_itself_wrongly_is_told(key: str, value: Any) -> None:
    envelope = read_envelope({"_meta": {**ENVELOPE, f"io.modelcontextprotocol/{key}": value}})
    with pytest.raises(MCPError) as raised:
        Connection.of_request(envelope, ClientFacts.of_envelope(envelope))
    assert raised.value.code == -32602
    assert key in raised.value.message


async def test_a_client_may_keep_its_name_to_itself() -> None:
    facts = ClientFacts.of_envelope(read_envelope({"_meta": ENVELOPE}))
    assert facts.info is None
    ctx = await context_of({})
    ctx.session._connection.facts = facts
    assert ctx.session.client_params is None


@pytest.mark.parametrize("token", [[1], {}, 1.5])
async def test_a_progress_token_is_a_string_or_an_integer(token: Any) -> None:
    async def nothing(ctx: Context) -> None: ...

    async with connected(server_that(nothing)) as client:
        assert (await refusal(client, "acme/do", {"_meta": {"progressToken": token}})).code == -32602
