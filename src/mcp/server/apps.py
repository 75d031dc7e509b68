"""MCP Apps: tools with a user interface, which hosts show in a sandboxed frame.

    apps = Apps()

    @apps.tool(resource_uri="ui://dice/app.html")
    def roll() -> str: ...

    apps.add_html_resource("ui://dice/app.html", "<!doctype html>...")
    mcp = MCPServer("dice", extensions=[apps])

The extension `io.modelcontextprotocol/ui`: a tool names a `ui://` resource, whose HTML the host renders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from mcp.server.context import ServerRequestContext
from mcp.server.extension import Extension, ResourceBinding, ToolBinding, client_extension_settings
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.functions.signature import callable_name
from mcp.server.mcpserver.registration import Registration, with_parentheses

if TYPE_CHECKING:
    from mcp.server.mcpserver.resources.base import Resource

__all__ = [
    "APP_MIME_TYPE",
    "EXTENSION_ID",
    "Apps",
    "ResourceCsp",
    "ResourcePermissions",
    "Visibility",
    "client_supports_apps",
]

EXTENSION_ID = "io.modelcontextprotocol/ui"
"""The extension's identifier."""

APP_MIME_TYPE = "text/html;profile=mcp-app"
"""By which a host knows that a resource is an app."""

Visibility = Literal["model", "app"]
"""Who may call a tool: the model, or the app in its frame."""

_CallableT = TypeVar("_CallableT", bound=Callable[..., Any])


class _UiModel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, defer_build=True)


class ResourceCsp(_UiModel):
    """What an app's frame may load, as origins. A request to the host, which may refuse.

    Attributes:
        connect_domains: Where scripts may connect to (`connect-src`).
        resource_domains: Where images, styles, fonts and the like may come from.
        frame_domains: What may be framed inside (`frame-src`).
        base_uri_domains: What `<base>` may name (`base-uri`).
    """

    connect_domains: list[str] | None = None
    resource_domains: list[str] | None = None
    frame_domains: list[str] | None = None
    base_uri_domains: list[str] | None = None


class ResourcePermissions(_UiModel):
    """What an app's frame may use of the browser; `{}` asks for it. A request to the host, which may refuse.

    Attributes:
        camera: The camera.
        microphone: The microphone.
        geolocation: The place.
        clipboard_write: Writing to the clipboard.
    """

    camera: dict[str, Any] | None = None
    microphone: dict[str, Any] | None = None
    geolocation: dict[str, Any] | None = None
    clipboard_write: dict[str, Any] | None = None


