"""What the pages of docs/handlers, docs/client/callbacks.md and docs/client/caching.md say about their programs."""

import logging
import typing
from types import ModuleType
from typing import Annotated, Any

from pydantic import BaseModel
from upstream_statements import (
    ERAS,
    anew,
    call,
    channels,
    error_of,
    in_both_eras,
    input_schema,
    listing,
    printed,
    read,
    refusal,
    said,
    states,
    texts,
)

from mcp import Client
from mcp.client import ClientRequestContext
from mcp.server.mcpserver import Context, Resolve, Sample
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    Root,
    SamplingCapability,
    SamplingToolsCapability,
    TextContent,
)

NO_BACK_CHANNEL = (
    "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests."
)


def answering(action: str, content: dict[str, Any] | None = None, asked: list[Any] | None = None) -> Any:
    """An elicitation callback that always gives one answer, and keeps what it was asked."""

    async def answer(context: ClientRequestContext, params: Any) -> Any:
        if asked is not None:
            asked.append(params)
        return ElicitResult.model_validate({"action": action, "content": content})

    return answer


async def answered(program: ModuleType, tool: str, arguments: dict[str, object], callback: Any) -> object:
    """The texts of a call that is answered by `callback`, in either era."""

    async def ask(client: Client) -> object:
        return texts(await client.call_tool(tool, arguments))

    return await in_both_eras(program, ask, elicitation_callback=callback)


def only_query(title: str, name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"title": name.capitalize(), "type": "string"}},
        "required": [name],
        "title": f"{title}Arguments",
    }


# docs/handlers/context.md


@states("context/tutorial001", "ctx is invisible to the model", only_query("search_books", "query"))
async def _(program: ModuleType) -> object:
    return await input_schema(program)


@states("context/tutorial001", "every request has its own id", [True, True, True])
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        first, second = [texts(await client.call_tool("search_books", {"query": "dune"}))[0] for _ in range(2)]
        ends = [text.endswith("] Found 3 books matching 'dune'.") for text in (first, second)]
        return [first.startswith("[request ") and first != second, *ends]

    return await in_both_eras(program, ask)


@states("context/tutorial001", "a resource and a prompt can declare one too", [True, True])
async def _(program: ModuleType) -> object:
    @program.mcp.resource("id://{which}")
    def request_id(which: str, context: Context) -> str:
        return str(context.request_id)

    @program.mcp.prompt()
    def again(c: Context) -> str:
        return str(c.request_id)

    async def ask(client: Client) -> object:
        [message] = (await client.get_prompt("again")).messages
        assert isinstance(message.content, TextContent)
        return [bool(await read(client, "id://this")), bool(message.content.text)]

    return await in_both_eras(program, ask)


@states("context/tutorial001", "headers are None in memory", "None")
async def _(program: ModuleType) -> object:
    @program.mcp.tool()
    def headers(ctx: Context) -> str:
        return repr(ctx.headers)

    return texts(await call(program, "headers"))[0]


@states(
    "context/tutorial002",
    "a tool reads the server's own resource",
    ["The catalog is organised into: fiction, non-fiction, poetry"],
)
async def _(program: ModuleType) -> object:
    return await said(program, "describe_catalog")


@states("context/tutorial002", "its schema has no properties at all", {})
async def _(program: ModuleType) -> object:
    return ((await listing(program)).tools[0].input_schema)["properties"]


@states("context/tutorial002", "content and type of what it reads", ["fiction, non-fiction, poetry", "text/plain"])
async def _(program: ModuleType) -> object:
    @program.mcp.tool()
    async def look(ctx: Context) -> list[Any]:
        [contents] = await ctx.read_resource("catalog://genres")
        return [contents.content, contents.mime_type]

    looked: Any = (await call(program, "look")).structured_content
    return looked["result"]


