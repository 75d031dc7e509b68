"""Prompts: messages that a user picks from a menu."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.server.mcpserver.prompts.base import Prompt as Prompt
    from mcp.server.mcpserver.prompts.manager import PromptManager as PromptManager

__all__ = ["Prompt", "PromptManager"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {"Prompt": "mcp.server.mcpserver.prompts.base", "PromptManager": "mcp.server.mcpserver.prompts.manager"},
)
