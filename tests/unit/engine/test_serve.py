"""Serving an engine over a byte stream: what is answered, in which order, and what a peer cannot break."""

import anyio
import pytest
from scripted_link import ScriptedLink
from served_link import Context, answered, nothing, server_that_does, serving, work

from mcp.engine.running import MAX_RUNNING_REQUESTS
from mcp.protocol.codec import DecodeError
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.anyio


# Requests.


async def test_a_request_is_answered_under_its_id() -> None:
    async with serving(nothing) as link:
        link.arrive(work(1, "a"))
        assert await link.next() == {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {
                "name": "a",
                "resultType": "complete",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "srv", "version": ""}},
            },
        }
        link.arrive(work("two", "b"))
        assert answered(await link.next()) == ("two", "b")


async def test_requests_run_concurrently_and_are_answered_as_they_finish() -> None:
    may_finish = anyio.Event()

    async def slow_first(ctx: Context, name: str) -> None:
        if name == "slow":
            await may_finish.wait()

    async with serving(slow_first) as link:
        link.arrive(work(1, "slow"))
        link.arrive(work(2, "fast"))
        assert answered(await link.next()) == (2, "fast")
        may_finish.set()
        assert answered(await link.next()) == (1, "slow")


async def test_what_is_no_message_is_answered_with_an_error_and_the_connection_lives_on() -> None:
    async with serving(nothing) as link:
        link.arrive(b'{"jsonrpc":"2.0","id":5,"method":', b"[1]", DecodeError(-32600, "too long", 7), work(1, "a"))
        refusals = [await link.next() for _ in range(3)]
        assert [(refused["id"], refused["error"]["code"]) for refused in refusals] == [
            (5, -32700),
            (None, -32600),
            (7, -32600),
        ]
        assert answered(await link.next()) == (1, "a")


async def test_answers_to_nothing_are_ignored() -> None:
    async with serving(nothing) as link:
        link.arrive(
            b'{"jsonrpc":"2.0","id":1,"result":{}}',
            b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}',
            b'{"jsonrpc":"2.0","id":1,"result":"broken"}',
            work(1, "a"),
        )
        assert answered(await link.next()) == (1, "a")


async def test_an_id_that_is_in_use_is_refused_until_it_is_free() -> None:
    may_finish = anyio.Event()

    async def wait(ctx: Context, name: str) -> None:
        await may_finish.wait()

    async with serving(wait) as link:
        link.arrive(work(1, "first"), work(1, "second"), work("1", "third"))
        refused = await link.next()
        assert (refused["id"], refused["error"]["code"]) == (1, -32600)
        assert refused["error"]["message"] == "Request id 1 is in use by a request that still runs"
        may_finish.set()
        assert sorted([answered(await link.next()), answered(await link.next())], key=str) == [
            ("1", "third"),
            (1, "first"),
        ]
        link.arrive(work(1, "again"))
        assert answered(await link.next()) == (1, "again")


async def test_more_requests_than_can_run_are_refused_and_the_rest_are_answered() -> None:
    may_finish = anyio.Event()

    async def wait(ctx: Context, name: str) -> None:
        await may_finish.wait()

    async with serving(wait) as link:
        link.arrive(*(work(id) for id in range(MAX_RUNNING_REQUESTS + 2)))
        refusals = [await link.next(), await link.next()]
        assert [refused["id"] for refused in refusals] == [MAX_RUNNING_REQUESTS, MAX_RUNNING_REQUESTS + 1]
        assert "Too many requests" in refusals[0]["error"]["message"]
        may_finish.set()
        assert {(await link.next())["id"] for _ in range(MAX_RUNNING_REQUESTS)} == set(range(MAX_RUNNING_REQUESTS))


async def test_a_flood_is_not_read_faster_than_its_refusals_are() -> None:
    async with serving(nothing) as link:
        link.behind = True
        for _ in range(3):
            link.arrive(b"noise")
        await anyio.wait_all_tasks_blocked()
        assert len(link.sent) == 1
        link.behind = False
        link.changed()
        await anyio.wait_all_tasks_blocked()
        assert len(link.sent) == 3


async def test_a_request_that_names_no_version_before_initialize_is_told_what_to_do() -> None:
    async with serving(nothing) as link:
        link.arrive(b'{"jsonrpc":"2.0","id":1,"method":"acme/work"}')
        error = (await link.next())["error"]
        assert error["code"] == -32600
        assert error["message"] == (
            "'acme/work' came before initialize: open the connection with initialize, or name a protocol version in "
            "params._meta"
        )


async def test_a_request_with_half_an_envelope_is_told_what_it_lacks() -> None:
    version = '{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}'
    async with serving(nothing) as link:
        link.arrive(b'{"jsonrpc":"2.0","id":1,"method":"acme/work","params":{"_meta":%b}}' % version.encode())
        error = (await link.next())["error"]
        assert error["code"] == -32602
        assert error["message"].endswith(
            "missing the required envelope key(s): io.modelcontextprotocol/clientCapabilities"
        )


async def test_a_handler_that_fails_fails_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def failing(ctx: Context, name: str) -> None:
        errors = {"value": ValueError("secret"), "mcp": MCPError(7, "mine", {"a": 1}), "exit": SystemExit(3)}
        if name in errors:
            raise errors[name]

    async with serving(failing) as link:
        for id, name in enumerate(["value", "mcp", "exit", "fine"]):
            link.arrive(work(id, name))
        answers = {message["id"]: message for message in [await link.next() for _ in range(4)]}
    assert answers[0]["error"] == {"code": -32603, "message": "Internal server error"}
    assert answers[1]["error"] == {"code": 7, "message": "mine", "data": {"a": 1}}
    assert answers[2]["error"] == {"code": -32603, "message": "Internal server error"}
    assert answered(answers[3]) == (3, "fine")
    assert "secret" in caplog.text


# The end.


async def test_what_was_asked_before_the_peer_closed_its_side_is_still_answered() -> None:
    async def pause(ctx: Context, name: str) -> None:
        await anyio.sleep(0)

    async with serving(pause) as link:
        link.arrive(work(1, "a"))
        link.end()
        assert answered(await link.next()) == (1, "a")


async def test_what_still_runs_long_after_the_peer_closed_its_side_is_answered_with_an_error_and_cancelled() -> None:
    log: list[str] = []

    async def wait(ctx: Context, name: str) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            log.append("cancelled")

    async with serving(wait) as link:
        link.arrive(work(1, "a"))
    assert log == ["cancelled"]
    (answer,) = link.sent
    assert answer["id"] == 1
    assert answer["error"]["code"] == -32000
    assert answer["error"]["message"].startswith("Connection closed: ")


async def test_raise_exceptions_ends_the_connection_with_the_first_failure_once_it_is_answered() -> None:
    link = ScriptedLink()

    async def fail(ctx: Context, name: str) -> None:
        if name == "refuse":
            raise MCPError(7, "an answer, not a failure")
        raise ValueError(name)

    link.arrive(work(0, "refuse"), work(1, "wrong"), work(2, "wrong"))
    async with server_that_does(fail).in_process() as runtime:
        with pytest.raises(ValueError, match="wrong"):
            await runtime.serve_link(link, raise_exceptions=True)
    answers = {message["id"]: message["error"]["code"] for message in link.sent}
    assert answers == {0: 7, 1: -32603, 2: -32603}
