"""What schema generators do where JSON or JSON Schema has no word for something."""

import decimal
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel, Field, TypeAdapter
from pydantic.json_schema import PydanticJsonSchemaWarning
from typed_examples import fits, result_of, returning, taking

from mcp.server.mcpserver.functions.schemas import InputJsonSchema
from mcp.server.mcpserver.utilities.func_metadata import StrictJsonSchema, func_metadata


class Price(BaseModel):
    amount: decimal.Decimal
    limit: Annotated[float, Field(allow_inf_nan=True)] = float("inf")
    raw: bytes = b"\xff"


def test_a_decimal_may_be_read_as_a_number_or_a_string() -> None:
    schema = returning(Price).output_schema

    assert schema is not None
    assert [choice["type"] for choice in schema["properties"]["amount"]["anyOf"]] == ["number", "string"]
    price = Price.model_construct(amount=decimal.Decimal("1.5"), limit=2.0, raw=b"a")
    assert result_of(Price, price).structured_content == {"amount": "1.5", "limit": 2.0, "raw": "a"}
    assert fits({"amount": 1.5}, schema)


def test_a_default_that_json_cannot_express_is_left_out_of_an_output_schema_too() -> None:
    schema = returning(Price).output_schema

    assert schema is not None
    assert "default" not in schema["properties"]["limit"]
    assert "default" not in schema["properties"]["raw"]
    assert schema["required"] == ["amount"]


def test_the_strict_generator_raises_what_others_keep_quiet_about() -> None:
    choice: TypeAdapter[Any] = TypeAdapter(int | Callable[[], None])

    assert choice.json_schema() == {"type": "integer"}
    with pytest.raises(ValueError, match="JSON schema warning: skipped-choice - "):
        choice.json_schema(schema_generator=StrictJsonSchema)
    with pytest.raises(ValueError, match="JSON schema warning: non-serializable-default - "):
        TypeAdapter(Price).json_schema(schema_generator=StrictJsonSchema)


def test_a_union_of_which_a_part_has_no_schema_lists_the_rest_in_arguments_and_nothing_in_results() -> None:
    partly = int | Callable[[], None]

    assert taking(partly).arg_model.model_json_schema()["properties"] == {"it": {"title": "It", "type": "integer"}}
    assert returning(partly).output_schema is None


def test_what_else_pydantic_warns_of_it_still_warns_of() -> None:
    class Loud(InputJsonSchema):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.ignored_warning_kinds = set()

    choice: TypeAdapter[Any] = TypeAdapter(int | Callable[[], None])
    with pytest.warns(PydanticJsonSchemaWarning, match="skipped-choice"):
        choice.json_schema(schema_generator=Loud)


def test_a_typed_dict_that_names_nothing_local_is_taken_as_it_is() -> None:
    class Empty(TypedDict):
        pass

    def f(it: list[dict[str, Any]]) -> Empty:
        return Empty()

    assert func_metadata(f).output_schema == {"properties": {}, "title": "Empty", "type": "object"}
