"""Every message that some revision's JSON Schema allows is parsed without loss, and dumped back unchanged."""

from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from schema_messages import REVISIONS, assert_valid, definitions, messages_of

import mcp.types as types

# Types of the schemas that have no model of their own, and where their contents are checked instead.
WITHOUT_A_MODEL = {
    "Cursor": "str",
    "ResourceReference": "ResourceTemplateReference",
    "ElicitationCompleteNotification": "ElicitCompleteNotification",
    "Error": "ErrorData",
}
BATCHES = {"JSONRPCBatchRequest", "JSONRPCBatchResponse"}
MIXINS = {"Annotated", "Icons", "ResourceRequestParams", "TaskAugmentedRequestParams"}
FREE_FORM = {
    *("JSONArray", "JSONObject", "JSONValue", "MetaObject", "NotificationMetaObject", "RequestMetaObject"),
    *("ResultMetaObject", "SubscriptionsListenResultMetaObject"),
}
BASES = {"Request", "Notification", "PaginatedRequest", "Result", "PaginatedResult", "CacheableResult"}
UNIONS = {
    *("ClientRequest", "ClientNotification", "ClientResult", "ServerRequest", "ServerNotification", "ServerResult"),
    "JSONRPCMessage",
}


def is_modelled(name: str) -> bool:
    if name.startswith("JSONRPC") or name in WITHOUT_A_MODEL:
        return name not in BATCHES | UNIONS
    part_of_another = name.endswith(("Schema", "SchemaDefinition", "Error", "ResultResponse"))
    return not part_of_another and name not in MIXINS | FREE_FORM | BASES | UNIONS


@cache
def adapter_of(name: str) -> TypeAdapter[Any]:
    name = WITHOUT_A_MODEL.get(name, name)
    if name.startswith("JSONRPC"):
        return types.jsonrpc_message_adapter
    if name == "str":
        return TypeAdapter(str)
    if name == "CreateMessageResult":  # one type on the wire, two models
        return TypeAdapter(types.CreateMessageResult | types.CreateMessageResultWithTools)
    return TypeAdapter(getattr(types, name))


def without_envelope(name: str, message: Any) -> Any:
    """The part of a message that its model holds: JSON-RPC members live in models of their own."""
    if name.endswith(("Request", "Notification")) and not name.startswith("JSONRPC"):
        return {key: value for key, value in message.items() if key not in ("jsonrpc", "id")}
    return message


def with_envelope(name: str, message: Any) -> Any:
    return {"jsonrpc": "2.0", "id": 1, **message} if name.endswith(("Request", "Notification")) else message


@st.composite
def messages(draw: st.DrawFn, revision: str) -> tuple[str, Any]:
    """The name of a type, and a value of it."""
    name = draw(st.sampled_from([name for name in definitions(revision) if is_modelled(name)]))
    return name, without_envelope(name, draw(messages_of(revision, name)))


@pytest.mark.parametrize("revision", REVISIONS)
@given(data=st.data())
@settings(max_examples=100, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_message_survives_parsing_and_dumping(revision: str, data: st.DataObject) -> None:
    name, message = data.draw(messages(revision))
    parsed = adapter_of(name).validate_python(message)
    assert adapter_of(name).dump_python(parsed, mode="json", by_alias=True, exclude_unset=True) == message

    dumped = adapter_of(name).dump_python(parsed, mode="json", by_alias=True, exclude_none=True)
    assert_valid(revision, name, with_envelope(name, dumped))
