"""How the protocol's models behave in a program's hands."""

import json
from typing import Any, Literal

import pytest
from pydantic import AnyUrl, BaseModel, FileUrl, ValidationError

import mcp.types as types


def wire(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def errors_of(model: type[BaseModel], data: object) -> list[tuple[tuple[int | str, ...], str]]:
    with pytest.raises(ValidationError) as refused:
        model.model_validate(data)
    return [(error["loc"], error["msg"]) for error in refused.value.errors()]


def test_repr_shows_each_field_by_its_attribute() -> None:
    assert repr(types.TextContent(text="it's 3")) == (
        """TextContent(type='text', text="it's 3", annotations=None, meta=None)"""
    )


def test_both_spellings_of_a_field_are_accepted() -> None:
    by_attribute = types.Tool(name="t", input_schema={}, output_schema={}, _meta={"k": 1})
    by_wire_name = types.Tool.model_validate({"name": "t", "inputSchema": {}, "outputSchema": {}, "_meta": {"k": 1}})
    by_dump = types.Tool.model_validate(by_attribute.model_dump())
    assert by_attribute == by_wire_name == by_dump
    assert wire(by_attribute) == {"name": "t", "inputSchema": {}, "outputSchema": {}, "_meta": {"k": 1}}


def test_unknown_fields_are_dropped_but_not_those_in_meta() -> None:
    params = types.CallToolRequestParams.model_validate({"name": "t", "later": 1, "_meta": {"vendor/key": {"a": None}}})
    assert wire(params) == {"name": "t", "_meta": {"vendor/key": {"a": None}}}


def test_subscription_filter_keeps_the_kinds_it_does_not_know() -> None:
    listen = types.SubscriptionFilter.model_validate({"toolsListChanged": True, "vendor/things": ["a"]})
    assert wire(listen) == {"toolsListChanged": True, "vendor/things": ["a"]}


def test_models_are_mutable() -> None:
    result = types.CallToolResult(content=[], _meta={"k": 1})
    result.meta = None
    result.is_error = True
    assert wire(result) == {"content": [], "isError": True, "resultType": "complete"}


def test_request_meta_gives_the_progress_token_its_python_name() -> None:
    params = types.RequestParams.model_validate({"_meta": {"progressToken": "t-1", "traceparent": "00-1"}})
    assert params.meta == {"progress_token": "t-1", "traceparent": "00-1"}
    assert wire(params) == {"_meta": {"progressToken": "t-1", "traceparent": "00-1"}}
    assert types.RequestParams(_meta={"progress_token": "t-1", "traceparent": "00-1"}) == params


def test_json_schemas_keep_their_keys_and_the_order_of_these() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "required": ["z", "a"],
        "properties": {"z": {"type": "null", "default": None}, "a": {"x-note": 1, "title": "A"}, "inputSchema": {}},
        "$defs": {"b": {"$ref": "#/$defs/a"}, "a": True},
        "additionalProperties": False,
    }
    tool = types.Tool.model_validate_json(json.dumps({"name": "t", "inputSchema": schema, "outputSchema": schema}))
    dumped = wire(tool)
    assert json.dumps(dumped["inputSchema"]) == json.dumps(dumped["outputSchema"]) == json.dumps(schema)


def test_capability_settings_are_kept() -> None:
    settings: dict[str, Any] = {"experimental": {"x": {"deep": {"er": None}}}, "extensions": {"vendor/ui": {"v": [1]}}}
    assert wire(types.ClientCapabilities.model_validate(settings)) == settings
    assert wire(types.ServerCapabilities.model_validate(settings)) == settings


def test_arrived_cache_hints_are_told_from_defaults() -> None:
    silent = types.ListToolsResult.model_validate({"tools": []})
    assert (silent.ttl_ms, silent.cache_scope) == (0, "private")
    assert "ttl_ms" not in silent.model_fields_set
    assert "ttl_ms" in types.ListToolsResult.model_validate({"tools": [], "ttlMs": 0}).model_fields_set


def test_time_to_live_is_not_negative() -> None:
    assert errors_of(types.ListToolsResult, {"tools": [], "ttlMs": -1}) == [
        (("ttlMs",), "Input should be greater than or equal to 0")
    ]


def test_priority_is_between_nothing_and_all() -> None:
    assert errors_of(types.Annotations, {"priority": 1.5}) == [
        (("priority",), "Input should be less than or equal to 1")
    ]


def test_uri_is_kept_as_given() -> None:
    for uri in ("users/me", "https://example.com", "file:///a b", "custom://x"):
        assert types.Resource(name="r", uri=uri).uri == uri


def test_uri_may_be_a_pydantic_url() -> None:
    url: Any = AnyUrl("https://example.com/a")  # not what the annotation says, and common in older programs
    assert types.Resource(name="r", uri=url).uri == "https://example.com/a"
    assert types.ReadResourceRequestParams(uri=url).uri == "https://example.com/a"
    assert types.TextResourceContents(uri=url, text="").uri == "https://example.com/a"


def test_uri_is_nothing_but_text() -> None:
    assert errors_of(types.SubscribeRequestParams, {"uri": 5}) == [(("uri",), "Input should be a valid string")]


