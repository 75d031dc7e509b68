"""What becomes of the value that a function returned."""

import math
import subprocess
import sys
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import BaseModel, PlainSerializer, ValidationError, WithJsonSchema
from pydantic_core import PydanticSerializationError
from typed_examples import Place, Point, fits, result_of, returning, texts_of

from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.functions import arguments, structured
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata, func_metadata
from mcp.types import CallToolResult, InputRequiredResult, TextContent


class Weather(BaseModel):
    temperature: float
    humidity: float | None = None


class Detailed(Place):
    secret: str = "s"


def test_a_value_that_is_not_what_was_promised_is_an_error_that_names_it() -> None:
    with pytest.raises(ValidationError) as caught:
        result_of(Weather, {"humidity": 0.5})
    assert str(caught.value).startswith("1 validation error for Weather\ntemperature\n  Field required")

    with pytest.raises(
        ValidationError, match="1 validation error for fOutput\nresult\n  Input should be a valid integer"
    ):
        result_of(int, "x")
    with pytest.raises(ValidationError, match="a\n  Input should be a valid integer"):
        result_of(dict[str, int], {"a": "x"})


NOT_FINITE = [math.nan, math.inf, -math.inf]


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize(
    ("annotation", "returned", "where"),
    [
        (float, "{}", "['result']"),
        (list[float], "[1.0, {}]", "['result'][1]"),
        (dict[str, float], "{{'a': {}}}", "['a']"),
        (Weather, "{{'temperature': {}}}", "['temperature']"),
    ],
)
def test_a_number_that_json_does_not_have_is_an_error_where_a_number_was_promised(
    annotation: Any, returned: str, where: str, value: float
) -> None:
    number = f"float('{value}')"

    with pytest.raises(ValueError, match="does not fit the output schema") as caught:
        result_of(annotation, eval(returned.format(number)))
    assert f"at {where}; JSON has no NaN and no infinity, which become null" in str(caught.value)


@pytest.mark.parametrize("value", NOT_FINITE)
def test_elsewhere_it_becomes_null_in_structure_and_text(value: float) -> None:
    anything = result_of(dict[str, Any], {"a": value})
    assert anything.structured_content == {"a": None}
    assert texts_of(anything) == ['{\n  "a": null\n}']

    optional = result_of(float | None, value)
    assert optional.structured_content == {"result": None}
    assert texts_of(optional) == []

    untyped = result_of(dict, {"a": [value]})
    assert texts_of(untyped) == ['{\n  "a": [\n    null\n  ]\n}']


def test_a_null_that_was_promised_is_no_error() -> None:
    result = result_of(list[Weather], [Weather(temperature=1.5)])

    assert result.structured_content == {"result": [{"temperature": 1.5, "humidity": None}]}


def test_an_object_that_changed_since_it_was_validated_is_held_against_the_schema() -> None:
    spoilt = Weather(temperature=1.5)
    spoilt.temperature = "warm"  # type: ignore[assignment]

    for annotation, value in ((Weather, spoilt), (list[Weather], [spoilt])):
        with pytest.raises(ValueError, match='"warm" is not of type "number"'):
            result_of(annotation, value)

    still_fits = Weather(temperature=1.5)
    still_fits.temperature = 2
    assert result_of(Weather, still_fits).structured_content == {"temperature": 2, "humidity": None}


def test_the_fields_of_dataclasses_are_validated_at_every_depth() -> None:
    @dataclass
    class Holder:
        points: list[Point]

    spoilt = Point("x")  # type: ignore[arg-type]
    for annotation, value in ((Point, spoilt), (list[Point], [spoilt]), (Holder, Holder([spoilt]))):
        with pytest.raises(ValidationError, match="valid integer"):
            result_of(annotation, value)
    assert result_of(list[Point], [Point("3")]).structured_content["result"][0]["x"] == 3  # type: ignore[arg-type]


def test_a_subclass_shows_what_the_return_type_shows() -> None:
    """In a list, fields that the return type does not have stay inside, in the text as in the structure."""
    result = result_of(list[Place], [Detailed(x=1)])

    assert result.structured_content == {"result": [{"x": 1, "y": 0}]}
    assert "secret" not in texts_of(result)[0]


def test_a_subclass_on_its_own_is_shown_whole() -> None:
    result = result_of(Place, Detailed(x=1))

    assert result.structured_content == {"x": 1, "y": 0, "secret": "s"}
    assert '"secret": "s"' in texts_of(result)[0]


