"""One tool: a typed function, and what clients are told of it."""

import logging
from collections.abc import Callable, Coroutine, Hashable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict, Field, ValidationError

from mcp.protocol.param_headers import find_invalid
from mcp.server.mcpserver.edits import Edits
from mcp.server.mcpserver.exceptions import InvalidSignature, ToolError, UnexpectedToolError
from mcp.server.mcpserver.functions.failures import is_own_exit, protocol_error, reason
from mcp.server.mcpserver.functions.signature import Signature, is_async_callable
from mcp.server.mcpserver.late import LateModel
from mcp.server.mcpserver.naming import name_for
from mcp.server.mcpserver.resolve import (
    build_resolver_plans,
    find_resolved_parameters,
    resolve_arguments,
    returns_input_required,
)
from mcp.server.mcpserver.utilities.context_injection import find_context_parameter
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata, func_metadata
from mcp.server.tool_scopes import check_scopes
from mcp.shared.exceptions import MCPError
from mcp.shared.tool_name_validation import validate_and_warn_tool_name
from mcp.types.base import Icon
from mcp.types.input_required import InputRequiredResult
from mcp.types.tools import ToolAnnotations

if TYPE_CHECKING:
    from mcp.server.mcpserver.context import Context
    from mcp.server.mcpserver.functions.arguments import UnknownArguments

__all__ = ["Tool"]

logger = logging.getLogger(__name__)


