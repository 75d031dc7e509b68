"""How a program says that a function fills in a parameter, and what such a function asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic

from pydantic import BaseModel
from typing_extensions import TypeIs, TypeVar

from mcp.server.mcpserver.functions.injected import InjectedMarker
from mcp.server.mcpserver.functions.signature import callable_name
from mcp.server.validation import validate_tool_use_result_messages

if TYPE_CHECKING:
    from mcp.types import (
        CreateMessageRequestParams,
        IncludeContext,
        ModelPreferences,
        SamplingMessage,
        Tool,
        ToolChoice,
    )

__all__ = ["Elicit", "ListRoots", "Marker", "Resolve", "Sample", "is_marker"]

T = TypeVar("T", bound=BaseModel)


class Resolve(InjectedMarker):
    """Marks a parameter that `fn` fills in: `Annotated[Stock, Resolve(check_stock)]`.

    The parameter is not part of the tool's schema, and no client can fill it. `fn` runs before the tool does. It takes
    the tool's own arguments by their names, the `Context`, and what other functions resolve; sync functions run in a
    worker thread. It returns the value, or `Elicit`, `Sample` or `ListRoots` to have the client asked for it.

    Args:
        fn: The function.

    Raises:
        TypeError: `fn` cannot be called.
    """

    __slots__ = ("fn",)

    def __init__(self, fn: Callable[..., Any]) -> None:
        if not callable(fn):
            raise TypeError(f"Resolve takes the function that fills in the parameter, got {fn!r}")
        self.fn = fn

    def __repr__(self) -> str:
        return f"Resolve({callable_name(self.fn)})"


class Elicit(Generic[T]):
    """Asks the client's user to fill in a form.

    The parameter becomes a `schema`. A user who does not answer fails the call, unless the parameter is annotated with
    `ElicitationResult[schema]`, which is every outcome.

    A question is known by its text and its schema: make both from the tool's arguments and from earlier answers. A
    question that is worded anew in each round is asked anew in each round.

    Args:
        message: What the user is told.
        schema: A model with flat fields; see `mcp.server.elicitation.render_elicitation_schema`.
    """

    __slots__ = ("message", "schema")

    def __init__(self, message: str, schema: type[T]) -> None:
        self.message = message
        self.schema = schema

    def __repr__(self) -> str:
        return f"Elicit({self.message!r}, {getattr(self.schema, '__name__', self.schema)})"


class Sample:
    """Asks the client's model for a message.

    The parameter becomes a `CreateMessageResult`; with `tools` or `tool_choice` a `CreateMessageResultWithTools`. What
    `Elicit` says about questions holds for these too.

    Args:
        messages: The conversation so far.
        max_tokens: The most tokens to sample.
        system_prompt: A system prompt to use.
        include_context: Whose context to include; deprecated but for "none".
        temperature: The sampling temperature.
        stop_sequences: Where to stop.
        metadata: Passed to the model's provider.
        model_preferences: Which model to prefer.
        tools: Tools that the model may use.
        tool_choice: Whether it may, must or must not use them.

    Raises:
        ValidationError: An argument is of the wrong type.
        ValueError: The tool results in `messages` do not match the tool uses.
    """

    __slots__ = ("params",)

    def __init__(
        self,
        messages: list[SamplingMessage],
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        include_context: IncludeContext | None = None,
        temperature: float | None = None,
        stop_sequences: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        model_preferences: ModelPreferences | None = None,
        tools: list[Tool] | None = None,
        tool_choice: ToolChoice | None = None,
    ) -> None:
        from mcp.types import CreateMessageRequestParams

        self.params: CreateMessageRequestParams = CreateMessageRequestParams(
            messages=messages,
            max_tokens=max_tokens,
            system_prompt=system_prompt,
            include_context=include_context,
            temperature=temperature,
            stop_sequences=stop_sequences,
            metadata=metadata,
            model_preferences=model_preferences,
            tools=tools,
            tool_choice=tool_choice,
        )
        validate_tool_use_result_messages(self.params.messages)


class ListRoots:
    """Asks the client for its root directories. The parameter becomes a `ListRootsResult`."""

    __slots__ = ()


Marker = Elicit[Any] | Sample | ListRoots

_MARKERS: Final = (Elicit, Sample, ListRoots)


def is_marker(value: object) -> TypeIs[Marker]:
    """Whether a resolver asks instead of answering."""
    return isinstance(value, _MARKERS)
