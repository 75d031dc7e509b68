"""One server, four ways to open it: which version comes out, what is sent for it, and who the server is then."""

from contextlib import nullcontext
from typing import Any

import pytest
from serving_http import served
from shopfront import Context, said, shopfront
from two_searches import process, searcher

from mcp import Client, MCPError, types
from mcp.server import Server

pytestmark = pytest.mark.anyio

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"


async def find(ctx: Context, arguments: dict[str, Any]) -> str:
    """Looks for books."""
    return f"two books about {arguments['about']}"


def bookstall(heard: list[str] | None = None) -> Server[Any]:
    """A server that keeps the methods it was sent."""
    server = shopfront("Bookstall", find)

    async def listen(ctx: Any, call_next: Any) -> Any:
        if heard is not None:
            heard.append(ctx.method)
        return await call_next(ctx)

    server.middleware.append(listen)
    return server


async def found(client: Client) -> str:
    return said(await client.call_tool("find", {"about": "owls"}))


async def test_without_a_mode_one_probe_finds_the_newest_version() -> None:
    heard: list[str] = []
    async with Client(bookstall(heard)) as client:
        assert client.protocol_version == MODERN
        assert heard == ["server/discover"]
        assert client.server_info is not None
        assert client.server_info.name == "Bookstall"
        assert await found(client) == "two books about owls"


async def test_legacy_never_probes_and_gets_a_handshake_version() -> None:
    heard: list[str] = []
    async with Client(bookstall(heard), mode="legacy") as client:
        assert client.protocol_version == HANDSHAKE
        assert await found(client) == "two books about owls"
        assert client.session.discover_result is None
    assert "server/discover" not in heard
    assert heard[0] == "initialize"


async def test_a_pinned_version_sends_nothing_and_knows_nobody() -> None:
    heard: list[str] = []
    async with Client(bookstall(heard), mode=MODERN) as client:
        assert heard == []
        assert client.protocol_version == MODERN
        assert client.server_info is None
        assert client.server_capabilities == types.ServerCapabilities()
        assert await found(client) == "two books about owls"


@pytest.mark.parametrize("version", ["2025-06-18", HANDSHAKE])
def test_only_modern_versions_can_be_pinned(version: str) -> None:
    with pytest.raises(ValueError) as raised:
        Client(bookstall(), mode=version)
    assert str(raised.value) == (
        f"mode must be 'legacy', 'auto', or one of ['2026-07-28']; got '{version}' "
        f"('{version}' is a handshake-era version; use mode='legacy')"
    )


async def test_a_saved_discovery_gives_a_pinned_client_the_server_back() -> None:
    async with Client(bookstall()) as first:
        saved = first.session.discover_result
    assert saved is not None
    assert MODERN in saved.supported_versions
    kept = types.DiscoverResult.model_validate_json(saved.model_dump_json())

    for known in (saved, kept):
        heard: list[str] = []
        async with Client(bookstall(heard), mode=MODERN, prior_discover=known) as client:
            assert heard == []
            assert client.protocol_version == MODERN
            assert client.server_info is not None
            assert client.server_info.name == "Bookstall"
            assert client.server_capabilities.tools is not None
            assert await found(client) == "two books about owls"


@pytest.mark.parametrize(("mode", "opening"), [("auto", "server/discover"), ("legacy", "initialize")])
async def test_a_saved_discovery_changes_nothing_without_a_pin(mode: str, opening: str) -> None:
    async with Client(bookstall()) as first:
        saved = first.session.discover_result
    heard: list[str] = []
    async with Client(bookstall(heard), mode=mode, prior_discover=saved):
        pass
    assert heard[0] == opening


@pytest.mark.parametrize("over", ["memory", "stdio", "HTTP"])
async def test_every_transport_answers_the_probe(over: str) -> None:
    with served(searcher("Archive")) if over == "HTTP" else nullcontext(searcher("Archive")) as target:
        async with Client(process("Archive") if over == "stdio" else target) as client:
            assert client.protocol_version == MODERN
            assert client.server_info is not None
            assert client.server_info.name == "Archive"


async def test_a_server_that_has_never_heard_of_the_probe_gets_a_handshake() -> None:
    heard: list[str] = []
    old = bookstall(heard)

    async def know_nothing_new(ctx: Any, call_next: Any) -> Any:
        if ctx.method == "server/discover":
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
        return await call_next(ctx)

    old.middleware.append(know_nothing_new)
    with served(old) as url:
        async with Client(url) as client:
            assert client.protocol_version == HANDSHAKE
            assert client.session.discover_result is None
            assert await found(client) == "two books about owls"
    assert heard[:2] == ["server/discover", "initialize"]
