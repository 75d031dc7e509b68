"""What a server of a handshake revision asks its client, over HTTP, and how the client answers."""

import logging
from typing import Any

import anyio
import pytest
from scripted_handshake_server import Script, connected, said_by, text
from scripted_http_server import Posted, Reply

from mcp import MCPError, types
from mcp.client import ClientRequestContext

pytestmark = pytest.mark.anyio

SAMPLE: dict[str, Any] = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5},
}


def question(id: object, method: str = "ping", params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}


def answers(script: Script) -> list[Any]:
    return [request.message for request in script.received("answer")]


def asks(script: Script, *questions: dict[str, Any]) -> None:
    """Makes a tool's call ask questions on its stream, and end once they are answered."""

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        for one in questions:
            await reply.event({"jsonrpc": "2.0", **one})
        await script.until("answer", len(questions))
        await reply.event(text(request, "asked"))
        await reply.end()


class Sampler:
    """Answers questions for a message, and counts how many at a time."""

    def __init__(self, together: int = 1) -> None:
        self.asked: list[types.CreateMessageRequestParams] = []
        self.contexts: list[ClientRequestContext] = []
        self._together = together
        self._all_here = anyio.Event()

    async def __call__(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        self.asked.append(params)
        self.contexts.append(context)
        if len(self.asked) >= self._together:
            self._all_here.set()
        await self._all_here.wait()
        return types.CreateMessageResult(role="assistant", model="m", content=types.TextContent(text="hello"))


async def test_b41_a_question_within_a_call_is_answered_on_a_way_of_its_own() -> None:
    """The client posted the answer on the path that was waiting."""
    script = Script()
    asks(script, {"id": "q1", **SAMPLE})
    sampler = Sampler()
    with anyio.fail_after(3):
        async with connected(script, sampling_callback=sampler) as client:
            assert await said_by(client, "any") == "asked"
    (answer,) = answers(script)
    assert answer["id"] == "q1"
    assert answer["result"] == {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"}
    posted = script.received("answer")[0]
    assert posted.headers["mcp-session-id"] == "session-1"
    assert posted.headers["mcp-protocol-version"] == "2025-11-25"
    assert sampler.asked[0].max_tokens == 5
    assert sampler.contexts[0].request_id == "q1"


async def test_b40_questions_are_answered_together() -> None:
    """They ran one at a time."""
    script = Script()
    asks(script, *({"id": number, **SAMPLE} for number in range(4)))
    with anyio.fail_after(3):
        async with connected(script, sampling_callback=Sampler(together=4)) as client:
            assert await said_by(client, "any") == "asked"
    assert sorted(answer["id"] for answer in answers(script)) == [0, 1, 2, 3]


async def test_a_question_on_the_standalone_stream_is_answered() -> None:
    script = Script()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(question(1, "roots/list"))
        await reply.disconnected()

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": "file:///home", "name": "home"})])

    async with connected(script, list_roots_callback=roots):
        await script.until("answer")
    assert answers(script) == [
        {"jsonrpc": "2.0", "id": 1, "result": {"roots": [{"uri": "file:///home", "name": "home"}]}}
    ]
    assert script.received("initialize")[0].message["params"]["capabilities"] == {"roots": {"listChanged": True}}


async def test_a_callback_may_call_the_server_that_asks() -> None:
    script = Script()
    asks(script, {"id": 1, **SAMPLE})

    async def sample(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        await context.session.send_ping()
        return types.CreateMessageResult(role="assistant", model="m", content=types.TextContent(text="after a ping"))

    with anyio.fail_after(3):
        async with connected(script, sampling_callback=sample) as client:
            assert await said_by(client, "any") == "asked"
    assert script.asked["ping"] == 1
    assert answers(script)[0]["result"]["content"]["text"] == "after a ping"


async def test_a_question_that_nobody_answers_is_refused() -> None:
    script = Script()
    asks(script, {"id": 1, **SAMPLE}, {"id": 2, "method": "acme/what"})
    async with connected(script) as client:
        assert await said_by(client, "any") == "asked"
    errors = {answer["id"]: answer["error"] for answer in answers(script)}
    assert errors[1] == {"code": -32600, "message": "Sampling not supported"}
    assert errors[2] == {"code": -32601, "message": "Method not found", "data": "acme/what"}


async def test_a_question_with_params_that_are_none_is_refused() -> None:
    script = Script()
    asks(script, {"id": 1, "method": "ping", "params": [1]})
    async with connected(script) as client:
        assert await said_by(client, "any") == "asked"
    (answer,) = answers(script)
    assert (answer["id"], answer["error"]["code"]) == (1, -32602)


JUNK: dict[str, Any] = {
    "nothing": None,
    "text": "yes",
    "dict": {"foo": 1},
    "another result": types.ElicitResult(action="accept"),
    "empty result": types.EmptyResult(),
    "list": [],
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
async def test_what_is_no_result_is_an_error_to_the_server_and_named_in_the_log(
    junk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    script = Script()
    asks(script, {"id": 1, **SAMPLE}, {"id": 2, "method": "roots/list"})

    async def wrong(context: ClientRequestContext, params: Any = None) -> Any:
        return junk

    async with connected(script, sampling_callback=wrong, list_roots_callback=wrong) as client:
        assert await said_by(client, "any") == "asked"
    refused = {"code": -32603, "message": "Handler returned an invalid result"}
    assert {answer["id"]: answer["error"] for answer in answers(script)} == {1: refused, 2: refused}
    assert "sampling_callback must return CreateMessageResult, CreateMessageResultWithTools or ErrorData" in caplog.text
    assert "list_roots_callback must return ListRootsResult or ErrorData" in caplog.text


async def test_a_callback_may_return_the_wire_form() -> None:
    script = Script()
    asks(script, {"id": 1, **SAMPLE})
    message = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hello"}}

    async def sample(context: ClientRequestContext, params: Any) -> Any:
        return message

    async with connected(script, sampling_callback=sample) as client:
        assert await said_by(client, "any") == "asked"
    assert answers(script)[0]["result"] == message


async def test_a_callback_that_raises_is_an_error_to_the_server_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        raise MCPError(-32042, "not today") if params.max_tokens == 1 else ValueError("secret")

    script = Script()
    rude = {**SAMPLE, "params": {**SAMPLE["params"], "maxTokens": 1}}
    asks(script, {"id": 1, **rude}, {"id": 2, **SAMPLE})
    async with connected(script, sampling_callback=sample) as client:
        assert await said_by(client, "any") == "asked"
    errors = {answer["id"]: answer["error"] for answer in answers(script)}
    assert errors[1] == {"code": -32042, "message": "not today"}
    assert errors[2]["code"] == -32603
    assert "secret" not in errors[2]["message"]


async def test_a_question_that_the_server_takes_back_is_not_answered() -> None:
    script = Script()
    begun, ended = anyio.Event(), anyio.Event()

    async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event({"jsonrpc": "2.0", "id": 7, **SAMPLE})
        await begun.wait()
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        await reply.event(cancelled)
        await ended.wait()
        await reply.event(text(request, "never mind"))
        await reply.end()

    async with connected(script, sampling_callback=sample) as client:
        assert await said_by(client, "any") == "never mind"
    assert answers(script) == []


async def test_an_answer_that_the_server_does_not_take_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    script = Script()
    asks(script, question(1))

    @script.on("answer")
    async def refuse(request: Posted, reply: Reply) -> None:
        await reply.send("500 Oops")

    with caplog.at_level(logging.WARNING):
        async with connected(script) as client:
            assert await said_by(client, "any") == "asked"
            await client.session.send_ping()
    assert "a message to the server was not taken" in caplog.text


async def test_a_batch_of_questions_is_answered_by_a_batch_where_the_revision_has_them() -> None:
    script = Script("2025-03-26")

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event([question(1), question(2), {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}])
        await script.until("batch")
        await reply.event([text(request, "asked")])
        await reply.end()

    heard: list[object] = []

    async def hear(message: object) -> None:
        heard.append(message)

    async with connected(script, message_handler=hear) as client:
        assert await said_by(client, "any") == "asked"
    (batch,) = script.received("batch")
    assert sorted(answer["id"] for answer in batch.message) == [1, 2]
    assert heard == [types.ToolListChangedNotification()]


async def test_an_answer_may_come_in_a_batch_as_a_json_body() -> None:
    script = Script("2025-03-26")

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.json([text(request, "one of one")])

    async with connected(script) as client:
        assert await said_by(client, "any") == "one of one"


async def test_a_batch_in_another_revision_is_no_message(caplog: pytest.LogCaptureFixture) -> None:
    script = Script("2025-06-18")

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event([question(1)])
        await reply.event(text(request, "asked"))
        await reply.end()

    async with connected(script) as client:
        assert await said_by(client, "any") == "asked"
    assert "skipped an event that is no JSON-RPC message" in caplog.text
    assert answers(script) == []


async def test_a_question_that_is_under_way_when_the_client_is_left_ends_with_it() -> None:
    script = Script()
    begun = anyio.Event()
    ended: list[bool] = []

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event({"jsonrpc": "2.0", "id": 7, **SAMPLE})
        await reply.disconnected()

    async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(True)

    async with connected(script, sampling_callback=sample):
        await begun.wait()
    assert ended == [True]
