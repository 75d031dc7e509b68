"""Arguments on their way to a function: names, defaults, descriptions, JSON text."""

import datetime
import enum
import logging
import warnings
from typing import Annotated, Any, Literal

import pytest
from pydantic import AliasChoices, Field, Json, ValidationError
from typed_examples import Colour, Opaque, Pet, Place, Point, Tree, fits, taking

from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.functions.failures import argument_problems
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata, func_metadata


def schema_of(function: Any) -> dict[str, Any]:
    return func_metadata(function).arg_model.model_json_schema()


def test_the_schema_of_the_documentation() -> None:
    def search_books(query: str, limit: int = 10) -> str: ...

    assert schema_of(search_books) == {
        "type": "object",
        "properties": {
            "query": {"title": "Query", "type": "string"},
            "limit": {"default": 10, "title": "Limit", "type": "integer"},
        },
        "required": ["query"],
        "title": "search_booksArguments",
    }


def test_field_describes_and_defaults() -> None:
    def f(
        a: int = Field(5, description="Five.", ge=1),
        b: list[int] = Field(default_factory=list),  # noqa: B008
        c: Annotated[str, Field(description="See.", title="Sea")] = "c",
        d: Place = Place(x=1),  # noqa: B008
        e: Colour = Colour.RED,
        f: int | None = None,
    ) -> None: ...

    schema = schema_of(f)

    assert "required" not in schema
    assert schema["properties"] == {
        "a": {"default": 5, "description": "Five.", "minimum": 1, "title": "A", "type": "integer"},
        "b": {"items": {"type": "integer"}, "title": "B", "type": "array"},
        "c": {"default": "c", "description": "See.", "title": "Sea", "type": "string"},
        "d": {"$ref": "#/$defs/Place", "default": {"x": 1, "y": 0}},
        "e": {"$ref": "#/$defs/Colour", "default": "red"},
        "f": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None, "title": "F"},
    }
    assert func_metadata(f).validate_arguments({}) == {
        "a": 5, "b": [], "c": "c", "d": Place(x=1), "e": Colour.RED, "f": None,
    }  # fmt: skip


def test_a_default_is_a_new_one_in_every_call() -> None:
    def f(a: list[int] = []) -> None: ...  # noqa: B006

    metadata = func_metadata(f)
    metadata.validate_arguments({})["a"].append(1)

    assert metadata.validate_arguments({}) == {"a": []}


@pytest.mark.parametrize("default", [float("inf"), float("nan"), [float("nan")], b"\xff", Opaque()])
def test_a_default_that_json_cannot_express_is_not_listed(default: Any) -> None:
    def f(it: Any = default) -> None: ...

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert schema_of(f)["properties"] == {"it": {"title": "It"}}
    assert func_metadata(f).validate_arguments({})["it"] is default or isinstance(default, list)


def test_a_parameter_without_annotation_is_listed_as_text_and_takes_anything() -> None:
    def f(a: Any, b: Any = 1, *, c: Any = None) -> None: ...

    f.__annotations__.clear()
    metadata = func_metadata(f)

    assert metadata.arg_model.model_json_schema() == {
        "properties": {
            "a": {"title": "a", "type": "string"},
            "b": {"default": 1, "title": "b", "type": "string"},
            "c": {"default": None, "title": "c", "type": "string"},
        },
        "required": ["a"],
        "title": "fArguments",
        "type": "object",
    }
    assert metadata.validate_arguments({"a": [1]}) == {"a": [1], "b": 1, "c": None}