def test_what_is_serialised_in_a_way_of_its_own_is_listed_and_shown_that_way() -> None:
    def joined(items: list[str]) -> str:
        return ", ".join(items)

    metadata = returning(Annotated[list[str], PlainSerializer(joined)])
    result = metadata.convert_result(["a", "b"])

    assert isinstance(result, CallToolResult)
    assert metadata.output_schema is not None
    assert metadata.output_schema["properties"]["result"]["type"] == "string"
    assert result.structured_content == {"result": "a, b"}
    assert texts_of(result) == ['"a, b"']
    assert fits(result.structured_content, metadata.output_schema)


def test_a_list_that_is_serialised_to_one_of_another_length_is_shown_as_it_is_sent() -> None:
    def distinct(items: list[int]) -> list[int]:
        return sorted(set(items))

    result = result_of(Annotated[list[int], PlainSerializer(distinct)], [2, 2, 1])

    assert result.structured_content == {"result": [1, 2]}
    assert texts_of(result) == ["1", "2"]


def test_half_a_surrogate_pair_is_an_error_and_not_a_broken_message() -> None:
    for annotation, value in ((str, "\ud83d"), (Any, "\ud83d"), (dict[str, str], {"a": "\ud83d"}), (Any, ["a\ud83d"])):
        with pytest.raises((PydanticSerializationError, UnicodeEncodeError), match="surrogates not allowed"):
            result_of(annotation, value)
    assert texts_of(result_of(str, "\U0001f600")) == ["\U0001f600"]


def test_words_that_json_does_not_have_are_no_problem_within_strings() -> None:
    assert result_of(str, "NaN").structured_content == {"result": "NaN"}
    assert result_of(dict[str, str], {"a": "-Infinity"}).structured_content == {"a": "-Infinity"}


def test_bytes_of_a_model_follow_its_own_configuration() -> None:
    class Blob(BaseModel):
        data: bytes

    class Base64Blob(BaseModel, ser_json_bytes="base64"):
        data: bytes

    assert result_of(Blob, Blob(data=b"a")).structured_content == {"data": "a"}
    assert result_of(Base64Blob, Base64Blob(data=b"\xff")).structured_content == {"data": "_w=="}
    with pytest.raises(UnicodeDecodeError, match="invalid utf-8"):
        result_of(Blob, Blob(data=b"\xff"))


def test_a_reference_in_a_schema_is_never_fetched() -> None:
    class Elsewhere(BaseModel):
        n: Annotated[float, WithJsonSchema({"$ref": "http://127.0.0.1:9/schema.json"})]

    with pytest.raises(ValueError, match="schemas are never fetched"):
        result_of(Elsewhere, Elsewhere(n=math.nan))


def test_slots_and_properties_are_no_defaults() -> None:
    @dataclass(slots=True)
    class Slotted:
        a: int
        b: int = 3

    class WithProperty:
        a: int

        @property
        def b(self) -> int:
            return 3

    WithProperty.__annotations__["b"] = int
    thing = WithProperty()
    thing.a = 1
    for annotation, value in ((Slotted, Slotted(1)), (WithProperty, thing)):
        schema = returning(annotation).output_schema
        assert schema is not None
        assert schema["required"] == ["a", "b"]
        assert result_of(annotation, value).structured_content == {"a": 1, "b": 3}


def test_attributes_may_have_any_name() -> None:
    @dataclass
    class Odd:
        json: int
        model_config: str
        field_json: int

    assert result_of(Odd, Odd(1, "a", 2)).structured_content == {"json": 1, "model_config": "a", "field_json": 2}


def test_what_is_no_attribute_of_a_class_is_not_shown() -> None:
    @dataclass
    class Mixed:
        a: int
        _hidden: int = 0
        shared: ClassVar[int] = 1
        start: InitVar[int] = 2
        _: KW_ONLY
        b: int = 3

    assert result_of(Mixed, Mixed(1)).structured_content == {"a": 1, "b": 3}


# Results that the function makes itself

READY = CallToolResult(content=[TextContent(text="ready")], structured_content={"x": 1}, _meta={"a": 1})


