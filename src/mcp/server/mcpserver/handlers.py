"""The handlers that an `MCPServer` registers on its low-level server."""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from mcp import types
from mcp.protocol.results import KeptResult
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.list_changes import ListChanges
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import (
    ResourceError,
    ResourceNotFoundError,
    ToolError,
    UnexpectedResourceError,
    UnexpectedToolError,
)
from mcp.server.mcpserver.granted_tools import GrantedTools, granted_result
from mcp.server.mcpserver.listings import Listing, prompt_entry, resource_entry, template_entry, tool_entry
from mcp.server.mcpserver.prompts.base import Prompt
from mcp.server.mcpserver.resources.base import Resource
from mcp.server.mcpserver.resources.templates import ResourceTemplate
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.mcpserver.tools.tool_manager import ToolManager
from mcp.server.mcpserver.verbs import OWN_METHODS
from mcp.server.tool_scopes import granted_scopes, missing_scopes
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST

if TYPE_CHECKING:
    from mcp.server.mcpserver.server import MCPServer
    from mcp.server.request_state import RequestStateBoundary

__all__ = ["Handlers"]

logger = logging.getLogger(__name__)

_Request = ServerRequestContext[Any, Any]
_Pages = types.PaginatedRequestParams | None
_ItemT = TypeVar("_ItemT")
_EntryT = TypeVar("_EntryT")

_MANAGERS_CALL: Final = ToolManager.call_tool
_TOOLS_RUN: Final = Tool.run
"""As they were defined, to know those apart that an instrumentation puts in their place."""


