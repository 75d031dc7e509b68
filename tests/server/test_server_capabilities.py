"""What a server announces: derived from its handlers, and overridable."""

from typing import Any

import pytest
from wire import Context, connected

from mcp import Client, types
from mcp.server import CacheHint, InitializationOptions, NotificationOptions, Server
from mcp.server.caching import CacheableMethod, apply_cache_hint
from mcp.shared.exceptions import MCPDeprecationWarning

VERSIONS = [None, "2024-11-05", "2025-11-25", "2026-07-28"]


async def handler(ctx: Context, params: Any) -> Any:
    raise AssertionError("never called")


def announced(server: Server[Any], version: str | None = None, **options: Any) -> dict[str, Any]:
    capabilities = server.get_capabilities(protocol_version=version, **options)
    return capabilities.model_dump(by_alias=True, exclude_none=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("handled", "capabilities"),
    [
        ([], {}),
        (["on_list_tools"], {"tools": {"listChanged": False}}),
        (["on_list_prompts"], {"prompts": {"listChanged": False}}),
        (["on_list_resources"], {"resources": {"listChanged": False, "subscribe": False}}),
        (["on_completion"], {"completions": {}}),
        (["on_call_tool", "on_get_prompt", "on_read_resource", "on_list_resource_templates"], {}),
    ],
)
def test_a_family_is_announced_if_it_can_be_listed(
    version: str | None, handled: list[str], capabilities: dict[str, Any]
) -> None:
    handlers: dict[str, Any] = dict.fromkeys(handled, handler)
    server = Server("srv", **handlers)
    assert announced(server, version) == capabilities


def test_logging_is_announced_with_its_deprecated_handler() -> None:
    with pytest.warns(MCPDeprecationWarning):
        server = Server("srv", on_set_logging_level=handler)
    assert announced(server) == {"logging": {}}


def listing(**more: Any) -> Server[Any]:
    return Server("srv", on_list_tools=handler, on_list_prompts=handler, on_list_resources=handler, **more)


@pytest.mark.parametrize("version", [None, "2025-11-25"])
def test_handshake_revisions_are_told_what_notification_options_say(version: str | None) -> None:
    server = listing(on_subscribe_resource=handler, on_subscriptions_listen=handler)
    options = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=False)
    assert announced(server, version, notification_options=options) == {
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "tools": {"listChanged": False},
    }


def test_2026_07_28_announces_changes_if_they_can_be_listened_to() -> None:
    changing = {"listChanged": True}
    assert announced(listing(on_subscriptions_listen=handler), "2026-07-28") == {
        "prompts": changing,
        "resources": {**changing, "subscribe": True},
        "tools": changing,
    }
    still = {"listChanged": False}
    assert announced(listing(on_subscribe_resource=handler), "2026-07-28") == {
        "prompts": still,
        "resources": {**still, "subscribe": False},
        "tools": still,
    }


def test_a_handler_added_later_counts() -> None:
    server = Server("srv")
    server.add_request_handler("prompts/list", types.PaginatedRequestParams, handler)
    assert announced(server) == {"prompts": {"listChanged": False}}


def test_experimental_capabilities_and_extensions_are_added() -> None:
    server = Server("srv")
    server.extensions["acme/a"] = {"x": 1}
    assert announced(server, experimental_capabilities={"e": {}}, extensions={"acme/b": {}}) == {
        "experimental": {"e": {}},
        "extensions": {"acme/a": {"x": 1}, "acme/b": {}},
    }


def test_initialization_options_describe_the_server() -> None:
    icon = types.Icon(src="https://example.com/i.png")
    server = Server(
        "srv",
        version="1",
        title="T",
        description="D",
        instructions="I",
        website_url="https://example.com",
        icons=[icon],
        on_list_tools=handler,
    )
    options = server.create_initialization_options(NotificationOptions(tools_changed=True), {"e": {}}, {"acme/a": {}})
    assert options == InitializationOptions(
        server_name="srv",
        server_version="1",
        title="T",
        description="D",
        instructions="I",
        website_url="https://example.com",
        icons=[icon],
        capabilities=types.ServerCapabilities(
            tools=types.ToolsCapability(list_changed=True), experimental={"e": {}}, extensions={"acme/a": {}}
        ),
    )


