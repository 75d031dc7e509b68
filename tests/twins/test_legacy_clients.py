"""Old clients and new ones at one server: the same answers, and what a server without sessions costs the old."""

from typing import Any

import anyio
import httpx2
import pytest
from either_era import asking
from serving_http import served
from shopfront import Context, Heard, said, shopfront

from mcp import Client, MCPError, types
from mcp.server import Server
from mcp.server.streamable_http import EventCallback, EventStore
from mcp.shared.exceptions import NoBackChannelError

pytestmark = pytest.mark.anyio

HOW_MANY: dict[str, Any] = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}


def how_many(arguments: dict[str, Any]) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message="How many?", requested_schema=HOW_MANY))


def put_aside(arguments: dict[str, Any], answer: Any) -> str:
    assert isinstance(answer, types.ElicitResult)
    return f"{answer.content['number']} of {arguments['book']}" if answer.content else "none"


async def two(*asked: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"number": 2})


def stall() -> Server[Any]:
    """A server whose tool asks how many, in either era."""
    return asking(how_many, put_aside, gate=False)


async def both_ask(target: Any) -> None:
    """An old and a new client are open at once, and get the same."""
    async with (
        Client(target, mode="legacy", elicitation_callback=two) as old,
        Client(target, elicitation_callback=two) as new,
    ):
        assert (old.protocol_version, new.protocol_version) == ("2025-11-25", "2026-07-28")
        for client in (old, new):
            assert said(await client.call_tool("work", {"book": "Emma"})) == "2 of Emma"


# One handler, both eras.


async def test_one_server_in_this_process_asks_both_eras() -> None:
    await both_ask(stall())


async def test_one_application_asks_both_eras() -> None:
    with served(stall()) as url:
        await both_ask(url)


# What a session costs.

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def wire(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


INITIALIZE = wire(
    "initialize",
    {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}},
)


async def post(url: str, message: dict[str, Any], **headers: str) -> httpx2.Response:
    """The answer to one message, on a connection of its own."""
    http = httpx2.AsyncClient()
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await http.post(url, json=message, headers={**HEADERS, **named})
    finally:
        await http.aclose()


class Forgetful(EventStore):
    """Numbers events, and keeps none."""

    def __init__(self) -> None:
        self._count = 0

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        self._count += 1
        return str(self._count)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> None:
        return None


async def test_a_session_is_known_only_to_the_worker_that_opened_it() -> None:
    with served(stall()) as here, served(stall()) as elsewhere:
        session_id = (await post(here, INITIALIZE)).headers["mcp-session-id"]
        session = {"mcp_session_id": session_id, "mcp_protocol_version": "2025-11-25"}
        at_home = await post(here, wire("ping", {}), **session)
        astray = await post(elsewhere, wire("ping", {}), **session)
    assert at_home.status_code == 200
    assert astray.status_code == 404
    assert "Session not found" in astray.text


async def test_an_event_store_that_two_workers_share_does_not_share_their_sessions() -> None:
    store = Forgetful()
    with served(stall(), event_store=store) as here, served(stall(), event_store=store) as elsewhere:
        session_id = (await post(here, INITIALIZE)).headers["mcp-session-id"]
        astray = await post(elsewhere, wire("ping", {}), mcp_session_id=session_id, mcp_protocol_version="2025-11-25")
    assert astray.status_code == 404


async def test_a_modern_request_opens_no_session() -> None:
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    discover = wire("server/discover", {"_meta": meta})
    with served(stall()) as url:
        answer = await post(url, discover, mcp_protocol_version="2026-07-28", mcp_method="server/discover")
    assert answer.status_code == 200
    assert "mcp-session-id" not in answer.headers


# The one knob.


async def test_without_sessions_no_id_is_given_and_any_worker_answers() -> None:
    with served(stall(), stateless_http=True) as here, served(stall(), stateless_http=True) as elsewhere:
        opening = await post(here, INITIALIZE)
        answer = await post(elsewhere, wire("ping", {}), mcp_protocol_version="2025-11-25")
    assert opening.status_code == 200
    assert "mcp-session-id" not in opening.headers
    assert answer.status_code == 200


async def test_without_sessions_only_new_clients_can_be_asked() -> None:
    with served(stall(), stateless_http=True) as url:
        async with Client(url, elicitation_callback=two) as new:
            assert said(await new.call_tool("work", {"book": "Emma"})) == "2 of Emma"
        async with Client(url, mode="legacy", elicitation_callback=two) as old:
            assert old.protocol_version == "2025-11-25"
            with pytest.raises(MCPError) as raised:
                await old.call_tool("work", {"book": "Emma"})
    assert str(raised.value) == (
        "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests."
    )


# The other knob, which costs a half of that.


async def test_with_json_answers_an_old_client_is_not_asked_and_hears_only_of_what_belongs_to_no_call() -> None:
    async def both(ctx: Context, arguments: dict[str, Any]) -> str:
        await ctx.session.report_progress(1, 2)
        await ctx.session.send_resource_updated("shelf://emma")
        with pytest.raises(NoBackChannelError):
            await ctx.session.elicit_form("How many?", HOW_MANY)
        return "both"

    progress: list[float] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)

    heard = Heard()
    with served(shopfront("Both", both), json_response=True) as url:
        async with Client(url, mode="legacy", elicitation_callback=two, message_handler=heard) as client:
            assert said(await client.call_tool("both", progress_callback=note)) == "both"
            await heard.until(1)
    assert [one.method for one in heard.told] == ["notifications/resources/updated"]
    assert progress == []


# Where a handler forks: notifications of changes.


async def restock(ctx: Context, arguments: dict[str, Any]) -> str:
    """Puts a book back, and tells whoever listens on the connection."""
    await ctx.session.send_resource_updated(f"shelf://{arguments['book']}")
    return "restocked"


async def restocked(target: Any, mode: str, count: int) -> list[tuple[str, str]]:
    """What a client hears of a change."""
    heard = Heard()
    async with Client(target, mode=mode, message_handler=heard) as client:
        assert said(await client.call_tool("restock", {"book": "emma"})) == "restocked"
        await heard.until(count)
        assert said(await client.call_tool("restock", {"book": "emma"})) == "restocked"
        await heard.until(2 * count)
        await anyio.sleep(0.05)
    return [(one.method, one.params.uri) for one in heard.told]


CHANGED = ("notifications/resources/updated", "shelf://emma")


async def test_an_old_client_hears_of_a_change_on_its_connection_and_a_new_one_does_not() -> None:
    server = shopfront("Shelf", restock)
    assert await restocked(server, "legacy", 1) == [CHANGED] * 2
    assert await restocked(server, "auto", 0) == []


async def test_over_http_an_old_client_hears_of_it_on_its_standalone_stream() -> None:
    with served(shopfront("Shelf", restock)) as url:
        assert await restocked(url, "auto", 0) == []
        heard = Heard()
        async with Client(url, mode="legacy", message_handler=heard) as client:
            with anyio.fail_after(10):
                while not heard.told:  # the stream may not be open yet
                    assert said(await client.call_tool("restock", {"book": "emma"})) == "restocked"
                    await anyio.sleep(0.01)
        assert {(one.method, one.params.uri) for one in heard.told} == {CHANGED}


async def test_without_sessions_a_change_is_dropped_and_no_error() -> None:
    with served(shopfront("Shelf", restock), stateless_http=True) as url:
        assert await restocked(url, "legacy", 0) == []
