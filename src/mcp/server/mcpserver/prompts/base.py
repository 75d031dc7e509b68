"""A prompt: a function whose result is messages."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr
from pydantic_core import ValidationError
from typing_extensions import Self

from mcp.engine.isolation import contained
from mcp.server.mcpserver.edits import Edits
from mcp.server.mcpserver.functions.failures import argument_problems, protocol_error
from mcp.server.mcpserver.functions.signature import Signature, is_async_callable
from mcp.server.mcpserver.late import LateModel
from mcp.server.mcpserver.naming import name_for
from mcp.server.mcpserver.prompts.messages import (
    AssistantMessage,
    Message,
    PromptResult,
    SyncPromptResult,
    UserMessage,
    message_validator,
    messages_of,
)
from mcp.server.mcpserver.utilities.context_injection import find_context_parameter, inject_context
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata, func_metadata
from mcp.server.mcpserver.utilities.types import Audio, Image
from mcp.shared.exceptions import MCPError
from mcp.types.base import Icon
from mcp.types.content import ContentBlock, TextContent
from mcp.types.input_required import InputRequiredResult
from mcp.types.jsonrpc import INVALID_PARAMS

if TYPE_CHECKING:
    from mcp.server.mcpserver.context import Context

__all__ = [
    "AssistantMessage",
    "Audio",
    "ContentBlock",
    "Icon",
    "Image",
    "InputRequiredResult",
    "MCPError",
    "Message",
    "Prompt",
    "PromptArgument",
    "PromptResult",
    "SyncPromptResult",
    "TextContent",
    "UserMessage",
    "find_context_parameter",
    "func_metadata",
    "inject_context",
    "is_async_callable",
    "message_validator",
]


class PromptArgument(BaseModel):
    """An argument of a prompt, whose value is a text that the user types.

    Attributes:
        name: What it is called.
        description: What it is for.
        required: Whether there has to be one.
    """

    model_config = ConfigDict(defer_build=True)

    name: str
    description: str | None = None
    required: bool = False


class Prompt(LateModel):
    """Messages that a function makes, by what the user filled in.

    Attributes:
        name: What it is called.
        title: A name for people.
        description: What it is for.
        arguments: What the user fills in.
        fn: The function.
        icons: Images that stand for it.
        context_kwarg: The parameter of the function that receives the context; None without.
    """

    model_config = ConfigDict(defer_build=True)

    name: str
    title: str | None = None
    description: str | None = None
    arguments: list[PromptArgument] | None = None
    fn: Callable[..., Any] = Field(exclude=True)
    icons: list[Icon] | None = None
    context_kwarg: str | None = None

    late_field = "arguments"
    edits: ClassVar[Edits] = Edits()
    _metadata: FuncMetadata = PrivateAttr()
    _is_async: bool = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Reads the function.

        Raises:
            InvalidSignature: It cannot be called by the names of arguments.
        """
        skipped = [] if self.context_kwarg is None else [self.context_kwarg]
        self._metadata = func_metadata(self.fn, skipped, structured_output=False, unknown_arguments="refuse")
        self._is_async = is_async_callable(self.fn)

    def _worked_out(self) -> list[PromptArgument]:
        schema = self._metadata.arg_model.model_json_schema()
        required = schema.get("required", ())
        return [
            PromptArgument(name=name, description=field.get("description"), required=name in required)
            for name, field in schema.get("properties", {}).items()
        ]

    def complete(self) -> None:
        """Works out what was left for later; see `LateModel.complete`."""
        self._metadata.complete()
        self.peek()

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., Any],
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[Icon] | None = None,
        context_kwarg: str | None = None,
    ) -> Self:
        """The prompt of a function, whose parameters are the arguments.

        Args:
            fn: The function. What it may return is told by `PromptResult`. One that is not asynchronous runs in a
                worker thread.
            name: What it is called; the name of the function if nothing is given.
            title: A name for people.
            description: What it is for; the docstring of the function if nothing is given.
            icons: Images that stand for it.
            context_kwarg: The parameter that receives the context; found by its annotation if nothing is given.

        Raises:
            ValueError: A lambda is given no name.
            InvalidSignature: The function cannot be called by the names of arguments.
        """
        prompt = cls(
            name=name_for(fn, name),
            title=title,
            description=Signature(fn).docstring if description is None else description,
            fn=fn,
            icons=icons,
            context_kwarg=find_context_parameter(fn) if context_kwarg is None else context_kwarg,
        )
        prompt._leave_for_later()
        return prompt

    async def render(
        self, arguments: dict[str, Any] | None, context: "Context[Any, Any]"
    ) -> list[Message] | InputRequiredResult:
        """Calls the function.

        Args:
            arguments: What the user filled in, as text; converted to what the parameters take.
            context: The context of the request.

        Returns:
            The messages; or the questions of the function, if it asks for input.

        Raises:
            MCPError: An argument is missing, wrong or unknown (-32602); or the function raised it.
            ValueError: The function failed with an exception of another kind, or returned what is no message.
        """
        try:
            return await contained(self._call, arguments or {}, context)
        except Exception as error:
            failure = protocol_error(error) or ValueError(f"Error rendering prompt {self.name}")
            raise failure from (failure.__cause__ if failure is error else error)

    async def _call(
        self, arguments: dict[str, Any], context: "Context[Any, Any]"
    ) -> list[Message] | InputRequiredResult:
        given = self._validated(arguments)
        injected = inject_context(self.fn, {}, context, self.context_kwarg)
        result = await self._metadata.call_fn(self.fn, self._is_async, given, injected)
        return result if isinstance(result, InputRequiredResult) else await messages_of(result)

    def _validated(self, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._metadata.validate_arguments(arguments)
        except ValidationError as error:
            message = f"Invalid arguments for prompt {self.name!r}: {argument_problems(error)}"
            raise MCPError(INVALID_PARAMS, message) from error