class Announcing(Server[Any]):
    def get_capabilities(self, *args: Any, **kwargs: Any) -> types.ServerCapabilities:
        capabilities = super().get_capabilities(*args, **kwargs)
        capabilities.extensions = {"acme/mine": {}}
        return capabilities


@pytest.mark.anyio
async def test_a_subclass_may_change_what_is_announced() -> None:
    server = Announcing("srv", on_list_tools=handler)
    assert server.create_initialization_options().capabilities.extensions == {"acme/mine": {}}
    async with Client(server) as client:
        assert client.server_capabilities.extensions == {"acme/mine": {}}
        assert client.server_capabilities.tools == types.ToolsCapability(list_changed=False)


# Cache hints.


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[])


async def list_prompts(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[], ttl_ms=7)


@pytest.mark.anyio
async def test_results_carry_the_hints_of_their_method_or_must_not_be_kept() -> None:
    hints: dict[CacheableMethod, CacheHint] = {
        "tools/list": CacheHint(ttl_ms=1000, scope="public"),
        "prompts/list": CacheHint(ttl_ms=2000, scope="public"),
    }
    hinted = Server("srv", cache_hints=hints, on_list_tools=list_tools, on_list_prompts=list_prompts)
    async with connected(hinted) as client:
        tools = await client.list_tools()
        assert (tools.ttl_ms, tools.cache_scope) == (1000, "public")
        prompts = await client.list_prompts()
        assert (prompts.ttl_ms, prompts.cache_scope) == (7, "public")
    async with connected(Server("srv", on_list_tools=list_tools)) as client:
        tools = await client.list_tools()
        assert (tools.ttl_ms, tools.cache_scope) == (0, "private")


def test_only_cacheable_methods_take_hints() -> None:
    with pytest.raises(ValueError, match=r"'tools/call' is not a cacheable method; those are: prompts/list, "):
        Server("srv", cache_hints={"tools/call": CacheHint()})  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"cache_hints\['tools/list'\] must be a CacheHint, got int"):
        Server("srv", cache_hints={"tools/list": 5})  # pyright: ignore[reportArgumentType]


def test_a_hint_does_not_last_less_than_nothing() -> None:
    with pytest.raises(ValueError, match="ttl_ms must be"):
        CacheHint(ttl_ms=-1)


@pytest.mark.parametrize("ttl_ms", [1.5, 1000.0, float("nan"), float("inf"), True, "1000", None])
def test_a_hint_is_in_whole_milliseconds(ttl_ms: Any) -> None:
    with pytest.raises(TypeError, match=r"^ttl_ms must be a whole number, got "):
        CacheHint(ttl_ms=ttl_ms)


def test_a_hint_is_public_or_private() -> None:
    with pytest.raises(ValueError, match="scope must be 'public' or 'private', got 'shared'"):
        CacheHint(scope="shared")  # pyright: ignore[reportArgumentType]


def test_a_hint_can_be_applied_by_hand() -> None:
    hint = CacheHint(ttl_ms=5, scope="public")
    bare = types.ListToolsResult(tools=[])
    filled = apply_cache_hint(bare, hint)
    assert (filled.ttl_ms, filled.cache_scope, bare.ttl_ms) == (5, "public", 0)
    said = types.ListToolsResult(tools=[], ttl_ms=1, cache_scope="private")
    assert apply_cache_hint(said, hint) is said


# Deprecations.


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("on_set_logging_level", "The logging capability is deprecated as of 2026-07-28 (SEP-2577)."),
        ("on_roots_list_changed", "The roots capability is deprecated as of 2026-07-28 (SEP-2577)."),
        ("on_progress", "Client-to-server progress is deprecated as of 2026-07-28."),
    ],
)
def test_handlers_of_deprecated_features_warn_where_they_are_given(argument: str, text: str) -> None:
    handlers: dict[str, Any] = {argument: handler}
    with pytest.warns(MCPDeprecationWarning) as warned:
        Server("srv", **handlers)
    assert [str(warning.message) for warning in warned] == [text]
    assert warned[0].filename == __file__