@states(
    "context/tutorial003",
    "an unknown tool, then the very same call succeeds",
    ["Unknown tool: recommend_book", "In poetry, try 'Dune'."],
)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        before = await client.call_tool("recommend_book", {"genre": "poetry"})
        assert before.is_error
        await client.call_tool("enable_recommendations")
        after = await client.call_tool("recommend_book", {"genre": "poetry"})
        assert "recommend_book" in [tool.name for tool in (await client.list_tools()).tools]
    return [*texts(before), *texts(after)]


@states("context/tutorial003", "a pre-2026 client hears list_changed", ["ToolListChangedNotification"])
async def _(program: ModuleType) -> object:
    return await heard(program, "enable_recommendations")


async def heard(program: ModuleType, tool: str, **arguments: object) -> list[str]:
    """The notifications that a pre-2026 client receives while it calls a tool."""
    messages: list[str] = []

    async def hear(message: object) -> None:
        messages.append(type(message).__name__)

    async with Client(program.mcp, mode="legacy", message_handler=hear) as client:
        await client.call_tool(tool, arguments)
        await client.list_tools()
    return messages


# docs/handlers/dependencies.md

ORDER = "dependencies/tutorial003"


@states("dependencies/tutorial001", "stock is invisible to the model", only_query("reserve_book", "title"))
async def _(program: ModuleType) -> object:
    return await input_schema(program)


@states(
    "dependencies/tutorial001",
    "the resolver ran first",
    ["Reserved 'Dune' (6 copies left).", "'Neuromancer' is out of stock."],
)
async def _(program: ModuleType) -> object:
    return [(await said(program, "reserve_book", title=title))[0] for title in ("Dune", "Neuromancer")]


@states(
    "dependencies/tutorial001",
    "a client that sends a stock value anyway is ignored",
    ["Reserved 'Dune' (6 copies left)."],
)
async def _(program: ModuleType) -> object:
    return await said(program, "reserve_book", title="Dune", stock={"title": "Dune", "copies": 100})


@states(
    "dependencies/tutorial002",
    "the graph runs in order",
    ["Ordered 'Dune'; it arrives tomorrow.", "'Neuromancer' is on backorder; it would arrive in 2-3 weeks."],
)
async def _(program: ModuleType) -> object:
    return [(await said(program, "order_book", title=title))[0] for title in ("Dune", "Neuromancer")]


@states("dependencies/tutorial002", "two consumers, one lookup", 1)
async def _(program: ModuleType) -> object:
    class Inventory(dict[str, int]):
        lookups = 0

        def get(self, key: str, default: Any = None) -> Any:
            self.lookups += 1
            return super().get(key, default)

    setattr(program, "INVENTORY", Inventory(program.INVENTORY))  # noqa: B010
    await call(program, "order_book", title="Dune")
    return program.INVENTORY.lookups


@states("dependencies/tutorial002", "bad graphs fail at registration, and name the culprit", [True, True])
async def _(program: ModuleType) -> object:
    from mcp.server.mcpserver.exceptions import InvalidSignature

    def unclassified(price: float) -> str: ...

    def one(other: str) -> str: ...

    def two(first: Annotated[str, Resolve(one)]) -> str: ...

    one.__annotations__["other"] = Annotated[str, Resolve(two)]

    def refused(resolver: Any) -> InvalidSignature | None:
        def order(title: str, price: Any) -> str: ...

        order.__annotations__["price"] = Annotated[str, Resolve(resolver)]
        try:
            program.mcp.add_tool(order)
        except InvalidSignature as error:
            return error
        return None

    return ["price" in str(refused(unclassified)), "one" in str(refused(one))]


@states(ORDER, "in stock: no question", [["Ordered 'Dune'."], 0])
async def _(program: ModuleType) -> object:
    questions: list[Any] = []
    callback = answering("accept", {"confirm": True}, questions)
    return [await answered(program, "order_book", {"title": "Dune"}, callback), len(questions)]


