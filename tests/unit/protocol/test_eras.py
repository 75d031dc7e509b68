"""Which era a message belongs to, on a byte stream and over HTTP, and what its envelope must hold."""

from typing import Any

import pytest

from mcp.protocol.codec import Notification, Request
from mcp.protocol.eras import (
    claimed_version,
    http_era,
    meta_for_handlers,
    named_subscription,
    read_envelope,
    stream_era,
    unsupported_version,
)
from mcp.shared.exceptions import MCPError

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
INFO = "io.modelcontextprotocol/clientInfo"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
MODERN: dict[str, Any] = {VERSION: "2026-07-28", CAPABILITIES: {}}


def request(meta: Any = None, method: str = "tools/list") -> Request:
    return Request(1, method, None if meta is None else {"_meta": meta})


def notification(meta: Any = None) -> Notification:
    return Notification("notifications/x", None if meta is None else {"_meta": meta})


def refusal(header: str | None, message: Request | Notification) -> tuple[int, str]:
    with pytest.raises(MCPError) as raised:
        http_era(header, message)
    return raised.value.code, raised.value.message


# What a message claims.


@pytest.mark.parametrize(
    ("params", "version"),
    [
        (None, None),
        ({}, None),
        ({"_meta": None}, None),
        ({"_meta": "2026-07-28"}, None),
        ({"_meta": {}}, None),
        ({"_meta": {VERSION: "2026-07-28"}}, "2026-07-28"),
        ({"_meta": {VERSION: 7}}, 7),
    ],
)
def test_the_claimed_version_is_what_meta_holds_whatever_its_type(
    params: dict[str, Any] | None, version: object
) -> None:
    assert claimed_version(params) == version


# Byte streams.


def test_on_a_stream_a_version_in_meta_makes_a_message_modern() -> None:
    assert stream_era(request(MODERN)) == "modern"
    assert stream_era(notification(MODERN)) == "modern"
    assert stream_era(request({VERSION: "2099-01-01"})) == "modern"


def test_on_a_stream_a_message_without_a_version_belongs_to_the_handshake() -> None:
    assert stream_era(request()) == "handshake"
    assert stream_era(request({"progressToken": 1}, "initialize")) == "handshake"
    assert stream_era(notification()) == "handshake"


# HTTP.


def test_header_and_meta_that_name_one_version_make_a_request_modern() -> None:
    assert http_era("2026-07-28", request(MODERN)) == "modern"


