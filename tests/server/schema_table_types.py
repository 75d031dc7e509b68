"""Types of parameters in the tables."""

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, Generic, Literal, NewType, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import NotRequired, TypedDict

T = TypeVar("T")
UserId = NewType("UserId", int)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


class Place(BaseModel):
    city: str
    zip: int = 0


class Trip(BaseModel):
    start: Place
    stops: list[Place] = []


class Exact(BaseModel):
    model_config = ConfigDict(extra="forbid")

    n: int


@dataclass
class Point:
    x: int
    y: int = 0


class Film(TypedDict):
    title: str
    year: NotRequired[int]


class Filter(TypedDict, total=False):
    text: str
    limit: int


class Page(BaseModel, Generic[T]):
    items: list[T]


class Node(BaseModel):
    name: str
    parts: "list[Node]" = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]


class Named(BaseModel):
    x: int = Field(alias="X-Id")


CITY: dict[str, Any] = {
    "properties": {
        "city": {"title": "City", "type": "string"},
        "zip": {"default": 0, "title": "Zip", "type": "integer"},
    },
    "required": ["city"],
    "title": "Place",
    "type": "object",
}
