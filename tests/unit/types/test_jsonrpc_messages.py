"""JSON-RPC envelopes are told apart by their members."""

from typing import Any

import pytest
from pydantic import ValidationError

from mcp.types import (
    INVALID_PARAMS,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

WIRE_FAILURE = {"code": -32602, "message": "no"}
FAILURE = ErrorData(code=INVALID_PARAMS, message="no")


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"id": 1, "method": "ping"}, JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")),
        (
            {"id": "1", "method": "m", "params": {"a": 1}},
            JSONRPCRequest(jsonrpc="2.0", id="1", method="m", params={"a": 1}),
        ),
        ({"method": "m"}, JSONRPCNotification(jsonrpc="2.0", method="m")),
        ({"id": 1, "result": {}}, JSONRPCResponse(jsonrpc="2.0", id=1, result={})),
        ({"id": 1, "error": WIRE_FAILURE}, JSONRPCError(jsonrpc="2.0", id=1, error=FAILURE)),
        (
            {"id": None, "error": WIRE_FAILURE},
            JSONRPCError(jsonrpc="2.0", id=None, error=FAILURE),
        ),
        ({"error": WIRE_FAILURE}, JSONRPCError(jsonrpc="2.0", error=FAILURE)),
        (
            {"id": 1, "error": WIRE_FAILURE, "result": {}},
            JSONRPCError(jsonrpc="2.0", id=1, error=FAILURE),
        ),
    ],
)
def test_message_is_parsed_as_what_its_members_say(members: dict[str, Any], expected: JSONRPCMessage) -> None:
    parsed = jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **members})
    assert parsed == expected
    assert jsonrpc_message_adapter.validate_json(jsonrpc_message_adapter.dump_json(parsed)) == expected


@pytest.mark.parametrize(
    "message", [JSONRPCNotification(jsonrpc="2.0", method="m"), JSONRPCRequest(jsonrpc="2.0", id=1, method="m")]
)
def test_message_object_passes_as_it_is(message: JSONRPCMessage) -> None:
    assert jsonrpc_message_adapter.validate_python(message) is message


@pytest.mark.parametrize("bad_id", [None, True, 1.0, 1.5, [], {}])
def test_request_with_a_bad_id_is_refused_rather_than_taken_for_a_notification(bad_id: object) -> None:
    with pytest.raises(ValidationError) as refused:
        jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", "id": bad_id, "method": "ping"})
    assert {error["loc"][:2] for error in refused.value.errors()} == {("request", "id")}


@pytest.mark.parametrize("not_a_message", [{}, {"jsonrpc": "2.0", "id": 1}, [], "ping", None])
def test_anything_else_is_refused_in_one_plain_sentence(not_a_message: object) -> None:
    with pytest.raises(ValidationError) as refused:
        jsonrpc_message_adapter.validate_python(not_a_message)
    (error,) = refused.value.errors()
    assert error["msg"] == "Input should be a JSON-RPC object with a method, a result or an error"


def test_wrong_jsonrpc_version_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"Input should be '2\.0'"):
        jsonrpc_message_adapter.validate_python({"jsonrpc": "1.0", "id": 1, "method": "ping"})
