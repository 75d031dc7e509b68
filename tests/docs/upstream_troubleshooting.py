"""What docs/troubleshooting.md and docs/whats-new.md say about their programs, and docs/handlers/subscriptions.md."""

import logging
from types import ModuleType
from typing import Any

from scripted_http_server import own_client
from served_app import served
from upstream_running import INITIALIZE, JSON_HEADERS, NO_BACK_CHANNEL, over_http, posted, tried
from upstream_statements import ERAS, anew, error_of, in_both_eras, listing, read, refusal, states, texts

from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, PromptsListChanged, ResourceUpdated, ToolsListChanged
from mcp.server.mcpserver import Context
from mcp.types import MISSING_REQUIRED_CLIENT_CAPABILITY, ElicitResult

WEATHER = "troubleshooting/tutorial001"


class Lines(logging.Handler):
    """Keeps what is logged, as `LEVEL logger: message`."""

    def __init__(self, logger: str, level: int = logging.WARNING) -> None:
        super().__init__()
        self.seen: list[str] = []
        logging.getLogger(logger).addHandler(self)
        logging.getLogger(logger).setLevel(level)

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(f"{record.levelname} {record.name}: {record.getMessage()}")


@states(WEATHER, "an error that escapes is the error itself (ours: no group)", "MCPError: No forecast for 'Atlantis'.")
async def _(program: ModuleType) -> object:
    try:
        async with Client(program.mcp) as client:
            await client.read_resource("weather://Atlantis")
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@states(WEATHER, "caught inside the block", "No forecast for 'Atlantis'.")
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        try:
            return await client.read_resource("weather://Atlantis")
        except MCPError as error:
            return str(error)

    return await in_both_eras(program, ask)


@states(WEATHER, "not entered", "RuntimeError: Client must be used within an async context manager")
async def _(program: ModuleType) -> object:
    return await error_of(Client(program.mcp).list_tools())


@states(
    WEATHER,
    "a failing tool, and an unknown one, are results",
    [[True, ["Error executing tool forecast: No forecast for 'Atlantis'."]], [True, ["Unknown tool: get_forecast"]]],
)
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        results = [await client.call_tool(name, {"city": "Atlantis"}) for name in ("forecast", "get_forecast")]
        return [[result.is_error, texts(result)] for result in results]

    return await in_both_eras(program, ask)


@states(
    WEATHER,
    "a decorator without its parentheses",
    [
        "TypeError",
        "TypeError: The @tool decorator was used incorrectly. Did you forget to call it? Use @tool() instead of @tool",
    ],
)
async def _(program: ModuleType) -> object:
    def forecast(city: str) -> str: ...

    return [
        refusal(lambda: program.mcp.prompt(forecast)).partition(":")[0],
        refusal(lambda: program.mcp.tool(forecast)),
    ]


@states(WEATHER, "@resource and @prompt say the same thing", [True, True])
async def _(program: ModuleType) -> object:
    def forecast(city: str) -> str: ...

    return [
        f"The @{name} decorator was used incorrectly. Did you forget to call it? Use @{name}(" in seen or seen
        for name, seen in (
            ("resource", refusal(lambda: program.mcp.resource(forecast))),
            ("prompt", refusal(lambda: program.mcp.prompt(forecast))),
        )
    ]


@states(
    WEATHER,
    "a requestState this process did not seal is refused, and the log says why",
    [
        (-32602, "Invalid or expired requestState"),
        ["WARNING mcp.server.request_state: requestState rejected on tools/call: malformed"],
    ],
)
async def _(program: ModuleType) -> object:
    lines = Lines("mcp.server.request_state")
    async with Client(program.mcp) as client:
        call = client.call_tool("forecast", {"city": "London"}, request_state="round-1-from-worker-a")
        return [await error_of(call), lines.seen]


DUPLICATE = "troubleshooting/tutorial002"


@states(DUPLICATE, "the first one wins", [["forecast"], ["London: Rain."]])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        return [names, texts(await client.call_tool("forecast", {"city": "London"}))]


@states(
    DUPLICATE,
    "the log line is the only signal",
    ["WARNING mcp.server.mcpserver.tools.tool_manager: Tool already exists: forecast"],
)
async def _(program: ModuleType) -> object:
    lines = Lines("mcp.server.mcpserver")
    anew(DUPLICATE)
    return lines.seen


@states(
    DUPLICATE,
    "warn_on_duplicate_tools=False silences it; resources and prompts have the same line",
    [list[str](), True, True],
)
async def _(program: ModuleType) -> object:
    def one() -> str:
        return "1"

    lines = Lines("mcp.server.mcpserver")
    silent, loud = program.MCPServer("a", warn_on_duplicate_tools=False), program.MCPServer("b")
    for _ in range(2):
        silent.tool()(one)
    quiet = list(lines.seen)
    for _ in range(2):
        loud.resource("a://b")(one)
        loud.prompt()(one)
    said = "\n".join(lines.seen)
    return [quiet, "Resource already exists:" in said or said, "Prompt already exists: one" in said or said]


