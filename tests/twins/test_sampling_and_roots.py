"""A completion from the client's model and its folders: asked for on any revision, and refused without a capability."""

from typing import Any

import pytest
from either_era import asking
from shopfront import Context, Heard, said, shopfront

from mcp import Client, MCPDeprecationWarning, MCPError, types
from mcp.server import Server

pytestmark = pytest.mark.anyio

BOTH = pytest.mark.parametrize("mode", ["legacy", "auto"])


def praise(arguments: dict[str, Any]) -> types.CreateMessageRequest:
    prompt = types.SamplingMessage(role="user", content=types.TextContent(text=f"Praise {arguments['book']}."))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[prompt], max_tokens=50))


def praised(arguments: dict[str, Any], answer: Any) -> str:
    assert isinstance(answer, types.CreateMessageResult)
    return answer.content.text if isinstance(answer.content, types.TextContent) else "nothing to say"


def folders(arguments: dict[str, Any]) -> types.ListRootsRequest:
    return types.ListRootsRequest()


def first_folder(arguments: dict[str, Any], answer: Any) -> str:
    assert isinstance(answer, types.ListRootsResult)
    return str(answer.roots[0].uri) if answer.roots else "no folders"


class Model:
    """A client's model. It keeps what it is asked, and answers with this."""

    def __init__(self, content: Any) -> None:
        self.prompts: list[tuple[str, int]] = []
        self._content = content

    async def __call__(self, context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        (message,) = params.messages
        assert isinstance(message.content, types.TextContent)
        self.prompts.append((message.content.text, params.max_tokens))
        return types.CreateMessageResult(role="assistant", content=self._content, model="m")


def sharing(*uris: str) -> Any:
    async def list_roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": [{"uri": uri} for uri in uris]})

    return list_roots


@BOTH
@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        (types.TextContent(text="A fine book."), "A fine book."),
        (types.ImageContent(data="aGk=", mime_type="image/png"), "nothing to say"),
    ],
)
async def test_the_clients_model_is_borrowed(mode: str, content: Any, outcome: str) -> None:
    model = Model(content)
    async with Client(asking(praise, praised), mode=mode, sampling_callback=model) as client:
        result = await client.call_tool("work", {"book": "Emma"})
    assert said(result) == outcome
    assert model.prompts == [("Praise Emma.", 50)]


@BOTH
@pytest.mark.parametrize(
    ("uris", "outcome"), [((), "no folders"), (("file:///srv/books", "file:///srv/maps"), "file:///srv/books")]
)
async def test_the_clients_folders_are_listed(mode: str, uris: tuple[str, ...], outcome: str) -> None:
    list_roots = sharing(*uris)
    async with Client(asking(folders, first_folder), mode=mode, list_roots_callback=list_roots) as client:
        assert said(await client.call_tool("work", {})) == outcome


@BOTH
@pytest.mark.parametrize("server", [asking(praise, praised), asking(folders, first_folder)], ids=["sampling", "roots"])
async def test_a_client_that_has_not_declared_it_is_refused(mode: str, server: Server[Any]) -> None:
    async with Client(server, mode=mode) as client:
        with pytest.raises(MCPError, match="has not declared") as raised:
            await client.call_tool("work", {"book": "Emma"})
    assert raised.value.error.code == -32021


# The session's own verbs.


async def by_session(ctx: Context, arguments: dict[str, Any]) -> str:
    """Asks both through the session."""
    prompt = types.SamplingMessage(role="user", content=types.TextContent(text="Hello"))
    with pytest.warns(MCPDeprecationWarning, match="sampling capability is deprecated as of 2026-07-28"):
        answer = await ctx.session.create_message([prompt], max_tokens=5)  # pyright: ignore[reportDeprecated]
    with pytest.warns(MCPDeprecationWarning, match="roots capability is deprecated as of 2026-07-28"):
        listed = await ctx.session.list_roots()  # pyright: ignore[reportDeprecated]
    return f"{answer.model} {len(listed.roots)}"


def able(mode: str) -> Client:
    return Client(
        shopfront("Direct", by_session),
        mode=mode,
        sampling_callback=Model(types.TextContent(text="Hi")),
        list_roots_callback=sharing("file:///srv"),
    )


async def test_the_sessions_verbs_work_after_a_handshake_and_warn() -> None:
    async with able("legacy") as client:
        assert said(await client.call_tool("by_session")) == "m 1"


async def test_the_sessions_verbs_have_no_way_to_ask_on_a_modern_connection() -> None:
    async with able("auto") as client:
        with pytest.raises(MCPError, match="'sampling/createMessage': this transport context has no back-channel"):
            await client.call_tool("by_session")


# Tools for the model.

SCALE = types.Tool(name="scale", input_schema={"type": "object"})
WITH_TOOLS = types.SamplingCapability(tools=types.SamplingToolsCapability())


async def weigh(ctx: Context, arguments: dict[str, Any]) -> str:
    """Gives the model a tool."""
    prompt = types.SamplingMessage(role="user", content=types.TextContent(text="How heavy?"))
    answer = await ctx.session.create_message(  # pyright: ignore[reportDeprecated]
        [prompt], max_tokens=5, tools=[SCALE]
    )
    assert isinstance(answer, types.CreateMessageResultWithTools)
    (use,) = answer.content_as_list
    assert isinstance(use, types.ToolUseContent)
    return f"{use.name} {use.input}"


async def use_the_tool(context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResultWithTools:
    assert [tool.name for tool in params.tools or []] == ["scale"]
    use = types.ToolUseContent(id="1", name="scale", input={"unit": "g"})
    return types.CreateMessageResultWithTools(role="assistant", content=use, model="m", stop_reason="toolUse")


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_a_model_that_is_given_tools_may_answer_with_the_use_of_one() -> None:
    server = shopfront("Scales", weigh)
    async with Client(
        server, mode="legacy", sampling_callback=use_the_tool, sampling_capabilities=WITH_TOOLS
    ) as client:
        assert said(await client.call_tool("weigh")) == "scale {'unit': 'g'}"


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_tools_are_not_sent_to_a_client_that_has_not_declared_them() -> None:
    async with Client(shopfront("Scales", weigh), mode="legacy", sampling_callback=use_the_tool) as client:
        with pytest.raises(MCPError, match="does not support sampling tools"):
            await client.call_tool("weigh")


# Roots that change.


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_a_server_that_hears_of_changed_folders_asks_for_them_again() -> None:
    shared = [types.Root.model_validate({"uri": "file:///srv/books"})]
    known = Heard()

    async def list_roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=shared)

    async def changed(ctx: Context, params: Any) -> None:
        await known([str(root.uri) for root in (await ctx.session.list_roots()).roots])  # pyright: ignore[reportDeprecated]

    server = Server("Watcher", on_roots_list_changed=changed)  # warns, as all of this does
    async with Client(server, mode="legacy", list_roots_callback=list_roots) as client:
        shared.append(types.Root.model_validate({"uri": "file:///srv/maps"}))
        await client.send_roots_list_changed()  # pyright: ignore[reportDeprecated]
        await known.until(1)
    assert known.told == [["file:///srv/books", "file:///srv/maps"]]