class Handlers:
    """Answers requests from what a server has registered.

    What a subclass of `MCPServer` overrides, or a program replaces, is what clients get.

    Args:
        server: The server.
        changes: Told when a handler begins and ends.
        state: Protects the state of requests for input.
    """

    def __init__(self, server: MCPServer[Any], changes: ListChanges, state: RequestStateBoundary) -> None:
        self._server = server
        self._changes = changes
        self._state = state
        tools, prompts, resources = server.managers
        self._tool_manager = tools
        self._scopes = tools.scopes
        self._tools = Listing(
            tools.registered,
            Tool.edits,
            lambda items: types.ListToolsResult(tools=_entries("tool", tool_entry, items)),
        )
        self._granted_tools = GrantedTools(tools, lambda items: _entries("tool", tool_entry, items))
        self._resources = Listing(
            resources.registered,
            Resource.edits,
            lambda items: types.ListResourcesResult(resources=_entries("resource", resource_entry, items)),
        )
        self._templates = Listing(
            resources.registered_templates,
            ResourceTemplate.edits,
            lambda items: types.ListResourceTemplatesResult(
                resource_templates=_entries("resource template", template_entry, items)
            ),
        )
        self._prompts = Listing(
            prompts.registered,
            Prompt.edits,
            lambda items: types.ListPromptsResult(prompts=_entries("prompt", prompt_entry, items)),
        )

    def _overrides(self, method: str) -> bool:
        server = self._server
        return method in vars(server) or getattr(type(server), method) is not OWN_METHODS[method]

    async def list_tools(self, ctx: _Request, params: _Pages) -> types.ListToolsResult:
        """Answers `tools/list`. Who lacks the scope of a tool is not told of it."""
        granted = granted_scopes(ctx.request) if self._scopes else None
        if self._overrides("list_tools"):
            listed = await self._server.list_tools()
            if granted is None:
                return types.ListToolsResult(tools=listed)
            return granted_result([tool for tool in listed if not missing_scopes(self._scopes, tool.name, granted)])
        return _kept(self._tools.current() if granted is None else self._granted_tools.current(granted))

    async def list_resources(self, ctx: _Request, params: _Pages) -> types.ListResourcesResult:
        """Answers `resources/list`."""
        if self._overrides("list_resources"):
            return types.ListResourcesResult(resources=await self._server.list_resources())
        return _kept(self._resources.current())

    async def list_resource_templates(self, ctx: _Request, params: _Pages) -> types.ListResourceTemplatesResult:
        """Answers `resources/templates/list`."""
        if self._overrides("list_resource_templates"):
            return types.ListResourceTemplatesResult(resource_templates=await self._server.list_resource_templates())
        return _kept(self._templates.current())

    async def list_prompts(self, ctx: _Request, params: _Pages) -> types.ListPromptsResult:
        """Answers `prompts/list`."""
        if self._overrides("list_prompts"):
            return types.ListPromptsResult(prompts=await self._server.list_prompts())
        return _kept(self._prompts.current())

    def _tool_called_directly(self, name: str) -> Tool | None:
        """A tool; None where there is none, or where somebody has put a method of his own between here and there."""
        server, manager = self._server, self._tool_manager
        if (
            type(server).call_tool is not OWN_METHODS["call_tool"]
            or type(manager).call_tool is not _MANAGERS_CALL
            or "call_tool" in server.__dict__
            or "call_tool" in manager.__dict__
        ):
            return None
        tool = manager.get_tool(name)
        return tool if type(tool) is Tool and Tool.run is _TOOLS_RUN else None

    async def call_tool(
        self, ctx: _Request, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Answers `tools/call`. What a tool raises is a result that says so, unless it is an `MCPError`."""
        if self._scopes:
            self._check_scopes(ctx, params.name)
        context = Context(request_context=ctx, mcp_server=self._server, input_params=params)
        with self._changes.handling():
            try:
                return await self._server.call_tool(params.name, params.arguments or {}, context)
            except MCPError:
                raise
            except Exception as failure:
                return _failed(params.name, failure)

    async def call_tool_to_send(self, ctx: _Request, params: types.CallToolRequestParams) -> HandlerResult:
        """Answers `tools/call` where nobody but the client sees the result, which may be JSON text already.

        What `RequestStateBoundary.around` would do is done here, since every coroutine around a tool counts.
        """
        if params.request_state is not None:
            ctx, params = self._state.with_opened_state(ctx, params)
        if self._scopes:
            self._check_scopes(ctx, params.name)
        context = Context(request_context=ctx, mcp_server=self._server, input_params=params)
        with self._changes.handling():
            try:
                result = await self._calling(params, context)
            except MCPError:
                raise
            except Exception as failure:
                result = _failed(params.name, failure)
        return self._state.with_sealed_state(ctx, result)

    def _calling(self, params: types.CallToolRequestParams, context: Context[Any, Any]) -> Awaitable[Any]:
        tool = self._tool_called_directly(params.name)
        if tool is None:
            return self._server.call_tool(params.name, params.arguments or {}, context)
        return tool.answer(params.arguments or {}, context)

    def _check_scopes(self, ctx: _Request, tool: str) -> None:
        """Refuses a call that nobody has refused before: middleware may have made another one of it."""
        granted = granted_scopes(ctx.request)
        missing = granted is not None and missing_scopes(self._scopes, tool, granted)
        if missing:
            raise MCPError(INVALID_REQUEST, f"The tool {tool!r} needs the scope {' '.join(missing)}")

    async def read_resource(
        self, ctx: _Request, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        """Answers `resources/read`."""
        context = Context(request_context=ctx, mcp_server=self._server, input_params=params)
        uri = str(params.uri)
        with self._changes.handling():
            try:
                found = await self._server.read_resource(uri, context)
            except ResourceNotFoundError as missing:
                raise MCPError(INVALID_PARAMS, str(missing), {"uri": uri}) from missing
            except ResourceError as failure:
                if isinstance(failure, UnexpectedResourceError):
                    logger.exception("reading the resource %.300r failed", uri)
                else:
                    logger.info("reading the resource %.300r failed: %.300r", uri, str(failure))
                raise MCPError(INTERNAL_ERROR, str(failure), {"uri": uri}) from failure
        if isinstance(found, types.InputRequiredResult):
            return found
        return types.ReadResourceResult(contents=[wire_contents(uri, content) for content in found])

    async def get_prompt(
        self, ctx: _Request, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Answers `prompts/get`."""
        context = Context(request_context=ctx, mcp_server=self._server, input_params=params)
        with self._changes.handling():
            return await self._server.get_prompt(params.name, params.arguments, context)


def _entries(kind: str, entry: Callable[[_ItemT, str], _EntryT], items: dict[str, _ItemT]) -> list[_EntryT]:
    """What clients are told of all items. Of one that cannot be listed, the log says which it is."""
    entries: list[_EntryT] = []
    for name, item in items.items():
        try:
            entries.append(entry(item, name))
        except Exception as failure:
            logger.error("the %s %.300r cannot be listed, and so the others are not either: %s", kind, name, failure)
            raise
    return entries


def wire_contents(uri: str, piece: ReadResourceContents) -> types.TextResourceContents | types.BlobResourceContents:
    """One piece of a resource, as clients get it."""
    if isinstance(piece.content, str):
        return types.TextResourceContents(uri=uri, text=piece.content, mime_type=piece.mime_type, _meta=piece.meta)
    blob = b64encode(piece.content).decode()
    return types.BlobResourceContents(uri=uri, blob=blob, mime_type=piece.mime_type, _meta=piece.meta)


def _failed(tool: str, failure: Exception) -> types.CallToolResult:
    """The result that tells the model why a tool failed; called where the failure is being handled."""
    if not isinstance(failure, ToolError) or isinstance(failure, UnexpectedToolError):
        logger.exception("tool %.100r failed", tool)
    text = str(failure) or type(failure).__name__
    return types.CallToolResult(content=[types.TextContent(text=_sendable(text))], is_error=True)


def _kept(listing: KeptResult) -> Any:
    return cast("Any", listing)


def _sendable(text: str) -> str:
    """A text without the halves of surrogate pairs, which no message can carry."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
