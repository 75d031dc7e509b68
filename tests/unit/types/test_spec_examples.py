"""The example messages of revision 2026-07-28 parse into the right model and come back unchanged."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter
from schema_messages import SPEC, assert_valid

import mcp.types as types

EXAMPLES = SPEC / "examples-2026-07-28"
UNION_OF = {
    **dict.fromkeys(["CreateMessageRequest", "ListRootsRequest", "ElicitRequest"], types.server_request_adapter),
    **dict.fromkeys(["CreateMessageResult", "ListRootsResult", "ElicitResult"], types.client_result_adapter),
    "CancelledNotification": types.client_notification_adapter,
}


def examples(*suffixes: str) -> list[Any]:
    """The example files in folders, named by type, that end like this."""
    return [
        pytest.param(path.parent.name, path, id=f"{path.parent.name}/{path.stem}")
        for path in sorted(EXAMPLES.glob("*/*.json"))
        if path.parent.name.endswith(suffixes)
    ]


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def union_of(name: str) -> TypeAdapter[Any]:
    """Everything that the side which sends this type may send."""
    if name in UNION_OF:
        return UNION_OF[name]
    if name.endswith("Request"):
        return types.client_request_adapter
    return types.server_result_adapter if name.endswith("Result") else types.server_notification_adapter


def wire(value: BaseModel, *, exclude_unset: bool = False, exclude_none: bool = False) -> Any:
    return value.model_dump(mode="json", by_alias=True, exclude_unset=exclude_unset, exclude_none=exclude_none)


MESSAGES = examples("Request", "Notification", "Result")
ENVELOPES = examples("ResultResponse")
ERRORS = examples("Error")
FORM_FIELDS = [
    *examples("BooleanSchema", "NumberSchema", "StringSchema"),
    *examples("SelectEnumSchema"),
]
QUESTIONS = examples("InputRequests", "InputResponses")
SEPARATE = {param.id for param in [*MESSAGES, *ENVELOPES, *ERRORS, *FORM_FIELDS, *QUESTIONS]}
PARTS = [param for param in examples("") if param.id not in SEPARATE]


@pytest.mark.parametrize(("name", "path"), MESSAGES)
def test_whole_message_is_told_from_all_others_of_its_sender(name: str, path: Path) -> None:
    example = load(path)
    parsed = union_of(name).validate_python(example)
    expected = "CreateMessageResultWithTools" if "tool_use" in path.read_text(encoding="utf-8") else name
    assert type(parsed).__name__ == expected

    envelope = {key: example[key] for key in ("jsonrpc", "id") if key in example}
    assert envelope | wire(parsed, exclude_unset=True) == example
    assert_valid("2026-07-28", name, {"jsonrpc": "2.0", "id": 1} | wire(parsed, exclude_none=True))


@pytest.mark.parametrize(("name", "path"), ENVELOPES)
def test_response_holds_the_result_that_its_name_says(name: str, path: Path) -> None:
    response = types.jsonrpc_message_adapter.validate_json(path.read_bytes())
    assert isinstance(response, types.JSONRPCResponse)
    assert wire(response) == load(path)

    result = types.server_result_adapter.validate_python(response.result)
    assert type(result).__name__ == name.removesuffix("Response")
    assert wire(result, exclude_unset=True) == response.result
    assert_valid("2026-07-28", name, {"jsonrpc": "2.0", "id": response.id, "result": wire(result, exclude_none=True)})


@pytest.mark.parametrize(("name", "path"), ERRORS)
def test_error_is_parsed_and_dumped_unchanged(name: str, path: Path) -> None:
    example = load(path)
    model = types.JSONRPCError if "error" in example else types.ErrorData
    parsed = model.model_validate(example)
    assert wire(parsed, exclude_unset=True) == example
    assert_valid("2026-07-28", name, wire(parsed, exclude_none=True))


def test_data_of_the_modern_errors_has_models() -> None:
    (version_error,) = (EXAMPLES / "UnsupportedProtocolVersionError").iterdir()
    data = types.UnsupportedProtocolVersionErrorData.model_validate(load(version_error)["error"]["data"])
    assert data.supported == ["2026-07-28", "2025-11-25"]
    assert data.requested == "1900-01-01"

    (capability_error,) = (EXAMPLES / "MissingRequiredClientCapabilityError").iterdir()
    missing = types.MissingRequiredClientCapabilityErrorData.model_validate(load(capability_error)["error"]["data"])
    assert missing.required_capabilities.elicitation == types.ElicitationCapability()
    assert missing.required_capabilities.sampling is None


@pytest.mark.parametrize(("name", "path"), FORM_FIELDS)
def test_form_field_keeps_its_schema(name: str, path: Path) -> None:
    field = load(path)
    form = types.ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {"it": field}})
    dumped = wire(form, exclude_none=True)
    assert json.dumps(dumped["requestedSchema"]["properties"]["it"]) == json.dumps(field)
    assert_valid("2026-07-28", "ElicitRequestFormParams", dumped)


@pytest.mark.parametrize(("name", "path"), QUESTIONS)
def test_questions_and_answers_keep_their_keys_and_types(name: str, path: Path) -> None:
    example = load(path)
    adapter = TypeAdapter[dict[str, BaseModel]](getattr(types, name))
    parsed = adapter.validate_python(example)
    expected = {
        "github_login": types.ElicitRequest if name == "InputRequests" else types.ElicitResult,
        "capital_of_france": types.CreateMessageRequest if name == "InputRequests" else types.CreateMessageResult,
    }
    assert {key: type(value) for key, value in parsed.items()} == expected
    assert adapter.dump_python(parsed, mode="json", by_alias=True, exclude_unset=True) == example
    assert_valid("2026-07-28", name, adapter.dump_python(parsed, mode="json", by_alias=True, exclude_none=True))


@pytest.mark.parametrize(("name", "path"), PARTS)
def test_part_of_a_message_is_parsed_and_dumped_unchanged(name: str, path: Path) -> None:
    example = load(path)
    parsed = getattr(types, name).model_validate(example)
    assert wire(parsed, exclude_unset=True) == example
    assert_valid("2026-07-28", name, wire(parsed, exclude_none=True))
