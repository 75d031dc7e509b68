"""A server whose results may be kept, and which counts how often it is asked."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio

from mcp import MCPError, types
from mcp.client import CacheConfig, CacheEntry, CacheKey, ResponseCacheStore
from mcp.server import Server, ServerRequestContext

Context = ServerRequestContext[Any, Any]
Page = types.PaginatedRequestParams | None

LAST_CURSOR = "2"


@dataclass
class Shelf:
    """The server.

    Attributes:
        hint: `ttl_ms` and `cache_scope` of every result.
        asked: How often it was asked, by method.
        rejects: The code of the error that answers every cursor; None answers with the last page.
        asks_for_input: Whether resources are read in rounds.
        news: Notifications that a tool's call sends.
    """

    hint: dict[str, Any] = field(default_factory=lambda: {"ttl_ms": 60_000})
    asked: Counter[str] = field(default_factory=Counter[str])
    rejects: int | None = None
    asks_for_input: bool = False
    news: list[tuple[str, dict[str, Any] | None]] = field(default_factory=list[Any])

    def server(self, **more: Any) -> Server:
        """A server object for clients in this process, with more handlers."""
        return Server(
            "shelf",
            on_list_tools=self._tools,
            on_list_prompts=self._prompts,
            on_list_resources=self._resources,
            on_list_resource_templates=self._templates,
            on_read_resource=self._read,
            on_call_tool=self._call,
            **more,
        )

    async def _tools(self, ctx: Context, params: Page) -> types.ListToolsResult:
        self.asked["tools/list"] += 1
        cursor = params.cursor if params is not None else None
        if cursor is not None and self.rejects is not None:
            raise MCPError(self.rejects, "no such page")
        schema: dict[str, Any] = {"type": "object", "properties": {"title": {"type": "string"}}}
        tool = types.Tool(name=f"tool {self.asked['tools/list']}", input_schema=schema, output_schema=schema)
        return types.ListToolsResult(tools=[tool], next_cursor=None if cursor else LAST_CURSOR, **self.hint)

    async def _prompts(self, ctx: Context, params: Page) -> types.ListPromptsResult:
        self.asked["prompts/list"] += 1
        return types.ListPromptsResult(prompts=[], **self.hint)

    async def _resources(self, ctx: Context, params: Page) -> types.ListResourcesResult:
        self.asked["resources/list"] += 1
        return types.ListResourcesResult(resources=[], **self.hint)

    async def _templates(self, ctx: Context, params: Page) -> types.ListResourceTemplatesResult:
        self.asked["resources/templates/list"] += 1
        return types.ListResourceTemplatesResult(resource_templates=[], **self.hint)

    async def _read(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        self.asked["resources/read"] += 1
        if self.asks_for_input and params.request_state is None:
            return types.InputRequiredResult(request_state="asked")
        text = f"{params.uri} {self.asked['resources/read']}"
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, text=text)],
            **self.hint,
        )

    async def _call(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        self.asked["tools/call"] += 1
        for method, news in self.news:
            notification: Any = types.Notification[dict[str, Any] | None, str](method=method, params=news)
            await ctx.session.send_notification(notification, related_request_id=ctx.request_id)
        return types.CallToolResult(content=[], structured_content={})


@dataclass
class Clock:
    """A clock that a test moves."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Journal:
    """A store that notes what is done to it, and fails or hangs where a test says so."""

    entries: dict[CacheKey, CacheEntry] = field(default_factory=dict[CacheKey, CacheEntry])
    done: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    fails: set[str] = field(default_factory=set[str])
    hangs: set[str] = field(default_factory=set[str])
    failure: type[BaseException] = OSError

    async def _note(self, deed: str, key: CacheKey) -> None:
        self.done.append((deed, key.method, key.params_key))
        if deed in self.fails:
            raise self.failure(f"the disk is full: {deed}")
        if deed in self.hangs:
            await anyio.sleep_forever()

    async def get(self, key: CacheKey) -> CacheEntry | None:
        await self._note("get", key)
        return self.entries.get(key)

    async def set(self, key: CacheKey, entry: CacheEntry) -> None:
        await self._note("set", key)
        self.entries[key] = entry

    async def delete(self, key: CacheKey) -> None:
        await self._note("delete", key)
        self.entries.pop(key, None)

    async def clear(self) -> None:
        self.entries.clear()

    def scopes(self) -> list[Literal["public", "private"]]:
        """Of what is kept."""
        return [entry.scope for entry in self.entries.values()]


def shared(store: ResponseCacheStore, **options: Any) -> CacheConfig:
    """A configuration for a store that clients share."""
    defaults: dict[str, Any] = {"store": store, "partition": "ann", "target_id": "shelf", "clock": Clock()}
    return CacheConfig(**{**defaults, **options})