@states(
    ORDER,
    "out of stock: the question",
    [
        ["Backordered 'Neuromancer'; it ships in 2-3 weeks."],
        ["'Neuromancer' is out of stock (2-3 weeks). Order anyway?"] * 2,
    ],
)
async def _(program: ModuleType) -> object:
    questions: list[Any] = []
    callback = answering("accept", {"confirm": True}, questions)
    seen = await answered(program, "order_book", {"title": "Neuromancer"}, callback)
    return [seen, [question.message for question in questions]]


@states(ORDER, "answering no is an answer", ["No order placed."])
async def _(program: ModuleType) -> object:
    return await answered(program, "order_book", {"title": "Neuromancer"}, answering("accept", {"confirm": False}))


for action in ("decline", "cancel"):

    @states(
        ORDER,
        f"{action}: an error result that the model can read",
        [
            "Error executing tool order_book: Resolver for parameter 'backorder' could not resolve: "
            f"elicitation was {action}"
        ],
    )
    async def _(program: ModuleType, action: str = action) -> object:
        return await answered(program, "order_book", {"title": "Neuromancer"}, answering(action))


async def sample(context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
    [message] = params.messages
    assert isinstance(message.content, TextContent)
    text = f"{params.max_tokens}: {message.content.text}"
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text=text), model="m")


async def list_roots(context: ClientRequestContext) -> ListRootsResult:
    return ListRootsResult(roots=[Root.model_validate({"uri": "file:///srv/catalog"})])


PICK = "Today's poetry pick: 50: Suggest one poetry book title. Answer with the title only."
BLURB = "60: Write a one-sentence blurb for the book 'Dune'."
CLIENT_ASKED: tuple[tuple[str, str, dict[str, Any], str], ...] = (
    ("dependencies/tutorial004", "recommend_book", {"genre": "poetry"}, PICK),
    ("sampling_and_roots/tutorial001", "blurb", {"title": "Dune"}, BLURB),
    ("sampling_and_roots/tutorial002", "catalog_folder", {}, "file:///srv/catalog"),
)

for name, tool, arguments, answer in CLIENT_ASKED:

    @states(name, "the client's answer is injected", [answer])
    async def _(program: ModuleType, tool: str = tool, arguments: dict[str, Any] = arguments) -> object:
        async def ask(client: Client) -> object:
            return texts(await client.call_tool(tool, arguments))

        return await in_both_eras(program, ask, sampling_callback=sample, list_roots_callback=list_roots)

    @states(name, "an undeclared capability refuses the call", MISSING_REQUIRED_CLIENT_CAPABILITY)
    async def _(program: ModuleType, tool: str = tool, arguments: dict[str, Any] = arguments) -> object:
        async def ask(client: Client) -> object:
            return (await error_of(client.call_tool(tool, arguments)))[0]

        return await in_both_eras(program, ask)


@states("sampling_and_roots/tutorial002", "no roots", ["No workspace folders shared."])
async def _(program: ModuleType) -> object:
    async def none(context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[])

    async def ask(client: Client) -> object:
        return texts(await client.call_tool("catalog_folder"))

    return await in_both_eras(program, ask, list_roots_callback=none)


@states(
    "sampling_and_roots/tutorial001",
    "tools in a request need sampling.tools",
    [MISSING_REQUIRED_CLIENT_CAPABILITY, ["ok"]],
)
async def _(program: ModuleType) -> object:
    from mcp.types import CreateMessageResultWithTools, SamplingMessage, ToolChoice

    def with_tools() -> Sample:
        message = SamplingMessage(role="user", content=TextContent(type="text", text="x"))
        return Sample([message], max_tokens=1, tool_choice=ToolChoice(mode="auto"))

    @program.mcp.tool()
    async def choose(answer: Annotated[CreateMessageResultWithTools, Resolve(with_tools)]) -> str:
        return "ok"

    async def refused(client: Client) -> object:
        return (await error_of(client.call_tool("choose")))[0]

    async def served(client: Client) -> object:
        return texts(await client.call_tool("choose"))

    tools = SamplingCapability(tools=SamplingToolsCapability())
    return [
        await in_both_eras(program, refused, sampling_callback=sample),
        await in_both_eras(program, served, sampling_callback=sample, sampling_capabilities=tools),
    ]


