"""A sealed state is good for one request of one user, at one kind of server, for a while. Elsewhere it is refused."""

import dataclasses
import logging
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from starlette.authentication import SimpleUser, UnauthenticatedUser
from till import ARGUMENTS, CALL, KEY, OTHER, Door, Now, Till, logged, rejected
from wire import Context, connected, refusal

from mcp.server.context import CallNext
from mcp.server.request_state import RequestStateSecurity, authenticated_principal

pytestmark = pytest.mark.anyio


async def test_it_is_refused_with_another_tool(caplog: pytest.LogCaptureFixture) -> None:
    till = Till()
    await till.refuse(await till.token(), name="payout", arguments=ARGUMENTS)
    assert logged(caplog) == rejected("request binding")


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        {},
        {**ARGUMENTS, "amount": 121},
        {**ARGUMENTS, "amount": 120.0},
        {**ARGUMENTS, "amount": "120"},
        {**ARGUMENTS, "to": {"name": "ada", "iban": "2"}},
        {**ARGUMENTS, "more": None},
    ],
)
async def test_it_is_refused_with_other_arguments(arguments: Any, caplog: pytest.LogCaptureFixture) -> None:
    till = Till()
    await till.refuse(await till.token(), name="refund", arguments=arguments)
    assert logged(caplog) == rejected("request binding")


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}),
        (None, {}),
        ({}, None),
    ],
)
async def test_the_same_arguments_may_be_written_in_another_way(first: Any, again: Any) -> None:
    till = Till()
    token = await till.token(name="refund", **({} if first is None else {"arguments": first}))
    await till.take(token, name="refund", **({} if again is None else {"arguments": again}))
    assert till.states == [None, "plain"]


async def test_it_is_refused_with_another_method(caplog: pytest.LogCaptureFixture) -> None:
    till = Till()
    await till.refuse(await till.token(name="refund"), "prompts/get", name="refund")
    await till.refuse(await till.token(name="note://1"), "resources/read", uri="note://1")
    assert logged(caplog) == rejected("request binding", "prompts/get") + rejected("request binding", "resources/read")


async def test_it_is_refused_with_another_resource_or_prompt() -> None:
    till = Till()
    await till.refuse(await till.token("resources/read", uri="note://1"), "resources/read", uri="note://2")
    await till.refuse(await till.token("prompts/get", name="a"), "prompts/get", name="b")
    await till.refuse(
        await till.token("prompts/get", name="a", arguments={"x": "1"}), "prompts/get", name="a", arguments={"x": "2"}
    )


async def test_it_is_refused_after_its_time(caplog: pytest.LogCaptureFixture) -> None:
    now = Now()
    till = Till(RequestStateSecurity(keys=[KEY], ttl=30, clock=now), state="next")
    first = await till.token()
    now.seconds += 29.9
    second = (await till.take(first))["requestState"]  # each round has a time of its own
    now.seconds += 0.1
    await till.refuse(first)
    assert logged(caplog) == rejected("expired")
    await till.take(second)


async def test_it_lasts_ten_minutes_by_default() -> None:
    now = Now()
    till = Till(RequestStateSecurity(keys=[KEY], clock=now))
    token = await till.token()
    now.seconds += 599
    await till.take(token)
    now.seconds += 1
    await till.refuse(token)


async def test_until_then_it_may_be_used_again() -> None:
    till = Till()
    token = await till.token()
    await till.take(token)
    await till.take(token)
    assert till.states == [None, "plain", "plain"]


async def test_it_is_refused_by_a_server_of_another_name(caplog: pytest.LogCaptureFixture) -> None:
    token = await Till().token()
    await Till(default_audience="shop").refuse(token)
    await Till(default_audience=None).refuse(token)
    await Till().refuse(await Till(default_audience=None).token())
    assert logged(caplog) == rejected("audience") * 3


async def test_servers_of_different_names_may_agree_on_an_audience() -> None:
    security = RequestStateSecurity(keys=[KEY], audience="billing")
    till = Till(security, default_audience="till-2")
    await till.take(await Till(security, default_audience="till-1").token())
    await Till(default_audience="billing").take(await till.token())
    await Till(default_audience=None).take(await Till(default_audience=None).token())


async def test_it_is_refused_under_other_keys(caplog: pytest.LogCaptureFixture) -> None:
    token = await Till().token()
    await Till(RequestStateSecurity(keys=[OTHER])).refuse(token)
    await Till(RequestStateSecurity.ephemeral()).refuse(token)
    assert logged(caplog) == rejected("unknown key") * 2


async def test_keys_rotate_without_a_gap() -> None:
    phases = [[KEY], [KEY, OTHER], [OTHER, KEY], [OTHER]]
    tills = [Till(RequestStateSecurity(keys=keys)) for keys in phases]
    for before, after in pairwise(tills):
        # While a phase rolls out, both of its sides run.
        await after.take(await before.token())
        await before.take(await after.token())


# Users.