@pytest.mark.parametrize("header", [None, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_without_a_modern_header_and_without_meta_a_message_belongs_to_the_handshake(header: str | None) -> None:
    assert http_era(header, request(method="initialize")) == "handshake"
    assert http_era(header, request({"progressToken": 1})) == "handshake"
    assert http_era(header, notification()) == "handshake"


def test_a_version_in_meta_needs_the_header_too() -> None:
    assert refusal(None, request(MODERN)) == (
        -32020,
        "mcp-protocol-version header is missing; the request envelope's protocol version is '2026-07-28'",
    )
    assert refusal(None, notification(MODERN))[0] == -32020


@pytest.mark.parametrize(
    ("header", "claimed"),
    [
        ("2026-07-28", "2025-11-25"),
        ("2025-11-25", "2026-07-28"),
        ("2099-01-01", "2026-07-28"),
        ("2026-07-28", "2099-01-01"),
        ("2026-07-28 ", "2026-07-28"),
        ("", "2026-07-28"),
        ("2026-07-28", 20260728),
    ],
)
def test_header_and_meta_that_differ_are_refused(header: str, claimed: object) -> None:
    assert refusal(header, request({VERSION: claimed, CAPABILITIES: {}})) == (
        -32020,
        "mcp-protocol-version header does not match the request envelope's protocol version",
    )


def test_initialize_under_a_modern_header_is_an_unknown_method() -> None:
    assert refusal("2026-07-28", request(MODERN, "initialize")) == (-32601, "Method not found")


def test_a_header_that_promises_an_envelope_leaves_its_check_to_the_envelope() -> None:
    for header in ("2026-07-28", "2099-01-01", "banana"):
        assert http_era(header, request()) == "modern"


def test_a_notification_needs_no_envelope_under_a_modern_header() -> None:
    assert http_era("2026-07-28", notification()) == "modern"
    assert http_era("2026-07-28", notification(MODERN)) == "modern"


def test_a_notification_with_an_unknown_or_another_version_is_refused() -> None:
    assert refusal("2099-01-01", notification())[0] == -32022
    assert refusal("2026-07-28", notification({VERSION: "2099-01-01"}))[0] == -32020
    assert refusal("2025-11-25", notification(MODERN))[0] == -32020


# The envelope.


def test_an_envelope_holds_what_the_client_says_of_itself() -> None:
    meta = {**MODERN, INFO: {"name": "c", "version": "1"}, LOG_LEVEL: "info", "acme/x": 1}
    envelope = read_envelope({"_meta": meta})
    assert envelope.version == "2026-07-28"
    assert envelope.client_info == {"name": "c", "version": "1"}
    assert envelope.client_capabilities == {}
    assert envelope.log_level == "info"
    assert envelope.meta == meta


def test_who_the_client_is_and_what_it_wants_logged_are_optional() -> None:
    envelope = read_envelope({"_meta": MODERN})
    assert envelope.client_info is None
    assert envelope.log_level is None


@pytest.mark.parametrize("params", [None, {}, {"_meta": None}, {"_meta": []}, {"_meta": "x"}])
def test_a_request_without_an_envelope_is_told_what_it_lacks(params: dict[str, Any] | None) -> None:
    with pytest.raises(MCPError) as raised:
        read_envelope(params)
    assert raised.value.code == -32602
    assert raised.value.message == (
        f"params._meta must be an object carrying the required {VERSION!r} and {CAPABILITIES!r} envelope keys"
    )


@pytest.mark.parametrize(
    ("meta", "missing"),
    [
        ({}, f"{VERSION}, {CAPABILITIES}"),
        ({VERSION: "2026-07-28"}, CAPABILITIES),
        ({CAPABILITIES: {}}, VERSION),
    ],
)
def test_an_envelope_with_missing_keys_is_told_which(meta: dict[str, Any], missing: str) -> None:
    with pytest.raises(MCPError) as raised:
        read_envelope({"_meta": meta})
    assert raised.value.code == -32602
    assert raised.value.message == f"params._meta is missing the required envelope key(s): {missing}"


@pytest.mark.parametrize("version", ["2099-01-01", "2025-11-25", "banana", 20260728, None, ["2026-07-28"]])
def test_a_version_that_is_not_served_is_refused_with_those_that_are(version: object) -> None:
    with pytest.raises(MCPError) as raised:
        read_envelope({"_meta": {VERSION: version, CAPABILITIES: {}}})
    assert (raised.value.code, raised.value.message) == (-32022, "Unsupported protocol version")
    assert raised.value.data == {"supported": ["2026-07-28"], "requested": str(version)}


# Refusals.


def test_an_unsupported_version_names_the_supported_ones() -> None:
    error = unsupported_version("2099-01-01")
    assert error.data == {"supported": ["2026-07-28"], "requested": "2099-01-01"}


@pytest.mark.parametrize("token", ["t", "", 0, 7])
def test_a_progress_token_is_a_string_or_an_integer(token: object) -> None:
    assert meta_for_handlers({"progressToken": token, "acme/x": 1}) == {"progress_token": token, "acme/x": 1}


@pytest.mark.parametrize("token", [True, False, None, 1.5, [], {}])
def test_what_is_no_progress_token_asks_for_no_progress(token: object) -> None:
    assert meta_for_handlers({"progressToken": token, "acme/x": 1}) == {"acme/x": 1}


@pytest.mark.parametrize(
    ("params", "id"),
    [
        (None, None),
        ({}, None),
        ({"_meta": None}, None),
        ({"_meta": []}, None),
        ({"_meta": {"other": 1}}, None),
        ({"_meta": {SUBSCRIPTION: 0}}, 0),
        ({"_meta": {SUBSCRIPTION: "0"}}, "0"),
        ({"_meta": {SUBSCRIPTION: True}}, None),
        ({"_meta": {SUBSCRIPTION: ["0"]}}, None),
    ],
)
def test_the_id_of_a_subscription_is_a_string_or_an_integer(params: Any, id: Any) -> None:
    assert named_subscription(params) == id
    assert type(named_subscription(params)) is type(id)
