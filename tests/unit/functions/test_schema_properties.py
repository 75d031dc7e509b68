"""What holds for every type and every value."""

from dataclasses import make_dataclass
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, create_model
from typed_examples import fits, returning, taking

from mcp.types import CallToolResult

Typed = tuple[Any, Any]
"""A type, and a strategy of its values as JSON has them."""

SCALARS: st.SearchStrategy[Typed] = st.sampled_from(
    [
        (int, st.integers(-(2**60), 2**60)),
        (float, st.floats(allow_nan=False, allow_infinity=False)),
        (bool, st.booleans()),
        (str, st.text(st.characters(exclude_categories=["Cs"]))),
        (None, st.none()),
        (Literal["a", "b"], st.sampled_from(["a", "b"])),
    ]
)


def _list_of(item: Typed) -> Typed:
    return list[item[0]], st.lists(item[1], max_size=3)


def _dict_of(item: Typed) -> Typed:
    return dict[str, item[0]], st.dictionaries(st.text("abc", max_size=3), item[1], max_size=3)


def _optional(item: Typed) -> Typed:
    return item[0] | None if item[0] is not None else None, st.none() | item[1]


def _model_of(items: list[Typed]) -> Typed:
    fields: dict[str, Any] = {f"field_{number}": (kind, ...) for number, (kind, _) in enumerate(items)}
    model: type[BaseModel] = create_model("Model", **fields)
    return model, st.fixed_dictionaries({f"field_{number}": values for number, (_, values) in enumerate(items)})


def _dataclass_of(items: list[Typed]) -> Typed:
    made = make_dataclass("Record", [(f"field_{number}", kind) for number, (kind, _) in enumerate(items)])
    return made, st.fixed_dictionaries({f"field_{number}": values for number, (_, values) in enumerate(items)})


TYPES: st.SearchStrategy[Typed] = st.recursive(
    SCALARS,
    lambda inner: (
        inner.map(_list_of)
        | inner.map(_dict_of)
        | inner.map(_optional)
        | st.lists(inner, min_size=1, max_size=3).map(_model_of)
        | st.lists(inner, min_size=1, max_size=3).map(_dataclass_of)
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=60)
@given(st.data(), TYPES)
def test_every_value_of_a_type_passes_the_schemas_and_comes_back_as_it_was(data: st.DataObject, typed: Typed) -> None:
    annotation, values = typed
    value: Any = data.draw(values)
    taken, returned = taking(annotation), returning(annotation)

    assert fits({"it": value}, taken.arg_model.model_json_schema())
    result = returned.convert_result(taken.validate_arguments({"it": value})["it"])
    assert isinstance(result, CallToolResult)
    assert returned.output_schema is not None
    assert fits(result.structured_content, returned.output_schema)
    assert (result.structured_content["result"] if returned.wrap_output else result.structured_content) == value
