"""Which model a message becomes where several could take it."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

import mcp.types as types


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"message": "?", "requestedSchema": {}}, types.ElicitRequestFormParams),
        ({"mode": "form", "message": "?", "requestedSchema": {}}, types.ElicitRequestFormParams),
        ({"message": "?", "requestedSchema": {}, "url": "https://x"}, types.ElicitRequestFormParams),
        ({"mode": "url", "message": "?", "url": "https://x"}, types.ElicitRequestURLParams),
        ({"mode": "url", "message": "?", "url": "https://x", "requestedSchema": {}}, types.ElicitRequestURLParams),
    ],
)
def test_mode_alone_decides_how_to_ask(params: dict[str, Any], expected: type) -> None:
    request = types.ElicitRequest.model_validate({"params": params})
    assert type(request.params) is expected
    assert types.ElicitRequest(params=request.params).params is request.params


def test_unknown_mode_is_named() -> None:
    with pytest.raises(ValidationError, match=r"'voice'.*does not match any of the expected tags: 'url', 'form'"):
        types.ElicitRequest.model_validate({"params": {"mode": "voice", "message": "?"}})


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({}, types.EmptyResult),
        ({"resultType": "complete", "_meta": {"k": 1}}, types.EmptyResult),
        ({"resultType": "task", "taskId": "1"}, types.EmptyResult),
        (
            {"resultType": "complete", "_meta": {"io.modelcontextprotocol/subscriptionId": 1}},
            types.SubscriptionsListenResult,
        ),
        ({"resultType": "input_required", "requestState": "s"}, types.InputRequiredResult),
        ({"content": [], "tools": []}, types.CallToolResult),
        ({"resource_templates": []}, types.ListResourceTemplatesResult),
        ({"completion": {"values": []}}, types.CompleteResult),
    ],
)
def test_server_result_is_told_by_its_fields(result: Any, expected: type) -> None:
    assert type(types.server_result_adapter.validate_python(result)) is expected


def test_result_object_passes_as_it_is_unless_the_other_side_sends_it() -> None:
    roots = types.ListRootsResult(roots=[])
    assert types.client_result_adapter.validate_python(roots) is roots
    with pytest.raises(ValidationError):
        types.server_result_adapter.validate_python(roots)


@pytest.mark.parametrize(
    ("adapter", "result", "location"),
    [
        (types.server_result_adapter, {"content": [{"type": "video"}]}, ("content", 0)),
        (types.server_result_adapter, {"tools": [{"name": "t"}]}, ("tools", 0, "inputSchema")),
        (types.client_result_adapter, {"action": "perhaps"}, ("action",)),
        (types.client_result_adapter, {"roots": [{"uri": "http://x/"}]}, ("roots", 0, "uri")),
    ],
)
def test_result_with_a_mistake_is_refused_rather_than_taken_for_an_empty_one(
    adapter: TypeAdapter[Any], result: Any, location: tuple[int | str, ...]
) -> None:
    with pytest.raises(ValidationError) as refused:
        adapter.validate_python(result)
    assert [error["loc"] for error in refused.value.errors()] == [location]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"type": "text", "text": "hi"}, types.CreateMessageResult),
        ([{"type": "text", "text": "hi"}], types.CreateMessageResultWithTools),
        ({"type": "tool_use", "id": "1", "name": "t", "input": {}}, types.CreateMessageResultWithTools),
    ],
)
def test_sampling_result_is_the_plain_one_where_it_can_be(content: Any, expected: type) -> None:
    result = {"role": "assistant", "content": content, "model": "m"}
    assert type(types.client_result_adapter.validate_python(result)) is expected


def test_unknown_method_is_named() -> None:
    with pytest.raises(ValidationError, match="'tools/cal' found using 'method'"):
        types.client_request_adapter.validate_python({"method": "tools/cal", "params": {}})