def test_root_is_a_file_url() -> None:
    root = types.Root.model_validate({"uri": "file:///home/me", "name": "home"})
    assert isinstance(root.uri, FileUrl)
    assert root == types.Root(uri=FileUrl("file:///home/me"), name="home")
    assert wire(root) == {"uri": "file:///home/me", "name": "home"}
    assert errors_of(types.Root, {"uri": "http://x/"}) == [(("uri",), "URL scheme should be 'file'")]


def test_null_that_means_something_survives_a_dump_without_nulls() -> None:
    log = types.LoggingMessageNotificationParams(level="info", data=None)
    assert wire(log) == {"level": "info", "data": None}

    task = types.Task(task_id="1", status="working", created_at="now", last_updated_at="now", ttl=None)
    assert wire(task)["ttl"] is None
    assert wire(types.CreateTaskResult(task=task))["task"]["ttl"] is None
    assert wire(types.GetTaskResult.model_validate(task.model_dump()))["ttl"] is None
    assert task.model_copy(update={"ttl": 5}).model_dump(by_alias=True)["ttl"] == 5


def test_form_values_keep_their_json_types() -> None:
    values = {"text": "1", "whole": 1, "part": 1.5, "flag": True, "many": ["a"], "none": None}
    answer = types.ElicitResult.model_validate_json(json.dumps({"action": "accept", "content": values}))
    assert json.dumps(answer.content) == json.dumps(values)


def test_input_responses_are_parsed_into_their_models() -> None:
    params = types.GetPromptRequestParams.model_validate_json(
        b'{"name": "p", "inputResponses": {"a": {"action": "decline"}, "b": {"roots": []}}, "requestState": "s"}'
    )
    assert params.input_responses == {
        "a": types.ElicitResult(action="decline"),
        "b": types.ListRootsResult(roots=[]),
    }
    assert wire(params)["inputResponses"] == {"a": {"action": "decline"}, "b": {"roots": []}}


def test_mistake_in_a_deferred_field_is_located() -> None:
    responses = {"a": {"action": "perhaps"}}
    located = errors_of(types.CallToolRequestParams, {"name": "t", "inputResponses": responses})
    assert located == [
        (("inputResponses", "a", "elicitation", "action"), "Input should be 'accept', 'decline' or 'cancel'")
    ]


SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}


@pytest.mark.parametrize(
    ("answer", "path", "problem"),
    [
        ({"roots": 5}, ("roots", "roots"), "Input should be a valid list"),
        ({"role": "assistant", "model": "m"}, ("sampling", "CreateMessageResult", "content"), "Field required"),
        ({"model": "m"}, ("sampling", "CreateMessageResult", "role"), "Field required"),
        ({"content": {}}, (), "Input should be an object with 'action', 'roots', or 'role', 'content' and 'model'"),
        (5, (), "Input should be an object with 'action', "),
        ({"action": "perhaps", "roots": 5}, ("any", "CreateMessageResult", "role"), "Field required"),
        (types.EmptyResult(), ("any", "CreateMessageResult"), "Input should be a valid dictionary or instance of"),
    ],
)
def test_a_wrong_answer_is_explained_by_the_kind_that_it_is_meant_to_be(
    answer: object, path: tuple[str, ...], problem: str
) -> None:
    located = errors_of(types.CallToolRequestParams, {"name": "t", "inputResponses": {"a": answer}})
    assert located[0][0] == ("inputResponses", "a", *path)
    assert located[0][1].startswith(problem)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (SAMPLED, types.CreateMessageResult),
        ({**SAMPLED, "content": [SAMPLED["content"]]}, types.CreateMessageResultWithTools),
        ({**SAMPLED, "action": "perhaps"}, types.CreateMessageResult),
        ({"roots": [], "action": "perhaps"}, types.ListRootsResult),
        (types.ElicitResult(action="cancel"), types.ElicitResult),
    ],
)
def test_an_answer_is_what_it_fits(answer: object, kind: type) -> None:
    params = types.CallToolRequestParams.model_validate({"name": "t", "inputResponses": {"a": answer}})
    assert params.input_responses is not None
    assert type(params.input_responses["a"]) is kind


def test_json_schema_of_a_model_with_deferred_fields_is_whole() -> None:
    schema = types.CallToolRequestParams.model_json_schema()
    assert {"ElicitResult", "ListRootsResult", "CreateMessageResultWithTools"} <= schema["$defs"].keys()
    answers, nothing = schema["properties"]["inputResponses"]["anyOf"]
    assert nothing == {"type": "null"}
    assert [kind["$ref"].rpartition("/")[2] for kind in answers["additionalProperties"]["anyOf"]] == [
        "CreateMessageResult",
        "CreateMessageResultWithTools",
        "ListRootsResult",
        "ElicitResult",
    ]


class JobParams(types.RequestParams):
    job_id: str


class StopJob(types.Request[JobParams, Literal["vendor/jobs/stop"]]):
    method: Literal["vendor/jobs/stop"] = "vendor/jobs/stop"
    name_param = "jobId"


def test_request_of_ones_own_is_a_subclass_with_its_params() -> None:
    request = StopJob(params=JobParams(job_id="7"))
    assert wire(request) == {"method": "vendor/jobs/stop", "params": {"jobId": "7"}}
    assert StopJob.model_validate(wire(request)) == request
    assert (StopJob.name_param, types.Request.name_param) == ("jobId", None)
