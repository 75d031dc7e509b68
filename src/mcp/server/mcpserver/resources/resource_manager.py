"""All resources and templates of a server."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.duplicates import DuplicatePolicy
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.registry import Registry
from mcp.server.mcpserver.resources.base import Resource
from mcp.server.mcpserver.resources.index import TemplateIndex
from mcp.server.mcpserver.resources.templates import (
    DEFAULT_RESOURCE_SECURITY,
    Annotations,
    Icon,
    InputRequiredResult,
    ResourceSecurity,
    ResourceSecurityError,
    ResourceTemplate,
)
from mcp.server.mcpserver.utilities.logging import get_logger
from mcp.shared._uri_characters import canonical

if TYPE_CHECKING:
    from pydantic import AnyUrl

    from mcp.server.mcpserver.context import Context

__all__ = [
    "DEFAULT_RESOURCE_SECURITY",
    "Annotations",
    "Icon",
    "InputRequiredResult",
    "Resource",
    "ResourceManager",
    "ResourceNotFoundError",
    "ResourceSecurity",
    "ResourceSecurityError",
    "ResourceTemplate",
    "get_logger",
]

logger = get_logger(__name__)


class ResourceManager(Registry):
    """The resources of a server by their URIs, and its templates.

    Args:
        warn_on_duplicate_resources: Whether a warning is logged when a URI or a template is added again. The first one
            stays either way.
        resources: Resources to begin with.
        on_duplicate: What happens instead; see `DuplicatePolicy`.

    Attributes:
        warn_on_duplicate_resources: As given.
        changed: Called after each change of what there is.
        is_served: Whether clients can see them.

    Raises:
        ValueError: Two of the resources have one URI, and duplicates are refused.
    """

    def __init__(
        self,
        warn_on_duplicate_resources: bool = True,
        *,
        resources: list[Resource] | None = None,
        on_duplicate: DuplicatePolicy | None = None,
    ) -> None:
        super().__init__(logger, on_duplicate)
        self.warn_on_duplicate_resources = warn_on_duplicate_resources
        self._resources: dict[str, Resource] = {}
        self._spellings: dict[str, str] = {}
        self._templates = TemplateIndex()
        for resource in resources or ():
            self.add_resource(resource)

    def add_resource(self, resource: Resource) -> Resource:
        """Adds a resource, or keeps the one that has its URI.

        Args:
            resource: The resource.

        Returns:
            The resource that this URI has now.

        Raises:
            ValueError: The URI is taken, and duplicates are refused.
        """
        uri = resource.uri
        spelling = _spelling(uri)
        with self._lock:
            existing = self._resources.get(uri)
            if existing is not None and not self._takes_over("Resource", uri, self.warn_on_duplicate_resources):
                return existing
            self._resources[uri] = resource
            if spelling != uri:
                self._spellings[spelling] = uri
        self.changed()
        return resource

    def remove_resource(self, uri: str) -> None:
        """Removes the resource with this very URI.

        Raises:
            ResourceNotFoundError: There is none.
        """
        spelling = _spelling(uri)
        with self._lock:
            if self._resources.pop(uri, None) is None:
                raise ResourceNotFoundError(f"Unknown resource: {uri}")
            if self._spellings.get(spelling) == uri:
                del self._spellings[spelling]
        self.changed()

    def add_template(
        self,
        fn: Callable[..., Any],
        uri_template: str,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: list[Icon] | None = None,
        annotations: Annotations | None = None,
        meta: dict[str, Any] | None = None,
        security: ResourceSecurity = DEFAULT_RESOURCE_SECURITY,
    ) -> ResourceTemplate:
        """Adds the template of a function, or keeps the one that has its text; see `ResourceTemplate.from_function`.

        Args:
            fn: The function.
            uri_template: What the URIs look like.
            name: What it is called.
            title: A name for people.
            description: What its resources are.
            mime_type: What their contents are.
            icons: Images that stand for it.
            annotations: Hints for whoever uses its resources.
            meta: Its `_meta`.
            security: Which values reach the function.

        Returns:
            The template that has this text now.

        Raises:
            ValueError: The template or the function is wrong, or the text is taken and duplicates are refused.
            InvalidSignature: The function cannot be called by the names of variables; or the server is running, and
                an annotation names what does not exist.
        """
        template = ResourceTemplate.from_function(
            fn,
            uri_template,
            name=name,
            title=title,
            description=description,
            mime_type=mime_type,
            icons=icons,
            annotations=annotations,
            meta=meta,
            security=security,
        )
        self._admit(template)
        with self._lock:
            existing = self._templates.get(uri_template)
            if existing is not None and not self._takes_over(
                "Resource template", uri_template, self.warn_on_duplicate_resources
            ):
                return existing
            self._templates.put(template)
        self.changed()
        return template

    def remove_template(self, uri_template: str) -> None:
        """Removes the template with this very text.

        Raises:
            ResourceNotFoundError: There is none.
        """
        with self._lock:
            if self._templates.get(uri_template) is None:
                raise ResourceNotFoundError(f"Unknown resource template: {uri_template}")
            self._templates.remove(uri_template)
        self.changed()

    async def get_resource(self, uri: "AnyUrl | str", context: "Context[Any, Any]") -> Resource | InputRequiredResult:
        """The resource that a URI names: one that was added, or one that the first template which fits makes.

        Args:
            uri: The URI, percent-encoded or not.
            context: The context of the request.

        Returns:
            The resource; or the questions of the template's function, if it asks for input.

        Raises:
            ResourceNotFoundError: There is none, or a value in the URI is refused by the template's `ResourceSecurity`.
            MCPError: A value is not what the parameter of the function takes; or the function raised it.
            ResourceError: The function failed.
        """
        uri = str(uri)
        resource = self._resources.get(uri)
        if resource is None:
            resource = self._resources.get(self._spellings.get(_spelling(uri), ""))
        if resource is not None:
            return resource
        for template in self._templates.candidates(uri):
            try:
                values = template.matches(uri)
            except ResourceSecurityError as error:
                # No other template is tried: one that allows more must not serve what this one refuses.
                logger.info("%s", error)
                break
            if values is not None:
                return await template.create_resource(uri, values, context)
        raise ResourceNotFoundError(f"Unknown resource: {uri}")

    def list_resources(self) -> list[Resource]:
        """The resources that were added, in order."""
        return list(self._resources.copy().values())

    def registered(self) -> dict[str, Resource]:
        """The resources, by the URIs that they were added under."""
        return self._resources.copy()

    def list_templates(self) -> list[ResourceTemplate]:
        """The templates, in order."""
        return list(self.registered_templates().values())

    def registered_templates(self) -> dict[str, ResourceTemplate]:
        """The templates, by the texts that they were added under."""
        return self._templates.all()


def _spelling(uri: str) -> str:
    try:
        return canonical(uri)
    except UnicodeEncodeError:
        return uri
