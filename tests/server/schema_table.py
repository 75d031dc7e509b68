"""Tables of typed functions: what their tools list, which calls they take, and what results they give."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import jsonschema_rs

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.functions.signature import callable_name

__all__ = ["Broken", "Given", "Table", "Taken", "includes", "told", "validator"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
Schema = Mapping[str, Any]
Arguments = dict[str, Any]


@dataclass(frozen=True)
class Taken:
    """A function whose parameters are looked at.

    Attributes:
        server: Has the tool.
        name: Of the tool, which returns what it was given, as text.
        title: What the function itself is called.
        properties: What is listed of its parameters, exactly.
        required: Those that are.
        rest: What else the listed schema must hold.
        accepts: Calls, each with the text of its result. The schema accepts them too.
        refuses: Calls that the schema refuses too.
        lenient: Calls that the schema refuses, and that are accepted all the same.
    """

    server: MCPServer
    name: str
    title: str
    properties: Schema
    required: Sequence[str] | None
    rest: Schema = field(default_factory=dict[str, Any])
    accepts: Sequence[tuple[Arguments, str]] = ()
    refuses: Sequence[Arguments] = ()
    lenient: Sequence[tuple[Arguments, str]] = ()

    @property
    def listed(self) -> dict[str, Any]:
        """What the listed schema must hold."""
        required = {} if self.required is None else {"required": list(self.required)}
        return {"type": "object", "title": f"{self.title}Arguments", **required, **self.rest}


@dataclass(frozen=True)
class Given:
    """A function whose result is looked at.

    Attributes:
        server: Has the tool.
        name: Of the tool.
        schema: The listed output schema, exactly; None for none.
        structured: The structured content.
        text: The text of each block; None if the blocks are not text alone, and `kinds` says what they are.
        kinds: The types of the blocks.
        by_hand: The function makes its result itself, and the text may be another.
    """

    server: MCPServer
    name: str
    schema: Schema | None
    structured: Any
    text: Sequence[str] | None
    kinds: Sequence[str] = ()
    by_hand: bool = False


@dataclass(frozen=True)
class Broken:
    """A function that does not keep to its return type, and so fails.

    Attributes:
        server: Has the tool.
        name: Of the tool.
        says: Part of the error's text.
    """

    server: MCPServer
    name: str
    says: str


class Table:
    """Rows, which decorators add, and the server of their tools."""

    def __init__(self) -> None:
        self._server = MCPServer("table")
        self.taken: list[Taken] = []
        self.given: list[Given] = []
        self.broken: list[Broken] = []

    def takes(
        self, properties: Schema, required: Sequence[str] | None = None, *, name: str | None = None, **rest: Any
    ) -> Callable[[FunctionT], FunctionT]:
        """Adds a function whose parameters are looked at; see `Taken`."""

        def add(function: FunctionT) -> FunctionT:
            tool_name = name or function.__name__
            self._server.add_tool(function, name=tool_name)
            title = callable_name(function)
            self.taken.append(Taken(self._server, tool_name, title, properties, required, **rest))
            return function

        return add

    def gives(
        self,
        schema: Schema | None,
        structured: Any,
        text: Sequence[str] | None,
        *,
        kinds: Sequence[str] = (),
        by_hand: bool = False,
        **options: Any,
    ) -> Callable[[FunctionT], FunctionT]:
        """Adds a function whose result is looked at; see `Given`."""

        def add(function: FunctionT) -> FunctionT:
            self._server.add_tool(function, **options)
            self.given.append(Given(self._server, function.__name__, schema, structured, text, kinds, by_hand))
            return function

        return add

    def breaks(self, says: str) -> Callable[[FunctionT], FunctionT]:
        """Adds a function that does not keep to its return type; see `Broken`."""

        def add(function: FunctionT) -> FunctionT:
            self._server.add_tool(function)
            self.broken.append(Broken(self._server, function.__name__, says))
            return function

        return add


def told(*values: Any) -> str:
    """What a function of these tables says that it was given."""
    return ", ".join(map(repr, values))


def validator(schema: Any) -> Any:
    """A judge of values, which takes the formats of strings seriously."""
    return jsonschema_rs.validator_for(schema, validate_formats=True)


def includes(whole: Any, part: Any) -> bool:
    """Whether everything that one JSON value says is said by another."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(
            key in whole and includes(whole[key], value) for key, value in _items(part)
        )
    return whole == part


def _items(mapping: Any) -> Iterator[tuple[str, Any]]:
    return iter(mapping.items())
