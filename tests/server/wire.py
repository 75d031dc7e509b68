"""Calls through a real client, and results as they were on the wire."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import RootModel

from mcp import Client, types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError

Context = ServerRequestContext[Any, Any]


class AnyResult(RootModel[dict[str, Any]]):
    """A result as it is."""


@asynccontextmanager
async def connected(server: Server[Any], **options: Any) -> AsyncGenerator[Client, None]:
    """A client in the same process that sends nothing of its own accord."""
    async with Client(server, mode="2026-07-28", **options) as client:
        yield client


async def send(client: Client, method: str, params: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """The result of any method, in wire form."""
    request = types.Request[dict[str, Any], str](method=method, params=dict(params or {}))
    return (await client.session.send_request(request, AnyResult, **options)).root


async def refusal(client: Client, method: str, params: Mapping[str, Any] | None = None) -> MCPError:
    """The error of any method."""
    with pytest.raises(MCPError) as raised:
        await send(client, method, params)
    return raised.value


def identity(name: str = "srv", version: str = "") -> dict[str, Any]:
    """The `_meta` by which a result names its server."""
    return {"io.modelcontextprotocol/serverInfo": {"name": name, "version": version}}
