"""Annotations that are text, or name what is defined elsewhere, later, or nowhere."""

import asyncio
import gc
import weakref
from dataclasses import dataclass
from typing import Any

import postponed
import pytest
from pydantic import BaseModel
from typed_examples import fits

from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.utilities.context_injection import find_context_parameter
from mcp.server.mcpserver.utilities.func_metadata import func_metadata
from mcp.types import CallToolResult


def test_postponed_annotations_are_those_of_their_module() -> None:
    metadata = func_metadata(postponed.of_the_module)
    schema = metadata.arg_model.model_json_schema()

    assert schema["properties"]["spot"] == {"$ref": "#/$defs/Spot"}
    assert schema["properties"]["count"] == {"default": 1, "minimum": 1, "title": "Count", "type": "integer"}
    assert metadata.validate_arguments({"spot": {"x": 1}}) == {"spot": postponed.Spot(x=1), "count": 1}
    result = metadata.convert_result([postponed.Spot(x=1)])
    assert isinstance(result, CallToolResult)
    assert result.structured_content == {"result": [{"x": 1}]}


def test_a_decorator_of_another_module_changes_nothing() -> None:
    """`from __future__` is a matter of the module; a function here that is wrapped there keeps the names of here."""

    @dataclass
    class Local:
        n: int

    @postponed.wrapped_elsewhere
    def f(it: "Local", there: "postponed.Spot") -> "list[Local]":
        return [it]

    metadata = func_metadata(f)
    arguments = metadata.validate_arguments({"it": {"n": 1}, "there": {"x": 1}})

    assert arguments == {"it": Local(1), "there": postponed.Spot(x=1)}
    assert metadata.arg_model.model_json_schema()["title"] == "fArguments"
    assert metadata.output_schema is not None
    assert metadata.output_schema["properties"]["result"]["items"] == {"$ref": "#/$defs/Local"}


def test_classes_of_the_function_around_are_found_also_within_each_other() -> None:
    metadata, outer = postponed.with_local_classes()

    given = {"outer": {"inner": {"n": 1}, "more": [{"n": 2}]}, "note": {"text": "a"}}
    arguments = metadata.validate_arguments(given)
    assert isinstance(arguments["outer"], outer)
    assert arguments["outer"].inner.n == 1
    assert fits(given, metadata.arg_model.model_json_schema())
    result = metadata.convert_result(arguments["outer"])
    assert isinstance(result, CallToolResult)
    assert result.structured_content == given["outer"]


def test_models_of_the_function_around_are_found_too() -> None:
    metadata = postponed.with_local_models()

    arguments = metadata.validate_arguments({"it": [{"inner": {"n": 1}}]})
    result = metadata.convert_result({"first": arguments["it"][0]})
    assert isinstance(result, CallToolResult)
    assert result.structured_content == {"first": {"inner": {"n": 1}}}


def test_a_model_may_name_one_that_comes_after_it_in_the_same_function() -> None:
    class First(BaseModel):
        other: "Second | None" = None

    class Second(BaseModel):
        n: int

    def f(it: First) -> First:
        return it

    metadata = func_metadata(f)
    result = metadata.convert_result(First.model_validate({"other": {"n": 1}}))
    assert isinstance(result, CallToolResult)
    assert result.structured_content == {"other": {"n": 1}}
    assert metadata.validate_arguments({"it": {"other": {"n": 1}}})["it"].other == Second(n=1)


def test_a_name_may_be_defined_after_the_function_is_registered() -> None:
    metadata = postponed.read_too_early

    assert metadata.validate_arguments({"it": {"n": 1}}) == {"it": postponed.Later(n=1)}
    assert metadata.output_schema is not None
    assert metadata.output_schema["title"] == "Later"


def test_a_name_that_never_comes_is_named_together_with_the_parameter() -> None:
    metadata = func_metadata(postponed.of_never)

    with pytest.raises(InvalidSignature) as caught:
        metadata.complete()
    assert str(caught.value) == (
        "Function of_never: cannot evaluate the annotation of parameter 'it': "
        "the name 'Nowhere' is not defined where the function is"
    )
    with pytest.raises(InvalidSignature):
        metadata.validate_arguments({"it": 1})


def test_text_that_is_no_expression_is_refused() -> None:
    def f(it: int) -> None: ...

    f.__annotations__["it"] = "a type"

    with pytest.raises(InvalidSignature, match="parameter 'it': 'a type' is no Python expression"):
        func_metadata(f)


def test_variables_that_a_function_closes_over_are_found_wherever_it_is_registered() -> None:
    def maker() -> Any:
        class Model(BaseModel):
            n: int

        def f(it: "Model") -> int:
            return Model(n=1).n

        return f

    assert func_metadata(maker()).validate_arguments({"it": {"n": 2}})["it"].n == 2


def test_what_else_was_local_is_let_go_of_when_every_annotation_is_read() -> None:
    class Large: ...

    def register() -> tuple[Any, "weakref.ref[Large]"]:
        large = Large()

        def f(it: "int") -> "int":
            return it

        return func_metadata(f), weakref.ref(large)

    for first, second in (("arg_model", "output_schema"), ("output_schema", "arg_model")):
        metadata, large = register()
        getattr(metadata, first)
        getattr(metadata, second)
        gc.collect()
        assert large() is None


def test_a_variable_that_has_no_value_yet_is_no_problem() -> None:
    def f(it: "int") -> Any:
        return late

    metadata = func_metadata(f)
    late = 1

    assert metadata.validate_arguments({"it": 3}) == {"it": 3}
    assert f(late) == 1


@pytest.mark.parametrize("function", [postponed.for_type_checkers, postponed.for_type_checkers_subscripted])
def test_a_context_that_exists_for_type_checkers_only_is_recognised(function: Any) -> None:
    assert find_context_parameter(function) == "ctx"
    metadata = func_metadata(function, skip_names=["ctx"])
    assert list(metadata.arg_model.model_json_schema()["properties"]) == ["a"]


def test_annotations_are_found_in_coroutines_as_well() -> None:
    async def outer() -> dict[str, Any]:
        class Local(BaseModel):
            n: int

        async def f(it: "Local") -> "Local":
            return it

        metadata = func_metadata(f)
        return await metadata.call_fn(f, True, metadata.validate_arguments({"it": {"n": 1}}))

    assert asyncio.run(outer()).n == 1  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