# docs/handlers/elicitation.md

BISTRO = "elicitation/tutorial001"
CHRISTMAS: dict[str, Any] = {"date": "2025-12-25", "party_size": 2}


async def in_legacy(program: ModuleType, tool: str, arguments: dict[str, object], callback: Any = None) -> object:
    async with Client(program.mcp, mode="legacy", elicitation_callback=callback) as client:
        return texts(await client.call_tool(tool, arguments))


@states(BISTRO, "on any other date the tool answers straight away", ["Booked a table for 2 on 2025-12-26."])
async def _(program: ModuleType) -> object:
    return await said(program, "book_table", date="2025-12-26", party_size=2)


@states(
    BISTRO,
    "the client receives the message and a schema",
    [
        "form",
        "No tables for 2 on 2025-12-25. Would you like to try another date?",
        {
            "properties": {
                "accept_alternative": {
                    "description": "Try another date?",
                    "title": "Accept Alternative",
                    "type": "boolean",
                },
                "date": {
                    "default": "2025-12-26",
                    "description": "Alternative date (YYYY-MM-DD)",
                    "title": "Date",
                    "type": "string",
                },
            },
            "required": ["accept_alternative"],
            "title": "AlternativeDate",
            "type": "object",
        },
    ],
)
async def _(program: ModuleType) -> object:
    questions: list[ElicitRequestFormParams] = []
    await in_legacy(program, "book_table", CHRISTMAS, answering("decline", asked=questions))
    return [questions[0].mode, questions[0].message, questions[0].requested_schema]


@states(
    BISTRO,
    "accept, and the two refusals",
    [["Booked a table for 2 on 2025-12-27."], ["No booking made."], ["No booking made."]],
)
async def _(program: ModuleType) -> object:
    content = {"accept_alternative": True, "date": "2025-12-27"}
    callbacks = [answering("accept", content), answering("decline"), answering("cancel")]
    return [await in_legacy(program, "book_table", CHRISTMAS, callback) for callback in callbacks]


@states(
    BISTRO, "an alternative that is fully booked is asked about again", [["Booked a table for 2 on 2025-12-28."], 2]
)
async def _(program: ModuleType) -> object:
    dates = ["2025-12-28", "2025-12-25"]

    async def answer(context: object, params: object) -> ElicitResult:
        return ElicitResult(action="accept", content={"accept_alternative": True, "date": dates.pop()})

    return [await in_legacy(program, "book_table", CHRISTMAS, answer), 2 - len(dates)]


@states(BISTRO, "'maybe' for a bool fails the call with a schema mismatch", [True, True])
async def _(program: ModuleType) -> object:
    callback = answering("accept", {"accept_alternative": "maybe"})
    async with Client(program.mcp, mode="legacy", elicitation_callback=callback) as client:
        result = await client.call_tool("book_table", CHRISTMAS)
    return [result.is_error, "does not match the requested schema" in texts(result)[0]]


@states(BISTRO, "without a callback: a protocol error", (-32600, "Elicitation not supported"))
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, mode="legacy") as client:
        return await error_of(client.call_tool("book_table", CHRISTMAS))


@states(BISTRO, "on a 2026 connection the call fails", NO_BACK_CHANNEL)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, elicitation_callback=answering("accept")) as client:
        return (await error_of(client.call_tool("book_table", CHRISTMAS)))[1]


@states(
    BISTRO,
    "a model inside the model is refused before anything is sent",
    "Elicitation schema field 'address' rendered as {'$ref': '#/$defs/Address'}, "
    "which is not a valid PrimitiveSchemaDefinition",
)
async def _(program: ModuleType) -> object:
    class Address(BaseModel):
        street: str

    class Delivery(BaseModel):
        address: Address

    seen: list[str] = []

    @program.mcp.tool()
    async def deliver(ctx: Context) -> str:
        try:
            await ctx.elicit("Where to?", schema=Delivery)
        except TypeError as error:
            seen.append(str(error))
        return "no"

    await in_legacy(program, "deliver", {}, answering("accept"))
    return seen[0]


