"""All prompts of a server."""

from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.duplicates import DuplicatePolicy
from mcp.server.mcpserver.prompts.base import InputRequiredResult, Message, Prompt
from mcp.server.mcpserver.registry import Registry
from mcp.server.mcpserver.utilities.logging import get_logger
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import INVALID_PARAMS

if TYPE_CHECKING:
    from mcp.server.mcpserver.context import Context

__all__ = ["InputRequiredResult", "Message", "Prompt", "PromptManager", "get_logger"]

logger = get_logger(__name__)


class PromptManager(Registry):
    """The prompts of a server by their names.

    Args:
        warn_on_duplicate_prompts: Whether a warning is logged when a name is added again. The first prompt stays either
            way.
        on_duplicate: What happens instead; see `DuplicatePolicy`.

    Attributes:
        warn_on_duplicate_prompts: As given.
        changed: Called after each change of what there is.
        is_served: Whether clients can see the prompts.
    """

    def __init__(self, warn_on_duplicate_prompts: bool = True, *, on_duplicate: DuplicatePolicy | None = None) -> None:
        super().__init__(logger, on_duplicate)
        self.warn_on_duplicate_prompts = warn_on_duplicate_prompts
        self._prompts: dict[str, Prompt] = {}

    def get_prompt(self, name: str) -> Prompt | None:
        """The prompt of this name; None if there is none."""
        return self._prompts.get(name)

    def list_prompts(self) -> list[Prompt]:
        """The prompts, in order."""
        return list(self._prompts.copy().values())

    def registered(self) -> dict[str, Prompt]:
        """The prompts, by the names that they were added under."""
        return self._prompts.copy()

    def add_prompt(self, prompt: Prompt) -> Prompt:
        """Adds a prompt, or keeps the one that has its name.

        Args:
            prompt: The prompt.

        Returns:
            The prompt that has this name now.

        Raises:
            ValueError: The name is taken, and duplicates are refused.
            InvalidSignature: The server is running, and an annotation of the function names what does not exist.
        """
        return self._put(self._prompts, prompt.name, prompt, "Prompt", self.warn_on_duplicate_prompts)

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