class Apps(Extension):
    """Tools with a user interface, and the interfaces."""

    identifier = EXTENSION_ID

    def __init__(self) -> None:
        self._tools: list[ToolBinding] = []
        self._resources: list[Resource] = []

    @with_parentheses("@tool(resource_uri='ui://...')")
    def tool(
        self,
        *,
        resource_uri: str,
        visibility: Sequence[Visibility] | None = None,
        meta: dict[str, Any] | None = None,
        **tool_kwargs: Any,
    ) -> Callable[[_CallableT], _CallableT]:
        """Makes the decorated function a tool with a user interface.

        It has to return content that means something without the interface: the model reads that, and so does every
        client that shows none.

        Args:
            resource_uri: The interface: a `ui://` resource of this object's.
            visibility: Who may call the tool; both, when left out. It is listed anyway: hosts keep to it.
            meta: More of the tool's `_meta`; `ui` is set here.
            tool_kwargs: What `MCPServer.tool` takes: `name`, `title`, `description` and so on.

        Raises:
            TypeError: The parentheses were forgotten, or `MCPServer.tool` takes no argument of a name.
            ValueError: The URI does not begin with `ui://`, `meta` holds `ui`, or `visibility` is not as above.
        """
        _check_options(tool_kwargs)
        _check_uri(resource_uri)
        if meta is not None and "ui" in meta:
            raise ValueError("Apps.tool() sets _meta['ui'] itself: pass resource_uri= and visibility=")
        ui: dict[str, Any] = {"resourceUri": resource_uri}
        if visibility is not None:
            ui["visibility"] = _checked_visibility(visibility)

        def register(fn: _CallableT) -> _CallableT:
            self._tools.append(ToolBinding(fn, {**(meta or {}), "ui": ui}, tool_kwargs))
            return fn

        return register

    def add_html_resource(
        self,
        uri: str,
        html: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        csp: ResourceCsp | None = None,
        permissions: ResourcePermissions | None = None,
        domain: str | None = None,
        prefers_border: bool | None = None,
    ) -> None:
        """Adds an interface.

        Args:
            uri: Its `ui://` URI.
            html: The document.
            name: What the resource is called; the URI when left out.
            title: Its name for people.
            description: What it is.
            csp: What its frame may load.
            permissions: What its frame may use of the browser.
            domain: The origin that its frame would like to have.
            prefers_border: Whether it would like a border round it.

        Raises:
            ValueError: The URI does not begin with `ui://`.
        """
        from mcp.server.mcpserver.resources.types import TextResource

        _check_uri(uri)
        ui = {
            "csp": None if csp is None else csp.model_dump(by_alias=True, exclude_none=True),
            "permissions": None if permissions is None else permissions.model_dump(by_alias=True, exclude_none=True),
            "domain": domain,
            "prefersBorder": prefers_border,
        }
        ui = {key: value for key, value in ui.items() if value is not None}
        self._resources.append(
            TextResource(
                uri=uri,
                name=name,
                title=title,
                description=description,
                mime_type=APP_MIME_TYPE,
                meta={"ui": ui} if ui else None,
                text=html,
            )
        )

    def add_resource(self, resource: Resource) -> None:
        """Adds an interface that is any kind of resource. One without a MIME type of its own gets that of an app.

        Args:
            resource: The resource; it is copied where its MIME type is set.

        Raises:
            ValueError: Its URI does not begin with `ui://`, or its MIME type is another one, which no host would show.
        """
        _check_uri(resource.uri)
        if "mime_type" not in resource.model_fields_set:
            resource = resource.model_copy(update={"mime_type": APP_MIME_TYPE})
        if resource.mime_type != APP_MIME_TYPE:
            raise ValueError(f"an app's resource is served as {APP_MIME_TYPE!r}, got {resource.mime_type!r}")
        self._resources.append(resource)

    def tools(self) -> Sequence[ToolBinding]:
        """The tools.

        Raises:
            ValueError: One names an interface that was not added.
        """
        added = {resource.uri for resource in self._resources}
        for tool in self._tools:
            uri = (tool.meta or {})["ui"]["resourceUri"]
            if uri not in added:
                name = tool.kwargs.get("name") or callable_name(tool.fn)
                raise ValueError(
                    f"the tool {name!r} has the user interface {uri!r}, which was not added: "
                    "call add_html_resource() or add_resource()"
                )
        return list(self._tools)

    def resources(self) -> Sequence[ResourceBinding]:
        """The interfaces."""
        return [ResourceBinding(resource) for resource in self._resources]


def _check_options(options: dict[str, Any]) -> None:
    known = set(signature(Registration.tool).parameters) - {"self", "meta"}
    unknown = [name for name in options if name not in known]
    if unknown:
        raise TypeError(
            f"Apps.tool() has no option {', '.join(unknown)}; besides resource_uri, visibility and meta it takes "
            f"{', '.join(sorted(known))}"
        )


def _check_uri(uri: Any) -> None:
    if not isinstance(uri, str) or not uri.startswith("ui://"):
        raise ValueError(f"MCP Apps URIs must use the ui:// scheme, got {uri!r}")


def _checked_visibility(visibility: Sequence[Visibility]) -> list[Visibility]:
    known = get_args(Visibility)
    if isinstance(visibility, str) or not visibility or any(one not in known for one in visibility):
        raise ValueError(f"visibility must be a list of {' and '.join(map(repr, known))}, got {visibility!r}")
    return list(visibility)


def client_supports_apps(ctx: Context[Any, Any] | ServerRequestContext[Any, Any]) -> bool:
    """Whether the client shows apps: it declares the extension, and takes their MIME type.

    Args:
        ctx: The request.

    Raises:
        ValueError: `ctx` belongs to no request.
    """
    settings = client_extension_settings(ctx, EXTENSION_ID)
    mime_types: object = None if settings is None else settings.get("mimeTypes")
    return isinstance(mime_types, list) and APP_MIME_TYPE in mime_types
