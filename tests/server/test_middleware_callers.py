"""Whom the ready-made limits take a request to come from."""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from link_wire import MODERN, on_a_link
from starlette.authentication import BaseUser, SimpleUser
from wire import Context

from mcp import Client, types
from mcp.server import Server
from mcp.server.context import ServerMiddleware
from mcp.server.middleware import ConcurrencyLimit, RateLimit, caller, callers

pytestmark = pytest.mark.anyio


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[])


def server_with(middleware: ServerMiddleware[Any]) -> Server[Any]:
    server = Server("srv", on_call_tool=call_tool)
    server.middleware.append(middleware)
    return server


class Request:
    """What of a request over HTTP counts."""

    def __init__(self, **scope: Any) -> None:
        self.scope = scope


class User:
    is_authenticated = True

    def __init__(self, name: Any) -> None:
        self.username = name


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (None, None),
        (Request(client=("192.0.2.7", 5)), ("address", "192.0.2.7")),
        (Request(client=None), None),
        (Request(client=("192.0.2.7", 5), user=User("ada")), ("user", "ada")),
    ],
)
async def test_a_caller_is_a_user_or_else_an_address(request_: Any, expected: object) -> None:
    assert await callers_of(request_) == {expected}


async def callers_of(*requests: Any) -> set[object]:
    """Whom requests come from, as a limit sees it."""
    found: set[object] = set()

    async def note(ctx: Context, call_next: Any) -> Any:
        for request in requests:
            ctx.request = request
            found.add(caller(ctx))
        return await call_next(ctx)

    async with Client(server_with(note), validate_output="off") as client:
        await client.call_tool("any")
    return found


def asked_by(*users: object) -> list[Request]:
    return [Request(client=("192.0.2.7", 5), user=user) for user in users]


@dataclass
class Row:
    id: str


class Unnamed(BaseUser):
    @property
    def is_authenticated(self) -> bool:
        return True


class OfUnknownState(BaseUser):
    """Does not say whether it is authenticated."""

    @property
    def display_name(self) -> str:
        return "ada"


@pytest.mark.parametrize(
    ("make", "other"),
    [
        (lambda: {"id": "ada"}, {"id": "bob"}),
        (lambda: Row("ada"), Row("bob")),
        (lambda: User({"id": "ada"}), User({"id": "bob"})),
        (lambda: User(Row("ada")), User(Row("bob"))),
        (lambda: ("users", "ada"), ("users", "bob")),
        (lambda: SimpleNamespace(access_token="a", username="ada"), SimpleNamespace(access_token="b", username="bob")),
        (OfUnknownState, SimpleUser("bob")),
    ],
    ids=["dict", "dataclass", "dict as name", "dataclass as name", "tuple", "odd token", "unknown state"],
)
async def test_users_are_told_apart_by_what_they_hold(make: Callable[[], object], other: object) -> None:
    once, again, another = [await callers_of(request) for request in asked_by(make(), make(), other)]

    assert once == again != another
    assert {found[0] for found in once | another if isinstance(found, tuple)} == {"user"}


@pytest.mark.parametrize("make", [Unnamed, lambda: {"session": object()}, lambda: User(object())])
async def test_users_that_nothing_tells_apart_count_by_their_address(
    make: Callable[[], object], caplog: pytest.LogCaptureFixture
) -> None:
    callers._warn_of.cache_clear()

    assert await callers_of(*asked_by(make(), make(), make())) == {("address", "192.0.2.7")}
    [line] = [record.getMessage() for record in caplog.records if record.name == callers.__name__]
    assert "cannot be told apart, and are limited by address" in line


async def key_in_time(ctx: Context) -> str:
    return "ada"


@pytest.mark.parametrize("kind", [RateLimit, ConcurrencyLimit])
@pytest.mark.parametrize("returned", ["list", "coroutine"])
async def test_a_key_that_cannot_be_looked_up_is_named_in_the_log(
    kind: type[RateLimit | ConcurrencyLimit], returned: str, caplog: pytest.LogCaptureFixture
) -> None:
    def odd_key(ctx: Context) -> Any:
        return [1] if returned == "list" else key_in_time(ctx)

    async with on_a_link(server_with(kind(5, key=odd_key))) as wire:
        assert (await wire.ask(1, "tools/list", {"_meta": MODERN}))["error"]["code"] == -32603

    assert f"odd_key returned {returned}, expected something hashable" in caplog.text
