"""What a server checks before it asks its client something: what the client can do, and what sampling demands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import INVALID_PARAMS

if TYPE_CHECKING:
    from mcp.types import ClientCapabilities, SamplingMessage, Tool, ToolChoice

__all__ = [
    "check_sampling_tools_capability",
    "declares",
    "validate_sampling_tools",
    "validate_tool_use_result_messages",
    "wants_sampling_tools",
]


def declares(declared: ClientCapabilities, wanted: ClientCapabilities) -> bool:
    """Whether a client declared everything that `wanted` names.

    A flag that is not set is not asked for. An extension is declared or not, whatever its settings. A client that
    declares elicitation and no mode of it shows forms.

    Args:
        declared: What the client declared.
        wanted: What to look for.
    """
    have: dict[str, Any] = declared.model_dump(exclude_none=True)
    want: dict[str, Any] = wanted.model_dump(exclude_none=True)
    if have.get("elicitation") == {}:
        have["elicitation"] = {"form": {}}
    if not want.pop("extensions", {}).keys() <= have.pop("extensions", {}).keys():
        return False
    return _covers(have, want)


def _covers(declared: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(declared, dict) and all(
            value is False or (key in declared and _covers(declared[key], value))
            for key, value in wanted.items()  # pyright: ignore[reportUnknownVariableType]
        )
    return declared == wanted


def wants_sampling_tools(tools: list[Tool] | None, tool_choice: ToolChoice | None) -> bool:
    """Whether a sampling request has to do with tools, so that its answer may be the use of one."""
    return tools is not None or tool_choice is not None


def check_sampling_tools_capability(client_caps: ClientCapabilities | None) -> bool:
    """Whether a client takes tools in sampling requests."""
    sampling = None if client_caps is None else client_caps.sampling
    return sampling is not None and sampling.tools is not None


def validate_sampling_tools(
    client_caps: ClientCapabilities | None, tools: list[Tool] | None, tool_choice: ToolChoice | None
) -> None:
    """Refuses to send tools to a client that does not take them.

    Args:
        client_caps: What the client declared.
        tools: The tools of a sampling request.
        tool_choice: Its choice.

    Raises:
        MCPError: -32602: the client did not declare `sampling.tools`.
    """
    if wants_sampling_tools(tools, tool_choice) and not check_sampling_tools_capability(client_caps):
        raise MCPError(INVALID_PARAMS, "Client does not support sampling tools capability")


def validate_tool_use_result_messages(messages: list[SamplingMessage]) -> None:
    """Checks that the last message of a conversation answers the tool uses of the one before, and nothing else.

    Specification: client/sampling under "Tool Result Messages" (2025-11-25).

    Args:
        messages: The conversation.

    Raises:
        ValueError: Results stand beside other content, or do not belong to the uses, or a use has none.
    """
    if not messages:
        return
    last = messages[-1].content_as_list
    results = {block.tool_use_id for block in last if block.type == "tool_result"}
    uses = {block.id for message in messages[-2:-1] for block in message.content_as_list if block.type == "tool_use"}
    if results and not all(block.type == "tool_result" for block in last):
        raise ValueError("The last message must contain only tool_result content if any is present")
    if results and len(messages) == 1:
        raise ValueError("tool_result requires a previous message containing tool_use")
    if results and not uses:
        raise ValueError("tool_result blocks do not match any tool_use in the previous message")
    if results != uses:
        raise ValueError("ids of tool_result blocks and tool_use blocks from previous message do not match")
