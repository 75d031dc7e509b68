"""A server on a scripted link that does what a test says."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from scripted_link import ScriptedLink, notification, request

from mcp import types
from mcp.server import Server, ServerRequestContext

Context = ServerRequestContext[Any, Any]
Work = Callable[[Context, str], Awaitable[None]]


class Params(types.RequestParams):
    name: str = ""


class Notified(types.NotificationParams):
    name: str = ""


def server_that_does(work: Work) -> Server[Any]:
    """Answers `acme/work` with the name it was given, once `work` is done; hands `acme/event` to `work` as well."""
    server = Server("srv")

    async def answer(ctx: Context, params: Params) -> dict[str, Any]:
        await work(ctx, params.name)
        return {"name": params.name}

    async def notified(ctx: Context, params: Notified) -> None:
        await work(ctx, params.name)

    server.add_request_handler("acme/work", Params, answer)
    server.add_notification_handler("acme/event", Notified, notified)
    return server


async def nothing(ctx: Context, name: str) -> None:
    pass


@asynccontextmanager
async def serving(work: Work, **options: Any) -> AsyncGenerator[ScriptedLink, None]:
    """Serves until the block ends, which closes the peer's side."""
    link = ScriptedLink()
    async with anyio.create_task_group() as group, server_that_does(work).in_process() as runtime:

        async def serve() -> None:
            await runtime.serve_link(link, **options)

        group.start_soon(serve)
        yield link
        link.end()


def work(id: int | str, name: str = "", **meta: Any) -> bytes:
    return request(id, "acme/work", {"name": name}, **meta)


def event(name: str) -> bytes:
    return notification("acme/event", {"name": name})


def answered(message: dict[str, Any]) -> tuple[Any, Any]:
    return message["id"], message["result"]["name"]
