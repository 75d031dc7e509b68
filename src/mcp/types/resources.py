"""Resources: listing, reading and following them."""

from pydantic import Field

from mcp.types.base import (
    BaseMetadata,
    CacheableResult,
    Icon,
    InputResponseRequestParams,
    Meta,
    NotificationParams,
    PaginatedResult,
    RequestParams,
    ResultType,
    Uri,
)
from mcp.types.content import Annotations, BlobResourceContents, Resource, TextResourceContents


class ResourceTemplate(BaseMetadata):
    """A family of resources, named by an RFC 6570 URI template."""

    uri_template: str
    description: str | None = None
    mime_type: str | None = None
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    meta: Meta | None = Field(alias="_meta", default=None)


class ListResourcesResult(PaginatedResult, CacheableResult):
    """A page of resources."""

    resources: list[Resource]
    result_type: ResultType = "complete"


class ListResourceTemplatesResult(PaginatedResult, CacheableResult):
    """A page of resource templates."""

    resource_templates: list[ResourceTemplate]
    result_type: ResultType = "complete"


class ReadResourceRequestParams(InputResponseRequestParams):
    """Params of `resources/read`."""

    uri: Uri


class ReadResourceResult(CacheableResult):
    """The contents of a resource, or of the several a URI stands for."""

    contents: list[TextResourceContents | BlobResourceContents]
    result_type: ResultType = "complete"


class SubscribeRequestParams(RequestParams):
    """Params of `resources/subscribe`."""

    uri: Uri


class UnsubscribeRequestParams(RequestParams):
    """Params of `resources/unsubscribe`."""

    uri: Uri


class ResourceUpdatedNotificationParams(NotificationParams):
    """Params of `notifications/resources/updated`."""

    uri: Uri