@states(DUPLICATE, "an invalid tool name is registered and listed anyway", ["forecast", "not valid!"])
async def _(program: ModuleType) -> object:
    program.mcp.tool(name="not valid!")(lambda: "x")
    return [tool.name for tool in (await listing(program)).tools]


REFUSING, ALLOWING = "troubleshooting/tutorial003", "troubleshooting/tutorial004"


async def deployed(program: ModuleType) -> object:
    """What becomes of a client at the real hostname, and what the server logs."""
    lines = Lines("mcp.server.transport_security")
    with served(program.app) as origin:
        async with own_client(headers={"Host": "mcp.example.com"}) as http:
            try:
                async with Client(streamable_http_client(f"{origin}/mcp", http_client=http)) as client:
                    return [client.protocol_version, texts(await client.call_tool("forecast", {"city": "London"}))]
            except MCPError as error:
                return [str(error), lines.seen]


@states(REFUSING, "the client tells the status and the body (ours), the server logs the host", [True, True])
async def _(program: ModuleType) -> object:
    seen: Any = await deployed(program)
    message, [line, *_] = seen
    expected = "WARNING mcp.server.transport_security: Invalid Host header: mcp.example.com"
    return [("421" in message and "Invalid Host header" in message) or message, line.startswith(expected) or line]


@states(
    REFUSING, "421 Misdirected Request / Invalid Host header, from anything else", [421, "Misdirected Request", True]
)
async def _(program: ModuleType) -> object:
    response = await posted(program.app, Host="mcp.example.com")
    return [response.status_code, response.reason_phrase, response.text.startswith("Invalid Host header")]


@states(ALLOWING, "the identical client now connects", ["2026-07-28", ["London: Rain."]])
async def _(program: ModuleType) -> object:
    return await deployed(program)


@states(ALLOWING, "its edges: any port, and the Origin", [200, 200, 403])
async def _(program: ModuleType) -> object:
    more = [
        {"Host": "mcp.example.com:8443"},
        {"Host": "mcp.example.com", "Origin": "https://app.example.com"},
        {"Host": "mcp.example.com", "Origin": "https://other.example.com"},
    ]
    with served(program.app) as origin:
        async with own_client() as http:
            return [
                (await http.post(f"{origin}/mcp", json=INITIALIZE, headers={**JSON_HEADERS, **headers})).status_code
                for headers in more
            ]


@states("troubleshooting/tutorial005", "mounted without its lifespan it works (ours), in both eras", ["London: Rain."])
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        return texts(await client.call_tool("forecast", {"city": "London"}))

    return await over_http(program.app, "/mcp", ask)


@states("troubleshooting/tutorial005", "one warning shows the fix", [1, True])
async def _(program: ModuleType) -> object:
    lines = Lines("mcp")
    await posted(program.app)
    return [len(lines.seen), "session_manager.run()" in lines.seen[0] or lines.seen[0]]


