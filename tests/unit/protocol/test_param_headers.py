"""Tool arguments in `Mcp-Param-*` headers: which annotations are valid, what a client sends, what a server checks."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.datastructures import Headers

from mcp.protocol.param_headers import check_param_headers, find_invalid, header_map, param_headers

STRING = {"type": "string", "x-mcp-header": "Region"}


def properties(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members}


def annotated(name: Any = "Region", **keywords: Any) -> dict[str, Any]:
    return properties(region={"type": "string", **keywords, "x-mcp-header": name})


# ------------------------------------------------------------------ the schema


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (annotated(), {("region",): "Region"}),
        (annotated(type="integer"), {("region",): "Region"}),
        (annotated(type="boolean"), {("region",): "Region"}),
        (annotated("!#$%&'*+-.^_`|~09azAZ"), {("region",): "!#$%&'*+-.^_`|~09azAZ"}),
        (properties(a=STRING, b={"type": "string", "x-mcp-header": "B"}), {("a",): "Region", ("b",): "B"}),
        (properties(a=properties(b=properties(c=STRING))), {("a", "b", "c"): "Region"}),
        (properties(properties=properties(properties=STRING)), {("properties", "properties"): "Region"}),
        # A property may be called like the annotation, and data is no schema.
        (properties(**{"x-mcp-header": {"type": "string"}}), {}),
        (properties(**{"x-mcp-header": STRING}), {("x-mcp-header",): "Region"}),
        (properties(a={"default": STRING, "examples": [STRING], "const": STRING, "enum": [STRING]}), {}),
        (properties(a={"type": "string", "vendor-extension": {"x-mcp-header": "Region"}}), {}),
        ({}, {}),
        ({"properties": {}}, {}),
    ],
)
def test_valid_annotations_are_mapped_by_their_path(schema: object, expected: dict[tuple[str, ...], str]) -> None:
    assert find_invalid(schema) is None
    assert header_map(schema) == expected


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (annotated(""), "must be an HTTP token (letters, digits and !#$%&'*+-.^_`|~), got an empty string"),
        (annotated("My Region"), "got 'My Region'"),
        (annotated("Region:"), "got 'Region:'"),
        (annotated("Región"), r"got 'Regi\xf3n'"),
        (annotated("Region\r\nX-Injected: 1"), r"got 'Region\r\nX-Injected: 1'"),
        (annotated("Region\n"), r"got 'Region\n'"),
        (annotated("\0"), r"got '\x00'"),
        (annotated("Region\x7f"), r"got 'Region\x7f'"),
        (annotated(None), "must be a string, got NoneType"),
        (annotated(5), "must be a string, got int"),
        (annotated(["Region"]), "must be a string, got list"),
        (annotated(type="number"), "of the one type integer, string or boolean, got 'number'"),
        (annotated(type="object"), "got 'object'"),
        (annotated(type="array"), "got 'array'"),
        (annotated(type="null"), "got 'null'"),
        (annotated(type=["string", "null"]), "got ['string', 'null']"),
        (properties(region={"x-mcp-header": "Region"}), "got none"),
        (properties(region={"anyOf": [{"type": "string"}], "x-mcp-header": "Region"}), "got none"),
        (properties(region={"$ref": "#/$defs/R", "x-mcp-header": "Region"}), "got none"),
        (properties(a=STRING, b=STRING), "properties/b: x-mcp-header 'Region' is used more than once"),
        (properties(a=STRING, b={"type": "string", "x-mcp-header": "REGION"}), "'REGION' is used more than once"),
        (properties(a=STRING, b=properties(c=STRING)), "properties/b/properties/c: x-mcp-header 'Region' is used more"),
    ],
)
def test_an_annotation_that_breaks_a_constraint_is_found(schema: object, reason: str) -> None:
    found = find_invalid(schema)
    assert found is not None
    assert found.startswith("properties/")
    assert reason in found
    assert found.isascii()


UNREACHABLE = "x-mcp-header is only allowed on properties that are reached through `properties` alone"


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "string", "x-mcp-header": "Region"}, "the root of the schema"),
        ({"items": STRING}, "items"),
        ({"items": [STRING]}, "items/0"),
        ({"items": properties(a=STRING)}, "items/properties/a"),
        ({"prefixItems": [{}, STRING]}, "prefixItems/1"),
        ({"additionalItems": STRING}, "additionalItems"),
        ({"unevaluatedItems": STRING}, "unevaluatedItems"),
        ({"contains": STRING}, "contains"),
        ({"additionalProperties": STRING}, "additionalProperties"),
        ({"unevaluatedProperties": STRING}, "unevaluatedProperties"),
        ({"patternProperties": {"^a": STRING}}, "patternProperties/^a"),
        ({"propertyNames": STRING}, "propertyNames"),
        ({"dependentSchemas": {"a": properties(b=STRING)}}, "dependentSchemas/a/properties/b"),
        ({"dependencies": {"a": properties(b=STRING), "c": ["d"]}}, "dependencies/a/properties/b"),
        ({"contentSchema": STRING}, "contentSchema"),
        ({"oneOf": [properties(a=STRING)]}, "oneOf/0/properties/a"),
        ({"anyOf": [properties(a=STRING)]}, "anyOf/0/properties/a"),
        ({"allOf": [properties(a=STRING)]}, "allOf/0/properties/a"),
        ({"not": properties(a=STRING)}, "not/properties/a"),
        ({"if": properties(a=STRING)}, "if/properties/a"),
        ({"then": properties(a=STRING)}, "then/properties/a"),
        ({"else": properties(a=STRING)}, "else/properties/a"),
        ({"$defs": {"A": STRING}}, "$defs/A"),
        ({"definitions": {"A": properties(a=STRING)}}, "definitions/A/properties/a"),
        (properties(a={"type": "string", "anyOf": [STRING]}), "properties/a/anyOf/0"),
        (properties(a={"type": "array", "items": properties(b=STRING)}), "properties/a/items/properties/b"),
    ],
)
def test_an_annotation_anywhere_else_is_found(schema: object, place: str) -> None:
    assert find_invalid(schema) == f"{place}: {UNREACHABLE}"
    assert header_map(schema) == {}


def test_of_an_invalid_schema_the_valid_annotations_are_kept() -> None:
    number, duplicate = {"type": "number", "x-mcp-header": "B"}, {"type": "string", "x-mcp-header": "REGION"}
    schema = properties(a=STRING, b=number, c=duplicate, d={"type": "string", "x-mcp-header": "D"})
    assert header_map(schema) == {("a",): "Region", ("d",): "D"}


@pytest.mark.parametrize(
    "schema",
    [None, True, 5, "x", [STRING], {"properties": [STRING]}, {"properties": {"a": True}}, {"items": None}, {5: STRING}],
)
def test_what_is_no_schema_holds_no_annotation(schema: object) -> None:
    assert find_invalid(schema) is None
    assert header_map(schema) == {}


def test_a_schema_that_contains_itself_is_refused() -> None:
    for keyword in ("anyOf", "items"):
        schema = properties(a=STRING)
        schema[keyword] = [schema, schema]
        assert find_invalid(schema) == f"{keyword}/0/properties/a: {UNREACHABLE}"
        assert header_map(schema) == {("a",): "Region"}


def test_a_cycle_without_annotations_is_refused_in_time() -> None:
    schema: dict[str, Any] = {}
    schema["properties"] = {"a": schema, "b": schema}
    reason = find_invalid(schema)
    assert reason is not None
    assert "or is a cycle" in reason
    assert header_map(schema) == {}


def test_a_schema_that_multiplies_its_parts_is_refused_in_time() -> None:
    schema: dict[str, Any] = {}
    for _ in range(40):
        schema = {"properties": {"a": schema, "b": schema}}
    reason = find_invalid(schema)
    assert reason is not None
    assert "more than 100000 parts" in reason


def test_a_very_deep_schema_is_refused_without_recursion() -> None:
    schema: dict[str, Any] = STRING
    for _ in range(5000):
        schema = {"properties": {"a": schema}}
    reason = find_invalid(schema)
    assert reason is not None
    assert "200 levels" in reason


# ------------------------------------------------------------------ the client

MAP = {("region",): "Region"}


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("", ""),
        (" us-west1", "=?base64?IHVzLXdlc3Qx?="),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (True, "true"),
        (False, "false"),
        (42, "42"),
        (-7, "-7"),
        (0, "0"),
        (2**53 - 1, "9007199254740991"),
        (-(2**53) + 1, "-9007199254740991"),
        (42.0, "42"),
        (-0.0, "0"),
        (1.5, "1.5"),
    ],
)
def test_a_value_is_mirrored_as_the_specification_converts_it(value: object, header: str) -> None:
    assert param_headers(MAP, {"region": value, "query": "not mirrored"}) == {"Mcp-Param-Region": header}
    assert check_param_headers(MAP, {"region": value}, {"mcp-param-region": header}) is None


@pytest.mark.parametrize("arguments", [{}, {"region": None}, {"region": []}, {"region": {}}, {"region": float("inf")}])
def test_what_is_absent_null_or_no_primitive_has_no_header(arguments: dict[str, Any]) -> None:
    assert param_headers(MAP, arguments) == {}
    assert check_param_headers(MAP, arguments, {}) is None


def test_nested_values_are_read_at_their_exact_path() -> None:
    nested = {("target", "region"): "Region"}
    assert param_headers(nested, {"target": {"region": "a"}, "region": "b"}) == {"Mcp-Param-Region": "a"}
    assert param_headers(nested, {"target": "region"}) == {}
    assert param_headers(nested, {"target": [{"region": "a"}]}) == {}
    assert param_headers(nested, {"target": None}) == {}


@pytest.mark.parametrize("value", [2**53, -(2**53), pytest.param(10**5000, id="huge"), 1e300, float(2**53)])
def test_integers_that_other_languages_cannot_hold_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="Mcp-Param-Region cannot carry the argument 'region'"):
        param_headers(MAP, {"region": value})
    reason = check_param_headers(MAP, {"region": value}, {"mcp-param-region": "9007199254740992"})
    assert reason is not None
    assert "an integer must be within 2**53 - 1 either way" in reason


# ------------------------------------------------------------------ the server


@pytest.mark.parametrize(
    ("arguments", "headers", "reason"),
    [
        ({"region": "a"}, {}, "Mcp-Param-Region header is missing, but the argument 'region' is given"),
        ({"region": ""}, {}, "header is missing"),
        ({"region": False}, {}, "header is missing"),
        ({"region": 0}, {}, "header is missing"),
        ({}, {"mcp-param-region": "a"}, "header is given, but the argument 'region' is absent or null"),
        ({"region": None}, {"mcp-param-region": ""}, "header is given, but the argument 'region' is absent or null"),
        ({"region": "a"}, {"mcp-param-region": "b"}, "header does not match the argument 'region'"),
        ({"region": "a"}, {"mcp-param-region": "A"}, "does not match"),
        ({"region": "a"}, {"mcp-param-region": ""}, "does not match"),
        ({"region": ["a"]}, {"mcp-param-region": "a"}, "does not match"),
        ({"region": True}, {"mcp-param-region": "True"}, "does not match"),
        ({"region": True}, {"mcp-param-region": "1"}, "does not match"),
        ({"region": 1}, {"mcp-param-region": "true"}, "does not match"),
        ({"region": 42}, {"mcp-param-region": "43"}, "does not match"),
        ({"region": 42}, {"mcp-param-region": "42.0000000000000000000000001"}, "does not match"),
        ({"region": 42}, {"mcp-param-region": ""}, "does not match"),
        ({"region": 42}, {"mcp-param-region": "0x2a"}, "does not match"),
        ({"region": 42}, {"mcp-param-region": "4_2"}, "does not match"),
        ({"region": 42}, {"mcp-param-region": "1e999"}, "does not match"),
        ({"region": 42}, {"mcp-param-region": "9" * 100_000}, "does not match"),
        ({"region": 42}, {"mcp-param-region": "NaN"}, "does not match"),
        ({"region": "42"}, {"mcp-param-region": "42.0"}, "does not match"),
        ({"region": "Hello"}, {"mcp-param-region": "=?base64?SGVsbG8?="}, "header is malformed"),
        ({"region": "Hello"}, {"mcp-param-region": "=?base64?SGVs!!!bG8=?="}, "header is malformed"),
        ({"region": "é"}, {"mcp-param-region": "é"}, "header is malformed"),
    ],
)
def test_headers_that_do_not_agree_with_the_body_are_found(
    arguments: dict[str, Any], headers: dict[str, str], reason: str
) -> None:
    found = check_param_headers(MAP, arguments, headers)
    assert found is not None
    assert found.startswith("Mcp-Param-Region ")
    assert reason in found


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("Hello", "=?base64?SGVsbG8=?="),
        ("SGVsbG8=", "SGVsbG8="),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
        (42, "42.0"),
        (42, "4.2e1"),
        (42, "042"),
        (42, "=?base64?NDI=?="),
        (42.0, "42"),
        (0, "-0"),
        (True, "=?base64?dHJ1ZQ==?="),
    ],
)
def test_other_spellings_of_the_same_value_agree(value: object, header: str) -> None:
    assert check_param_headers(MAP, {"region": value}, {"mcp-param-region": header}) is None


def test_the_case_of_header_names_does_not_matter() -> None:
    for name in ("mcp-param-region", "MCP-PARAM-REGION", "Mcp-Param-Region"):
        assert check_param_headers({("region",): "REGION"}, {"region": "a"}, {name: "a"}) is None
        assert check_param_headers(MAP, {"region": "a"}, {name: "b"}) is not None


def test_headers_without_an_annotation_are_ignored() -> None:
    headers = {"mcp-param-other": "x", "region": "b", "mcp-param-": "c", "accept": "*/*", "mcp-param-region": "a"}
    assert check_param_headers(MAP, {"region": "a"}, headers) is None
    assert check_param_headers({}, {"region": "a"}, headers) is None


def test_a_header_that_is_given_twice_is_refused_even_with_one_value() -> None:
    headers = Headers(raw=[(b"mcp-param-region", b"a"), (b"mcp-param-region", b"a")])
    assert check_param_headers(MAP, {"region": "a"}, headers) == "Mcp-Param-Region header is given more than once"


# ------------------------------------------------------------------ properties

texts = st.text(st.characters(exclude_categories=["Cs"]))
primitives = st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts
arguments = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.none() | primitives | st.lists(primitives))
LETTERS = {(letter,): f"X-{letter}" for letter in "abc"}


@given(arguments)
@settings(deadline=None)
def test_a_server_accepts_what_a_client_sends(arguments: dict[str, Any]) -> None:
    headers = param_headers(LETTERS, arguments)
    assert all(value.isascii() and value.isprintable() for value in headers.values())
    assert check_param_headers(LETTERS, arguments, headers) is None


@given(arguments, arguments)
@settings(deadline=None)
def test_a_server_refuses_the_headers_of_other_arguments(sent: dict[str, Any], claimed: dict[str, Any]) -> None:
    expected = param_headers(LETTERS, sent)
    headers = param_headers(LETTERS, claimed)
    refused = check_param_headers(LETTERS, sent, headers) is not None
    if expected == headers:
        assert not refused
    elif all(not isinstance(value, str) for value in [*sent.values(), *claimed.values()]):
        assert refused


keywords = st.sampled_from(
    ["properties", "items", "anyOf", "$defs", "not", "type", "x-mcp-header", "default", "$ref", "string", "a"]
)
schemas = st.recursive(
    st.sampled_from(["string", "number", "Region", "", None, True, 5]),
    lambda inner: st.dictionaries(keywords, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=20,
)


@given(schemas)
@settings(deadline=None)
def test_any_json_value_is_judged_and_mapped_without_an_error(schema: object) -> None:
    reason = find_invalid(schema)
    mapped = header_map(schema)
    assert reason is None or reason.isascii()
    for path in mapped:
        holder: Any = schema
        for key in path:
            holder = holder["properties"][key]
        assert holder["x-mcp-header"] == mapped[path]
        assert holder["type"] == "string"
