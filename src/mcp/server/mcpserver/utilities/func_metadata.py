"""From a typed function to the schemas of a tool, to validated arguments, and to results.

What is expensive is done when it is first needed, which is the first listing or the first call. At registration only
that is built which could turn out wrong, so that a mistake shows when the program starts.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import anyio.from_thread
from pydantic import BaseModel, ConfigDict, PrivateAttr, SerializerFunctionWrapHandler, WithJsonSchema, model_serializer
from typing_extensions import Self, deprecated

from mcp.engine.workers import run_in_worker
from mcp.protocol.results import EncodedResult
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.functions.arguments import POLICIES, ArgModelBase, UnknownArguments
from mcp.server.mcpserver.functions.content import content_of
from mcp.server.mcpserver.functions.reader import ArgumentReader
from mcp.server.mcpserver.functions.schemas import StrictJsonSchema
from mcp.server.mcpserver.functions.structured import Output
from mcp.server.mcpserver.functions.typed_function import TypedFunction
from mcp.server.mcpserver.utilities.logging import get_logger
from mcp.server.mcpserver.utilities.types import Audio, Image
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.types.content import ContentBlock, TextContent
from mcp.types.input_required import InputRequiredResult
from mcp.types.tools import CallToolResult

__all__ = [
    "ArgModelBase",
    "Audio",
    "CallToolResult",
    "ContentBlock",
    "FuncMetadata",
    "Image",
    "InputRequiredResult",
    "InvalidSignature",
    "MCPDeprecationWarning",
    "StrictJsonSchema",
    "TextContent",
    "func_metadata",
    "get_logger",
]

logger = get_logger(__name__)

_LATE: Final[dict[str, Callable[[TypedFunction], Any]]] = {
    "arg_model": lambda function: function.arg_model,
    "output_schema": lambda function: function.output and function.output.schema,
    "output_model": lambda function: function.output and function.output.model,
    "wrap_output": lambda function: function.output is not None and function.output.wrapped,
    "_reader": lambda function: function.reader,
    "_output": lambda function: function.output,
}


class FuncMetadata(BaseModel):
    """What the signature of a function says about its tool.

    `func_metadata` makes it. Its attributes are worked out when they are first used, and then raise `InvalidSignature`
    if an annotation names what does not exist.

    Attributes:
        arg_model: The model of the arguments.
        output_schema: The JSON Schema of the structured content; None without any.
        output_model: The type of the structured content, as pydantic knows it.
        wrap_output: The structured content holds the value under "result".
    """

    # No fields, and without the detour by which pydantic reaches private attributes.
    __slots__ = ("_function", "_output", "_reader")

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    arg_model: Annotated[type[ArgModelBase], WithJsonSchema(None)]
    output_schema: dict[str, Any] | None = None
    output_model: Annotated[Any, WithJsonSchema(None)] = None
    wrap_output: bool = False

    if TYPE_CHECKING:
        _function: TypedFunction = PrivateAttr()
        _output: Output | None = PrivateAttr()
        _reader: ArgumentReader = PrivateAttr()
    else:

        def __getattr__(self, name: str) -> Any:
            if name not in _LATE:
                return super().__getattr__(name)
            value = _LATE[name](self._function)
            if name in type(self).model_fields:
                self.__dict__[name] = value
            else:
                object.__setattr__(self, name, value)
            return value

    def model_post_init(self, context: Any, /) -> None:
        """Makes what was constructed by hand work as what `func_metadata` makes."""
        if "arg_model" in self.__dict__:
            has_output = self.output_model is not None and self.output_schema is not None
            output = Output(self.output_model, self.output_schema or {}, self.wrap_output) if has_output else None
            object.__setattr__(self, "_reader", ArgumentReader(self.arg_model))
            object.__setattr__(self, "_output", output)

    @property
    def is_read(self) -> bool:
        """Whether the schema of the arguments is known, because their types had to be looked at."""
        function: TypedFunction | None = getattr(self, "_function", None)
        return function is not None and "input_schema" in vars(function)

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments.

        Raises:
            InvalidSignature: An annotation names what does not exist, or no JSON becomes the type of a parameter.
        """
        function: TypedFunction | None = getattr(self, "_function", None)
        return self.arg_model.model_json_schema(by_alias=True) if function is None else function.input_schema

    def complete(self) -> None:
        """Works out every attribute now, so that a mistake shows before the first request.

        Raises:
            InvalidSignature: An annotation names what does not exist, or no JSON becomes the type of a parameter.
        """
        for name in _LATE:
            getattr(self, name)

    # What pydantic does with a whole model, it does with the attributes that are there.

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        self.complete()
        return super().__repr_args__()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FuncMetadata):
            self.complete()
            other.complete()
        return super().__eq__(other)

    __hash__ = None

    def __copy__(self) -> Self:
        self.complete()
        return self._given_to(super().__copy__())

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        self.complete()
        return self._given_to(super().__deepcopy__(memo))

    def _given_to(self, copy: Self) -> Self:
        object.__setattr__(copy, "_reader", self._reader)
        object.__setattr__(copy, "_output", self._output)
        return copy

    @model_serializer(mode="wrap")
    def _serialized(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        self.complete()
        return handler(self)

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call, validated, by the names of the function's parameters.

        Args:
            arguments_to_validate: As the client sent them.

        Raises:
            ValidationError: An argument is missing or wrong, or its name is a slip.
            InvalidSignature: An annotation names what does not exist.
        """
        return self._reader.read(arguments_to_validate)

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        """The arguments, in which JSON text has been decoded if its parameter can hold no string.

        Args:
            data: As the client sent them.

        Raises:
            InvalidSignature: An annotation names what does not exist.
        """
        return dict(self._reader.decode(data))

    async def call_fn(
        self,
        fn: Callable[..., Any | Awaitable[Any]],
        fn_is_async: bool,
        arguments: dict[str, Any],
        arguments_to_pass_directly: dict[str, Any] | None = None,
    ) -> Any:
        """Calls the function: on the event loop if it is asynchronous, in a worker thread otherwise.

        Args:
            fn: The function.
            fn_is_async: A call of it gives an awaitable.
            arguments: Validated ones.
            arguments_to_pass_directly: Those that the library fills in, such as the context.

        Returns:
            What the function returns; of a generator, the list of its items.
        """
        if arguments_to_pass_directly:
            arguments = {**arguments, **arguments_to_pass_directly}
        if self._reader.positional:
            fn, arguments = _with_positional(fn, arguments, self._reader.positional)
        result: Any
        if fn_is_async:
            result = await fn(**arguments)
        else:
            result = await run_in_worker(_drained, fn, arguments)
            if isawaitable(result):
                result = await result
        if _is_stream(result.__class__):
            return [item async for item in cast("AsyncIterator[Any]", result)]
        return result

    @deprecated("Use validate_arguments() and call_fn().", category=MCPDeprecationWarning)
    async def call_fn_with_arg_validation(
        self,
        fn: Callable[..., Any | Awaitable[Any]],
        fn_is_async: bool,
        arguments_to_validate: dict[str, Any],
        arguments_to_pass_directly: dict[str, Any] | None,
        pre_validated: dict[str, Any] | None = None,
    ) -> Any:
        """Validates arguments and calls the function; see `validate_arguments` and `call_fn`.

        Args:
            fn: The function.
            fn_is_async: A call of it gives an awaitable.
            arguments_to_validate: As the client sent them.
            arguments_to_pass_directly: Those that the library fills in.
            pre_validated: The validated arguments, if that has been done.

        Raises:
            ValidationError: An argument is missing or wrong.
        """
        arguments = self.validate_arguments(arguments_to_validate) if pre_validated is None else pre_validated
        return await self.call_fn(fn, fn_is_async, arguments, arguments_to_pass_directly)

    def convert_result(self, result: Any) -> CallToolResult | InputRequiredResult:
        """The result of a call, from what the function returned.

        Args:
            result: Any value. A `CallToolResult` or an `InputRequiredResult` is taken as it is.

        Raises:
            ValidationError: It is not what the return type promises.
            ValueError: It is, but its JSON does not fit the output schema; NaN, for example, does not fit a number.
        """
        output = self._output
        if output is not None and output.is_text and type(result) is str:
            return output.text_result(result)
        if isinstance(result, InputRequiredResult):
            return result
        if isinstance(result, CallToolResult):
            if output is not None and not result.is_error:
                output.check(result.structured_content)
            return result
        if output is None:
            return CallToolResult(content=content_of(result))
        return output.result(list(cast("Iterator[Any]", result)) if isinstance(result, Iterator) else result)

    def encode_result(self, result: Any) -> EncodedResult | CallToolResult | InputRequiredResult:
        """The result of a call for whoever only sends it: as JSON text already, where that can be had at once.

        Args:
            result: As for `convert_result`, which is asked where that is another one.

        Raises:
            ValidationError: As `convert_result`.
            ValueError: As `convert_result`.
        """
        output = self._output
        if output is None or type(self).convert_result is not FuncMetadata.convert_result:
            return self.convert_result(result)
        return output.encoded(result) or self.convert_result(result)


def _with_positional(
    fn: Callable[..., Any], arguments: dict[str, Any], names: Sequence[str]
) -> tuple[Callable[..., Any], dict[str, Any]]:
    positional = [arguments[name] for name in names if name in arguments]
    return partial(fn, *positional), {name: value for name, value in arguments.items() if name not in names}


@lru_cache(maxsize=256)
def _is_stream(kind: type) -> bool:
    return issubclass(kind, AsyncIterator)


def _drained(fn: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Calls, and takes the items of what is an iterator in the same thread, for as long as somebody waits for them."""
    result = fn(**arguments)
    if not isinstance(result, Iterator):
        return result
    items: list[Any] = []
    try:
        for item in cast("Iterator[Any]", result):
            anyio.from_thread.check_cancelled()
            items.append(item)
    finally:
        if isinstance(result, Generator):
            result.close()
    return items


def func_metadata(
    func: Callable[..., Any],
    skip_names: Sequence[str] = (),
    structured_output: bool | None = None,
    unknown_arguments: UnknownArguments = "suggest",
) -> FuncMetadata:
    """What a typed function says about its tool.

    Args:
        func: Any callable: a function, a bound method, a partial, a class, an object with `__call__`.
        skip_names: Parameters that the library fills in; callers do not see them.
        structured_output: True demands a return type that makes structured content, False ignores it; None makes
            structured content wherever the return type allows it.
        unknown_arguments: "suggest" refuses an unknown argument that is close to a parameter which was not given, and
            ignores others with a log line. "refuse" refuses them all.

    Raises:
        InvalidSignature: The function cannot be a tool as it is. The text says what to change.
        ValueError: `unknown_arguments` is something else.
    """
    if unknown_arguments not in POLICIES:
        raise ValueError(f"unknown_arguments is one of {', '.join(map(repr, POLICIES))}, got {unknown_arguments!r}")
    metadata = FuncMetadata.model_construct()
    vars(metadata).clear()
    function = TypedFunction(func, skip_names, structured_output, unknown_arguments)
    object.__setattr__(metadata, "_function", function)
    return metadata
