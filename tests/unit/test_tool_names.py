"""What a tool may be called, and what is said of other names."""

import logging

import pytest

from mcp.shared.tool_name_validation import (
    SEP_986_URL,
    TOOL_NAME_REGEX,
    ToolNameValidationResult,
    issue_tool_name_warning,
    validate_and_warn_tool_name,
    validate_tool_name,
)

ALLOWED = "Allowed characters are: A-Z, a-z, 0-9, underscore (_), dash (-), and dot (.)"
DASH = "Tool name starts or ends with a dash, which may cause parsing issues in some contexts"
DOT = "Tool name starts or ends with a dot, which may cause parsing issues in some contexts"
SPACES = "Tool name contains spaces, which may cause parsing issues"
COMMAS = "Tool name contains commas, which may cause parsing issues"


@pytest.mark.parametrize("name", ["add", "a", "get_user", "DATA_EXPORT_v2", "admin.tools.list", "x-y", "_x", "a" * 128])
def test_a_plain_name_is_fine(name: str) -> None:
    assert validate_tool_name(name) == ToolNameValidationResult(True, [])
    assert TOOL_NAME_REGEX.match(name)


@pytest.mark.parametrize(
    ("name", "warnings"),
    [
        ("-a", [DASH]),
        ("a-", [DASH]),
        ("-", [DASH]),
        (".a", [DOT]),
        ("a.", [DOT]),
        ("-a.", [DASH, DOT]),
    ],
)
def test_some_valid_names_may_cause_trouble(name: str, warnings: list[str]) -> None:
    assert validate_tool_name(name) == ToolNameValidationResult(True, warnings)


@pytest.mark.parametrize(
    ("name", "warnings"),
    [
        ("", ["Tool name cannot be empty"]),
        ("a" * 129, ["Tool name exceeds maximum length of 128 characters (current: 129)"]),
        ("a b", [SPACES, "Tool name contains invalid characters: ' '", ALLOWED]),
        ("a,b", [COMMAS, "Tool name contains invalid characters: ','", ALLOWED]),
        ("a b,c/é", [SPACES, COMMAS, "Tool name contains invalid characters: ' ', ',', '/', 'é'", ALLOWED]),
        ("né@é#", ["Tool name contains invalid characters: 'é', '@', '#'", ALLOWED]),
        ("a\n", ["Tool name contains invalid characters: '\\n'", ALLOWED]),
        ("-a/", [DASH, "Tool name contains invalid characters: '/'", ALLOWED]),
    ],
    ids=lambda value: repr(value)[:12],
)
def test_other_names_break_the_rules(name: str, warnings: list[str]) -> None:
    assert validate_tool_name(name) == ToolNameValidationResult(False, warnings)


def test_what_is_to_be_said_is_logged_and_registration_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    assert validate_and_warn_tool_name("a b") is False
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    assert {record.name for record in caplog.records} == {"mcp.shared.tool_name_validation"}
    assert caplog.messages == [
        'Tool name validation warning for "a b":',
        f"  - {SPACES}",
        "  - Tool name contains invalid characters: ' '",
        f"  - {ALLOWED}",
        "Tool registration will proceed, but this may cause compatibility issues.",
        "Consider updating the tool name to conform to the MCP tool naming standard.",
        f"See SEP-986 ({SEP_986_URL}) for more details.",
    ]


def test_nothing_is_logged_where_there_is_nothing_to_say(caplog: pytest.LogCaptureFixture) -> None:
    assert validate_and_warn_tool_name("add") is True
    issue_tool_name_warning("add", [])
    assert caplog.messages == []
