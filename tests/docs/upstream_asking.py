"""What docs/handlers/{elicitation,dependencies,sampling-and-roots}.md say about their programs, as checks.

Also what docs/run/legacy-clients.md and docs/troubleshooting.md say about asking, and docs/handlers/multi-round-trip.md
where it needs MCPServer.
"""

import contextlib
import io
import json
from types import ModuleType
from typing import Any

from upstream_statements import ERAS, anew, error_of, states, texts

from mcp import Client
from mcp.types import (
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitResult,
    ListRootsResult,
    Root,
    TextContent,
)


def user(action: Any = "accept", content: Any = None) -> Any:
    """Answers every question in the same way."""

    async def answer(context: object, params: object) -> ElicitResult:
        return ElicitResult(action=action, content=content)

    return answer


async def in_both_eras(program: ModuleType, tool: str, arguments: dict[str, Any], **callbacks: Any) -> list[str]:
    """What a tool says to a client of 2026-07-28 and to one of the era before."""
    said: list[str] = []
    for mode in ERAS:
        async with Client(program.mcp, mode=mode, **callbacks) as client:
            said += texts(await client.call_tool(tool, arguments))
    return said


# docs/handlers/elicitation.md

CONFIRM = "elicitation/tutorial004"
BISTRO = "elicitation/tutorial001"
CHRISTMAS = {"date": "2025-12-25", "party_size": 2}
BACK = "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests."


@states(CONFIRM, "an empty folder: no round-trip", ["deleted /tmp/empty"] * 2)
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, "delete_folder", {"path": "/tmp/empty"})


for _content, _action, _expected in (
    ({"ok": False}, "accept", "kept the folder"),
    (None, "decline", "declined: folder not deleted"),
    (None, "cancel", "cancelled: folder not deleted"),
):

    @states(CONFIRM, f"the tool matches {_action} {_content}", [_expected] * 2)
    async def _(program: ModuleType, content: Any = _content, action: Any = _action) -> object:
        arguments = {"path": "/tmp/project"}
        return await in_both_eras(program, "delete_folder", arguments, elicitation_callback=user(action, content))


@states(CONFIRM, "accept and confirm", ["deleted /tmp/project"] * 2)
async def _(program: ModuleType) -> object:
    folders, callback = dict(program._FOLDERS), user(content={"ok": True})
    said: list[str] = []
    for mode in ERAS:
        program._FOLDERS.update(folders)
        async with Client(program.mcp, mode=mode, elicitation_callback=callback) as client:
            said += texts(await client.call_tool("delete_folder", {"path": "/tmp/project"}))
    return said


@states(CONFIRM, "confirm never appears in the schema", ["path"])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        return list((await client.list_tools()).tools[0].input_schema["properties"])


@states(
    BISTRO,
    "the client receives this schema",
    '{"properties": {"accept_alternative": {"description": "Try another date?", "title": "Accept Alternative", '
    '"type": "boolean"}, "date": {"default": "2025-12-26", "description": "Alternative date (YYYY-MM-DD)", '
    '"title": "Date", "type": "string"}}, "required": ["accept_alternative"], "title": "AlternativeDate", '
    '"type": "object"}',
)
async def _(program: ModuleType) -> object:
    seen: list[str] = []

    async def look(context: object, params: ElicitRequestFormParams) -> ElicitResult:
        seen.append(json.dumps(params.requested_schema))
        return ElicitResult(action="cancel")

    async with Client(program.mcp, mode="legacy", elicitation_callback=look) as client:  # pyright: ignore[reportArgumentType]
        await client.call_tool("book_table", CHRISTMAS)
    return seen[0]


@states(BISTRO, "an answer is input like any other", ["Booked a table for 2 on 2025-12-27."])
async def _(program: ModuleType) -> object:
    callback = anew("elicitation/tutorial003").handle_elicitation
    with contextlib.redirect_stdout(io.StringIO()):
        async with Client(program.mcp, mode="legacy", elicitation_callback=callback) as client:
            return texts(await client.call_tool("book_table", CHRISTMAS))