NAMES = """
    json copy schema title self model_config model_dump model_fields model_name validate field_json _private __dunder__
    construct dict name cls _parameters
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_any_name_can_be_that_of_a_parameter(name: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def f({name}: int, other: str = 'o') -> int: return {name}", namespace)
    metadata = func_metadata(namespace["f"])
    schema = metadata.arg_model.model_json_schema()

    assert list(schema["properties"]) == [name, "other"]
    assert schema["properties"][name]["type"] == "integer"
    assert schema["required"] == [name]
    arguments = metadata.validate_arguments({name: "4"})
    assert arguments == {name: 4, "other": "o"}
    assert namespace["f"](**arguments) == 4


def test_names_that_pydantic_would_not_take_do_not_get_in_each_others_way() -> None:
    def f(json: int, field_json: int, _json: int, field__json: int, self: int) -> None: ...

    given = {"json": 1, "field_json": 2, "_json": 3, "field__json": 4, "self": 5}

    assert func_metadata(f).validate_arguments(given) == given


def test_an_alias_is_what_callers_use() -> None:
    def f(x: Annotated[int, Field(alias="X-Id")], json: Annotated[str, Field(alias="j")] = "") -> None: ...

    metadata = func_metadata(f)

    assert list(metadata.arg_model.model_json_schema()["properties"]) == ["X-Id", "j"]
    assert metadata.validate_arguments({"X-Id": "3", "j": "a"}) == {"x": 3, "json": "a"}


def test_a_parameter_may_have_several_aliases() -> None:
    def f(x: Annotated[int, Field(validation_alias=AliasChoices("a", "b"))] = 0, year: int = 1) -> None: ...

    assert func_metadata(f).validate_arguments({"b": 3, "yaer": 1}) == {"x": 3, "year": 1}


def test_a_model_that_was_written_by_hand_works_as_one_that_was_made() -> None:
    class Written(ArgModelBase):
        a: int
        field_json: str = Field("{}", alias="json")

    metadata = FuncMetadata(arg_model=Written)

    assert metadata.output_schema is None
    assert metadata.validate_arguments({"a": "1", "json": "[]"}) == {"a": 1, "json": "[]"}
    assert Written.model_validate({"a": 1}).model_dump_one_level() == {"a": 1, "json": "{}"}
    assert not metadata.wrap_output


# JSON text

LISTS = [
    (list[int], "[1]", [1]),
    (list[int] | None, " [1] ", [1]),
    (list[int] | None, "null", None),
    (int | list[int], "[1]", [1]),
    (dict[str, int], '{"a": 1}', {"a": 1}),
    (Place, '{"x": 1}', Place(x=1)),
    (Place | None, '{"x": 1}', Place(x=1)),
    (Point, '{"x": 1}', Point(1)),
    (Tree, '{"name": "a"}', Tree(name="a")),
    (tuple[int, int], "[1, 2]", (1, 2)),
    (Pet, '{"kind": "cat", "lives": 9}', {"kind": "cat", "lives": 9}),
]


@pytest.mark.parametrize(("annotation", "text", "meant"), LISTS, ids=[str(it[0]) for it in LISTS])
def test_json_text_is_decoded_where_no_string_can_be_meant(annotation: Any, text: str, meant: Any) -> None:
    received = taking(annotation).validate_arguments({"it": text})["it"]

    assert received == meant or received.model_dump() == meant


class Texts(enum.Enum):
    LIST = "[1]"
    OTHER = "other"


STRINGS = [
    (str, "[1]", "[1]"),
    (str | None, "null", "null"),
    (str | list[int], "[1]", "[1]"),
    (list[int] | str, "[1]", "[1]"),
    (Any, '{"a": 1}', '{"a": 1}'),
    (object, "[1]", "[1]"),
    (Literal["[1]", 1], "[1]", "[1]"),
    (Texts, "[1]", Texts.LIST),
    (Annotated[str, Field(min_length=1)], "[1]", "[1]"),
    (Json[list[int]], "[1]", [1]),
    (bytes, "[1]", b"[1]"),
    (dict[str, int] | Literal["null"], "null", "null"),
]


@pytest.mark.parametrize(("annotation", "text", "received"), STRINGS, ids=[str(it[0]) for it in STRINGS])
def test_json_text_is_left_alone_where_a_string_can_be_meant(annotation: Any, text: str, received: Any) -> None:
    assert taking(annotation).validate_arguments({"it": text}) == {"it": received}


@pytest.mark.parametrize("text", ["[1", "{]", "null and void", "[NaN]", '{"x": 1} tail', "x", '"[1]"', "5", "true"])
def test_text_that_is_no_object_and_no_list_is_not_decoded(text: str) -> None:
    metadata = taking(list[Any])

    assert metadata.pre_parse_json({"it": text}) == {"it": text}
    with pytest.raises(ValidationError, match="valid list"):
        metadata.validate_arguments({"it": text})


def test_decoding_leaves_the_arguments_of_the_caller_alone() -> None:
    def f(a: list[int], b: str) -> None: ...

    given = {"a": "[1]", "b": "[1]", "c": "[1]"}

    assert func_metadata(f).pre_parse_json(given) == {"a": [1], "b": "[1]", "c": "[1]"}
    assert given == {"a": "[1]", "b": "[1]", "c": "[1]"}


# Unknown names


def read(topic: str = "", limit: int = 3, since: datetime.date | None = None) -> None: ...


def test_a_slip_is_answered_with_what_was_meant() -> None:
    with pytest.raises(ValidationError) as caught:
        func_metadata(read).validate_arguments({"topik": "x"})

    text = str(caught.value)
    assert "1 validation error for readArguments\ntopik\n" in text
    assert "Unknown argument; did you mean 'topic'?" in text


def test_other_unknown_names_are_ignored_with_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    metadata = func_metadata(read)

    with caplog.at_level(logging.INFO):
        assert metadata.validate_arguments({"topic": "a", "topik": "b", "session": 1})["topic"] == "a"

    assert [record.getMessage() for record in caplog.records] == [
        "read: ignored the unknown arguments 'topik', 'session'",
    ]


def test_any_number_of_unknown_names_is_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    metadata = func_metadata(read)
    names = {f"{number:05}": 1 for number in range(20_000)}

    with caplog.at_level(logging.INFO):
        assert metadata.validate_arguments(names | {"x" * 100_000: 1})["topic"] == ""
        metadata.validate_arguments({"session" * 1_000: 1})

    assert [record.getMessage() for record in caplog.records] == [
        "read: ignored the unknown arguments '00000', '00001', '00002' and 19998 more",
        f"read: ignored the unknown argument '{('session' * 1_000)[:99]}",
    ]


def test_so_many_unknown_names_are_refused_one_by_one_and_no_more() -> None:
    metadata = func_metadata(read, unknown_arguments="refuse")

    with pytest.raises(ValidationError, match="'topic'") as caught:
        metadata.validate_arguments({f"{number:05}": 1 for number in range(20_000)})
    assert caught.value.error_count() == 20


@pytest.mark.parametrize(
    ("count", "ending"), [(20, "[19]: Input"), (5_000, "; ... and 4980 more"), (100_001, "100001 problems")]
)
def test_the_problems_of_arguments_are_told_in_a_sentence_of_bounded_length(count: int, ending: str) -> None:
    def f(numbers: dict[str, list[int]]) -> None: ...

    with pytest.raises(ValidationError) as caught:
        func_metadata(f).validate_arguments({"numbers": {"n" * 500: ["x"] * count}})

    told = argument_problems(caught.value)
    assert ending in told
    assert len(told) < 11_000


def test_what_happens_to_unknown_names_is_one_of_two_words() -> None:
    with pytest.raises(ValueError, match=r"unknown_arguments is one of 'suggest', 'refuse', got 'reject'"):
        func_metadata(read, unknown_arguments="reject")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        (Annotated[str, Field(pattern="(?=a)b")], "look-around"),
        (Annotated[str, Field(pattern="(")], "unclosed group"),
        (Annotated[int, Field(ge="a")], "'ge' must be"),
        (list[Annotated[str, Field(pattern="(")]], "unclosed group"),
        (Annotated[int, Field(examples=[object()])], "Unable to serialize"),
        (Literal[()], "cannot be empty"),
        (dict[str], "Expected two type arguments"),  # pyright: ignore[reportInvalidTypeArguments]
        (5, "5 is no type; expected one such as int"),
        ((int, str), r"\(<class 'int'>, <class 'str'>\) is no type"),
        ([int], "is no type"),
        ({"type": "string"}, "is no type"),
        (dict[str, (int, str)], "is no type"),
    ],
)
def test_an_annotation_that_means_nothing_is_refused_at_once(annotation: Any, problem: str) -> None:
    def f(fine: int, wrong: int) -> None: ...

    f.__annotations__["wrong"] = annotation

    with pytest.raises(InvalidSignature, match=rf"(?s)Function f: .*parameter 'wrong': .*{problem}"):
        func_metadata(f)


def test_a_default_may_stand_in_the_annotation() -> None:
    def f(
        a: Annotated[int, Field(default=3)],
        b: Annotated[list[int], Field(default_factory=list)],
        c: Annotated[int, Field(default=3)] = 4,
        *,
        d: Annotated[int, Field(description="It has none.")],
    ) -> None: ...

    assert schema_of(f)["required"] == ["d"]
    assert schema_of(f)["properties"]["a"] == {"default": 3, "title": "A", "type": "integer"}
    assert func_metadata(f).validate_arguments({"d": 1}) == {"a": 3, "b": [], "c": 4, "d": 1}


@pytest.mark.parametrize("other", [int, Annotated[int, Field(alias="x")], Annotated[int, Field(validation_alias="x")]])
def test_callers_call_no_two_parameters_the_same(other: Any) -> None:
    def f(a: Annotated[int, Field(alias="x")], x: int) -> None: ...

    f.__annotations__["x"] = other

    with pytest.raises(InvalidSignature, match="Function f: callers would call both 'a' and 'x' 'x'"):
        func_metadata(f)


def test_unknown_names_can_be_refused() -> None:
    metadata = func_metadata(read, unknown_arguments="refuse")

    with pytest.raises(ValidationError) as caught:
        metadata.validate_arguments({"session": 1, "sinse": None})

    assert "Unknown argument; expected 'limit', 'since', 'topic'" in str(caught.value)
    assert "Unknown argument; did you mean 'since'?" in str(caught.value)
    assert "additionalProperties" not in metadata.arg_model.model_json_schema()


def test_a_function_without_parameters_takes_no_arguments_that_are_refused() -> None:
    def f() -> None: ...

    with pytest.raises(ValidationError, match="Unknown argument; expected none"):
        func_metadata(f, unknown_arguments="refuse").validate_arguments({"a": 1})
    assert schema_of(f) == {"properties": {}, "title": "fArguments", "type": "object"}
    assert fits({}, schema_of(f))
