"""What 2026-07-28 deprecates on a client: each method warns, and does its work with servers that know it."""

import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import house
import pytest

from mcp import Client, MCPError, types
from mcp.server import Server
from mcp.shared.exceptions import MCPDeprecationWarning

pytestmark = pytest.mark.anyio

LOGGING = "The logging capability is deprecated as of 2026-07-28 (SEP-2577)."
ROOTS = "The roots capability is deprecated as of 2026-07-28 (SEP-2577)."
PROGRESS = "Client-to-server progress is deprecated as of 2026-07-28; progress is server-to-client only."
SUBSCRIBE = "resources/subscribe is removed as of 2026-07-28; use Client.listen() instead."
UNSUBSCRIBE = "resources/unsubscribe is removed as of 2026-07-28; use Client.listen() instead."
PING = "ping is removed as of 2026-07-28; the method only works under mode='legacy'."

Call = Callable[[Any], Awaitable[Any]]
REQUESTS: dict[str, tuple[Call, str]] = {
    "logging/setLevel": (lambda of: of.set_logging_level("error"), LOGGING),
    "resources/subscribe": (lambda of: of.subscribe_resource("x://y"), SUBSCRIBE),
    "resources/unsubscribe": (lambda of: of.unsubscribe_resource("x://y"), UNSUBSCRIBE),
}
NOTIFICATIONS: dict[str, tuple[Call, str]] = {
    "notifications/roots/list_changed": (lambda of: of.send_roots_list_changed(), ROOTS),
    "notifications/progress": (lambda of: of.send_progress_notification("token", 0.5), PROGRESS),
}


def building() -> tuple[Server, list[str]]:
    """A server that takes everything, and what it was sent."""
    seen: list[str] = []

    async def grant(ctx: house.Context, params: Any) -> types.EmptyResult:
        seen.append(ctx.method)
        return types.EmptyResult()

    async def take(ctx: house.Context, params: Any) -> None:
        seen.append(ctx.method)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        server = Server(
            "old",
            on_subscribe_resource=grant,
            on_unsubscribe_resource=grant,
            on_set_logging_level=grant,
            on_roots_list_changed=take,
            on_progress=take,
        )
    return server, seen


async def texts_of(call: Call, of: Any) -> tuple[Any, list[str]]:
    """The result of a call, and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = await call(of)
    assert all(issubclass(warning.category, MCPDeprecationWarning) for warning in caught)
    return result, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("through", ["client", "session"])
@pytest.mark.parametrize("method", REQUESTS)
async def test_a_deprecated_request_warns_once_and_reaches_an_old_server(method: str, through: str) -> None:
    server, seen = building()
    call, text = REQUESTS[method]
    async with Client(server, mode="legacy") as client:
        result, texts = await texts_of(call, client if through == "client" else client.session)
    assert result == types.EmptyResult()
    assert texts == [text]
    assert seen == [method]


@pytest.mark.parametrize("through", ["client", "session"])
@pytest.mark.parametrize("method", REQUESTS)
async def test_a_deprecated_request_warns_and_is_refused_by_a_new_server(method: str, through: str) -> None:
    server, seen = building()
    call, text = REQUESTS[method]
    async with Client(server) as client:
        with pytest.warns(MCPDeprecationWarning) as warnings, pytest.raises(MCPError, match="Method not found"):
            await call(client if through == "client" else client.session)
    assert [str(warning.message) for warning in warnings] == [text]
    assert seen == []


@pytest.mark.parametrize("through", ["client", "session"])
@pytest.mark.parametrize("method", NOTIFICATIONS)
async def test_a_deprecated_notification_warns_once_and_reaches_an_old_server(method: str, through: str) -> None:
    server, seen = building()
    call, text = NOTIFICATIONS[method]
    async with Client(server, mode="legacy") as client:
        _, texts = await texts_of(call, client if through == "client" else client.session)
        # What is answered later was sent later, and notifications are dealt with in order.
        await client.session.send_ping()
    assert texts == [text]
    assert seen == [method]


@pytest.mark.parametrize("through", ["client", "session"])
@pytest.mark.parametrize("method", NOTIFICATIONS)
async def test_a_deprecated_notification_warns_and_is_dropped_with_a_new_server(method: str, through: str) -> None:
    server, seen = building()
    call, text = NOTIFICATIONS[method]
    async with Client(server) as client:
        _, texts = await texts_of(call, client if through == "client" else client.session)
    assert texts == [text]
    assert seen == []


async def test_a_ping_warns_on_the_client_and_not_on_the_session() -> None:
    async with Client(house.build(), mode="legacy") as client:
        assert await texts_of(lambda of: of.send_ping(), client) == (types.EmptyResult(), [PING])
        assert await texts_of(lambda of: of.send_ping(), client.session) == (types.EmptyResult(), [])


async def test_a_new_server_knows_no_ping() -> None:
    async with Client(house.build()) as client:
        with pytest.raises(MCPError, match="Method not found"):
            await client.session.send_ping()
