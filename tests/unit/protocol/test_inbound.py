"""The checks of an HTTP entry, for hosts that have one of their own: `mcp.shared.inbound`."""

from typing import Any

import pytest

from mcp.shared import inbound
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    NAME_BEARING_METHODS,
    InboundLadderRejection,
    InboundModernRoute,
    classify_inbound_request,
    find_invalid_x_mcp_header,
    mcp_param_headers,
    unsupported_protocol_version_rejection,
    validate_mcp_param_headers,
    x_mcp_header_map,
)

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
INFO = "io.modelcontextprotocol/clientInfo"
META: dict[str, Any] = {VERSION: "2026-07-28", CAPABILITIES: {"sampling": {}}}
HEADERS = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "t"}


def body(meta: Any = META, method: Any = "tools/call", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta, "name": "t", **params}}


def rejected(body: dict[str, Any], headers: dict[str, str] | None = None) -> tuple[int, str]:
    found = classify_inbound_request(body, headers=headers)
    assert isinstance(found, InboundLadderRejection)
    return found.code, found.message


def test_a_request_says_what_it_is() -> None:
    named = body({**META, INFO: {"name": "c", "version": "1"}})
    expected = InboundModernRoute("2026-07-28", {"name": "c", "version": "1"}, {"sampling": {}})
    assert classify_inbound_request(named) == expected
    assert classify_inbound_request(named, headers=HEADERS) == expected
    assert classify_inbound_request(body(), headers=HEADERS) == InboundModernRoute("2026-07-28", None, {"sampling": {}})


@pytest.mark.parametrize("name", ["é", " t ", "=?base64?dA==?="])
def test_a_name_may_be_encoded(name: str) -> None:
    headers = {**HEADERS, "mcp-name": inbound.encode_header_value(name)}
    assert isinstance(classify_inbound_request(body(name=name), headers=headers), InboundModernRoute)


@pytest.mark.parametrize("method", ["tools/list", "unknown/method"])
def test_other_methods_have_no_name(method: str) -> None:
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
    assert isinstance(classify_inbound_request(body(method=method), headers=headers), InboundModernRoute)
    assert isinstance(
        classify_inbound_request(body(name=5), headers={**headers, "mcp-method": "tools/call"}), InboundModernRoute
    )


@pytest.mark.parametrize(
    ("request_body", "reason"),
    [
        ({}, "params._meta must be an object"),
        ({"params": [1]}, "params._meta must be an object"),
        (body(None), "params._meta must be an object"),
        (body({CAPABILITIES: {}}), f"missing the required envelope key(s): {VERSION}"),
        (body({VERSION: "2026-07-28"}), f"missing the required envelope key(s): {CAPABILITIES}"),
        (body({VERSION: 5, CAPABILITIES: {}}), "the protocol version in params._meta must be a string"),
    ],
)
def test_what_is_wrong_with_a_body_is_said(request_body: dict[str, Any], reason: str) -> None:
    code, text = rejected(request_body, HEADERS)
    assert code == -32602
    assert reason in text


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"mcp-protocol-version": None}, "mcp-protocol-version header does not match"),
        ({"mcp-protocol-version": "2025-11-25"}, "mcp-protocol-version header does not match"),
        ({"mcp-method": None}, "mcp-method header is missing"),
        ({"mcp-method": "TOOLS/CALL"}, "mcp-method header does not match"),
        ({"mcp-name": None}, "mcp-name header is missing"),
        ({"mcp-name": "x"}, "mcp-name header does not match the request body's 'name' parameter"),
        ({"mcp-name": "=?base64?!?="}, "mcp-name header does not match"),
        ({"mcp-name": "t\x01"}, "mcp-name header does not match"),
    ],
)
def test_what_is_wrong_with_a_header_is_said(changed: dict[str, str | None], reason: str) -> None:
    headers = {name: value for name, value in {**HEADERS, **changed}.items() if value is not None}
    code, text = rejected(body(), headers)
    assert code == -32020
    assert text.startswith(reason)


def test_a_version_that_is_not_supported_is_refused_last() -> None:
    other = body({VERSION: "2030-01-01", CAPABILITIES: {}})
    data = {"supported": ["2026-07-28"], "requested": "2030-01-01"}
    assert classify_inbound_request(other) == InboundLadderRejection(-32022, "Unsupported protocol version", data)
    assert rejected(other, HEADERS)[0] == -32020
    own = classify_inbound_request(other, supported_modern_versions=("2030-01-01",))
    assert own == InboundModernRoute("2030-01-01", None, {})
    assert unsupported_protocol_version_rejection("2026-07-28") is None
    refused = unsupported_protocol_version_rejection("2025-11-25", ("a", "b"))
    assert refused is not None
    assert refused.data == {"supported": ["a", "b"], "requested": "2025-11-25"}
    assert ERROR_CODE_HTTP_STATUS[refused.code] == 400


def test_header_parameters_have_functions_too() -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    header_map = x_mcp_header_map(schema)
    assert find_invalid_x_mcp_header(schema) is None
    headers = mcp_param_headers(header_map, {"region": "eu"})
    assert headers == {"Mcp-Param-Region": "eu"}
    assert validate_mcp_param_headers(schema, {"region": "eu"}, headers) is None
    refused = validate_mcp_param_headers(schema, {"region": "us"}, headers)
    assert refused is not None
    assert (refused.code, refused.data) == (-32020, None)
    assert validate_mcp_param_headers(None, {"region": "us"}, headers) is None


def test_the_methods_with_a_name_are_those_of_the_specification() -> None:
    assert NAME_BEARING_METHODS == {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
    assert {name for name in inbound.__all__ if not hasattr(inbound, name)} == set()
