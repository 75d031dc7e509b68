"""JSON-RPC in both directions over one connection: what each side may do while the other one does something too."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from scripted_link import ScriptedLink

from mcp.engine.backend import open_spawner
from mcp.engine.dispatch import Reply
from mcp.engine.duplex import Admission, Duplex
from mcp.engine.exchange import Exchange, FrameWriter
from mcp.engine.link import Frame
from mcp.engine.outlet import LinkOutlet
from mcp.engine.requester import CallOptions
from mcp.protocol.codec import DecodeError, Notification, Request, RequestId, dumps, encode_result
from mcp.shared.exceptions import (
    ConnectionClosedError,
    MalformedResultError,
    MCPError,
    NoBackChannelError,
    RequestTimeoutError,
)
from mcp.types.jsonrpc import METHOD_NOT_FOUND

pytestmark = pytest.mark.anyio

Work = Callable[[Exchange], Awaitable[dict[str, Any]]]

NO_OPTIONS = CallOptions()


class Worker:
    """A `Side` whose methods are what the test says. The method "open" opens a connection."""

    def __init__(self, *, takes_batches: bool = False, can_ask: bool = True, **work: Work) -> None:
        self.takes_batches = takes_batches
        self.takes_disturbances = True
        self.traces = False
        self.hears_cancellations = False
        self.noticed: list[str] = []
        self.disturbances: list[str] = []
        self._can_ask = can_ask
        self._work = work

    def opens(self, request: Request) -> bool:
        return request.method == "open"

    def admit(self, request: Request) -> Admission:
        work = self._work.get(request.method)
        if work is None:
            raise MCPError(METHOD_NOT_FOUND, "Method not found", request.method)
        return Admission(partial(self._answer, request, work), can_ask=self._can_ask)

    async def _answer(self, request: Request, work: Work, exchange: Exchange) -> Reply:
        return Reply(encode_result(request.id, dumps(await work(exchange))), None)

    def may_ask(self, notification: Notification) -> bool:
        return self._can_ask

    async def notified(self, notification: Notification, exchange: Exchange) -> None:
        self.noticed.append(notification.method)
        if notification.method in self._work:
            await self._work[notification.method](exchange)

    def unreadable(self, error: DecodeError) -> bool:
        return True

    async def disturbed(self, error: DecodeError) -> None:
        self.disturbances.append(error.message)


class NotingOutlet(LinkOutlet):
    """Writes down which requests get no answer."""

    def __init__(self, link: ScriptedLink) -> None:
        super().__init__(link)
        self.left_alone: list[RequestId] = []

    def abandoned(self, related: RequestId) -> None:
        self.left_alone.append(related)


@asynccontextmanager
async def joined(side: Worker, link: ScriptedLink, outlet: LinkOutlet | None = None) -> AsyncGenerator[Duplex, None]:
    """A connection that reads."""
    async with open_spawner() as spawner:
        duplex = Duplex(outlet or LinkOutlet(link), spawner, side)
        spawner.spawn(duplex.read, link)
        yield duplex


def frame(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def call(id: int | str, method: str) -> bytes:
    return frame(id=id, method=method)


def result(id: int | str, **members: Any) -> bytes:
    return frame(id=id, result=members)


def cancelled(id: object) -> bytes:
    return frame(method="notifications/cancelled", params={"requestId": id})


def batch(*frames: bytes) -> bytes:
    return b"[" + b",".join(frames) + b"]"


async def done(exchange: Exchange) -> dict[str, Any]:
    return {"done": True}


class Waiting:
    """Work that waits until it is let go, and says when it is cancelled."""

    def __init__(self) -> None:
        self.let_go = anyio.Event()
        self.was_cancelled = False

    async def __call__(self, exchange: Exchange) -> dict[str, Any]:
        try:
            await self.let_go.wait()
        except anyio.get_cancelled_exc_class():
            self.was_cancelled = True
            raise
        return {"waited": True}


class Asking:
    """Work that asks the peer, and answers with what the peer answered."""

    def __init__(self, options: CallOptions = NO_OPTIONS, params: dict[str, Any] | None = None) -> None:
        self._options = options
        self._params = params
        self.failure: MCPError | None = None

    async def __call__(self, exchange: Exchange) -> dict[str, Any]:
        try:
            return {
                "answer": await exchange.ask("question", self._params, self._options.timeout, self._options.on_progress)
            }
        except MCPError as error:
            self.failure = error
            return {"error": str(error)}


# Both directions at once.


async def test_a_handler_asks_while_its_own_request_is_open() -> None:
    link = ScriptedLink()
    async with joined(Worker(work=Asking(params={"a": 1})), link):
        link.arrive(call("w", "work"))
        question = await link.next()
        assert question == {"jsonrpc": "2.0", "id": 1, "method": "question", "params": {"a": 1}}
        link.arrive(result(question["id"], yes=True))
        assert (await link.next())["result"] == {"answer": {"yes": True}}


async def test_ids_of_the_two_directions_have_nothing_to_do_with_each_other() -> None:
    link = ScriptedLink()
    async with joined(Worker(work=Asking(), other=done), link):
        link.arrive(call(1, "work"))
        assert (await link.next())["id"] == 1
        link.arrive(call(2, "other"), cancelled(7), result(1, mine=True))
        answers = {answer["id"]: answer["result"] for answer in [await link.next(), await link.next()]}
    assert answers == {1: {"answer": {"mine": True}}, 2: {"done": True}}


async def test_questions_are_numbered_and_their_answers_come_in_any_order() -> None:
    link = ScriptedLink()
    async with joined(Worker(work=Asking()), link):
        link.arrive(call("a", "work"), call("b", "work"))
        first, second = await link.next(), await link.next()
        assert first["id"] != second["id"]
        link.arrive(result(second["id"], to="second"), result(first["id"], to="first"))
        answers = [await link.next(), await link.next()]
    assert sorted(answer["result"]["answer"]["to"] for answer in answers) == ["first", "second"]


async def test_an_error_answer_is_raised_where_it_was_asked() -> None:
    link, asking = ScriptedLink(), Asking()
    async with joined(Worker(work=asking), link):
        link.arrive(call(1, "work"))
        await link.next()
        link.arrive(frame(id=1, error={"code": -5, "message": "no", "data": [1]}))
        await link.next()
    assert asking.failure is not None
    assert (asking.failure.code, asking.failure.message, asking.failure.data) == (-5, "no", [1])


async def test_a_broken_answer_fails_the_question_it_was_for() -> None:
    link, asking = ScriptedLink(), Asking()
    async with joined(Worker(work=asking), link):
        link.arrive(call(1, "work"))
        await link.next()
        link.arrive(frame(id=1, result=5))
        await link.next()
        assert link.sent == []
    assert isinstance(asking.failure, MalformedResultError)
    assert asking.failure.message.startswith("The result for 'question' does not fit")


async def test_a_question_without_an_answer_in_time_is_cancelled_at_the_peer() -> None:
    link, asking = ScriptedLink(), Asking(CallOptions(timeout=0.01))
    async with joined(Worker(work=asking), link):
        link.arrive(call(1, "work"))
        assert (await link.next())["method"] == "question"
        told = await link.next()
        assert (told["method"], told["params"]["requestId"]) == ("notifications/cancelled", 1)
        assert (await link.next())["id"] == 1
    assert isinstance(asking.failure, RequestTimeoutError)


async def test_a_request_that_is_cancelled_takes_its_question_with_it() -> None:
    link = ScriptedLink()
    async with joined(Worker(work=Asking()), link):
        link.arrive(call("w", "work"))
        question = await link.next()
        link.arrive(cancelled("w"))
        told = await link.next()
        assert told["method"] == "notifications/cancelled"
        assert told["params"]["requestId"] == question["id"]
        link.arrive(result(question["id"], late=True))
        await wait_all_tasks_blocked()
        assert link.sent == []


async def test_a_session_that_was_kept_can_ask_after_the_answer() -> None:
    link = ScriptedLink()
    kept: list[Exchange] = []

    async def keep(exchange: Exchange) -> dict[str, Any]:
        kept.append(exchange)
        return {}

    async with joined(Worker(work=keep), link), anyio.create_task_group() as group:
        link.arrive(call(1, "work"))
        await link.next()
        await kept[0].notify("note", None)
        group.start_soon(kept[0].ask, "question", None)
        question = await link.next()
        assert question["method"] == "question"
        link.arrive(result(question["id"]))


async def test_where_nothing_can_be_asked_it_is_refused() -> None:
    link, asking = ScriptedLink(), Asking()
    async with joined(Worker(work=asking, can_ask=False), link):
        link.arrive(call(1, "work"))
        assert "error" in (await link.next())["result"]
    assert isinstance(asking.failure, NoBackChannelError)


async def test_a_notification_may_lead_to_a_question() -> None:
    link, asking = ScriptedLink(), Asking()
    async with joined(Worker(event=asking), link):
        link.arrive(frame(method="event"))
        question = await link.next()
        link.arrive(result(question["id"]))
        await wait_all_tasks_blocked()
        assert link.sent == []
    assert asking.failure is None


async def test_a_notification_whose_handler_may_not_ask_is_refused_a_question() -> None:
    link, asking = ScriptedLink(), Asking()
    async with joined(Worker(event=asking, can_ask=False), link):
        link.arrive(frame(method="event"))
        await wait_all_tasks_blocked()
    assert isinstance(asking.failure, NoBackChannelError)


# Progress of questions.


async def test_reports_on_a_question_reach_whoever_asked_it() -> None:
    link = ScriptedLink()
    reports: list[Any] = []

    async def note(params: dict[str, Any]) -> None:
        reports.append(params["progress"])

    asking = Asking(CallOptions(on_progress=note), {"a": 1, "_meta": {"k": "v"}})
    side = Worker(work=asking)
    async with joined(side, link):
        link.arrive(call("w", "work"))
        question = await link.next()
        token = question["params"]["_meta"]["progressToken"]
        assert question["params"] == {"a": 1, "_meta": {"k": "v", "progressToken": question["id"]}}
        steps = [
            frame(method="notifications/progress", params={"progressToken": token, "progress": step})
            for step in range(3)
        ]
        link.arrive(*steps, result(question["id"]))
        await link.next()
    assert reports == [0, 1, 2]
    assert side.noticed == []


@pytest.mark.parametrize("token", [True, 1.0, "1", None])
async def test_reports_under_another_token_are_notifications_like_any(token: object) -> None:
    link = ScriptedLink()
    reports: list[Any] = []

    async def note(params: dict[str, Any]) -> None:
        reports.append(params)

    side = Worker(work=Asking(CallOptions(on_progress=note)))
    async with joined(side, link):
        link.arrive(call("w", "work"))
        question = await link.next()
        assert question["id"] == 1
        link.arrive(frame(method="notifications/progress", params={"progressToken": token, "progress": 1}))
        await wait_all_tasks_blocked()
        link.arrive(result(1))
        await link.next()
    assert reports == []
    assert side.noticed == ["notifications/progress"]


# The request that opens a connection.


async def test_nothing_further_is_read_before_an_opening_request_is_answered() -> None:
    link, opening = ScriptedLink(), Waiting()
    side = Worker(open=opening, work=done)
    async with joined(side, link):
        link.arrive(call(1, "open"), call(2, "work"), frame(method="event"))
        await wait_all_tasks_blocked()
        assert link.sent == []
        assert side.noticed == []
        opening.let_go.set()
        assert await link.next() == {"jsonrpc": "2.0", "id": 1, "result": {"waited": True}}
        assert (await link.next())["id"] == 2
        await wait_all_tasks_blocked()
        assert side.noticed == ["event"]


async def test_an_opening_request_that_is_refused_opens_the_way_too() -> None:
    link = ScriptedLink()
    async with joined(Worker(work=done), link):
        link.arrive(call(1, "open"), call(2, "work"))
        assert (await link.next())["error"]["code"] == METHOD_NOT_FOUND
        assert (await link.next())["id"] == 2


async def test_an_opening_request_needs_an_id_of_its_own() -> None:
    link, work = ScriptedLink(), Waiting()
    async with joined(Worker(open=done, work=work), link):
        link.arrive(call(1, "work"), call(1, "open"))
        refused = await link.next()
        assert "in use" in refused["error"]["message"]
        work.let_go.set()
        assert (await link.next())["result"] == {"waited": True}


async def test_what_belongs_to_an_opening_request_ends_with_its_answer() -> None:
    link = ScriptedLink()
    kept: list[Exchange] = []

    async def opening(exchange: Exchange) -> dict[str, Any]:
        await exchange.notify("during", None)
        kept.append(exchange)
        return {}

    async with joined(Worker(open=opening), link):
        link.arrive(call(1, "open"))
        assert (await link.next())["method"] == "during"
        await link.next()
        await kept[0].notify("after", None)
        assert link.sent == []


@pytest.mark.parametrize(
    "flood",
    [call(1, "open"), batch(b"5"), batch(call(1, "none"), call(2, "none")), call(1, "none"), b"nonsense"],
    ids=["openings", "broken batches", "refused batches", "refused requests", "nonsense"],
)
async def test_a_flood_is_not_read_faster_than_its_answers_are(flood: bytes) -> None:
    link = ScriptedLink()
    async with joined(Worker(takes_batches=True, open=done), link):
        link.behind = True
        for _ in range(3):
            link.arrive(flood)
        await wait_all_tasks_blocked()
        assert len(link.sent) == 1
        link.behind = False
        link.changed()
        await wait_all_tasks_blocked()
        assert len(link.sent) == 3


# Batches.


async def test_the_requests_of_a_batch_are_answered_with_one_batch() -> None:
    link, slow = ScriptedLink(), Waiting()
    async with joined(Worker(takes_batches=True, work=done, slow=slow), link):
        link.arrive(batch(call(1, "slow"), call(2, "work")))
        await wait_all_tasks_blocked()
        assert link.sent == []
        slow.let_go.set()
        answers = await link.next()
    assert {answer["id"]: answer["result"] for answer in answers} == {1: {"waited": True}, 2: {"done": True}}


async def test_a_batch_may_hold_anything() -> None:
    link = ScriptedLink()
    side = Worker(takes_batches=True, work=done, ask=Asking())
    async with joined(side, link):
        link.arrive(call("w", "ask"))
        question = await link.next()
        link.arrive(
            batch(
                b"5",
                frame(method="event"),
                call(1, "work"),
                call(2, "none"),
                frame(id=3, method=5),
                result(question["id"], yes=True),
            )
        )
        messages: list[Any] = [await link.next(), await link.next()]
        answers, asked = sorted(messages, key=lambda message: not isinstance(message, list))
        await wait_all_tasks_blocked()
        assert link.sent == []
    outcomes = {answer["id"]: answer.get("result") or answer["error"]["code"] for answer in answers}
    assert outcomes == {None: -32600, 1: {"done": True}, 2: METHOD_NOT_FOUND, 3: -32600}
    assert asked["result"] == {"answer": {"yes": True}}
    assert side.noticed == ["event"]
    assert side.disturbances == [answer["error"]["message"] for answer in answers if answer["id"] in (None, 3)]


async def test_a_batch_whose_items_are_all_refused_is_answered_with_one_batch() -> None:
    link = ScriptedLink()
    async with joined(Worker(takes_batches=True), link):
        link.arrive(batch(b"5", call(1, "none"), b'"six"', call(2, "none")))
        answers = await link.next()
        await wait_all_tasks_blocked()
        assert link.sent == []
    assert sorted(answer["id"] or 0 for answer in answers) == [0, 0, 1, 2]


async def test_a_batch_without_requests_is_not_answered() -> None:
    link = ScriptedLink()
    side = Worker(takes_batches=True)
    async with joined(side, link):
        link.arrive(batch(frame(method="one"), frame(method="two"), result(9)))
        await wait_all_tasks_blocked()
        assert link.sent == []
    assert side.noticed == ["one", "two"]


async def test_a_request_of_a_batch_that_is_cancelled_is_left_out_of_the_answer() -> None:
    link, slow = ScriptedLink(), Waiting()
    async with joined(Worker(takes_batches=True, work=done, slow=slow), link):
        link.arrive(batch(call(1, "slow"), call(2, "work")))
        await wait_all_tasks_blocked()
        link.arrive(cancelled(1))
        assert [answer["id"] for answer in await link.next()] == [2]
    assert slow.was_cancelled


async def test_a_batch_whose_requests_are_all_cancelled_is_not_answered() -> None:
    link, slow = ScriptedLink(), Waiting()
    outlet = NotingOutlet(link)
    async with joined(Worker(takes_batches=True, slow=slow), link, outlet):
        link.arrive(batch(call(1, "slow"), call(2, "slow")))
        await wait_all_tasks_blocked()
        link.arrive(batch(cancelled(1), cancelled(2)))
        await wait_all_tasks_blocked()
        assert link.sent == []
        assert outlet.left_alone == [1]


async def test_an_id_that_a_batch_uses_twice_is_refused_the_second_time() -> None:
    link, slow = ScriptedLink(), Waiting()
    async with joined(Worker(takes_batches=True, slow=slow), link):
        link.arrive(batch(call(1, "slow"), call(1, "slow")))
        await wait_all_tasks_blocked()
        slow.let_go.set()
        answers = await link.next()
    assert [("in use" in answer["error"]["message"]) if "error" in answer else answer["id"] for answer in answers] == [
        True,
        1,
    ]


async def test_a_connection_is_not_opened_by_part_of_a_batch() -> None:
    link = ScriptedLink()
    async with joined(Worker(takes_batches=True, open=done, work=done), link):
        link.arrive(batch(call(1, "open"), call(2, "work")))
        answers = {answer["id"]: answer for answer in await link.next()}
    assert answers[1]["error"] == {"code": -32600, "message": "open must not be part of a batch"}
    assert answers[2]["result"] == {"done": True}


async def test_a_revision_without_batches_refuses_one_as_a_whole() -> None:
    link = ScriptedLink()
    async with joined(Worker(work=done), link):
        link.arrive(batch(call(1, "work")), call(2, "work"))
        refused = await link.next()
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        assert (await link.next())["id"] == 2


# The end.


async def test_the_end_of_the_link_fails_what_handlers_ask() -> None:
    link, asking = ScriptedLink(), Asking()
    async with joined(Worker(work=asking), link):
        link.arrive(call(1, "work"))
        await link.next()
        link.end()
        assert "Connection closed" in (await link.next())["result"]["error"]
    assert isinstance(asking.failure, ConnectionClosedError)


async def test_a_reader_that_is_cancelled_fails_what_is_pending_too() -> None:
    link = ScriptedLink()
    failures: list[MCPError] = []

    async def ask(duplex: Duplex) -> None:
        with pytest.raises(ConnectionClosedError) as raised:
            await duplex.ask("question", None, NO_OPTIONS)
        failures.append(raised.value)

    async with open_spawner() as spawner, anyio.create_task_group() as group:
        duplex = Duplex(LinkOutlet(link), spawner, Worker())
        reading = spawner.spawn(duplex.read, link)
        group.start_soon(ask, duplex)
        await link.next()
        reading.cancel()
        await wait_all_tasks_blocked()
        assert len(failures) == 1
        await ask(duplex)
        with pytest.raises(ConnectionClosedError):
            await duplex.notify("note", None)
    assert len(failures) == 2


async def test_a_session_that_outlives_its_connection_drops_what_it_is_told_to_send() -> None:
    link = ScriptedLink()
    kept: list[Exchange] = []

    async def keep(exchange: Exchange) -> dict[str, Any]:
        kept.append(exchange)
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    async with joined(Worker(work=keep), link):
        link.arrive(call(1, "work"))
        link.end()
        await wait_all_tasks_blocked()
        await kept[0].notify("note", None)
        assert link.sent == []


async def test_what_is_running_at_the_end_is_answered_with_an_error_and_not_heard_again() -> None:
    link, work = ScriptedLink(), Waiting()
    side = Worker(takes_batches=True, work=work)
    async with joined(side, link) as duplex:
        link.arrive(call(1, "work"), batch(call(2, "work"), call(3, "work")))
        await wait_all_tasks_blocked()
        await duplex.finish(0)
        answers = link.sent
        work.let_go.set()
        await wait_all_tasks_blocked()
        assert link.sent == answers
    single, several = answers
    assert single["id"] == 1
    assert [answer["id"] for answer in several] == [2, 3]
    for answer in [single, *several]:
        assert answer["error"]["code"] == -32000
        assert answer["error"]["message"].startswith("Connection closed: ")


async def test_what_was_cancelled_gets_no_answer_at_the_end_either() -> None:
    link = ScriptedLink()
    may_end = anyio.Event()

    async def stubborn(exchange: Exchange) -> dict[str, Any]:
        with anyio.CancelScope(shield=True):
            await may_end.wait()
        return {}

    async with joined(Worker(work=stubborn), link) as duplex:
        link.arrive(call(1, "work"))
        await wait_all_tasks_blocked()
        link.arrive(cancelled(1))
        await wait_all_tasks_blocked()
        await duplex.finish(0)
        assert link.sent == []
        may_end.set()


async def test_what_ends_in_time_is_answered_as_ever() -> None:
    link, work = ScriptedLink(), Waiting()
    async with open_spawner() as spawner:
        duplex = Duplex(LinkOutlet(link), spawner, Worker(work=work))
        link.arrive(call(1, "work"))
        link.end()
        await duplex.read(link)
        async with anyio.create_task_group() as group:
            group.start_soon(duplex.finish, 60)
            await wait_all_tasks_blocked()
            work.let_go.set()
    assert [answer["result"] for answer in link.sent] == [{"waited": True}]


async def test_a_peer_that_reads_nothing_does_not_end_the_reader() -> None:
    link = ScriptedLink()
    async with joined(Worker(takes_batches=True, work=done, open=done), link):
        link.reads = False
        nothing_arrives: list[Frame] = [
            call(1, "none"),
            b"nonsense",
            batch(call(2, "none"), b"5"),
            call(3, "open"),
            call(4, "work"),
        ]
        link.arrive(*nothing_arrives)
        await wait_all_tasks_blocked()
        link.reads = True
        link.arrive(call(5, "work"))
        assert (await link.next())["id"] == 5


# Streams.


class Streaming:
    """Work that opens a stream, and ends when it is told to, or let go."""

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.write: FrameWriter | None = None

    async def __call__(self, exchange: Exchange) -> dict[str, Any]:
        self.write = exchange.open_stream(self.ended.set)
        await self.ended.wait()
        return {"streamed": True}

    async def send(self, *methods: str) -> None:
        assert self.write is not None
        await self.write([frame(method=method) for method in methods])


async def test_a_stream_sends_ahead_of_its_answer_and_nothing_behind_it() -> None:
    link, work = ScriptedLink(), Streaming()
    async with joined(Worker(work=work), link):
        link.arrive(call(1, "work"))
        await wait_all_tasks_blocked()
        await work.send("a", "b")
        work.ended.set()
        await wait_all_tasks_blocked()
        await work.send("late")
    assert [message.get("method", message.get("result")) for message in link.sent] == ["a", "b", {"streamed": True}]


async def test_a_stream_waits_while_the_peer_is_behind() -> None:
    link, work = ScriptedLink(), Streaming()
    async with joined(Worker(work=work), link):
        link.arrive(call(1, "work"))
        await wait_all_tasks_blocked()
        link.behind = True
        with anyio.move_on_after(0.01) as waited:
            await work.send("a")
        assert waited.cancelled_caught
        link.behind = False


async def test_a_stream_to_a_side_that_was_closed_goes_nowhere() -> None:
    link, work = ScriptedLink(), Streaming()
    async with joined(Worker(work=work), link):
        link.arrive(call(1, "work"))
        await wait_all_tasks_blocked()
        await link.aclose()
        await work.send("a")
    assert link.sent == []


async def test_a_stream_is_told_to_end_when_the_peer_sends_no_more() -> None:
    link, work = ScriptedLink(), Streaming()
    async with open_spawner() as spawner:
        duplex = Duplex(LinkOutlet(link), spawner, Worker(work=work))
        link.arrive(call(1, "work"))
        link.end()
        await duplex.read(link)
        with anyio.fail_after(5):
            await duplex.finish(60)
    assert [answer["result"] for answer in link.sent] == [{"streamed": True}]
