"""Which models are forms, what the client is sent for them, and how an answer becomes the model again."""

import datetime
import enum
import math
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional, cast

import jsonschema
import pytest
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, RootModel, SecretStr, create_model

from mcp import types
from mcp.server.elicitation import (
    AcceptedElicitation,
    CancelledElicitation,
    DeclinedElicitation,
    MismatchedAnswerError,
    outcome_of,
    render_elicitation_schema,
)
from mcp.server.mcpserver.exceptions import ToolError

MISMATCH = "Received an accepted elicitation whose content does not match the requested schema"


class Color(enum.Enum):
    """A colour."""

    RED = "red"
    GREEN = "green"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Only(enum.Enum):
    ONE = "one"


class Address(BaseModel):
    street: str


TITLED: dict[str, Any] = {"oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]}
SEVERAL_TITLED: dict[str, Any] = {"items": {"anyOf": TITLED["oneOf"]}}


def model_of(field: Any) -> type[BaseModel]:
    definition = cast("Any", field if isinstance(field, tuple) else (field, ...))
    return create_model("Form", it=definition)


# What a field becomes. Its title, which is always "It", is left out.

FIELDS: dict[str, tuple[Any, dict[str, Any], bool]] = {
    "text": (str, {"type": "string"}, True),
    "text of some length": (Annotated[str, Field(min_length=1, max_length=9)], {"type": "string"}, True),
    "an email address": (
        Annotated[str, Field(json_schema_extra={"format": "email"})],
        {"type": "string", "format": "email"},
        True,
    ),
    "a URL": (AnyUrl, {"type": "string", "format": "uri", "minLength": 1}, True),
    "a date": (datetime.date, {"type": "string", "format": "date"}, True),
    "a point in time": (datetime.datetime, {"type": "string", "format": "date-time"}, True),
    "a whole number": (Annotated[int, Field(ge=1, le=5)], {"type": "integer", "minimum": 1, "maximum": 5}, True),
    "a number": (float, {"type": "number"}, True),
    "yes or no": (bool, {"type": "boolean"}, True),
    "with a default": ((int, 3), {"type": "integer", "default": 3}, False),
    "with a default date": (
        (datetime.date, datetime.date(2025, 12, 26)),
        {"type": "string", "format": "date", "default": "2025-12-26"},
        False,
    ),
    "a literal": (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, True),
    "a literal of one": (Literal["a"], {"type": "string", "enum": ["a"]}, True),
    "a literal number": (Literal[1, 2], {"type": "integer", "enum": [1, 2]}, True),
    "an enum": (Color, {"type": "string", "enum": ["red", "green"], "description": "A colour."}, True),
    "an enum of one": (Only, {"type": "string", "enum": ["one"]}, True),
    "an enum of numbers": (Size, {"type": "integer", "enum": [1, 2]}, True),
    "an enum with a default": (
        (Color, Field(default=Color.RED, description="Which?")),
        {"type": "string", "enum": ["red", "green"], "description": "Which?", "default": "red"},
        False,
    ),
    "choices with titles": ((str, Field(json_schema_extra=TITLED)), {"type": "string", **TITLED}, True),
    "several choices": (
        list[Literal["a", "b"]],
        {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        True,
    ),
    "several of one choice": (list[Literal["a"]], {"type": "array", "items": {"type": "string", "enum": ["a"]}}, True),
    "several enums": (
        list[Color],
        {"type": "array", "items": {"type": "string", "enum": ["red", "green"], "description": "A colour."}},
        True,
    ),
    "different choices": (
        set[Literal["a", "b"]],
        {"type": "array", "uniqueItems": True, "items": {"type": "string", "enum": ["a", "b"]}},
        True,
    ),
    "several choices with titles": (
        (list[str], Field(json_schema_extra=SEVERAL_TITLED)),
        {"type": "array", **SEVERAL_TITLED},
        True,
    ),
    "optional": ((Optional[str], None), {"type": "string"}, False),  # noqa: UP045
    "optional without a default": (int | None, {"type": "integer"}, False),
    "optional with a default": ((int | None, 3), {"type": "integer", "default": 3}, False),
    "an optional enum": (
        (Color | None, None),
        {"type": "string", "enum": ["red", "green"], "description": "A colour."},
        False,
    ),
    "an optional list": (
        (list[Color] | None, None),
        {"type": "array", "items": {"type": "string", "enum": ["red", "green"], "description": "A colour."}},
        False,
    ),
}


@pytest.mark.parametrize(("field", "expected", "required"), FIELDS.values(), ids=FIELDS)
def test_a_field_of_a_form(field: Any, expected: dict[str, Any], required: bool) -> None:
    schema = render_elicitation_schema(model_of(field))
    if "max_length" in repr(field):
        expected = {**expected, "minLength": 1, "maxLength": 9}
    assert schema == {
        "type": "object",
        "title": "Form",
        "properties": {"it": {"title": "It", **expected}},
        **({"required": ["it"]} if required else {}),
    }
    jsonschema.Draft202012Validator.check_schema(schema)


REFUSED: dict[str, Any] = {
    "a model": Address,
    "an optional model": Address | None,
    "a list of models": list[Address],
    "a list of any text": list[str],
    "a list of numbers": list[Literal[1, 2]],
    "a list of numbered enums": list[Size],
    "a list of lists": list[list[Literal["a"]]],
    "a dict": dict[str, int],
    "a tuple": tuple[int, int],
    "a union": int | str,
    "a decimal": Decimal,
    "anything": Any,
    "nothing": None,
    "bytes": bytes,
    "a secret": SecretStr,
    "a time of day": datetime.time,
    "a duration": datetime.timedelta,
    "a UUID": uuid.UUID,
    "mixed choices": Literal["a", 1],
    "titled choices that are no text": (str, Field(json_schema_extra={"oneOf": [{"const": 1, "title": "One"}]})),
    "no number as its default": (float, math.nan),
    "infinity as its default": (float, math.inf),
}


@pytest.mark.parametrize("field", REFUSED.values(), ids=REFUSED)
def test_what_no_form_can_show_is_refused_by_its_name(field: Any) -> None:
    with pytest.raises(TypeError, match=r"^Elicitation schema field 'it' rendered as .* not a valid Primitive"):
        render_elicitation_schema(model_of(field))


def test_a_model_in_the_model_is_refused_with_the_words_of_the_documentation() -> None:
    class Order(BaseModel):
        address: Address

    with pytest.raises(TypeError) as raised:
        render_elicitation_schema(Order)
    assert str(raised.value) == (
        "Elicitation schema field 'address' rendered as {'$ref': '#/$defs/Address'}, "
        "which is not a valid PrimitiveSchemaDefinition"
    )


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (int, "An elicitation asks for a pydantic model with flat fields, got <class 'int'>"),
        (Address(street="x"), "An elicitation asks for a pydantic model with flat fields, got Address"),
        (RootModel[str], "is not an object with fields"),
        (create_model("Odd", it=(Callable[[], int], ...)), "Elicitation schema Odd cannot be shown as a form: "),
        (model_of("NoSuchThing"), "Elicitation schema Form cannot be shown as a form: "),
    ],
)
def test_what_is_no_model_is_refused(schema: Any, problem: str) -> None:
    with pytest.raises(TypeError) as raised:
        render_elicitation_schema(schema)
    assert problem in str(raised.value)


