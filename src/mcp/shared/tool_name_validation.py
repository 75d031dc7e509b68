"""What a tool may be called. A name outside the rules is a warning, and no error: some clients take it.

Specification: server/tools under "Tool Names" (2025-11-25, SEP-986).
"""

import logging
import re
from dataclasses import dataclass, field

__all__ = [
    "SEP_986_URL",
    "TOOL_NAME_REGEX",
    "ToolNameValidationResult",
    "issue_tool_name_warning",
    "validate_and_warn_tool_name",
    "validate_tool_name",
]

logger = logging.getLogger(__name__)

SEP_986_URL = "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names"

TOOL_NAME_REGEX = re.compile(r"^[A-Za-z0-9._-]{1,128}$")

_MAX_LENGTH = 128
_ALLOWED = re.compile(r"[A-Za-z0-9._-]")


@dataclass
class ToolNameValidationResult:
    """What is to be said of a name.

    Attributes:
        is_valid: Whether it keeps to the rules.
        warnings: What may cause trouble, also with a valid name.
    """

    is_valid: bool
    warnings: list[str] = field(default_factory=list[str])


def validate_tool_name(name: str) -> ToolNameValidationResult:
    """Checks the name of a tool.

    Args:
        name: The name.
    """
    if not name:
        return ToolNameValidationResult(False, ["Tool name cannot be empty"])
    if len(name) > _MAX_LENGTH:
        text = f"Tool name exceeds maximum length of {_MAX_LENGTH} characters (current: {len(name)})"
        return ToolNameValidationResult(False, [text])
    warnings = [f"Tool name {doubt}" for doubt in _doubts(name)]
    strange = dict.fromkeys(char for char in name if not _ALLOWED.fullmatch(char))
    if strange:
        warnings.append(f"Tool name contains invalid characters: {', '.join(map(repr, strange))}")
        warnings.append("Allowed characters are: A-Z, a-z, 0-9, underscore (_), dash (-), and dot (.)")
    return ToolNameValidationResult(not strange, warnings)


def _doubts(name: str) -> list[str]:
    doubts: list[str] = []
    if " " in name:
        doubts.append("contains spaces, which may cause parsing issues")
    if "," in name:
        doubts.append("contains commas, which may cause parsing issues")
    for char, word in (("-", "dash"), (".", "dot")):
        if char in (name[0], name[-1]):
            doubts.append(f"starts or ends with a {word}, which may cause parsing issues in some contexts")
    return doubts


def issue_tool_name_warning(name: str, warnings: list[str]) -> None:
    """Logs what is to be said of a name; nothing where there is nothing to say.

    Args:
        name: The name.
        warnings: What may cause trouble.
    """
    if not warnings:
        return
    logger.warning('Tool name validation warning for "%s":', name)
    for warning in warnings:
        logger.warning("  - %s", warning)
    logger.warning("Tool registration will proceed, but this may cause compatibility issues.")
    logger.warning("Consider updating the tool name to conform to the MCP tool naming standard.")
    logger.warning("See SEP-986 (%s) for more details.", SEP_986_URL)


def validate_and_warn_tool_name(name: str) -> bool:
    """Checks the name of a tool, and logs what is to be said of it.

    Args:
        name: The name.

    Returns:
        Whether it keeps to the rules.
    """
    result = validate_tool_name(name)
    issue_tool_name_warning(name, result.warnings)
    return result.is_valid
