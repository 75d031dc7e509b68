"""How values travel in HTTP headers, and which headers route a request."""

from base64 import b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp.protocol.headers import (
    ERROR_CODE_HTTP_STATUS,
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PARAM_HEADER_PREFIX,
    MCP_PROTOCOL_VERSION_HEADER,
    decode_header_value,
    encode_header_value,
    find_duplicated_routing_header,
)
from mcp.types.jsonrpc import HEADER_MISMATCH, INTERNAL_ERROR, METHOD_NOT_FOUND


@pytest.mark.parametrize(
    ("value", "header"),
    [
        # The examples of the specification.
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        # And their neighbours.
        ("", ""),
        ("us west 1", "us west 1"),
        ("~!@#$%^&*()_+`-={}|[]\\:\";'<>?,./", "~!@#$%^&*()_+`-={}|[]\\:\";'<>?,./"),
        ("file:///a%20b.txt", "file:///a%20b.txt"),
        ("SGVsbG8=", "SGVsbG8="),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
        ("SGVsbG8=?=", "SGVsbG8=?="),
        ("=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="),
        ("=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="),
        ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        (" ", "=?base64?IA==?="),
        (" a", "=?base64?IGE=?="),
        ("a ", "=?base64?YSA=?="),
        ("a\n", "=?base64?YQo=?="),
        ("a\tb", "=?base64?YQli?="),
        ("a\r\nX-Injected: 1", "=?base64?YQ0KWC1JbmplY3RlZDogMQ==?="),
        ("\0", "=?base64?AA==?="),
        ("\x7f", "=?base64?fw==?="),
        ("é", "=?base64?w6k=?="),
    ],
)
def test_a_value_is_sent_as_it_is_or_encoded_and_read_back(value: str, header: str) -> None:
    assert encode_header_value(value) == header
    assert decode_header_value(header) == value


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogates not allowed"):
        encode_header_value("a\ud83d")


def test_an_absent_header_has_no_value() -> None:
    assert decode_header_value(None) is None


@pytest.mark.parametrize(
    "header",
    [
        "=?base64?SGVsbG8?=",  # no padding
        "=?base64?SGVsbG8==?=",  # too much of it
        "=?base64?SGVs!!!bG8=?=",  # other characters
        "=?base64?SGVs bG8=?=",
        "=?base64?-_-_?=",  # the URL alphabet
        "=?base64?SGVsbG9=?=",  # another spelling of "Hello"
        "=?base64?/w==?=",  # not UTF-8
        "=?base64?7aCA?=",  # a surrogate
        "é",
        "a\nb",
        "a\x00b",
        "\x7f",
    ],
)
def test_a_malformed_header_has_no_value(header: str) -> None:
    assert decode_header_value(header) is None


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("  a\t", "a"),
        (" =?base64?IGE=?= ", " a"),
        ("a\tb", "a\tb"),
        ("=?base64?=", "=?base64?="),
        ("=?BASE64?IGE=?=", "=?BASE64?IGE=?="),
    ],
)
def test_what_other_senders_and_proxies_make_of_a_value_is_read(header: str, value: str) -> None:
    assert decode_header_value(header) == value


@given(st.text(st.characters(exclude_categories=["Cs"])))
@settings(deadline=None)
def test_every_value_survives_and_is_safe_on_the_way(value: str) -> None:
    header = encode_header_value(value)
    assert header.isascii()
    assert header.isprintable()
    assert header == header.strip()
    assert decode_header_value(header) == value


@given(st.text())
@settings(deadline=None)
def test_no_two_headers_but_for_blanks_round_them_have_the_same_encoded_value(header: str) -> None:
    value = decode_header_value(header)
    if value is not None and value != header.strip(" \t"):
        assert encode_header_value(value) == header.strip(" \t") or value == value.strip()


@given(st.binary())
@settings(deadline=None)
def test_base64_of_anything_is_text_or_nothing(raw: bytes) -> None:
    value = decode_header_value(f"=?base64?{b64encode(raw).decode()}?=")
    assert value is None or value.encode() == raw


def test_header_names_are_those_of_the_specification() -> None:
    assert MCP_PROTOCOL_VERSION_HEADER == "mcp-protocol-version"
    assert MCP_METHOD_HEADER == "mcp-method"
    assert MCP_NAME_HEADER == "mcp-name"
    assert MCP_PARAM_HEADER_PREFIX == "Mcp-Param-"


def test_refusals_have_a_status_and_other_errors_none() -> None:
    assert ERROR_CODE_HTTP_STATUS[HEADER_MISMATCH] == 400
    assert ERROR_CODE_HTTP_STATUS[METHOD_NOT_FOUND] == 404
    assert set(ERROR_CODE_HTTP_STATUS) == {-32700, -32600, -32602, -32020, -32021, -32022, -32601}
    assert INTERNAL_ERROR not in ERROR_CODE_HTTP_STATUS


@pytest.mark.parametrize(
    ("names", "duplicated"),
    [
        ([], None),
        (["mcp-method", "mcp-name", "mcp-protocol-version"], None),
        (["Mcp-Name", "accept", "mcp-name"], "mcp-name"),
        (["MCP-Protocol-Version", "mcp-protocol-version"], "mcp-protocol-version"),
        (["mcp-method", "mcp-method"], "mcp-method"),
        (["accept", "accept", "mcp-param-x", "mcp-param-x"], None),
    ],
)
def test_a_routing_header_that_comes_twice_is_found(names: list[str], duplicated: str | None) -> None:
    assert find_duplicated_routing_header([(name, "same") for name in names]) == duplicated