async def test_it_is_refused_from_another_user(caplog: pytest.LogCaptureFixture) -> None:
    door = Door("ada")
    till = Till(RequestStateSecurity(keys=[KEY], bind_principal=door))
    token = await till.token()
    await till.take(token)
    door.who = "bob"
    await till.refuse(token)
    assert logged(caplog) == rejected("principal")
    door.who = None
    await till.refuse(token)
    of_nobody = await till.token()
    await till.take(of_nobody)
    for door.who in ("ada", ""):
        await till.refuse(of_nobody)
    assert logged(caplog) == rejected("principal drift") * 3
    await Till(RequestStateSecurity(keys=[KEY], bind_principal=None)).refuse(token)


@dataclasses.dataclass
class Token:
    client_id: str = "app"
    subject: str | None = None
    claims: dict[str, Any] | None = None


class User:
    def __init__(self, token: Token | None) -> None:
        self.access_token = token


class Request:
    def __init__(self, **scope: Any) -> None:
        self.scope = scope


class Desk:
    """Middleware that puts its `request` in the place of the transport's."""

    def __init__(self) -> None:
        self.request: Any = None
        self.principals: list[str | None] = []

    async def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        return await call_next(dataclasses.replace(ctx, request=self.request))

    def note(self, ctx: Context) -> str | None:
        self.principals.append(authenticated_principal(ctx))
        return self.principals[-1]


async def test_left_out_the_access_token_says_whose_it_is() -> None:
    owners: list[Any] = [
        Request(user=User(Token("app"))),
        Request(user=User(Token("other"))),
        Request(user=User(Token("app", "ada"))),
        Request(user=User(Token("app", "bob"))),
        Request(user=User(Token("app", "ada", {"iss": "https://a.example"}))),
        None,
    ]
    till, desk = Till(), Desk()
    till.server.middleware.insert(0, desk)
    tokens: list[str] = []
    for owner in owners:
        desk.request = owner
        tokens.append(await till.token())
    for desk.request in owners:
        for owner, token in zip(owners, tokens, strict=True):
            await (till.take(token) if owner is desk.request else till.refuse(token))


async def test_a_request_without_an_access_token_is_nobodys() -> None:
    desk = Desk()
    till = Till(RequestStateSecurity(keys=[KEY], bind_principal=desk.note))
    till.server.middleware.insert(0, desk)
    for desk.request in (None, object(), Request(), Request(user=object()), Request(user=User(None))):
        await till.token()
    assert desk.principals == [None] * 5
    desk.request = Request(user=User(Token("app", "ada", {"iss": "https://a.example"})))
    await till.token()
    assert desk.principals[-1] == '["app","https://a.example","ada"]'


class Named:
    """A user that some authentication in front of the server has told, without an access token."""

    is_authenticated = True

    def __init__(self, name: Any, attribute: str = "identity") -> None:
        setattr(self, attribute, name)


async def test_without_a_token_the_user_says_whose_it_is(caplog: pytest.LogCaptureFixture) -> None:
    till, desk = Till(), Desk()
    till.server.middleware.insert(0, desk)
    for owner in (SimpleUser("ada"), Named(17), Named(UUID(int=17)), Named("ada", "username")):
        desk.request = Request(user=owner)
        token = await till.token()
        await till.take(token)
        desk.request = Request(user=SimpleUser("bob"))
        await till.refuse(token)
        assert logged(caplog) == rejected("principal")
        for nobody in (UnauthenticatedUser(), Named(None), Named(object()), {"id": "ada"}):
            desk.request = Request(user=nobody)
            await till.refuse(token)
            assert logged(caplog) == rejected("principal drift")


async def test_no_name_passes_for_a_token() -> None:
    till, desk = Till(), Desk()
    till.server.middleware.insert(0, desk)
    for name in ("ada", "app", '["app",null,"ada"]'):
        desk.request = Request(user=User(Token("app", "ada")))
        token = await till.token()
        desk.request = Request(user=SimpleUser(name))
        await till.refuse(token)
        other = await till.token()
        desk.request = Request(user=User(Token("app", "ada")))
        await till.refuse(other)


async def test_a_user_that_nobody_can_name_gets_no_state_and_none_is_taken(caplog: pytest.LogCaptureFixture) -> None:
    def fail(ctx: Context) -> str | None:
        raise LookupError("no directory")

    till = Till()
    token = await till.token()
    failing = Till(RequestStateSecurity(keys=[KEY], bind_principal=fail))
    await failing.refuse(token)
    assert logged(caplog) == rejected("principal binding error")
    async with connected(failing.server) as client:
        error = await refusal(client, "tools/call", CALL)
    assert (error.code, error.message, error.data) == (-32603, "Internal server error", None)
    assert logged(caplog, logging.ERROR) == [
        "bind_principal raised while processing requestState on tools/call",
        "refusing to seal requestState on tools/call: principal binding error",
    ]
    odd = Till(RequestStateSecurity(keys=[KEY], bind_principal=Door(7)))
    await odd.refuse(token)
    assert logged(caplog) == rejected("bind_principal returned int, expected str or None")
