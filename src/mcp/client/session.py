"""One open connection of a client, with a method for each of the protocol's verbs.

`Client` is built on this class. Use it directly where a method has no verb on `Client`, or to see raw results.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal, overload

from pydantic import TypeAdapter

from mcp import types
from mcp.client.callbacks import (
    ClientRequestContext,
    ElicitationFnT,
    ListRootsFnT,
    LoggingFnT,
    MessageHandlerFnT,
    ProgressFnT,
    SamplingFnT,
)
from mcp.client.results import refuse_claimed, with_input
from mcp.client.routing import may_come
from mcp.client.session_core import DISCOVER_TIMEOUT_SECONDS, default_client_info
from mcp.client.session_core import ReceiveResultT as ReceiveResultT
from mcp.client.tool_listings import ToolListings

__all__ = [
    "DEFAULT_CLIENT_INFO",
    "DISCOVER_TIMEOUT_SECONDS",
    "ClientRequestContext",
    "ClientResponse",
    "ClientSession",
    "ElicitationFnT",
    "IncomingMessage",
    "ListRootsFnT",
    "LoggingFnT",
    "MessageHandlerFnT",
    "ProgressFnT",
    "SamplingFnT",
]

logger = logging.getLogger("client")

if TYPE_CHECKING:
    IncomingMessage = types.ServerNotification | Exception
    """What a message handler takes."""

    DEFAULT_CLIENT_INFO = types.Implementation(name="mcp", version="0.1.0")
    """Who a client is that does not say."""

    ClientResponse: TypeAdapter[types.ClientResult | types.ErrorData]
    """Validates what a client answers to a question of the server's."""


def __getattr__(name: str) -> object:
    # All are made when they are first used: importing this module must not build a single model.
    if name == "IncomingMessage":
        value: object = types.ServerNotification | Exception
    elif name == "ClientResponse":
        value = TypeAdapter[Any](types.ClientResult | types.ErrorData)
    elif name == "DEFAULT_CLIENT_INFO":
        value = default_client_info()
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