@states(
    REFUSING,
    "a session the server does not know",
    [404, {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Session not found"}}],
)
async def _(program: ModuleType) -> object:
    with served(program.app) as origin:
        async with own_client() as http:
            listing = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
            headers = {**JSON_HEADERS, "Mcp-Session-Id": "0" * 32, "MCP-Protocol-Version": "2025-06-18"}
            response = await http.post(f"{origin}/mcp", json=listing, headers=headers)
    return [response.status_code, response.json()]


@states(
    REFUSING,
    "methods of the other era",
    [(-32601, "Method not found", "resources/subscribe"), "ListenNotSupportedError"],
)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client:
        try:
            await client.subscribe_resource("a://b")  # pyright: ignore[reportDeprecated]
            subscribed: object = "no error"
        except MCPError as error:
            subscribed = error.code, error.message, error.data
    async with Client(program.mcp, mode="legacy") as client:
        try:
            async with client.listen(tools_list_changed=True):
                listened = "no error"
        except ListenNotSupportedError as error:
            listened = type(error).__name__
    return [subscribed, listened]


REQUIRED: dict[str, Any] = {"requiredCapabilities": {"elicitation": {"form": {}}}}
FRIDAY: dict[str, Any] = {"date": "Friday"}


async def yes(context: object, params: object) -> ElicitResult:
    return ElicitResult(action="accept", content={"confirm": True})


async def answered(program: ModuleType, **options: Any) -> object:
    async with Client(program.mcp, **options) as client:
        try:
            return texts(await client.call_tool("book_table", FRIDAY))
        except MCPError as error:
            return str(error)


@states("troubleshooting/tutorial006", "a 2026 connection has no back-channel, callback or not", [NO_BACK_CHANNEL] * 2)
async def _(program: ModuleType) -> object:
    return [await answered(program), await answered(program, elicitation_callback=yes)]


@states("troubleshooting/tutorial006", "it is not wrong, it is pre-2026", ["Booked for Friday."])
async def _(program: ModuleType) -> object:
    return await answered(program, mode="legacy", elicitation_callback=yes)


@states("troubleshooting/tutorial006", "Elicitation not supported", "Elicitation not supported")
async def _(program: ModuleType) -> object:
    return await answered(program, mode="legacy")


@states("troubleshooting/tutorial007", "the same question as a resolver", ["Booked for Friday."])
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        return texts(await client.call_tool("book_table", FRIDAY))

    return await in_both_eras(program, ask, elicitation_callback=yes)


@states(
    "troubleshooting/tutorial007",
    "a client that never said it can be asked",
    [
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        "Client did not declare the form elicitation capability required by resolver 'server:ask_to_confirm'",
        REQUIRED,
    ],
)
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        try:
            return await client.call_tool("book_table", FRIDAY)
        except MCPError as error:
            # The page has the program as server.py.
            return [error.code, error.message.replace(program.__name__, "server"), error.data]

    return await in_both_eras(program, ask)


STATELESS = "troubleshooting/tutorial008"

for era in ERAS:

    @states(STATELESS, f"stateless: nowhere to send it ({era})", NO_BACK_CHANNEL)
    async def _(program: ModuleType, era: str = era) -> object:
        return await tried(program.app, "book_table", FRIDAY, era, yes)


# docs/whats-new.md

NEW = "whats_new/tutorial001"


@states(
    NEW,
    "the schema is advertised",
    [{"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}],
)
async def _(program: ModuleType) -> object:
    return [tool.input_schema for tool in (await listing(program)).tools]


@states(NEW, "a full result out", ["Found 3 books matching 'dune'."])
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        return texts(await client.call_tool("search_books", {"query": "dune"}))

    return await in_both_eras(program, ask)


@states(
    NEW,
    "an MCPError passes with its code and message, nothing checks arguments",
    [(-32602, "Unknown tool: burn"), (-32603, "Internal server error")],
)
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        return [await error_of(client.call_tool("burn", {})), await error_of(client.call_tool("search_books", {}))]

    return await in_both_eras(program, ask)


# docs/handlers/subscriptions.md

BOARD = "subscriptions/tutorial001"
BOARD_URI = "board://sprint"


@states(BOARD, "the stream that named the URI hears of it, then reads", [BOARD_URI, "[x] design", "listen-1"])
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client, client.listen(resource_subscriptions=[BOARD_URI]) as subscription:
        await client.call_tool("complete_task", {"board": "sprint", "task": "design"})
        event = await anext(subscription)
        assert isinstance(event, ResourceUpdated)
        text = str(await read(client, event.uri))
        return [event.uri, text.splitlines()[0], subscription.subscription_id]


@states(
    BOARD,
    "notify_tools_changed reaches who asked for it, who lists again",
    [ToolsListChanged(), ["complete_task", "enable_reports", "sprint_report"], ["1 task(s) done"]],
)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp) as client, client.listen(tools_list_changed=True) as subscription:
        await client.call_tool("complete_task", {"board": "sprint", "task": "design"})
        await client.call_tool("enable_reports")
        event = await anext(subscription)
        names = [tool.name for tool in (await client.list_tools()).tools]
        return [event, names, texts(await client.call_tool("sprint_report"))]


@states(BOARD, "only what was asked for, and URIs are exact", [ToolsListChanged(), BOARD_URI])
async def _(program: ModuleType) -> object:
    @program.mcp.tool()
    async def prompts_changed(ctx: Context) -> None:
        await ctx.notify_prompts_changed()
        await ctx.notify_resource_updated(f"{BOARD_URI}/tasks/1")

    async with (
        Client(program.mcp) as client,
        client.listen(tools_list_changed=True, resource_subscriptions=[BOARD_URI]) as subscription,
    ):
        await client.call_tool("prompts_changed")
        await client.call_tool("complete_task", {"board": "backlog", "task": "tidy docs"})
        await client.call_tool("enable_reports")
        await client.call_tool("complete_task", {"board": "sprint", "task": "design"})
        first, second = await anext(subscription), await anext(subscription)
        assert isinstance(second, ResourceUpdated)
        return [first, second.uri]


@states(BOARD, "every kind is honoured", [True, [BOARD_URI], None])
async def _(program: ModuleType) -> object:
    async with (
        Client(program.mcp) as client,
        client.listen(prompts_list_changed=True, resource_subscriptions=[BOARD_URI]) as subscription,
    ):
        honored = subscription.honored
        return [honored.prompts_list_changed, honored.resource_subscriptions, honored.tools_list_changed]


@states(BOARD, "the bus you construct publishes from outside a request", PromptsListChanged())
async def _(program: ModuleType) -> object:
    from mcp.server.subscriptions import InMemorySubscriptionBus
    from mcp.server.subscriptions import PromptsListChanged as Changed

    bus = InMemorySubscriptionBus()
    mcp = program.MCPServer("Sprint Board", subscriptions=bus)
    async with Client(mcp) as client, client.listen(prompts_list_changed=True) as subscription:
        await bus.publish(Changed())
        return await anext(subscription)


@states(BOARD, "no subscribers, no work, in either era", ["design: done"])
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        return texts(await client.call_tool("complete_task", {"board": "sprint", "task": "design"}))

    return await in_both_eras(program, ask)
