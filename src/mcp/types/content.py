"""Content blocks: what tools, prompts and models exchange, and the contents of resources."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mcp.types.base import BaseMetadata, Icon, MCPModel, Meta, Uri

Role = Literal["user", "assistant"]


class Annotations(MCPModel):
    """Hints for whoever shows or uses the annotated object.

    `priority` runs from 0 (optional) to 1 (needed); `last_modified` is an ISO 8601 timestamp.
    """

    audience: list[Role] | None = None
    priority: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    last_modified: str | None = None


class TextContent(MCPModel):
    """Plain text."""

    type: Literal["text"] = "text"
    text: str
    annotations: Annotations | None = None
    meta: Meta | None = Field(alias="_meta", default=None)


class ImageContent(MCPModel):
    """An image; `data` is base64."""

    type: Literal["image"] = "image"
    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: Meta | None = Field(alias="_meta", default=None)


class AudioContent(MCPModel):
    """A sound; `data` is base64."""

    type: Literal["audio"] = "audio"
    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: Meta | None = Field(alias="_meta", default=None)


class ResourceContents(MCPModel):
    """What the text and the binary contents of a resource have in common."""

    uri: Uri
    mime_type: str | None = None
    meta: Meta | None = Field(alias="_meta", default=None)


class TextResourceContents(ResourceContents):
    """The contents of a resource, as text."""

    text: str


class BlobResourceContents(ResourceContents):
    """The contents of a resource, as bytes; `blob` is base64."""

    blob: str


class EmbeddedResource(MCPModel):
    """The contents of a resource, in place."""

    type: Literal["resource"] = "resource"
    resource: TextResourceContents | BlobResourceContents
    annotations: Annotations | None = None
    meta: Meta | None = Field(alias="_meta", default=None)


class Resource(BaseMetadata):
    """A resource that a server offers; `size` counts the bytes of its contents before any encoding."""

    uri: Uri
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    meta: Meta | None = Field(alias="_meta", default=None)


class ResourceLink(Resource):
    """A pointer to a resource, to be read or not."""

    type: Literal["resource_link"] = "resource_link"


# The public unions stay plain, for `isinstance` and `get_args`. Fields use the tagged ones, which validate
# two to three times faster and blame an unknown `type` instead of every member in turn.

ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
TaggedContentBlock = Annotated[ContentBlock, Field(discriminator="type")]


class ToolUseContent(MCPModel):
    """A model's wish, while sampling, to call the tool `name`; `id` pairs it with its result."""

    type: Literal["tool_use"] = "tool_use"
    name: str
    id: str
    input: dict[str, Any]
    meta: Meta | None = Field(alias="_meta", default=None)


class ToolResultContent(MCPModel):
    """What the tool call `tool_use_id` returned, while sampling."""

    type: Literal["tool_result"] = "tool_result"
    tool_use_id: str
    content: list[TaggedContentBlock] = Field(default_factory=list[TaggedContentBlock])
    structured_content: Any = None
    is_error: bool | None = None
    meta: Meta | None = Field(alias="_meta", default=None)


SamplingContent = TextContent | ImageContent | AudioContent
TaggedSamplingContent = Annotated[SamplingContent, Field(discriminator="type")]

SamplingMessageContentBlock = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent
TaggedSamplingMessageContentBlock = Annotated[SamplingMessageContentBlock, Field(discriminator="type")]