@states(
    "elicitation/tutorial003",
    "the callback prints",
    "No tables for 2 on 2025-12-25. Would you like to try another date?\n",
)
async def _(program: ModuleType) -> object:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        async with Client(anew(BISTRO).mcp, mode="legacy", elicitation_callback=program.handle_elicitation) as client:
            await client.call_tool("book_table", CHRISTMAS)
    return printed.getvalue()


@states(BISTRO, "any other date: no question", ["Booked a table for 2 on 2025-12-24."] * 2)
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, "book_table", {**CHRISTMAS, "date": "2025-12-24"})


@states(BISTRO, "declining is answered normally", ["No booking made."])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, mode="legacy", elicitation_callback=user("decline")) as client:
        return texts(await client.call_tool("book_table", CHRISTMAS))


@states(BISTRO, "'maybe' for a bool fails the call with a schema-mismatch error", True)
async def _(program: ModuleType) -> object:
    callback = user(content={"accept_alternative": "maybe"})
    async with Client(program.mcp, mode="legacy", elicitation_callback=callback) as client:
        result = await client.call_tool("book_table", CHRISTMAS)
    said = texts(result)[0]
    words = "Received an accepted elicitation whose content does not match the requested schema"
    return (result.is_error and words in said) or said


@states(BISTRO, "without the callback it is a protocol error", "Elicitation not supported")
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, mode="legacy") as client:
        return (await error_of(client.call_tool("book_table", CHRISTMAS)))[1]


@states(BISTRO, "on 2026-07-28 ctx.elicit fails", (-32600, BACK))
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, elicitation_callback=user(content={})) as client:
        return await error_of(client.call_tool("book_table", CHRISTMAS))


@states(
    "elicitation/tutorial002",
    "the same callback takes the other branch",
    [
        "Open this link to continue: https://pay.example.com/deposit/b1\n",
        ["Complete the payment in your browser.", "Deposit received for booking b1."],
    ],
)
async def _(program: ModuleType) -> object:
    callback = anew("elicitation/tutorial003").handle_elicitation
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        async with Client(program.mcp, mode="legacy", elicitation_callback=callback) as client:
            said = texts(await client.call_tool("pay_deposit", {"booking_id": "b1"}))
            said += texts(await client.call_tool("confirm_deposit", {"booking_id": "b1"}))
    return [printed.getvalue(), said]


# docs/handlers/dependencies.md


@states(
    "dependencies/tutorial001", "the tool gets what the resolver returned", ["Reserved 'Dune' (6 copies left)."] * 2
)
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, "reserve_book", {"title": "Dune"})


@states("dependencies/tutorial001", "a client that sends stock is ignored", ["'Neuromancer' is out of stock."] * 2)
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, "reserve_book", {"title": "Neuromancer", "stock": {"title": "N", "copies": 9}})


@states(
    "dependencies/tutorial001",
    "one property in the schema",
    {
        "type": "object",
        "properties": {"title": {"title": "Title", "type": "string"}},
        "required": ["title"],
        "title": "reserve_bookArguments",
    },
)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        return (await client.list_tools()).tools[0].input_schema


@states("dependencies/tutorial002", "the graph runs in order", ["Ordered 'Dune'; it arrives tomorrow."] * 2)
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, "order_book", {"title": "Dune"})


@states("dependencies/tutorial003", "in stock: no question", ["Ordered 'Dune'."] * 2)
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, "order_book", {"title": "Dune"})


for _confirm, _expected in ((True, "Backordered 'Neuromancer'; it ships in 2-3 weeks."), (False, "No order placed.")):

    @states("dependencies/tutorial003", f"out of stock: answered {_confirm}", [_expected] * 2)
    async def _(program: ModuleType, confirm: bool = _confirm) -> object:
        callback = user(content={"confirm": confirm})
        return await in_both_eras(program, "order_book", {"title": "Neuromancer"}, elicitation_callback=callback)