def test_a_ready_result_is_taken_as_it_is() -> None:
    metadata = returning(CallToolResult)

    assert metadata.output_schema is None
    assert metadata.convert_result(READY) is READY
    assert returning(Any).convert_result(READY) is READY
    assert returning(CallToolResult, structured_output=True).output_schema is None


def test_an_annotated_result_lists_what_it_promises_and_is_held_to_it() -> None:
    metadata = returning(Annotated[CallToolResult, Place])

    assert metadata.output_schema == returning(Place).output_schema
    assert metadata.convert_result(READY) is READY
    for content in ({"y": 1}, None):
        with pytest.raises(ValidationError, match="validation error for Place"):
            metadata.convert_result(CallToolResult(content=[], structured_content=content))
    failed = CallToolResult(content=[], is_error=True)
    assert metadata.convert_result(failed) is failed


@pytest.mark.parametrize(
    ("promise", "content"), [(int, {"result": 1}), (list[int], {"result": [1]}), (dict[str, int], {"a": 1})]
)
def test_it_can_promise_any_type(promise: Any, content: dict[str, Any]) -> None:
    ready = CallToolResult(content=[], structured_content=content)

    assert returning(Annotated[CallToolResult, promise]).convert_result(ready) is ready


@pytest.mark.parametrize("annotation", [CallToolResult | str, CallToolResult | None])
def test_a_result_that_may_be_one_or_not_is_refused(annotation: Any) -> None:
    with pytest.raises(InvalidSignature) as caught:
        returning(annotation)
    assert str(caught.value) == (
        "Function f: CallToolResult cannot be used in Union or Optional types. "
        "To return empty results, use: CallToolResult(content=[])"
    )


def test_questions_are_taken_as_they_are() -> None:
    questions = InputRequiredResult(request_state="s")

    for annotation in (InputRequiredResult, InputRequiredResult | str, InputRequiredResult | CallToolResult, str):
        assert returning(annotation).convert_result(questions) is questions
    assert returning(InputRequiredResult).output_schema is None
    assert returning(InputRequiredResult | CallToolResult).output_schema is None
    assert returning(InputRequiredResult | int | None).output_schema == returning(int | None).output_schema


def test_structure_needs_a_return_type() -> None:
    def f() -> Any: ...

    f.__annotations__.clear()

    assert func_metadata(f).output_schema is None
    with pytest.raises(InvalidSignature, match="Function f: return annotation required for structured output"):
        func_metadata(f, structured_output=True)


# What is worked out when


def test_registering_a_common_function_builds_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model is half a millisecond, and a server may have hundreds of tools."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("built at registration")

    def f(query: str, limit: int = 10, tags: list[str] | None = None, *, mode: Annotated[str, "how"] = "") -> Weather:
        return Weather(temperature=limit)

    with monkeypatch.context() as patch:
        for module in (arguments, structured):
            patch.setattr(module, "create_model", refuse)
        metadata = func_metadata(f)
    assert metadata.validate_arguments({"query": "a"})["limit"] == 10
    assert metadata.output_schema is not None


def test_the_attributes_are_there_when_they_are_looked_at() -> None:
    def f(a: int) -> int:
        return a

    metadata = func_metadata(f)

    assert "wrap_output=True" in repr(metadata)
    assert metadata.model_copy().output_schema == func_metadata(f).output_schema
    assert metadata.model_copy(deep=True).validate_arguments({"a": "1"}) == {"a": 1}
    assert metadata == metadata.model_copy()
    assert metadata.model_dump()["wrap_output"] is True
    with pytest.raises(AttributeError):
        metadata.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_metadata_can_be_made_of_its_parts() -> None:
    def f(a: int) -> list[int]:
        return [a]

    made = func_metadata(f)
    metadata = FuncMetadata(
        arg_model=made.arg_model, output_schema=made.output_schema, output_model=made.output_model, wrap_output=True
    )

    assert metadata.validate_arguments({"a": "1"}) == {"a": 1}
    assert metadata.convert_result([1]) == made.convert_result([1])
    assert FuncMetadata(arg_model=made.arg_model).convert_result([1]) == CallToolResult(content=[TextContent(text="1")])


def test_nothing_of_this_is_loaded_by_clients_and_low_level_servers() -> None:
    code = (
        "import sys, mcp; from mcp import Client; from mcp.server import Server; "
        "print(*[name for name in sys.modules if 'mcpserver' in name])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)

    assert shown.stdout.split() == []