def test_what_a_model_says_about_itself_is_kept() -> None:
    class Booking(BaseModel):
        """A table."""

        model_config = ConfigDict(extra="forbid", title="Book")

        first: Color = Field(description="The wall")
        second_color: Color = Field(alias="secondColor", title="The other wall")

    assert render_elicitation_schema(Booking) == {
        "type": "object",
        "title": "Book",
        "description": "A table.",
        "additionalProperties": False,
        "properties": {
            "first": {"type": "string", "enum": ["red", "green"], "title": "First", "description": "The wall"},
            "secondColor": {
                "type": "string",
                "enum": ["red", "green"],
                "title": "The other wall",
                "description": "A colour.",
            },
        },
        "required": ["first", "secondColor"],
    }


def test_whoever_changes_a_rendered_schema_changes_nothing_else() -> None:
    render_elicitation_schema(Address)["properties"].clear()
    assert "street" in render_elicitation_schema(Address)["properties"]


def test_a_model_without_fields_is_a_question_of_yes_or_no() -> None:
    class Confirm(BaseModel):
        pass

    assert render_elicitation_schema(Confirm)["properties"] == {}
    assert outcome_of(types.ElicitResult(action="accept"), Confirm) == AcceptedElicitation[Confirm](data=Confirm())


# Answers.


def answered(field: Any, value: Any = ...) -> Any:
    """The value that an answer has in the model."""
    content = {} if value is ... else {"it": value}
    model = model_of(field)
    outcome = outcome_of(types.ElicitResult(action="accept", content=content), model)
    assert isinstance(outcome, AcceptedElicitation)
    assert isinstance(outcome.data, model)
    return outcome.data.it  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (str, "Ada", "Ada"),
        (datetime.date, "2025-12-26", datetime.date(2025, 12, 26)),
        (int, 3, 3),
        (int, "3", 3),
        (float, 3, 3.0),
        (Color, "green", Color.GREEN),
        (Size, 2, Size.LARGE),
        (list[Color], ["green", "red"], [Color.GREEN, Color.RED]),
        (set[Literal["a", "b"]], ["a", "a"], {"a"}),
        ((Color, Color.RED), ..., Color.RED),
        (int | None, ..., None),
        (int | None, None, None),
        ((int | None, 3), ..., 3),
        ((int | None, 3), None, None),
    ],
)
def test_an_answer_has_the_types_of_the_model(field: Any, value: Any, expected: Any) -> None:
    assert answered(field, value) == expected
    assert type(answered(field, value)) is type(expected)


def test_also_that_of_a_strict_model() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)

        on: datetime.date
        color: Color

    content: Any = {"on": "2025-12-26", "color": "red"}
    outcome = outcome_of(types.ElicitResult(action="accept", content=content), Strict)
    assert outcome == AcceptedElicitation[Strict](data=Strict(on=datetime.date(2025, 12, 26), color=Color.RED))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (bool, "maybe"),
        (int, 1.5),
        (int, None),
        (str, ...),
        (datetime.date, "tomorrow"),
        (Color, "blue"),
        (list[Color], ["blue"]),
        (float, "nan"),
        (float, math.inf),
        (float | None, "-inf"),
        (Annotated[int, Field(le=5)], 6),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(field: Any, value: Any) -> None:
    with pytest.raises(ValueError) as raised:
        answered(field, value)
    assert isinstance(raised.value, MismatchedAnswerError)
    assert str(raised.value) == MISMATCH
    assert "it" in str(raised.value.__cause__)


def test_the_model_reads_why_its_call_failed() -> None:
    assert issubclass(MismatchedAnswerError, ToolError)


def test_who_does_not_answer_sends_no_content() -> None:
    assert outcome_of(types.ElicitResult(action="decline"), Address) == DeclinedElicitation()
    assert outcome_of(types.ElicitResult(action="cancel"), Address) == CancelledElicitation()