@states(
    "dependencies/tutorial003",
    "declined: an error result",
    ["Error executing tool order_book: Resolver for parameter 'backorder' could not resolve: elicitation was decline"]
    * 2,
)
async def _(program: ModuleType) -> object:
    callback = user("decline")
    return await in_both_eras(program, "order_book", {"title": "Neuromancer"}, elicitation_callback=callback)


async def complete(context: object, params: object) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", model="m", content=TextContent(type="text", text="Emma"))


@states("dependencies/tutorial004", "the client's model is asked", ["Today's classic pick: Emma"] * 2)
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, "recommend_book", {"genre": "classic"}, sampling_callback=complete)


# docs/handlers/sampling-and-roots.md


@states("sampling_and_roots/tutorial001", "the tool receives the completion", ["Emma"] * 2)
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, "blurb", {"title": "Dune"}, sampling_callback=complete)


@states("sampling_and_roots/tutorial001", "without the capability: -32021", [-32021] * 2)
async def _(program: ModuleType) -> object:
    codes: list[object] = []
    for mode in ERAS:
        async with Client(program.mcp, mode=mode) as client:
            codes.append((await error_of(client.call_tool("blurb", {"title": "Dune"})))[0])
    return codes


@states("sampling_and_roots/tutorial002", "the roots of the client", ["file:///shop"] * 2)
async def _(program: ModuleType) -> object:
    async def roots(context: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root.model_validate({"uri": "file:///shop"})])

    return await in_both_eras(program, "catalog_folder", {}, list_roots_callback=roots)


# docs/run/legacy-clients.md


@states(
    "legacy_clients/tutorial001",
    "one tool body, both eras",
    "2025-11-25 {'result': \"Reserved 2 of 'Dune'.\"}\n2026-07-28 {'result': \"Reserved 2 of 'Dune'.\"}\n",
)
async def _(program: ModuleType) -> object:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        await program.main()
    return printed.getvalue()


# docs/troubleshooting.md


@states("troubleshooting/tutorial006", "ctx.elicit on 2026-07-28", (-32600, BACK))
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        return await error_of(client.call_tool("book_table", {"date": "Friday"}))


@states("troubleshooting/tutorial007", "the same question as a resolver", ["Booked for Friday."] * 2)
async def _(program: ModuleType) -> object:
    callback = user(content={"confirm": True})
    return await in_both_eras(program, "book_table", {"date": "Friday"}, elicitation_callback=callback)


@states(
    "troubleshooting/tutorial007",
    "a client that cannot be asked",
    [
        (-32021, "Client did not declare the form elicitation capability required by resolver 'server:ask_to_confirm'"),
        '{"requiredCapabilities": {"elicitation": {"form": {}}}}',
    ],
)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        try:
            return await client.call_tool("book_table", {"date": "Friday"})
        except Exception as error:
            seen: Any = error
            # The page has it as server.py.
            return [(seen.code, seen.message.replace(program.__name__, "server")), json.dumps(seen.data)]


# docs/handlers/multi-round-trip.md


@states("mrtr/tutorial004", "a prompt asks for its audience", "Write a briefing for the board.")
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, elicitation_callback=user(content={"audience": "the board"})) as client:
        content = (await client.get_prompt("briefing")).messages[0].content
        assert isinstance(content, TextContent)
        return content.text


@states("mrtr/tutorial005", "any codec seals and opens", ["kms1.", True])
async def _(program: ModuleType) -> object:
    shop = anew("dependencies/tutorial003")
    codec = program.EnvelopeCodec(program.unwrap_data_key())
    security = program.RequestStateSecurity(codec=codec)
    server = program.MCPServer("Deployer", request_state_security=security)
    server.add_tool(shop.order_book)
    async with Client(server, elicitation_callback=user(content={"confirm": False})) as client:
        arguments = {"title": "Neuromancer"}
        asked: Any = await client.session.call_tool("order_book", arguments, allow_input_required=True)
        said = texts(await client.call_tool("order_book", arguments))
        return [asked.request_state[:5], said == ["No order placed."]]