DEPOSIT: dict[str, Any] = {"booking_id": "b7"}


@states(
    "elicitation/tutorial002",
    "the URL, the id, no content back",
    [
        ["Complete the payment in your browser."],
        ["https://pay.example.com/deposit/b7", "deposit-b7", "A 20 EUR deposit confirms your booking."],
    ],
)
async def _(program: ModuleType) -> object:
    questions: list[ElicitRequestURLParams] = []
    seen = await in_legacy(program, "pay_deposit", DEPOSIT, answering("accept", asked=questions))
    return [seen, [questions[0].url, questions[0].elicitation_id, questions[0].message]]


@states("elicitation/tutorial002", "declined", ["No deposit taken. The booking expires in one hour."])
async def _(program: ModuleType) -> object:
    return await in_legacy(program, "pay_deposit", DEPOSIT, answering("decline"))


@states("elicitation/tutorial002", "completion is told with the same id", ["ElicitCompleteNotification"])
async def _(program: ModuleType) -> object:
    return await heard(program, "confirm_deposit", booking_id="b7")


@states(
    "elicitation/tutorial003",
    "the callback prints the question and answers it",
    ["No tables for 2 on 2025-12-25. Would you like to try another date?\n", ["Booked a table for 2 on 2025-12-27."]],
)
async def _(program: ModuleType) -> object:
    seen: list[object] = []

    async def main() -> None:
        seen.append(await in_legacy(anew(BISTRO), "book_table", CHRISTMAS, program.handle_elicitation))

    return [await printed(main()), *seen]


@states(
    "elicitation/tutorial003",
    "the same callback takes the other branch for a URL",
    ["Open this link to continue: https://pay.example.com/deposit/b7\n", ["Complete the payment in your browser."]],
)
async def _(program: ModuleType) -> object:
    seen: list[object] = []

    async def main() -> None:
        bistro = anew("elicitation/tutorial002")
        seen.append(await in_legacy(bistro, "pay_deposit", DEPOSIT, program.handle_elicitation))

    return [await printed(main()), *seen]


FILES = "elicitation/tutorial004"


@states(FILES, "only path is in the schema", ["path"])
async def _(program: ModuleType) -> object:
    return list((await listing(program)).tools[0].input_schema["properties"])


@states(FILES, "an empty folder: no question", [["deleted /tmp/empty"], 0])
async def _(program: ModuleType) -> object:
    questions: list[Any] = []
    callback = answering("accept", {"ok": True}, questions)
    return [await answered(program, "delete_folder", {"path": "/tmp/empty"}, callback), len(questions)]


OUTCOMES = (
    ("accept", {"ok": True}, "deleted /tmp/project"),
    ("accept", {"ok": False}, "kept the folder"),
    ("decline", None, "declined: folder not deleted"),
    ("cancel", None, "cancelled: folder not deleted"),
)

for action, content, outcome in OUTCOMES:

    @states(FILES, f"the tool matches every case: {outcome}", [[outcome]] * 2)
    async def _(program: ModuleType, action: str = action, content: Any = content) -> object:
        seen: list[object] = []
        for mode in ERAS:
            program._FOLDERS["/tmp/project"] = ["main.py"]
            async with Client(program.mcp, mode=mode, elicitation_callback=answering(action, content)) as client:
                seen.append(texts(await client.call_tool("delete_folder", {"path": "/tmp/project"})))
        return seen


# docs/handlers/lifespan.md


@states("lifespan/tutorial001", "genre is the only argument", only_query("count_books", "genre"))
async def _(program: ModuleType) -> object:
    return await input_schema(program)


