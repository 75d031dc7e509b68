"""Types of results in the tables, and their schemas."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Literal, NewType, TypeVar

from pydantic import BaseModel, Field, RootModel, computed_field
from typing_extensions import NotRequired, TypedDict

T = TypeVar("T")
UserId = NewType("UserId", int)

STRING = {"type": "string"}
INTEGER = {"type": "integer"}


def wrapped(name: str, value: dict[str, Any], **definitions: Any) -> dict[str, Any]:
    """The schema of a value that stands under "result"."""
    untitled = "$ref" in value or "$ref" in str(value.get("anyOf"))
    value = value if untitled else {"title": "Result", **value}
    schema = {"properties": {"result": value}, "required": ["result"], "title": f"{name}Output", "type": "object"}
    return {**schema, **({"$defs": definitions} if definitions else {})}


class Colour(Enum):
    RED = "red"


class Weather(BaseModel):
    sky: str
    wind: float = 0.0


WEATHER: dict[str, Any] = {
    "properties": {
        "sky": {"title": "Sky", "type": "string"},
        "wind": {"default": 0.0, "title": "Wind", "type": "number"},
    },
    "required": ["sky"],
    "title": "Weather",
    "type": "object",
}
WEATHER_TEXT = '{\n  "sky": "clear",\n  "wind": 1.5\n}'
CLEAR = {"sky": "clear", "wind": 1.5}


class Named(BaseModel):
    x: int = Field(alias="X-Id")

    @computed_field
    def double(self) -> int:
        return 2 * self.x


class Node(BaseModel):
    name: str
    parts: "list[Node]" = []


class Page(BaseModel, Generic[T]):
    items: list[T]


class Numbers(RootModel[list[int]]):
    pass


class Settings(RootModel[dict[str, int]]):
    pass


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"


@dataclass
class Point:
    x: int
    y: int = 0


class Film(TypedDict):
    title: str
    year: NotRequired[int]


class Hint(TypedDict, total=False):
    text: str


class Plain:
    """A class that declares what it holds."""

    name: str
    size: int

    def __init__(self, name: str, size: int) -> None:
        self.name, self.size = name, size
