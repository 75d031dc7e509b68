"""The method table says what the JSON Schema of each revision says."""

import dataclasses
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from schema_messages import REVISIONS, definitions, referenced

import mcp.types as types
from mcp.types.methods import (
    CACHEABLE_METHODS,
    INPUT_REQUIRED_METHODS,
    METHODS,
    SPEC_CLIENT_METHODS,
    SPEC_CLIENT_NOTIFICATION_METHODS,
    CacheableMethod,
    Kind,
    Method,
    Side,
    find_method,
    is_input_required,
    methods_sent_by,
)

MODERN = definitions("2026-07-28")


def methods_in(revision: str, union: str) -> dict[str, dict[str, Any]]:
    """The definitions of the messages in a union of the schema, by method; a union of one is no union."""
    definition = definitions(revision).get(union, {})
    if "method" in definition.get("properties", {}):
        return {definition["properties"]["method"]["const"]: definition}
    members = [definitions(revision)[referenced(member["$ref"])] for member in definition.get("anyOf", ())]
    return {member["properties"]["method"]["const"]: member for member in members}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.parametrize("kind", ["request", "notification"])
def test_each_side_may_send_what_the_revision_lists(revision: str, side: Side, kind: Kind) -> None:
    listed = methods_in(revision, f"{side}_{kind}".title().replace("_", ""))
    found = {name for name in METHODS if find_method(name, sender=side, version=revision)}
    assert {name for name in found if METHODS[name].kind == kind} == set(listed)


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_params_are_required_where_the_handshake_revisions_require_them(revision: str) -> None:
    for union in ("ClientRequest", "ServerRequest", "ClientNotification", "ServerNotification"):
        for name, definition in methods_in(revision, union).items():
            assert METHODS[name].params_required == ("params" in definition["required"]), name


def test_cacheable_results_are_those_with_a_time_to_live() -> None:
    for method in METHODS.values():
        if "2026-07-28" in method.from_client and method.result_names:
            assert method.cacheable == ("ttlMs" in MODERN[method.result_names[0]]["properties"]), method.name


def test_input_may_be_required_where_the_response_says_so() -> None:
    for method in METHODS.values():
        if "2026-07-28" in method.from_client and method.result_names:
            result = MODERN[f"{method.result_names[0]}Response"]["properties"]["result"]
            named = {referenced(option["$ref"]) for option in result.get("anyOf", [result])}
            assert named == {method.result_names[0], *(["InputRequiredResult"] if method.input_required else [])}


def test_input_requests_are_those_an_input_required_result_may_hold() -> None:
    asked = {name for name, method in METHODS.items() if method.input_request}
    assert asked == set(methods_in("2026-07-28", "InputRequest"))


def test_name_header_repeats_a_param_that_exists() -> None:
    named = {name: method.name_field for name, method in METHODS.items() if method.name_field}
    assert named == {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
    for name, field in named.items():
        assert field in MODERN[METHODS[name].params_name]["required"]


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_models_of_a_method_belong_together(method: Method) -> None:
    message = method.message_type
    assert message.model_fields["method"].default == method.name
    assert method.kind == ("request" if issubclass(message, types.Request) else "notification")
    assert message.model_fields["params"].is_required() == method.params_required

    takes = message.model_fields["params"].annotation
    models = {takes, *get_args(takes)} | {model for arg in get_args(takes) for model in get_args(arg)}
    assert models >= set(get_args(method.params_type) or [method.params_type])
    assert all(issubclass(result, types.Result) for result in method.result_types)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_capability_of_a_method_exists(method: Method) -> None:
    if method.capability is None:
        return
    answers = method.kind == "request"
    owners: list[type[BaseModel]] = []
    if method.from_client:
        owners.append(types.ServerCapabilities if answers else types.ClientCapabilities)
    if method.from_server:
        owners.append(types.ClientCapabilities if answers else types.ServerCapabilities)
    for owner in owners:
        for attribute in method.capability.split("."):
            annotation = owner.model_fields[attribute].annotation
            owner = next((a for a in get_args(annotation) if a not in (bool, type(None))), owner)


def test_direction_takes_all_revisions_together() -> None:
    assert METHODS["tools/call"].direction == "client_to_server"
    assert METHODS["roots/list"].direction == "server_to_client"
    assert METHODS["notifications/progress"].direction == "both"
    assert METHODS["notifications/progress"].from_client == set(REVISIONS[:-1])


def test_method_outside_its_revisions_or_direction_is_not_found() -> None:
    assert find_method("ping", sender="client", version="2025-11-25") is METHODS["ping"]
    assert find_method("ping", sender="client", version="2026-07-28") is None
    assert find_method("tools/call", sender="server", version="2025-11-25") is None
    assert find_method("elicitation/create", sender="server", version="2025-03-26") is None
    assert find_method("vendor/x", sender="client", version="2026-07-28") is None
    assert find_method("tools/call", sender="client", version="1900-01-01") is None


def test_table_cannot_be_changed() -> None:
    method = METHODS["tools/call"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.name = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        METHODS["x"] = method  # type: ignore[index]


def test_derived_sets_are_the_documented_ones() -> None:
    lists = {"tools/list", "prompts/list", "resources/list", "resources/templates/list"}
    assert lists | {"resources/read", "server/discover"} == CACHEABLE_METHODS == set(get_args(CacheableMethod))
    assert {"tools/call", "prompts/get", "resources/read"} == INPUT_REQUIRED_METHODS
    subscribing = {"resources/subscribe", "resources/unsubscribe", "subscriptions/listen"}
    others = {"initialize", "ping", "logging/setLevel", "completion/complete"}
    assert CACHEABLE_METHODS | INPUT_REQUIRED_METHODS | subscribing | others == SPEC_CLIENT_METHODS
    assert {
        *("notifications/initialized", "notifications/cancelled", "notifications/progress"),
        "notifications/roots/list_changed",
    } == SPEC_CLIENT_NOTIFICATION_METHODS


def test_methods_of_tasks_stay_free_for_the_extension() -> None:
    in_table = {method.name for method in methods_sent_by("client", "request")}
    assert in_table - SPEC_CLIENT_METHODS == {"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"}


@pytest.mark.parametrize(
    ("result", "asks"),
    [
        (types.InputRequiredResult(request_state="s"), True),
        ({"resultType": "input_required"}, True),
        ({"resultType": "complete"}, False),
        ({"result_type": "input_required"}, False),  # not the wire form
        ({}, False),
        (types.EmptyResult(), False),
        (types.EmptyResult(result_type="input_required"), False),  # asks for nothing
        (None, False),
    ],
)
def test_input_required_is_recognised_in_both_forms(result: object, asks: bool) -> None:
    assert is_input_required(result) is asks