@states("lifespan/tutorial001", "the tool reads what the lifespan yielded", ["3 books in 'poetry'."])
async def _(program: ModuleType) -> object:
    return await said(program, "count_books", genre="poetry")


@states("lifespan/tutorial001", "Context[AppContext] works in resources and prompts too (ours)", [3, "3"])
async def _(program: ModuleType) -> object:
    def books(which: str, ctx: Any) -> str:
        return str(ctx.request_context.lifespan_context.db.query())

    def count(ctx: Any) -> str:
        return str(ctx.request_context.lifespan_context.db.query())

    books.__annotations__["ctx"] = count.__annotations__["ctx"] = Context[program.AppContext]
    program.mcp.resource("books://{which}")(books)
    program.mcp.prompt()(count)

    async def ask(client: Client) -> object:
        [message] = (await client.get_prompt("count")).messages
        return [int(str(await read(client, "books://all"))), typing.cast("TextContent", message.content).text]

    return await in_both_eras(program, ask)


@states("context/tutorial001", "without a lifespan the context is {}", "{}")
async def _(program: ModuleType) -> object:
    @program.mcp.tool()
    def lifespan(ctx: Context) -> str:
        return repr(ctx.request_context.lifespan_context)

    return texts(await call(program, "lifespan"))[0]


@states("lifespan/tutorial002", "three moments, three values", [[False, ["connected"], False]] * 2)
async def _(program: ModuleType) -> object:
    async def moments(mode: str) -> object:
        before = program.database.connected
        async with Client(program.mcp, mode=mode) as client:
            during = texts(await client.call_tool("database_status"))
        return [before, during, program.database.connected]

    return [await moments(mode) for mode in ERAS]


# docs/handlers/logging.md

LOGGED = "Found 3 books matching 'dune'."


@states("logging/tutorial001", "the log line is nowhere in the result", [LOGGED, {"result": LOGGED}])
async def _(program: ModuleType) -> object:
    return await channels(program, "search_books", query="dune")


@states("logging/tutorial001", "it is a record of the module's logger", ["INFO Searching for 'dune'"])
async def _(program: ModuleType) -> object:
    lines: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.levelname} {record.getMessage()}")

    program.logger.addHandler(Collect())
    program.logger.setLevel("INFO")
    await call(program, "search_books", query="dune")
    return lines


# docs/handlers/progress.md


async def reported(program: ModuleType, tool: str, **arguments: object) -> object:
    """What a progress callback is told before the call returns, in either era."""

    async def ask(client: Client) -> object:
        reports: list[object] = []

        async def show(progress: float, total: float | None, message: str | None) -> None:
            reports.append((progress, total, message))

        result = await client.call_tool(tool, arguments, progress_callback=show)
        return [*reports, result.structured_content]

    return await in_both_eras(program, ask)


URLS = ["https://example.com/a.json", "https://example.com/b.json"]
IMPORTED = {"result": "Imported 2 records."}


@states(
    "progress/tutorial001",
    "every report is one call, in order, before the result",
    [(1, 2, f"Imported {URLS[0]}"), (2, 2, f"Imported {URLS[1]}"), IMPORTED],
)
async def _(program: ModuleType) -> object:
    return await reported(program, "import_catalog", urls=URLS)


@states("progress/tutorial001", "without a callback it is a no-op", IMPORTED)
async def _(program: ModuleType) -> object:
    return (await call(program, "import_catalog", urls=URLS)).structured_content


@states("progress/tutorial001", "the schema has a single property", ["urls"])
async def _(program: ModuleType) -> object:
    return list((await listing(program)).tools[0].input_schema["properties"])


@states("progress/tutorial002", "the callback receives total=None", [(1, None), (2, None), (3, None)])
async def _(program: ModuleType) -> object:
    reports: Any = await reported(program, "import_feed", feed_url="feed")
    return [report[:2] for report in reports[:-1]]


# docs/client/callbacks.md

