"""All prompts of a server."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.duplicates import DuplicatePolicy, takes_over
from mcp.server.mcpserver.prompts.base import InputRequiredResult, Message, Prompt
from mcp.server.mcpserver.utilities.logging import get_logger
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import INVALID_PARAMS

if TYPE_CHECKING:
    from mcp.server.mcpserver.context import Context

__all__ = ["InputRequiredResult", "Message", "Prompt", "PromptManager", "get_logger"]

logger = get_logger(__name__)


class PromptManager:
    """The prompts of a server by their names.

    Args:
        warn_on_duplicate_prompts: Whether a warning is logged when a name is added again. The first prompt stays either
            way.
        on_duplicate: What happens instead; see `DuplicatePolicy`.

    Attributes:
        warn_on_duplicate_prompts: As given.
        changed: Called after each change of what there is.
    """

    def __init__(self, warn_on_duplicate_prompts: bool = True, *, on_duplicate: DuplicatePolicy | None = None) -> None:
        self.warn_on_duplicate_prompts = warn_on_duplicate_prompts
        self.changed: Callable[[], None] = _nothing
        self._on_duplicate: DuplicatePolicy | None = on_duplicate
        self._prompts: dict[str, Prompt] = {}

    def get_prompt(self, name: str) -> Prompt | None:
        """The prompt of this name; None if there is none."""
        return self._prompts.get(name)

    def list_prompts(self) -> list[Prompt]:
        """The prompts, in order."""
        return list(self._prompts.values())

    def add_prompt(self, prompt: Prompt) -> Prompt:
        """Adds a prompt, or keeps the one that has its name.

        Args:
            prompt: The prompt.

        Returns:
            The prompt that has this name now.

        Raises:
            ValueError: The name is taken, and duplicates are refused.
        """
        existing = self._prompts.get(prompt.name)
        if existing is not None and not self._takes_over(prompt.name):
            return existing
        self._prompts[prompt.name] = prompt
        self.changed()
        return prompt

    def remove_prompt(self, name: str) -> None:
        """Removes the prompt of this name.

        Raises:
            ValueError: There is none.
        """
        if self._prompts.pop(name, None) is None:
            raise ValueError(f"Unknown prompt: {name}")
        self.changed()

    async def render_prompt(
        self, name: str, arguments: dict[str, Any] | None, context: "Context[Any, Any]"
    ) -> list[Message] | InputRequiredResult:
        """The messages of a prompt; see `Prompt.render`.

        Args:
            name: Of the prompt.
            arguments: What the user filled in.
            context: The context of the request.

        Raises:
            MCPError: There is no such prompt, or an argument is missing, wrong or unknown (-32602); or the function
                raised it.
            ValueError: The function failed.
        """
        prompt = self._prompts.get(name)
        if prompt is None:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name}")
        return await prompt.render(arguments, context)

    def _takes_over(self, name: str) -> bool:
        policy = self._on_duplicate or ("warn" if self.warn_on_duplicate_prompts else "ignore")
        return takes_over(policy, "Prompt", name, logger)


def _nothing() -> None:
    """Nobody wants to know."""
