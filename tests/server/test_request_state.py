"""Sealed request state: handlers write and read plain text, and on the wire is a token that only they can open."""

import logging
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import pytest
from till import CALL, REJECTION, Door, Now, Till, logged, rejected
from wire import Context, connected, refusal, send

from mcp import Client, types
from mcp.client import ClientRequestContext
from mcp.server import Server
from mcp.server.context import CallNext
from mcp.server.request_state import (
    InvalidRequestState,
    RequestStateBoundary,
    RequestStateCodec,
    RequestStateSecurity,
)

pytestmark = pytest.mark.anyio


async def test_without_a_boundary_the_state_travels_as_it_was_written() -> None:
    till = Till()
    till.server.middleware.clear()
    assert await till.token() == "plain"
    await till.take("forged")
    assert till.states == [None, "forged"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", CALL),
        ("prompts/get", {"name": "greet", "arguments": {"who": "ada"}}),
        ("resources/read", {"uri": "note://1"}),
    ],
)
async def test_a_handler_reads_what_it_wrote(method: str, params: dict[str, Any]) -> None:
    till = Till()
    token = await till.token(method, **params)
    assert "plain" not in token
    await till.take(token, method, **params)
    assert till.states == [None, "plain"]


@pytest.mark.parametrize("state", ["", "x" * 100_000, 'žluť "\u2028\x00'])
async def test_it_may_write_any_text(state: str) -> None:
    till = Till(state=state)
    await till.take(await till.token())
    assert till.states == [None, state]


async def test_each_round_is_sealed_anew() -> None:
    till = Till(state="next")
    first = await till.token()
    second = (await till.take(first))["requestState"]
    assert second != first
    await till.take(second)
    assert till.states == [None, "next", "last"]


async def test_a_real_client_goes_round_without_noticing() -> None:
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
        if params.input_responses is None:
            schema: dict[str, Any] = {"type": "object", "properties": {}}
            form = types.ElicitRequestFormParams(message="Sure?", requested_schema=schema)
            return types.InputRequiredResult(
                input_requests={"sure": types.ElicitRequest(params=form)}, request_state=f"refund:{params.arguments}"
            )
        return types.CallToolResult(content=[types.TextContent(text=str(params.request_state))])

    async def agree(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={})

    server = Server("till", on_call_tool=call_tool)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=None))
    async with Client(server, elicitation_callback=agree) as client:
        result = await client.call_tool("refund", {"amount": 1})
    assert result.content == [types.TextContent(text="refund:{'amount': 1}")]


async def test_other_results_and_methods_pass_through() -> None:
    async def ping(ctx: Context, params: types.RequestParams | None) -> types.EmptyResult:
        return types.EmptyResult(_meta={"seen": dict(ctx.params or {}).get("requestState")})

    till = Till(state=None)
    till.server.add_request_handler("acme/ping", types.RequestParams, ping)
    till.server.middleware.append(only_questions)
    async with connected(till.server) as client:
        assert (await send(client, "acme/ping", {"requestState": "x"}))["_meta"]["seen"] == "x"
        asked = await send(client, "tools/call", CALL)
    assert asked["resultType"] == "input_required"
    assert "requestState" not in asked


async def only_questions(ctx: Context, call_next: CallNext) -> Any:
    """Answers calls with a model, and with questions alone."""
    if ctx.method != "tools/call":
        return await call_next(ctx)
    return types.InputRequiredResult(input_requests={"r": types.ListRootsRequest()})


async def test_what_other_middleware_answers_is_sealed_as_well() -> None:
    async def answer(ctx: Context, call_next: CallNext) -> Any:
        return types.InputRequiredResult(request_state="written by middleware")

    till = Till()
    till.server.middleware.append(answer)
    token = await till.token()
    assert "middleware" not in token
    till.server.middleware.remove(answer)
    await till.take(token)
    assert till.states == ["written by middleware"]


# What arrives.


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("", "malformed"),
        ("plain", "malformed"),
        (5, "non-string requestState"),
        (True, "non-string requestState"),
        ({}, "non-string requestState"),
        (["x"], "non-string requestState"),
    ],
)
async def test_what_was_never_sealed_is_refused(token: object, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    await Till().refuse(token)
    assert logged(caplog) == rejected(reason)


async def test_null_is_no_state() -> None:
    till = Till()
    async with connected(till.server) as client:
        assert (await send(client, "tools/call", {**CALL, "requestState": None}))["resultType"] == "input_required"
    assert till.states == [None]


async def test_a_token_that_was_changed_is_refused_wherever_it_was(caplog: pytest.LogCaptureFixture) -> None:
    till = Till()
    token = await till.token()
    for place in range(0, len(token), 7):
        letter = "A" if token[place] != "A" else "B"
        await till.refuse(token[:place] + letter + token[place + 1 :])
        assert len(logged(caplog)) == 1


@pytest.mark.parametrize("boundary", [True, False])
async def test_a_state_under_its_python_name_is_no_state(boundary: bool) -> None:
    till = Till()
    if not boundary:
        till.server.middleware.clear()
    async with connected(till.server) as client:
        result = await send(client, "tools/call", {**CALL, "request_state": "forged", "input_responses": {}})
    assert result["resultType"] == "input_required"
    assert till.states == [None]


async def test_not_even_where_a_handler_has_params_of_its_own() -> None:
    class Params(types.CallToolRequestParams):
        extra: int = 0

    till = Till()
    till.server.add_request_handler("tools/call", Params, till._answer)
    async with connected(till.server) as client:
        await send(client, "tools/call", {**CALL, "request_state": "forged"})
    assert till.states == [None]


async def test_a_handshake_revision_knows_no_state() -> None:
    till = Till()
    async with Client(till.server, mode="legacy") as client:
        error = await refusal(client, "tools/call", {**CALL, "requestState": "x"})
        assert (error.code, error.message, error.data) == REJECTION
        error = await refusal(client, "tools/call", CALL)
    assert (error.code, error.message) == (-32603, "Handler returned an invalid result")


async def test_a_handler_that_writes_no_text_gets_an_error(caplog: pytest.LogCaptureFixture) -> None:
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
        return types.InputRequiredResult.model_construct(result_type="input_required", request_state=7)

    server = Server("till", on_call_tool=call_tool)

    async def odd(ctx: Context, call_next: CallNext) -> Any:
        return {"resultType": "input_required", "requestState": 7}

    server.middleware += [RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=None), odd]
    async with connected(server) as client:
        error = await refusal(client, "tools/call", CALL)
    assert (error.code, error.message) == (-32603, "Internal server error")
    refused = "refusing to seal requestState on tools/call: a handler returned int, expected str"
    assert logged(caplog, logging.ERROR) == [refused]


