"""From what a handler returns to the result on the wire: the result type, the identity, cache hints."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from mcp import types
from mcp.protocol.results import InvalidResultError, ResultShape, Stamp, plain, wire_rules

STAMP = Stamp({"name": "srv", "version": "1"})
IDENTITY = {"io.modelcontextprotocol/serverInfo": {"name": "srv", "version": "1"}}
MODERN = wire_rules("2026-07-28")
HANDSHAKE = wire_rules("2025-11-25")


def wire(shape: ResultShape, result: BaseModel | dict[str, Any] | None) -> dict[str, Any]:
    """The result on the wire, which both ways to it must agree on."""
    text = json.loads(shape.to_json(result, STAMP))
    assert text == json.loads(json.dumps(shape.to_dict(result, STAMP)).replace("NaN", "null"))
    return text


def calls() -> ResultShape:
    return ResultShape(MODERN, model=types.CallToolResult)


def listings(**hint: Any) -> ResultShape:
    return ResultShape(MODERN, model=types.ListToolsResult, cacheable=True, **hint)


# What every modern result carries.


def test_a_model_is_sent_with_its_type_and_the_identity_of_the_server() -> None:
    result = types.CallToolResult(content=[types.TextContent(text="hi")])
    assert wire(calls(), result) == {
        "content": [{"type": "text", "text": "hi"}],
        "isError": False,
        "resultType": "complete",
        "_meta": IDENTITY,
    }


def test_the_identity_is_the_last_member() -> None:
    text = calls().to_json(types.CallToolResult(content=[]), STAMP)
    assert text.endswith(b'"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"srv","version":"1"}}}')


@pytest.mark.parametrize("result", [types.EmptyResult(), {}, None])
def test_an_empty_result_still_has_a_type_and_an_identity(result: types.EmptyResult | dict[str, Any] | None) -> None:
    assert wire(ResultShape(MODERN), result) == {"resultType": "complete", "_meta": IDENTITY}


def test_a_model_without_a_result_type_gets_one() -> None:
    class Vendor(BaseModel):
        answer: int

    assert wire(ResultShape(MODERN), Vendor(answer=42)) == {"answer": 42, "resultType": "complete", "_meta": IDENTITY}


def test_a_handlers_own_meta_is_kept_beside_the_identity() -> None:
    result = types.CallToolResult(content=[], _meta={"acme/x": 1})
    assert wire(calls(), result)["_meta"] == {**IDENTITY, "acme/x": 1}
    assert wire(calls(), {"content": [], "_meta": {"acme/x": 1}})["_meta"] == {**IDENTITY, "acme/x": 1}


def test_a_handler_may_speak_for_another_server() -> None:
    other = {"io.modelcontextprotocol/serverInfo": {"name": "behind", "version": "2"}}
    assert wire(calls(), {"content": [], "_meta": other})["_meta"] == other


def test_meta_of_a_result_must_be_an_object() -> None:
    with pytest.raises(InvalidResultError, match="_meta of a result must be an object, got list"):
        ResultShape(MODERN).to_json({"_meta": []}, STAMP)


def test_a_result_that_asks_for_input_keeps_its_type() -> None:
    shape = ResultShape(MODERN, model=types.CallToolResult, input_required=True)
    asked = types.InputRequiredResult(request_state="s")
    expected = {"resultType": "input_required", "requestState": "s", "_meta": IDENTITY}
    assert wire(shape, asked) == expected
    assert wire(shape, {"resultType": "input_required", "requestState": "s"}) == expected


@pytest.mark.parametrize("shape", [ResultShape(MODERN, model=types.ListToolsResult), ResultShape(MODERN)])
def test_other_methods_cannot_ask_for_input(shape: ResultShape) -> None:
    with pytest.raises(InvalidResultError, match="no request of this method and revision"):
        wire(shape, types.InputRequiredResult(request_state="s"))


def test_older_revisions_cannot_ask_for_input() -> None:
    shape = ResultShape(HANDSHAKE, model=types.CallToolResult, input_required=True)
    with pytest.raises(InvalidResultError, match="no request of this method and revision"):
        wire(shape, types.InputRequiredResult(request_state="s"))


@pytest.mark.parametrize("empty", [types.InputRequiredResult(), types.InputRequiredResult(input_requests={})])
def test_what_asks_for_nothing_is_no_request_for_input(empty: types.InputRequiredResult) -> None:
    shape = ResultShape(MODERN, model=types.CallToolResult, input_required=True)
    with pytest.raises(InvalidResultError, match="must hold inputRequests or requestState"):
        wire(shape, empty)


def test_a_model_with_open_fields_is_sent_whole() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")

    assert wire(ResultShape(MODERN), Open.model_validate({"a": 1, "resultType": "acme/new"})) == {
        "a": 1,
        "resultType": "acme/new",
        "_meta": IDENTITY,
    }


def test_a_model_that_spells_meta_its_own_way_is_stamped_once() -> None:
    class Underscored(BaseModel):
        metadata: dict[str, Any] | None = Field(default=None, alias="_meta")

    class Foreign(BaseModel):
        meta: str = "mine"

    assert wire(ResultShape(MODERN), Underscored(_meta={"a": 1}))["_meta"] == {**IDENTITY, "a": 1}
    assert wire(ResultShape(MODERN), Foreign()) == {"meta": "mine", "resultType": "complete", "_meta": IDENTITY}


# Cache hints.


def test_a_cacheable_result_says_that_it_must_not_be_kept_unless_told_otherwise() -> None:
    listed = wire(listings(), types.ListToolsResult(tools=[]))
    assert (listed["ttlMs"], listed["cacheScope"]) == (0, "private")
    assert wire(listings(), {"tools": []}) == listed


def test_a_hint_fills_in_what_the_handler_left_open() -> None:
    shape = listings(hint=(5000, "public"))
    listed = wire(shape, types.ListToolsResult(tools=[]))
    assert (listed["ttlMs"], listed["cacheScope"]) == (5000, "public")
    assert wire(shape, {"tools": []}) == listed


@pytest.mark.parametrize(
    ("result", "hints"),
    [
        (types.ListToolsResult(tools=[], ttl_ms=7), (7, "public")),
        (types.ListToolsResult(tools=[], ttl_ms=0), (0, "public")),
        (types.ListToolsResult(tools=[], cache_scope="private"), (5000, "private")),
        ({"tools": [], "ttlMs": 7}, (7, "public")),
        (types.ListToolsResult(tools=[], ttl_ms=7, cache_scope="private", _meta={"a": 1}), (7, "private")),
    ],
)
def test_what_a_handler_says_wins_over_the_hint_field_by_field(
    result: BaseModel | dict[str, Any], hints: tuple[int, str]
) -> None:
    listed = wire(listings(hint=(5000, "public")), result)
    assert (listed["ttlMs"], listed["cacheScope"]) == hints


def test_a_hint_does_not_change_the_handlers_own_object() -> None:
    result = types.ListToolsResult(tools=[])
    wire(listings(hint=(5000, "public")), result)
    assert (result.ttl_ms, result.model_fields_set) == (0, {"tools"})


def test_a_question_is_never_cacheable() -> None:
    shape = ResultShape(
        MODERN, model=types.ReadResourceResult, cacheable=True, input_required=True, hint=(5000, "public")
    )
    for asked in (types.InputRequiredResult(request_state="s"), {"resultType": "input_required", "requestState": "s"}):
        assert set(wire(shape, asked)) == {"resultType", "requestState", "_meta"}


def test_a_model_of_ones_own_gets_the_hints_of_a_cacheable_method() -> None:
    class Tools(BaseModel):
        tools: list[int]

    hinted = wire(ResultShape(MODERN, cacheable=True, hint=(9, "public")), Tools(tools=[]))
    assert (hinted["ttlMs"], hinted["cacheScope"]) == (9, "public")


# Handshake revisions.


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_handshake_revisions_know_neither_type_nor_identity_nor_hints(version: str) -> None:
    shape = ResultShape(wire_rules(version), model=types.ListToolsResult, cacheable=True, hint=(9, "public"))
    assert wire(shape, types.ListToolsResult(tools=[])) == {"tools": []}
    assert wire(shape, {"tools": [], "_meta": {"a": 1}}) == {"tools": [], "_meta": {"a": 1}}


# What cannot be a result.


@pytest.mark.parametrize("result", [[], "text", 1, object()])
def test_only_models_dicts_and_none_are_results(result: Any) -> None:
    kind = type(result).__name__
    with pytest.raises(InvalidResultError, match=f"expected a pydantic model, a dict or None, got {kind}"):
        plain(result)


@pytest.mark.parametrize("result", [{}, None, {"content": 5}, {"content": [{"type": "text"}]}])
def test_a_dict_that_is_no_result_of_its_method_is_refused(result: dict[str, Any] | None) -> None:
    with pytest.raises(InvalidResultError, match="not a valid CallToolResult"):
        calls().to_json(result, STAMP)


def test_a_model_of_another_method_is_refused() -> None:
    with pytest.raises(InvalidResultError, match="not a valid CallToolResult"):
        calls().to_json(types.ListToolsResult(tools=[]), STAMP)


def test_a_model_of_ones_own_may_stand_for_the_methods_if_it_says_the_same() -> None:
    class Call(BaseModel):
        content: list[Any]

    class Longer(types.CallToolResult):
        cost: int = 3

    assert wire(calls(), Call(content=[])) == {"content": [], "resultType": "complete", "_meta": IDENTITY}
    assert wire(calls(), Longer(content=[]))["cost"] == 3


def test_a_model_that_was_made_without_validation_is_sent_too() -> None:
    class Unbuilt(types.CallToolResult):
        pass

    assert wire(calls(), Unbuilt.model_construct(content=[]))["content"] == []


def test_a_dict_must_use_the_names_of_the_wire() -> None:
    with pytest.raises(InvalidResultError, match="inputSchema"):
        listings().to_json({"tools": [{"name": "t", "input_schema": {"type": "object"}}]}, STAMP)


@pytest.mark.parametrize("schema", [{}, {"type": "string"}, {"properties": {}}])
def test_the_input_schema_of_a_tool_must_be_that_of_an_object(schema: dict[str, Any]) -> None:
    good = types.Tool(name="good", input_schema={"type": "object"})
    bad = types.Tool(name="bad", input_schema=schema)
    reason = 'the inputSchema of tool \'bad\' must have "type": "object" at its root'
    for result in (
        types.ListToolsResult(tools=[good, bad]),
        types.ListToolsResult(tools=[good, bad], _meta={"a": 1}),
        {"tools": [{"name": "bad", "inputSchema": schema}]},
    ):
        with pytest.raises(InvalidResultError, match=reason):
            listings().to_json(result, STAMP)


def test_a_dict_is_sent_as_it_is_and_not_changed() -> None:
    given: dict[str, Any] = {"content": [], "acme": {"kept": True}}
    sent = wire(calls(), given)
    assert sent == {"content": [], "acme": {"kept": True}, "resultType": "complete", "_meta": IDENTITY}
    assert given == {"content": [], "acme": {"kept": True}}


def test_a_vendor_dict_of_unknown_type_is_not_checked_against_the_method() -> None:
    assert wire(calls(), {"resultType": "acme/task", "taskId": "t"})["taskId"] == "t"


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_text_without_a_utf8_form_is_an_error_both_ways(text: str) -> None:
    result = types.CallToolResult(content=[types.TextContent(text=text)])
    with pytest.raises(ValueError):
        calls().to_json(result, STAMP)
    with pytest.raises(ValueError):
        calls().to_json({"content": [], "structuredContent": text}, STAMP)


# Both ways give the same JSON.

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def without_nan(value: Any) -> Any:
    """What JSON can say of a value: NaN and infinities become null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [without_nan(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


@given(JSON_VALUES, st.none() | st.dictionaries(st.text(min_size=1), JSON_VALUES, max_size=2))
def test_structured_content_arrives_as_it_was_given_by_either_way(value: Any, meta: dict[str, Any] | None) -> None:
    result = types.CallToolResult(content=[], structured_content=value, _meta=meta)
    sent = json.loads(calls().to_json(result, STAMP))
    by_dict: dict[str, Any] = {"content": [], "isError": False, "structuredContent": value, "_meta": meta or {}}
    sent_by_dict = json.loads(calls().to_json(by_dict, STAMP))
    assert sent["_meta"] == {**IDENTITY, **without_nan(meta or {})} == sent_by_dict["_meta"]
    assert sent.get("structuredContent") == without_nan(value) == sent_by_dict["structuredContent"]
