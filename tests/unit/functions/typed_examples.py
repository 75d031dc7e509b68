"""Types that functions of the tests take and return."""

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import (  # noqa: UP035
    Annotated,
    Any,
    Dict,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    Optional,
    Protocol,
    TypedDict,
    TypeVar,
)

import jsonschema_rs
from pydantic import BaseModel, ConfigDict, Field, RootModel, computed_field
from typing_extensions import NotRequired, TypeAliasType
from typing_extensions import TypedDict as PortableTypedDict

from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata, func_metadata
from mcp.types import CallToolResult, TextContent

T = TypeVar("T")


class Place(BaseModel):
    """Where something is."""

    x: int
    y: int = Field(default=0, description="Up is positive.")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    x: int


class Aliased(BaseModel):
    x: int = Field(alias="theX")


class TwoAliases(BaseModel):
    x: int = Field(validation_alias="in", serialization_alias="out")


class Computed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    x: int
    secret: Annotated[str, Field(exclude=True)] = "s"

    @computed_field
    @property
    def double(self) -> int:
        return 2 * self.x


class Tree(BaseModel):
    name: str
    children: "list[Tree]" = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Box(BaseModel, Generic[T]):
    content: T


class Numbers(RootModel[list[int]]):
    pass


class Named(RootModel[dict[str, int]]):
    pass


class Callback(BaseModel):
    function: Callable[[int], int]


@dataclass
class Point:
    """A dataclass with a docstring."""

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list[str])
    _hidden: int = 0


class Route(TypedDict):
    """A standard typed dict."""

    start: str
    stops: NotRequired[Annotated[list[str], Field(description="In order.")]]


class Trip(PortableTypedDict):
    start: str
    nights: NotRequired[int]


class Plain:
    """A class with annotations on its body."""

    x: int
    y: str = "y"

    def __init__(self, x: int) -> None:
        self.x = x


class Bare:
    def __init__(self) -> None:
        self.x = 1


class HasX(Protocol):
    x: int


class Pair(NamedTuple):
    a: int
    b: str


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Opaque:
    """Nothing that JSON could become."""


UserId = NewType("UserId", int)
OldDict = Dict[str, int]  # noqa: UP006
OldOptional = Optional[int]  # noqa: UP045
Ids = TypeAliasType("Ids", list[int])

X: dict[str, Any] = {"title": "X", "type": "integer"}
PLACE: dict[str, Any] = {
    "description": "Where something is.",
    "properties": {"x": X, "y": {"default": 0, "description": "Up is positive.", "title": "Y", "type": "integer"}},
    "required": ["x"],
    "title": "Place",
    "type": "object",
}
TREE: dict[str, Any] = {
    "properties": {
        "name": {"title": "Name", "type": "string"},
        "children": {"default": [], "items": {"$ref": "#/$defs/Tree"}, "title": "Children", "type": "array"},
    },
    "required": ["name"],
    "title": "Tree",
    "type": "object",
}


def taking(annotation: Any, **default: Any) -> FuncMetadata:
    """What a function of one parameter `it` says."""

    def f(it: Any) -> None: ...

    f.__annotations__ = {"it": annotation}
    f.__defaults__ = tuple(default.values()) or None
    return func_metadata(f)


def returning(annotation: Any, structured_output: bool | None = None) -> FuncMetadata:
    """What a function `f` with this return type says."""

    def f() -> None: ...

    f.__annotations__ = {"return": annotation}
    return func_metadata(f, structured_output=structured_output)


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a JSON value fits a schema, by a validator that is not pydantic."""
    return jsonschema_rs.validator_for(schema).is_valid(value)


def result_of(annotation: Any, value: Any, structured_output: bool | None = None) -> CallToolResult:
    """The result of a function with this return type that returns this."""
    result = returning(annotation, structured_output).convert_result(value)
    assert isinstance(result, CallToolResult)
    return result


def texts_of(result: CallToolResult) -> list[str]:
    """What a model reads of a result that holds text only."""
    assert all(isinstance(block, TextContent) for block in result.content)
    return [block.text for block in result.content if isinstance(block, TextContent)]
