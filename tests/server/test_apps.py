"""MCP Apps: tools with a user interface, the interfaces, and clients that show none."""

from pathlib import Path
from typing import Any

import pytest

from mcp import Client, types
from mcp.client import advertise
from mcp.server import MCPServer
from mcp.server.apps import (
    APP_MIME_TYPE,
    EXTENSION_ID,
    Apps,
    ResourceCsp,
    ResourcePermissions,
    client_supports_apps,
)
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resources import FileResource, FunctionResource, TextResource

pytestmark = pytest.mark.anyio

DICE = "ui://dice/app.html"
HTML = "<!doctype html><title>Dice</title>"
ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


def dice() -> Apps:
    """Dice whose text depends on what the client shows."""
    apps = Apps()

    @apps.tool(resource_uri=DICE, title="Dice", description="Rolls dice.")
    def roll(ctx: Context) -> str:
        same = client_supports_apps(ctx.request_context)
        assert client_supports_apps(ctx) is same
        return "6" if same else "You rolled a six."

    assert roll.__name__ == "roll"
    apps.add_html_resource(DICE, HTML, title="Dice")
    return apps


def six() -> str:
    return "six"


def server(*extensions: Apps, **options: Any) -> MCPServer:
    return MCPServer("srv", extensions=extensions, **options)


async def listed_tool(apps: Apps) -> types.Tool:
    async with Client(server(apps)) as client:
        [tool] = (await client.list_tools()).tools
        return tool


async def listed_resource(apps: Apps) -> types.Resource:
    async with Client(server(apps)) as client:
        [resource] = (await client.list_resources()).resources
        return resource


# Tools and interfaces.


@ERAS
async def test_a_tool_names_its_interface_which_is_served_as_an_app(mode: str) -> None:
    async with Client(server(dice()), mode=mode) as client:
        [tool] = (await client.list_tools()).tools
        assert (tool.name, tool.title, tool.description) == ("roll", "Dice", "Rolls dice.")
        assert tool.meta == {"ui": {"resourceUri": DICE}}
        [resource] = (await client.list_resources()).resources
        assert (resource.uri, resource.name, resource.title) == (DICE, DICE, "Dice")
        assert (resource.mime_type, resource.meta) == (APP_MIME_TYPE, None)
        result = await client.read_resource(DICE)
        assert result.contents == [types.TextResourceContents(uri=DICE, mime_type=APP_MIME_TYPE, text=HTML)]


async def test_the_extension_is_announced_to_clients_that_know_extensions() -> None:
    async with Client(server(dice())) as client:
        assert client.server_capabilities.extensions == {EXTENSION_ID: {}} == {"io.modelcontextprotocol/ui": {}}
    async with Client(server(dice()), mode="legacy") as client:
        assert client.server_capabilities.extensions is None


async def test_more_metadata_and_who_may_call_stand_beside_the_interface() -> None:
    apps = Apps()
    apps.add_html_resource(DICE, HTML)
    apps.tool(resource_uri=DICE, visibility=("app",), meta={"ui/resourceUri": DICE, "k": 1}, name="now")(six)
    assert (await listed_tool(apps)).meta == {
        "ui/resourceUri": DICE,
        "k": 1,
        "ui": {"resourceUri": DICE, "visibility": ["app"]},
    }


async def test_what_the_frame_asks_for_stands_with_the_resource_and_its_contents() -> None:
    apps = Apps()
    apps.add_html_resource(
        DICE,
        HTML,
        name="dice",
        description="Two dice",
        csp=ResourceCsp(
            connect_domains=["https://api.example.com"],
            resource_domains=["https://cdn.example.com"],
            frame_domains=[],
            base_uri_domains=["https://example.com"],
        ),
        permissions=ResourcePermissions(camera={}, microphone={}, geolocation={}, clipboard_write={"a": 1}),
        domain="dice.example.com",
        prefers_border=False,
    )
    asked: dict[str, Any] = {
        "csp": {
            "connectDomains": ["https://api.example.com"],
            "resourceDomains": ["https://cdn.example.com"],
            "frameDomains": [],
            "baseUriDomains": ["https://example.com"],
        },
        "permissions": {"camera": {}, "microphone": {}, "geolocation": {}, "clipboardWrite": {"a": 1}},
        "domain": "dice.example.com",
        "prefersBorder": False,
    }
    resource = await listed_resource(apps)
    assert (resource.name, resource.description, resource.meta) == ("dice", "Two dice", {"ui": asked})
    async with Client(server(apps)) as client:
        [content] = (await client.read_resource(DICE)).contents
        assert content.meta == {"ui": asked}


def test_csp_and_permissions_take_their_wire_names_too() -> None:
    assert ResourceCsp.model_validate({"connectDomains": ["https://a"]}) == ResourceCsp(connect_domains=["https://a"])
    assert ResourcePermissions.model_validate({"clipboardWrite": {}}).clipboard_write == {}
    assert ResourceCsp().model_dump(exclude_none=True) == {}


