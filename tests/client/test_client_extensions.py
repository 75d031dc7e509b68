"""Client extensions: what servers are told of them, the results that they claim, and the notifications they take."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import anyio
import cloakroom
import pytest
from house import Target
from played_server import Peer, serving
from pydantic import ValidationError
from serving_http import served

from mcp import Client, ClientSession, MCPError, types
from mcp.client import ClaimContext, ClientExtension, ResultClaim, UnexpectedClaimedResult, advertise
from mcp.server import Server
from mcp.shared.exceptions import MalformedResultError
from mcp.types import JSONRPCNotification

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def room_url() -> Iterator[str]:
    with served(cloakroom.build()) as url:
        yield url


@pytest.fixture(params=["memory", "http"])
def anywhere(request: pytest.FixtureRequest) -> Target:
    """The cloakroom in this process, and behind HTTP."""
    return cloakroom.build() if request.param == "memory" else request.getfixturevalue("room_url")


async def answer(peer: Peer, result: dict[str, Any]) -> None:
    """Answers the next request."""
    await peer.answer(await peer.request(), result)


def said(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


# What servers are told.


async def test_a_server_is_told_of_the_extensions_and_their_settings(anywhere: Target) -> None:
    extensions = [cloakroom.Tickets(), advertise("com.example/plain"), advertise("com.example/set", {"a": 1})]
    async with Client(anywhere, extensions=extensions) as client:
        assert (await client.call_tool("look")).structured_content == {
            "com.example/tickets": {"floor": 1},
            "com.example/plain": {},
            "com.example/set": {"a": 1},
        }


async def test_a_handshake_tells_of_all_but_those_whose_results_cannot_come(anywhere: Target) -> None:
    extensions = [cloakroom.Tickets(), cloakroom.Hours(), advertise("com.example/set", {"a": 1})]
    async with Client(anywhere, extensions=extensions, mode="legacy") as client:
        assert (await client.call_tool("look")).structured_content == {
            "com.example/hours": {},
            "com.example/set": {"a": 1},
        }


async def test_a_session_whose_caller_answers_everything_tells_of_them_as_well() -> None:
    async with Client(cloakroom.build(), extensions=[cloakroom.Tickets()]) as client:
        result = await client.session.call_tool("look", allow_input_required=True)
        assert isinstance(result, types.CallToolResult)
        assert result.structured_content == {"com.example/tickets": {"floor": 1}}


async def test_settings_are_read_once_when_the_client_is_constructed() -> None:
    class Counting(ClientExtension):
        identifier = "com.example/counting"
        reads = 0

        def settings(self) -> dict[str, Any]:
            self.reads += 1
            return {"reads": self.reads}

    counting = Counting()
    client = Client(cloakroom.build(), extensions=[counting])
    assert counting.reads == 1
    async with client:
        for _ in range(2):
            assert (await client.call_tool("look")).structured_content == {"com.example/counting": {"reads": 1}}


# Claimed results.


async def test_a_claimed_result_is_finished_before_the_call_returns(anywhere: Target) -> None:
    tickets = cloakroom.Tickets()
    async with Client(anywhere, extensions=[tickets]) as client:
        assert said(await client.call_tool("leave", {"kind": "hat"}, read_timeout_seconds=9)) == "coat for t-9"
        assert tickets.contexts == [ClaimContext(session=client.session, tool_name="leave", read_timeout_seconds=9)]


async def test_a_session_is_not_surprised_by_a_claimed_result() -> None:
    async with Client(cloakroom.build(), extensions=[cloakroom.Tickets()]) as client:
        with pytest.raises(UnexpectedClaimedResult, match="Ticket, which an extension claims") as raised:
            await client.session.call_tool("leave")
        assert isinstance(raised.value.result, cloakroom.Ticket)
        claimed = await client.session.call_tool("leave", allow_claimed=True)
        assert isinstance(claimed, cloakroom.Ticket)
        assert claimed.ticket_number == "t-9"
        complete = await client.session.call_tool("fetch", {"number": "t"}, allow_claimed=True)
        assert isinstance(complete, types.CallToolResult)


async def test_without_the_extension_the_result_is_one_of_an_unknown_kind() -> None:
    async with Client(cloakroom.build()) as client:
        with pytest.raises(MalformedResultError, match="resultType 'ticket' is not one that this client knows"):
            await client.call_tool("leave")
        with pytest.raises(MalformedResultError, match="'ticket'"):
            await client.session.call_tool("leave", allow_claimed=True)


async def test_other_unknown_kinds_stay_unknown() -> None:
    async with Client(cloakroom.build(), extensions=[cloakroom.Tickets()]) as client:
        with pytest.raises(MalformedResultError, match="'odd'"):
            await client.call_tool("odd")


async def test_a_claimed_result_has_to_fit_its_model() -> None:
    async with Client(cloakroom.build(), extensions=[cloakroom.Tickets()]) as client:
        with pytest.raises(ValidationError, match="ticketNumber"):
            await client.call_tool("torn")


async def test_on_a_handshake_revision_nothing_is_claimed(caplog: pytest.LogCaptureFixture) -> None:
    async with Client(cloakroom.build(), extensions=[cloakroom.Tickets()], mode="legacy") as client:
        with pytest.raises(MCPError, match="Handler returned an invalid result"):
            await client.call_tool("leave")


async def test_a_kind_of_result_in_a_handshake_revision_is_unknown_whoever_sends_it() -> None:
    claims = {
        "com.example/x": [
            ResultClaim(result_type="ticket", model=cloakroom.Ticket, resolve=cloakroom.Tickets().collect)
        ]
    }
    with Peer() as peer:
        async with ClientSession(
            peer.read, peer.write, extensions={"com.example/x": {}}, result_claims=claims
        ) as session:
            session.adopt(
                types.InitializeResult(
                    protocol_version="2025-11-25",
                    capabilities=types.ServerCapabilities(),
                    server_info=types.Implementation(name="srv", version="1"),
                )
            )
            async with anyio.create_task_group() as group:
                group.start_soon(answer, peer, {"resultType": "ticket", "ticketNumber": "r"})
                with pytest.raises(MalformedResultError, match="'ticket'"):
                    await session.call_tool("leave", allow_claimed=True)


class Finishing(ClientExtension):
    """Finishes tickets with whatever it is given."""

    identifier = cloakroom.TICKETS

    def __init__(self, result: Any) -> None:
        self._result = result

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="ticket", model=cloakroom.Ticket, resolve=self._finish)]

    async def _finish(self, claimed: cloakroom.Ticket, ctx: ClaimContext) -> Any:
        if isinstance(self._result, Exception):
            raise self._result
        return self._result


async def test_what_becomes_of_it_is_checked_against_the_tools_output_schema() -> None:
    for content, complaint in (({"length": "much"}, "length"), (None, "structured content")):
        result = types.CallToolResult(content=[], structured_content=content)
        async with Client(cloakroom.build(), extensions=[Finishing(result)]) as client:
            with pytest.raises(RuntimeError, match=complaint):
                await client.call_tool("lined")
    good = types.CallToolResult(content=[], structured_content={"length": 3})
    failed = types.CallToolResult(content=[], is_error=True)
    for result in (good, failed):
        async with Client(cloakroom.build(), extensions=[Finishing(result)]) as client:
            assert await client.call_tool("lined") is result


async def test_what_the_extension_raises_is_what_the_caller_gets() -> None:
    async with Client(cloakroom.build(), extensions=[Finishing(LookupError("eaten by moths"))]) as client:
        with pytest.raises(LookupError, match="eaten by moths"):
            await client.call_tool("leave")


async def test_an_extension_that_finishes_with_something_else_is_told_what_it_should_be() -> None:
    for result, name in (({"a": 1}, "dict"), (cloakroom.Ticket(ticket_number="r"), "Ticket")):
        async with Client(cloakroom.build(), extensions=[Finishing(result)]) as client:
            with pytest.raises(TypeError) as raised:
                await client.call_tool("leave")
            text = f"the claim of resultType 'ticket' must resolve to a CallToolResult, got {name}"
            assert str(raised.value) == text


async def test_a_claimed_result_may_come_after_rounds_of_questions() -> None:
    async def call_tool(ctx: cloakroom.Context, params: types.CallToolRequestParams) -> Any:
        if params.request_state is None and params.name == "leave":
            return types.InputRequiredResult(request_state="asked")
        return await cloakroom.call_tool(ctx, params)

    server = Server[Any]("cloakroom", on_list_tools=cloakroom.list_tools, on_call_tool=call_tool)
    async with Client(server, extensions=[cloakroom.Tickets()]) as client:
        assert said(await client.call_tool("leave")) == "coat for t-9"


async def test_a_session_with_its_own_send_request_sees_the_call_and_gets_the_claimed_result() -> None:
    sent: list[str] = []

    class Own(ClientSession):
        async def send_request(self, request: Any, result_type: Any, *args: Any, **kwargs: Any) -> Any:
            sent.append(request.method)
            return await super().send_request(request, result_type, *args, **kwargs)

    claims = {cloakroom.TICKETS: cloakroom.Tickets().claims()}
    extensions: dict[str, dict[str, Any]] = {cloakroom.TICKETS: {}}
    async with (
        serving(cloakroom.build()) as (read, write),
        Own(read, write, extensions=extensions, result_claims=claims) as session,
    ):
        await session.discover()
        assert isinstance(await session.call_tool("leave", allow_claimed=True), cloakroom.Ticket)
        with pytest.raises(UnexpectedClaimedResult):
            await session.call_tool("leave")
    assert sent == ["tools/call", "tools/call"]


# Notifications.


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_notifications_of_its_own_reach_an_extension_in_order(anywhere: Target, mode: str) -> None:
    hours = cloakroom.Hours()
    async with Client(anywhere, extensions=[hours], mode=mode) as client:
        await client.call_tool("open", {"method": cloakroom.OPENED, "hours": [7, 8, 9]})
    assert hours.heard == [cloakroom.Opened(hour=7), cloakroom.Opened(hour=8), cloakroom.Opened(hour=9)]


async def test_they_do_not_reach_the_message_handler() -> None:
    async def handle(message: object) -> None:
        pytest.fail(f"it did: {message}")

    hours = cloakroom.Hours()
    async with Client(cloakroom.build(), extensions=[hours], message_handler=handle) as client:
        await client.call_tool("open", {"method": cloakroom.OPENED, "hours": [7]})
    assert hours.heard == [cloakroom.Opened(hour=7)]


async def test_a_malformed_one_is_dropped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    hours = cloakroom.Hours()
    async with Client(cloakroom.build(), extensions=[hours]) as client:
        await client.call_tool("open", {"method": cloakroom.OPENED, "hours": ["noon", 9]})
    assert hours.heard == [cloakroom.Opened(hour=9)]
    assert "dropped a malformed com.example/opened" in caplog.text


async def test_one_without_params_is_checked_as_if_they_were_empty(caplog: pytest.LogCaptureFixture) -> None:
    hours = cloakroom.Hours()
    no_tools: dict[str, Any] = {"tools": []}
    with Peer() as peer:
        async with ClientSession(peer.read, peer.write, notification_bindings=hours.notifications()) as session:
            await peer.say(JSONRPCNotification(jsonrpc="2.0", method=cloakroom.OPENED))
            await peer.say(JSONRPCNotification(jsonrpc="2.0", method=cloakroom.OPENED, params={"hour": 6}))
            async with anyio.create_task_group() as group:
                group.start_soon(answer, peer, no_tools)
                await session.list_tools()
    assert hours.heard == [cloakroom.Opened(hour=6)]
    assert "dropped a malformed com.example/opened" in caplog.text


async def test_a_handler_that_raises_is_logged_and_nothing_else_suffers(caplog: pytest.LogCaptureFixture) -> None:
    class Grumpy(cloakroom.Hours):
        async def note(self, params: cloakroom.Opened) -> None:
            await super().note(params)
            raise LookupError("too early")

    hours = Grumpy()
    async with Client(cloakroom.build(), extensions=[hours]) as client:
        await client.call_tool("open", {"method": cloakroom.OPENED, "hours": [7, 8]})
    assert [params.hour for params in hours.heard] == [7, 8]
    assert "the callback for com.example/opened raised" in caplog.text


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_what_the_protocol_defines_is_not_for_extensions(
    mode: str, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[object] = []

    async def handle(message: object) -> None:
        heard.append(message)

    hours = cloakroom.Hours("notifications/tools/list_changed")
    with caplog.at_level(logging.WARNING, "client"):
        async with Client(cloakroom.build(), extensions=[hours], message_handler=handle, mode=mode) as client:
            await client.call_tool("open", {"method": "notifications/tools/list_changed", "hours": [7]})
    assert hours.heard == []
    assert len(heard) == 1
    assert (
        "the notification binding for 'notifications/tools/list_changed' is never used: "
        f"the protocol defines it in {version}"
    ) in caplog.text


async def test_what_another_revision_defines_may_be_an_extensions() -> None:
    hours = cloakroom.Hours("notifications/tasks/status")
    async with Client(cloakroom.build(), extensions=[hours]) as client:
        await client.call_tool("open", {"method": "notifications/tasks/status", "hours": [7]})
    assert hours.heard == [cloakroom.Opened(hour=7)]


# Methods of an extension, and their name in a header.


class JobParams(types.RequestParams):
    job_id: str | int | None = None


class JobStatus(types.Request[JobParams, Literal["com.example/jobs.status"]]):
    method: Literal["com.example/jobs.status"] = "com.example/jobs.status"
    params: JobParams
    name_param = "jobId"


class Seen(types.Result):
    name: str | None = None
    job: str | None = None


async def job_status(ctx: cloakroom.Context, params: JobParams) -> Seen:
    name = None if ctx.request is None else ctx.request.headers.get("mcp-name")
    return Seen(name=name, job=str(params.job_id))


@pytest.fixture(scope="module")
def jobs_url() -> Iterator[str]:
    with served(jobs()) as url:
        yield url


def jobs() -> Server[Any]:
    server = cloakroom.build()
    server.add_request_handler("com.example/jobs.status", JobParams, job_status)
    return server


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(("job", "header"), [("j-7", "j-7"), ("jöb\n", "=?base64?asO2Ygo=?="), ("", "")])
async def test_a_params_value_stands_in_the_name_header(jobs_url: str, mode: str, job: str, header: str) -> None:
    async with Client(jobs_url, mode=mode) as client:
        seen = await client.session.send_request(JobStatus(params=JobParams(job_id=job)), Seen)
        assert (seen.name, seen.job) == (header, job)


async def test_no_header_of_the_callers_own_takes_its_place(jobs_url: str) -> None:
    from mcp.shared.message import ClientMessageMetadata

    metadata = ClientMessageMetadata(headers={"Mcp-Name": "another", "X-Other": "kept"})
    async with Client(jobs_url) as client:
        request = JobStatus(params=JobParams(job_id="j-7"))
        assert (await client.session.send_request(request, Seen, metadata=metadata)).name == "j-7"
    assert metadata.headers == {"Mcp-Name": "another", "X-Other": "kept"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("job", [None, 7])
async def test_a_missing_value_fails_before_anything_is_sent(mode: str, job: Any) -> None:
    async with Client(jobs(), mode=mode) as client:
        with pytest.raises(ValueError) as raised:
            await client.session.send_request(JobStatus(params=JobParams(job_id=job)), Seen)
        text = f"com.example/jobs.status requires a string params['jobId'] for its Mcp-Name header, got {job!r}"
        assert str(raised.value) == text


async def test_where_there_are_no_headers_the_request_goes_without() -> None:
    async with Client(jobs()) as client:
        seen = await client.session.send_request(JobStatus(params=JobParams(job_id="j-7")), Seen)
        assert (seen.name, seen.job) == (None, "j-7")