class Tool(LateModel):
    """A tool.

    `from_function` makes it. Its schemas are worked out when they are first used.

    Attributes:
        fn: The function.
        name: What the tool is called.
        title: Its name for people.
        description: What it does, for the model.
        parameters: The JSON Schema of its arguments.
        fn_metadata: What the function's signature says.
        is_async: A call of the function gives an awaitable.
        context_kwarg: The parameter that wants the `Context`; None without one.
        resolved_params: The parameters that a `Resolve` fills in.
        resolver_plans: How those are filled in.
        annotations: How it behaves, as hints.
        icons: Images to show beside it.
        meta: Its `_meta`.
        scopes: What an access token must be good for to call it and to see it, over HTTP. It cannot be changed.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    late_field: ClassVar[str] = "parameters"

    edits: ClassVar[Edits] = Edits()

    fn: Callable[..., Any] = Field(exclude=True)
    name: str
    title: str | None = None
    description: str
    parameters: dict[str, Any]
    fn_metadata: FuncMetadata
    is_async: bool
    context_kwarg: str | None = None
    resolved_params: dict[str, Any] = Field(default_factory=dict[str, Any], exclude=True)
    resolver_plans: dict[Hashable, Any] = Field(default_factory=dict[Hashable, Any], exclude=True)
    annotations: ToolAnnotations | None = None
    icons: list[Icon] | None = None
    meta: dict[str, Any] | None = None
    scopes: tuple[str, ...] = Field(default=(), frozen=True)

    def _worked_out(self) -> dict[str, Any]:
        schema = self.fn_metadata.input_schema
        problem = find_invalid(schema)
        if problem is not None:
            raise InvalidSignature(f"Tool {self.name}: {problem}")
        return schema

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of its structured content; None without any."""
        # As with `parameters`: the program may change it now, so the next listing has to watch it.
        self.edits.note()
        return self.fn_metadata.output_schema

    def peek_output(self) -> dict[str, Any] | None:
        """`output_schema`, for those who only look at it."""
        own = "output_schema" in vars(self) or type(self).output_schema is not Tool.output_schema
        return self.output_schema if own else self.fn_metadata.output_schema

    def complete(self) -> None:
        """Works out the schemas now, so that a mistake shows before the first request.

        Raises:
            InvalidSignature: An annotation names what does not exist, or means nothing in JSON.
        """
        self.fn_metadata.complete()
        self.peek()

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., Any],
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        context_kwarg: str | None = None,
        annotations: ToolAnnotations | None = None,
        icons: list[Icon] | None = None,
        meta: dict[str, Any] | None = None,
        structured_output: bool | None = None,
        unknown_arguments: "UnknownArguments" = "suggest",
        scopes: Iterable[str] | None = None,
    ) -> "Tool":
        """A tool that calls a function.

        Args:
            fn: Any callable with type hints.
            name: The tool's name; the function's when left out.
            title: Its name for people.
            description: What it does; the function's docstring when left out.
            context_kwarg: The parameter that wants the `Context`; found by its type when left out.
            annotations: How it behaves, as hints.
            icons: Images to show beside it.
            meta: Its `_meta`.
            structured_output: True demands a return type that makes structured content, False makes none; None makes
                it wherever the return type allows it.
            unknown_arguments: "suggest" refuses an argument that looks like a slip, "refuse" every unknown one.
            scopes: What an access token must be good for to call it and to see it, over HTTP.

        Raises:
            InvalidSignature: The function cannot be a tool as it is. The text says what to change.
            ValueError: It is a lambda, and `name` is left out; or what `scopes` holds is none.
            TypeError: `scopes` is no list of texts.
        """
        name = name_for(fn, name)
        validate_and_warn_tool_name(name)
        context_kwarg = context_kwarg or find_context_parameter(fn)
        resolved = find_resolved_parameters(fn)
        if resolved and returns_input_required(fn):
            raise _asks_twice(name)
        skip = [*resolved, *([] if context_kwarg is None else [context_kwarg])]
        metadata = func_metadata(fn, skip, structured_output, unknown_arguments)
        tool = cls.model_construct(
            fn=fn,
            name=name,
            title=title,
            description=Signature(fn).docstring if description is None else description,
            fn_metadata=metadata,
            is_async=is_async_callable(fn),
            context_kwarg=context_kwarg,
            resolved_params=resolved,
            resolver_plans=build_resolver_plans(resolved, _names(fn) - set(skip)) if resolved else {},
            annotations=annotations,
            icons=icons,
            meta=meta,
            scopes=() if scopes is None else check_scopes(scopes, f"scopes= of the tool {name!r}"),
        )
        if metadata.is_read:
            # The types are more than names, so there may be something wrong with what they say of headers.
            tool.peek()
        return tool

    async def run(self, arguments: dict[str, Any], context: "Context[Any, Any]", convert_result: bool = False) -> Any:
        """Calls the function.

        Args:
            arguments: As the client sent them.
            context: The request.
            convert_result: Return a `CallToolResult` or an `InputRequiredResult` instead of the function's own value.

        Raises:
            ToolError: The arguments are wrong, or the function raised it. The model is to read why.
            UnexpectedToolError: The function raised something else, or exited.
            MCPError: The function raised it.
        """
        return await self._outcome(arguments, context, self.fn_metadata.convert_result if convert_result else None)

    def answer(self, arguments: dict[str, Any], context: "Context[Any, Any]") -> Coroutine[Any, Any, Any]:
        """Calls the function, for a result that is only sent; see `FuncMetadata.encode_result`. It raises as `run`."""
        return self._outcome(arguments, context, self.fn_metadata.encode_result)

    async def _outcome(
        self, arguments: dict[str, Any], context: "Context[Any, Any]", convert: Callable[[Any], Any] | None
    ) -> Any:
        try:
            result = await self._calling(self._validated(arguments), context)
            return result if convert is None else convert(result)
        except MCPError:
            raise
        except BaseException as failure:
            if not isinstance(failure, Exception) and not is_own_exit(failure):
                raise
            error = protocol_error(failure)
            if error is not None:
                raise error from failure
            kind = ToolError if isinstance(failure, ToolError) else UnexpectedToolError
            raise kind(f"Error executing tool {self.name}: {reason(failure)}") from failure

    def _validated(self, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            return self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            # What the client sent is wrong; one that comes later is a fault of the program.
            raise ToolError(reason(error)) from error

    def _calling(self, arguments: dict[str, Any], context: "Context[Any, Any]") -> Coroutine[Any, Any, Any]:
        direct: dict[str, Any] = {} if self.context_kwarg is None else {self.context_kwarg: context}
        if self.resolved_params:
            return self._resolved_and_called(arguments, direct, context)
        return self.fn_metadata.call_fn(self.fn, self.is_async, arguments, direct)

    async def _resolved_and_called(
        self, arguments: dict[str, Any], direct: dict[str, Any], context: "Context[Any, Any]"
    ) -> Any:
        resolved = await resolve_arguments(self.resolved_params, self.resolver_plans, arguments, context)
        if isinstance(resolved, InputRequiredResult):
            return resolved
        result = await self.fn_metadata.call_fn(self.fn, self.is_async, arguments, {**direct, **resolved})
        if isinstance(result, InputRequiredResult):
            raise _asks_twice(self.name)
        return result


def _names(fn: Callable[..., Any]) -> set[str]:
    return set(Signature(fn).parameters)


def _asks_twice(name: str) -> InvalidSignature:
    return InvalidSignature(
        f"Tool {name!r} has Resolve(...) parameters, and returns an InputRequiredResult: the questions of a call are "
        "asked by its resolvers or by the function itself, since each would take the request state of the other"
    )
