"""Prompts: listing and rendering them."""

from pydantic import Field

from mcp.types.base import (
    BaseMetadata,
    CacheableResult,
    Icon,
    InputResponseRequestParams,
    MCPModel,
    Meta,
    PaginatedResult,
    Result,
    ResultType,
)
from mcp.types.content import Role, TaggedContentBlock


class PromptArgument(BaseMetadata):
    """An argument of a prompt; not required unless it says so."""

    description: str | None = None
    required: bool | None = None


class Prompt(BaseMetadata):
    """A prompt a server offers."""

    description: str | None = None
    arguments: list[PromptArgument] | None = None
    icons: list[Icon] | None = None
    meta: Meta | None = Field(alias="_meta", default=None)


class PromptMessage(MCPModel):
    """One message of a rendered prompt."""

    role: Role
    content: TaggedContentBlock


class ListPromptsResult(PaginatedResult, CacheableResult):
    """A page of prompts."""

    prompts: list[Prompt]
    result_type: ResultType = "complete"


class GetPromptRequestParams(InputResponseRequestParams):
    """Params of `prompts/get`."""

    name: str
    arguments: dict[str, str] | None = None


class GetPromptResult(Result):
    """A rendered prompt."""

    description: str | None = None
    messages: list[PromptMessage]
    result_type: ResultType = "complete"
