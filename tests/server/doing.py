"""A server that does what a test says, and what its client receives meanwhile."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from wire import Context, connected, send

from mcp import types
from mcp.server import Server

Work = Callable[[Context], Awaitable[Any]]


def server_that(work: Work) -> Server[Any]:
    """Does `work` when it is called."""
    server = Server("srv")

    async def handler(ctx: Context, params: types.RequestParams) -> None:
        await work(ctx)

    server.add_request_handler("acme/do", types.RequestParams, handler)
    return server


async def context_of(params: dict[str, Any], **options: Any) -> Context:
    """The context of one request."""
    seen: list[Context] = []

    async def look(ctx: Context) -> None:
        seen.append(ctx)

    async with connected(server_that(look), **options) as client:
        await send(client, "acme/do", params)
    return seen[0]


class Received:
    """What a client was sent besides answers."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, Any]] = []

    async def __call__(self, message: Any) -> None:
        params = message.params
        self.messages.append((message.method, params and params.model_dump(by_alias=True, exclude_none=True)))


async def received_when(work: Work, meta: dict[str, Any] | None = None, **options: Any) -> list[tuple[str, Any]]:
    """The notifications that a client gets while `work` is done for it."""
    received = Received()
    async with connected(server_that(work), message_handler=received, **options) as client:
        await send(client, "acme/do", {"_meta": meta or {}})
        # Notifications are delivered beside the answer, not before it.
        await anyio.wait_all_tasks_blocked()
    return received.messages