# Codecs of the user's own.


class Signed:
    """A codec that anybody can read; `unsealing` replaces what it opens."""

    def __init__(self, unsealing: Callable[[str], Any] | None = None) -> None:
        self._unsealing = unsealing

    def seal(self, payload: bytes) -> str:
        return b64encode(payload).decode()

    def unseal(self, token: str) -> bytes:
        return b64decode(token) if self._unsealing is None else self._unsealing(token)


def with_codec(codec: RequestStateCodec, **options: Any) -> Till:
    return Till(RequestStateSecurity(codec=codec, **options))


async def test_a_codec_need_not_know_what_a_state_is_bound_to(caplog: pytest.LogCaptureFixture) -> None:
    now = Now()
    till = with_codec(Signed(), clock=now)
    token = await till.token()
    await till.take(token)
    await till.refuse(token, name="payout")
    now.seconds += 600
    await till.refuse(token)
    assert logged(caplog) == rejected("request binding") + rejected("expired")


async def test_a_codec_that_hides_nothing_shows_no_user_and_no_arguments() -> None:
    till = Till(RequestStateSecurity(codec=Signed(), bind_principal=Door("ada@example.com")))
    payload = b64decode(await till.token())
    assert b"plain" in payload
    assert b"example" not in payload
    assert b"amount" not in payload


def refuse_with(text: str) -> Callable[[str], Any]:
    def unseal(token: str) -> Any:
        raise InvalidRequestState(text)

    return unseal


def fail_to_open(token: str) -> Any:
    raise OSError("the key service is down")


OPENED: list[tuple[Callable[[str], Any], str]] = [
    (refuse_with("wrong tenant"), "wrong tenant"),
    (refuse_with(""), "codec"),
    (fail_to_open, "codec error"),
    (lambda token: None, "malformed"),
    (lambda token: b"junk", "malformed"),
    (lambda token: b"\xff", "malformed"),
    (lambda token: b"[]", "malformed"),
    (lambda token: b"{}", "malformed"),
    (lambda token: b"[" * 100_000, "malformed"),
    (lambda token: b'{"v":2,"state":"s","req":"r","aud":null,"sub":null,"exp":1e12}', "malformed"),
    (lambda token: b'{"v":1,"state":"s","req":"r","aud":null,"sub":null,"exp":"1e12"}', "malformed"),
    (lambda token: b'{"v":1,"state":"s","req":"r","aud":"till","sub":null,"exp":1e12}', "request binding"),
]


@pytest.mark.parametrize(("unseal", "reason"), OPENED)
async def test_what_a_codec_refuses_or_did_not_seal_is_refused(
    unseal: Callable[[str], Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    await with_codec(Signed(unseal)).refuse("token")
    assert logged(caplog) == rejected(reason)


async def test_a_claim_without_an_end_does_not_count() -> None:
    till = with_codec(Signed(lambda token: b64decode(token).replace(b'"exp":', b'"exp":NaN,"was":')))
    await till.refuse(await till.token())


async def test_a_codec_that_fails_is_told_of_in_the_log_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    await with_codec(Signed(fail_to_open)).refuse("token")
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage() == "requestState codec raised during unseal on tools/call"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], OSError)


class Broken(Signed):
    def __init__(self, sealed: Any) -> None:
        super().__init__()
        self._sealed = sealed

    def seal(self, payload: bytes) -> str:
        if isinstance(self._sealed, Exception):
            raise self._sealed
        return self._sealed


@pytest.mark.parametrize(
    ("sealed", "line"),
    [
        (OSError("the key service is down"), "requestState codec raised during seal on tools/call"),
        (b"bytes", "requestState codec returned bytes from seal on tools/call, expected str"),
    ],
)
async def test_state_that_cannot_be_sealed_is_not_sent(
    sealed: object, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(with_codec(Broken(sealed)).server) as client:
        error = await refusal(client, "tools/call", CALL)
    assert (error.code, error.message, error.data) == (-32603, "Internal server error", None)
    assert logged(caplog, logging.ERROR) == [line]
