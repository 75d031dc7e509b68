"""A completion from the client's model and its folders: asked for on any revision, and refused without a capability."""

from typing import Any

import pytest
from either_era import asking, worked
from shopfront import Context, said, shopfront

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
        result = await worked(client, {"book": "Emma"}, lambda params: model(None, params))
    assert said(result) == outcome
    assert model.prompts == [("Praise Emma.", 50)]


@BOTH
@pytest.mark.parametrize(
    ("uris", "outcome"), [((), "no folders"), (("file:///srv/books", "file:///srv/maps"), "file:///srv/books")]
)
async def test_the_clients_folders_are_listed(mode: str, uris: tuple[str, ...], outcome: str) -> None:
    list_roots = sharing(*uris)
    async with Client(asking(folders, first_folder), mode=mode, list_roots_callback=list_roots) as client:
        assert said(await worked(client, {}, list_roots)) == outcome


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
