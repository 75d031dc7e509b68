"""B48: lists that do not end."""

from typing import Any

import anyio
import pytest
from connections import SECONDS_OF_PATIENCE

from mcp import Client, ClientSessionGroup, types
from mcp.server import Server

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("endless", ["the same again", "another one"])
async def test_b48_a_helper_that_lists_everything_ends(
    endless: str, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A server that repeated its cursor, or made up new ones, looped it for ever."""
    pages = 0

    async def list_tools(ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        nonlocal pages
        pages += 1
        cursor = endless if endless == "the same again" else str(pages)
        return types.ListToolsResult(
            tools=[types.Tool(name=f"t{pages}", input_schema={"type": "object"})], next_cursor=cursor
        )

    server = Server("endless", on_list_tools=list_tools)
    async with Client(server, mode=mode) as client, ClientSessionGroup() as group:
        assert client.server_info is not None
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            await group.connect_with_session(client.server_info, client.session)
        assert "t1" in group.tools
    assert "the list does not end" in caplog.text
    assert pages == 2 if endless == "the same again" else pages <= 1001
