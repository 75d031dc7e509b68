"""Sampling: asking the client's model."""

from typing import Any, Literal

from pydantic import Field

from mcp.types.base import MCPModel, Meta, RequestParams, Result, TaskMetadata
from mcp.types.content import (
    Role,
    SamplingMessageContentBlock,
    TaggedSamplingContent,
    TaggedSamplingMessageContentBlock,
)
from mcp.types.tools import Tool

IncludeContext = Literal["none", "thisServer", "allServers"]
StopReason = Literal["endTurn", "stopSequence", "maxTokens", "toolUse"] | str


class SamplingMessage(MCPModel):
    """One message of the conversation to go on with."""

    role: Role
    content: TaggedSamplingMessageContentBlock | list[TaggedSamplingMessageContentBlock]
    meta: Meta | None = Field(alias="_meta", default=None)

    @property
    def content_as_list(self) -> list[SamplingMessageContentBlock]:
        """The content blocks, also where there is only one outside a list."""
        return self.content if isinstance(self.content, list) else [self.content]


class ModelHint(MCPModel):
    """A model name, or a part of one, that the server would like."""

    name: str | None = None


class ModelPreferences(MCPModel):
    """What matters when the client chooses a model; each priority runs from 0 to 1."""

    hints: list[ModelHint] | None = None
    cost_priority: float | None = None
    speed_priority: float | None = None
    intelligence_priority: float | None = None


class ToolChoice(MCPModel):
    """Whether the model may, must or must not use tools; absent means that it may."""

    mode: Literal["auto", "required", "none"] | None = None


class CreateMessageRequestParams(RequestParams):
    """Params of `sampling/createMessage`; `max_tokens` bounds the answer."""

    messages: list[SamplingMessage]
    model_preferences: ModelPreferences | None = None
    system_prompt: str | None = None
    include_context: IncludeContext | None = None
    temperature: float | None = None
    max_tokens: int
    stop_sequences: list[str] | None = None
    metadata: dict[str, Any] | None = None
    tools: list[Tool] | None = None
    tool_choice: ToolChoice | None = None
    task: TaskMetadata | None = None


class CreateMessageResult(Result):
    """A model's answer, where it was given no tools."""

    role: Role
    content: TaggedSamplingContent
    model: str
    stop_reason: StopReason | None = None


class CreateMessageResultWithTools(Result):
    """A model's answer, where it was given tools and may want to use them."""

    role: Role
    content: TaggedSamplingMessageContentBlock | list[TaggedSamplingMessageContentBlock]
    model: str
    stop_reason: StopReason | None = None

    @property
    def content_as_list(self) -> list[SamplingMessageContentBlock]:
        """The content blocks, also where there is only one outside a list."""
        return self.content if isinstance(self.content, list) else [self.content]