class ClientSession(ToolListings):
    """A connection to a server; see `SessionCore` for the arguments."""

    async def list_prompts(self, *, params: types.PaginatedRequestParams | None = None) -> types.ListPromptsResult:
        """Lists one page of the server's prompts.

        Args:
            params: Which page, and `_meta`.
        """
        return await self._list("prompts/list", types.ListPromptsResult, params)

    async def list_resources(self, *, params: types.PaginatedRequestParams | None = None) -> types.ListResourcesResult:
        """Lists one page of the server's resources.

        Args:
            params: Which page, and `_meta`.
        """
        return await self._list("resources/list", types.ListResourcesResult, params)

    async def list_resource_templates(
        self, *, params: types.PaginatedRequestParams | None = None
    ) -> types.ListResourceTemplatesResult:
        """Lists one page of the server's resource templates.

        Args:
            params: Which page, and `_meta`.
        """
        return await self._list("resources/templates/list", types.ListResourceTemplatesResult, params)

    @overload
    async def read_resource(
        self,
        uri: str,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        allow_input_required: Literal[False] = False,
    ) -> types.ReadResourceResult: ...
    @overload
    async def read_resource(
        self,
        uri: str,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        allow_input_required: bool,
        by_callbacks: bool = False,
    ) -> types.ReadResourceResult | types.InputRequiredResult: ...
    async def read_resource(
        self,
        uri: str,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        allow_input_required: bool = False,
        by_callbacks: bool = False,
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        """Reads a resource.

        Args:
            uri: The resource.
            input_responses: Answers to what an earlier try asked for.
            request_state: The state that the earlier try returned.
            meta: The request's `_meta`.
            allow_input_required: Return a request for input, instead of raising; declares that any is answered.
            by_callbacks: Declare only what the callbacks answer, since they will.

        Raises:
            MCPError: The server answered with an error.
            RuntimeError: The server asks for input, and `allow_input_required` is not set.
        """
        params = with_input({"uri": uri}, input_responses, request_state)
        return await self._request(
            "resources/read",
            params,
            types.ReadResourceResult,
            meta=meta,
            besides=may_come(allow_input_required, by_callbacks),
        )

    @overload
    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, str] | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        allow_input_required: Literal[False] = False,
    ) -> types.GetPromptResult: ...
    @overload
    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, str] | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        allow_input_required: bool,
        by_callbacks: bool = False,
    ) -> types.GetPromptResult | types.InputRequiredResult: ...
    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, str] | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        allow_input_required: bool = False,
        by_callbacks: bool = False,
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Renders a prompt.

        Args:
            name: The prompt.
            arguments: Its arguments; prompt arguments are always strings.
            input_responses: Answers to what an earlier try asked for.
            request_state: The state that the earlier try returned.
            meta: The request's `_meta`.
            allow_input_required: Return a request for input, instead of raising; declares that any is answered.
            by_callbacks: Declare only what the callbacks answer, since they will.

        Raises:
            MCPError: The server answered with an error.
            RuntimeError: The server asks for input, and `allow_input_required` is not set.
        """
        params: dict[str, Any] = {"name": name}
        if arguments is not None:
            params["arguments"] = arguments
        with_input(params, input_responses, request_state)
        return await self._request(
            "prompts/get",
            params,
            types.GetPromptResult,
            meta=meta,
            besides=may_come(allow_input_required, by_callbacks),
        )

    async def complete(
        self,
        ref: types.ResourceTemplateReference | types.PromptReference,
        argument: dict[str, str],
        context_arguments: dict[str, str] | None = None,
    ) -> types.CompleteResult:
        """Asks for completions of an argument.

        Args:
            ref: The prompt or resource template.
            argument: `{"name": ..., "value": ...}`: the argument, and what has been typed of it.
            context_arguments: The arguments that are already settled.
        """
        params: dict[str, Any] = {
            "ref": ref.model_dump(by_alias=True, exclude_none=True, mode="json"),
            "argument": argument,
        }
        if context_arguments is not None:
            params["context"] = {"arguments": context_arguments}
        return await self._request("completion/complete", params, types.CompleteResult)

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        allow_input_required: Literal[False] = False,
        allow_claimed: Literal[False] = False,
    ) -> types.CallToolResult: ...
    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        allow_input_required: bool,
        allow_claimed: Literal[False] = False,
        by_callbacks: bool = False,
    ) -> types.CallToolResult | types.InputRequiredResult: ...
    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        allow_input_required: Literal[False] = False,
        allow_claimed: bool,
    ) -> types.CallToolResult | types.Result: ...
    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        allow_input_required: bool,
        allow_claimed: bool,
        by_callbacks: bool = False,
    ) -> types.CallToolResult | types.InputRequiredResult | types.Result: ...
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        allow_input_required: bool = False,
        allow_claimed: bool = False,
        by_callbacks: bool = False,
    ) -> types.CallToolResult | types.InputRequiredResult | types.Result:
        """Calls a tool, and checks what it returns against the output schema that the tool lists.

        Over HTTP, arguments that the tool's input schema marks with `x-mcp-header` are sent in headers as well. If the
        server wants other headers than the tool's last listing says, the tools are listed anew, and the call is made
        once more (specification: basic/transports/streamable-http under "Custom Headers from Tool Parameters").

        Args:
            name: The tool.
            arguments: Its arguments.
            read_timeout_seconds: How long it may take, in seconds; the session's limit when left out.
            progress_callback: Takes progress reports, in order, before the call returns.
            input_responses: Answers to what an earlier try asked for.
            request_state: The state that the earlier try returned.
            meta: The request's `_meta`.
            allow_input_required: Return a request for input, instead of raising; declares that any is answered.
            allow_claimed: Return a result that an extension claims, instead of raising.
            by_callbacks: Declare only what the callbacks answer, since they will.

        Raises:
            MCPError: The server answered with an error.
            RuntimeError: The result breaks the tool's output schema, or the server asks for input and
                `allow_input_required` is not set.
            ValueError: An argument cannot be written as JSON, or its integer is beyond what a header may carry.
            UnexpectedClaimedResult: The result is one that an extension claims, and `allow_claimed` is not set.
        """
        params: dict[str, Any] = {"name": name}
        if arguments is not None:
            params["arguments"] = arguments
        if input_responses is not None or request_state is not None:
            with_input(params, input_responses, request_state)
        result = await self._request(
            "tools/call",
            params,
            types.CallToolResult,
            meta=meta,
            timeout=read_timeout_seconds,
            progress=progress_callback,
            besides=may_come(allow_input_required, by_callbacks, self._claimed),
        )
        if self._claimed and not allow_claimed:
            refuse_claimed(result)
        if isinstance(result, types.CallToolResult) and not result.is_error:
            if type(self).validate_tool_result is not ClientSession.validate_tool_result:
                await self.validate_tool_result(name, result)
            elif self._schemas.mode != "off":
                if not self._schemas.knows(name):
                    limit = self._timeout if read_timeout_seconds is None else read_timeout_seconds
                    await self._learn_schema(name, limit)
                self._schemas.check(name, result)
        return result

    async def validate_tool_result(self, name: str, result: types.CallToolResult) -> None:
        """Checks a result against the output schema that its tool lists.

        Args:
            name: The tool.
            result: What it returned.

        Raises:
            RuntimeError: The result breaks the schema.
        """
        if self._schemas.mode != "off" and not result.is_error and not self._schemas.knows(name):
            await self._learn_schema(name, self._timeout)
        self._schemas.check(name, result)

    async def dispatch_input_request(
        self, ctx: ClientRequestContext, request: types.InputRequest
    ) -> types.InputResponse | types.ErrorData:
        """Puts a question of the server's to the callback that it is for, whichever way it came.

        Args:
            ctx: What the callback is told about it.
            request: The question.

        Returns:
            What the callback answered; an error where the client has no such callback.
        """
        return await self._role.put(ctx, request.method, request.params)