LIBRARY = "client_callbacks/tutorial001"


@states(
    LIBRARY,
    "the callback receives the question, parsed",
    [
        "form",
        "What name should go on the card?",
        {
            "properties": {"name": {"title": "Name", "type": "string"}},
            "required": ["name"],
            "title": "CardHolder",
            "type": "object",
        },
    ],
)
async def _(program: ModuleType) -> object:
    questions: list[ElicitRequestFormParams] = []
    await in_legacy(program, "issue_card", {}, answering("decline", asked=questions))
    return [questions[0].mode, questions[0].message, questions[0].requested_schema]


@states("client_callbacks/tutorial002", "its callback answers, the tool finishes", ["Card issued to Ada Lovelace."])
async def _(program: ModuleType) -> object:
    return await in_legacy(anew(LIBRARY), "issue_card", {}, program.handle_elicitation)


@states(LIBRARY, "ErrorData refuses the request and fails the call", (7, "not now"))
async def _(program: ModuleType) -> object:
    async def refuse(context: object, params: object) -> ErrorData:
        return ErrorData(code=7, message="not now")

    async with Client(program.mcp, mode="legacy", elicitation_callback=refuse) as client:
        return await error_of(client.call_tool("issue_card"))


@states(LIBRARY, "context: the session, the request's id", [True, True])
async def _(program: ModuleType) -> object:
    seen: list[object] = []

    async def answer(context: ClientRequestContext, params: object) -> ElicitResult:
        seen.extend([context.session is client.session, bool(str(context.request_id))])
        return ElicitResult(action="cancel")

    async with Client(program.mcp, mode="legacy", elicitation_callback=answer) as client:
        await client.call_tool("issue_card")
    return seen


@states(LIBRARY, "without a callback: -32600", (-32600, "Elicitation not supported"))
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, mode="legacy") as client:
        return await error_of(client.call_tool("issue_card"))


ELICITATION = {"elicitation_callback": answering("cancel")}
DECLARED: tuple[tuple[dict[str, Any], list[str]], ...] = (
    (ELICITATION, ["elicitation"]),
    (
        {**ELICITATION, "sampling_callback": sample, "list_roots_callback": list_roots},
        ["elicitation", "sampling", "roots"],
    ),
    ({}, []),
)

for options, features in DECLARED:

    @states("client_callbacks/tutorial003", f"registering is declaring: {features}", {"result": features})
    async def _(program: ModuleType, options: dict[str, Any] = options) -> object:
        async def ask(client: Client) -> object:
            return (await client.call_tool("client_features")).structured_content

        return await in_both_eras(program, ask, **options)


@states("client_callbacks/tutorial004", "both callbacks answer", ["The answer is 42.", "file:///home/ada/notebooks"])
async def _(program: ModuleType) -> object:
    async def blurb(client: Client) -> object:
        return texts(await client.call_tool("blurb", {"title": "Dune"}))[0]

    async def folder(client: Client) -> object:
        return texts(await client.call_tool("catalog_folder"))[0]

    server, roots = (anew(f"sampling_and_roots/tutorial00{number}") for number in "12")
    return [
        await in_both_eras(server, blurb, sampling_callback=program.handle_sampling),
        await in_both_eras(roots, folder, list_roots_callback=program.handle_list_roots),
    ]


# docs/client/caching.md


@states(
    "caching/tutorial001",
    "the map is stamped by method, the rest keeps its defaults",
    [[60000, "public"], [5000, "private"], [0, "private"]],
)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        results = [await client.list_tools(), await client.read_resource("config://units"), await client.list_prompts()]
    return [[result.ttl_ms, result.cache_scope] for result in results]


@states("caching/tutorial001", "a key that is no cacheable method raises at construction", "ValueError")
async def _(program: ModuleType) -> object:
    hint = program.CacheHint(ttl_ms=1)
    return refusal(lambda: program.MCPServer("Weather", cache_hints={"tools/call": hint})).partition(":")[0]
