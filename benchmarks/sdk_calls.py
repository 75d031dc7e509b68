"""Calls through the SDK's client, with their answers checked."""

from collections.abc import Iterator
from typing import Literal

from mcp import Client
from mcp.types import TextContent

Mode = Literal["auto", "legacy"]
"""How a client connects: `auto` finds the revision 2026-07-28 here, `legacy` opens with the handshake."""


async def shout(client: Client, number: int, tool: str = "shout") -> None:
    """Calls the `shout` tool, or another that does the same, with a text of its own for each number."""
    result = await client.call_tool(tool, {"text": f"hello {number}"})
    content = result.content[0]
    assert isinstance(content, TextContent)
    assert content.text == f"HELLO {number}"


async def shout_all(client: Client, numbers: Iterator[int]) -> None:
    """Calls one after the other until the iterator, which other tasks may share, has no number left."""
    for number in numbers:
        await shout(client, number)
