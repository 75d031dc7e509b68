"""Tools: listing and calling them."""

from typing import Any, Literal

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
    TaskMetadata,
)
from mcp.types.content import TaggedContentBlock


class ToolAnnotations(MCPModel):
    """How a tool behaves, by its own account: hints, not promises."""

    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class ToolExecution(MCPModel):
    """Whether a tool may, or must, be called as a task (2025-11-25)."""

    task_support: Literal["forbidden", "optional", "required"] | None = None


class Tool(BaseMetadata):
    """A tool a server offers; both schemas are JSON Schema objects, kept exactly as given."""

    description: str | None = None
    input_schema: dict[str, Any]
    execution: ToolExecution | None = None
    output_schema: dict[str, Any] | None = None
    icons: list[Icon] | None = None
    annotations: ToolAnnotations | None = None
    meta: Meta | None = Field(alias="_meta", default=None)


class ListToolsResult(PaginatedResult, CacheableResult):
    """A page of tools."""

    tools: list[Tool]
    result_type: ResultType = "complete"


class CallToolRequestParams(InputResponseRequestParams):
    """Params of `tools/call`."""

    name: str
    arguments: dict[str, Any] | None = None
    task: TaskMetadata | None = None


class CallToolResult(Result):
    """What a tool returned; with `is_error` its content says what went wrong, for the model to read."""

    content: list[TaggedContentBlock]
    structured_content: Any = None
    is_error: bool = False
    result_type: ResultType = "complete"
