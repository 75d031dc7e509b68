"""Completion: suggestions for the arguments of prompts and resource templates."""

from typing import Annotated, Literal

from pydantic import Field

from mcp.types.base import MCPModel, RequestParams, Result, ResultType


class ResourceTemplateReference(MCPModel):
    """Names a resource template by its URI template."""

    type: Literal["ref/resource"] = "ref/resource"
    uri: str


class PromptReference(MCPModel):
    """Names a prompt."""

    type: Literal["ref/prompt"] = "ref/prompt"
    name: str
    title: str | None = None


class CompletionArgument(MCPModel):
    """The argument to complete, and what was typed so far."""

    name: str
    value: str


class CompletionContext(MCPModel):
    """The arguments already filled in."""

    arguments: dict[str, str] | None = None


class CompleteRequestParams(RequestParams):
    """Params of `completion/complete`."""

    ref: Annotated[ResourceTemplateReference | PromptReference, Field(discriminator="type")]
    argument: CompletionArgument
    context: CompletionContext | None = None


class Completion(MCPModel):
    """Up to 100 suggestions; `total` counts all there are, also those not sent."""

    values: list[str]
    total: int | None = None
    has_more: bool | None = None


class CompleteResult(Result):
    """The suggestions for an argument."""

    completion: Completion
    result_type: ResultType = "complete"