async def test_an_interface_may_be_any_resource_and_gets_the_mime_type_of_an_app(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_text("<p>Ünten", encoding="utf-8")
    given = FileResource(uri=DICE, path=report)
    apps = Apps()
    apps.add_resource(given)
    assert given.mime_type == "text/plain", "what the caller gave stays as it is"
    async with Client(server(apps)) as client:
        [content] = (await client.read_resource(DICE)).contents
        assert content == types.TextResourceContents(uri=DICE, mime_type=APP_MIME_TYPE, text="<p>Ünten")


async def test_a_resource_that_says_it_is_an_app_is_taken_as_it_is() -> None:
    def page() -> str:
        return HTML

    given = FunctionResource.from_function(page, uri=DICE, mime_type=APP_MIME_TYPE)
    apps = Apps()
    apps.add_resource(given)
    [binding] = apps.resources()
    assert binding.resource is given
    assert (await listed_resource(apps)).mime_type == APP_MIME_TYPE


# Clients.


@ERAS
@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"mimeTypes": [APP_MIME_TYPE]}, "6"),
        ({"mimeTypes": ["text/plain", APP_MIME_TYPE]}, "6"),
        ({"mimeTypes": ["text/html"]}, "You rolled a six."),
        ({"mimeTypes": APP_MIME_TYPE}, "You rolled a six."),
        ({"mimeTypes": None}, "You rolled a six."),
        ({}, "You rolled a six."),
        (None, "You rolled a six."),
    ],
)
async def test_a_client_shows_apps_if_it_declares_their_mime_type(mode: str, settings: Any, text: str) -> None:
    extensions = [] if settings is None else [advertise(EXTENSION_ID, settings)]
    async with Client(server(dice()), mode=mode, extensions=extensions) as client:
        assert (await client.call_tool("roll")).content == [types.TextContent(text=text)]


def test_outside_a_request_there_is_no_client() -> None:
    with pytest.raises(ValueError, match="request"):
        client_supports_apps(Context())


# What is refused, before anything is served.


@pytest.mark.parametrize("uri", ["", "https://example.com", "ui:/x", "UI://x", " ui://x"])
def test_an_interface_has_a_ui_uri(uri: str) -> None:
    complaint = f"^MCP Apps URIs must use the ui:// scheme, got {uri!r}$"
    apps = Apps()
    with pytest.raises(ValueError, match=complaint):
        apps.tool(resource_uri=uri)
    with pytest.raises(ValueError, match=complaint):
        apps.add_html_resource(uri, HTML)
    with pytest.raises(ValueError, match=complaint):
        apps.add_resource(TextResource(uri=uri, name="x", text=HTML))


@pytest.mark.parametrize("name", [None, "now"])
def test_a_tool_without_its_interface_is_refused_when_the_server_is_made(name: str | None) -> None:
    apps = Apps()
    apps.tool(resource_uri=DICE, name=name)(six)
    shown = name or "six"
    with pytest.raises(ValueError) as raised:
        server(apps, resources=[TextResource(uri=DICE, text=HTML)])
    assert str(raised.value) == (
        f"the tool {shown!r} has the user interface 'ui://dice/app.html', which was not added: "
        "call add_html_resource() or add_resource()"
    )


def test_an_option_that_tools_have_not_is_refused_at_the_decorator() -> None:
    wrong: Any = {"nme": "dice"}
    with pytest.raises(
        TypeError, match=r"^Apps\.tool\(\) has no option nme; .* it takes annotations, .*, name, .*title$"
    ):
        Apps().tool(resource_uri=DICE, **wrong)


def test_the_decorator_without_parentheses_says_so() -> None:
    wrong: Any = Apps().tool
    with pytest.raises(TypeError, match=r"Did you forget to call it\? Use @tool\(resource_uri='ui://\.\.\.'\) instead"):
        wrong(dice)


def test_metadata_about_the_interface_is_not_the_callers() -> None:
    with pytest.raises(ValueError, match=r"^Apps\.tool\(\) sets _meta\['ui'\] itself"):
        Apps().tool(resource_uri=DICE, meta={"ui": {}})


@pytest.mark.parametrize("visibility", ["app", [], ["user"], ["app", "user"]])
def test_who_may_call_is_the_model_the_app_or_both(visibility: Any) -> None:
    with pytest.raises(ValueError, match=r"^visibility must be a list of 'model' and 'app', got"):
        Apps().tool(resource_uri=DICE, visibility=visibility)


def test_a_resource_with_another_mime_type_is_refused() -> None:
    with pytest.raises(ValueError) as raised:
        Apps().add_resource(TextResource(uri=DICE, text=HTML, mime_type="text/html"))
    assert str(raised.value) == "an app's resource is served as 'text/html;profile=mcp-app', got 'text/html'"
