"""A cloakroom that answers a coat left there with a ticket, and a client extension that collects it."""

from collections.abc import Sequence
from typing import Any, Literal

from mcp import types
from mcp.client import ClaimContext, ClientExtension, NotificationBinding, ResultClaim
from mcp.server import Server, ServerRequestContext

TICKETS = "com.example/tickets"
OPENED = "com.example/opened"
"""The method of the cloakroom's own notification."""

Context = ServerRequestContext[Any, Any]


class Ticket(types.Result):
    result_type: Literal["ticket"] = "ticket"
    ticket_number: str


class Opened(types.NotificationParams):
    hour: int


class Tickets(ClientExtension):
    """Collects tickets with a further call."""

    identifier = TICKETS

    def __init__(self) -> None:
        self.contexts: list[ClaimContext] = []

    def settings(self) -> dict[str, Any]:
        return {"floor": 1}

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="ticket", model=Ticket, resolve=self.collect)]

    async def collect(self, claimed: Ticket, ctx: ClaimContext) -> types.CallToolResult:
        self.contexts.append(ctx)
        return await ctx.session.call_tool("fetch", {"number": claimed.ticket_number})


class Hours(ClientExtension):
    """Notes when the cloakroom opens."""

    identifier = "com.example/hours"

    def __init__(self, method: str = OPENED) -> None:
        self.heard: list[Opened] = []
        self._method = method

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        return [NotificationBinding(method=self._method, params_type=Opened, handler=self.note)]

    async def note(self, params: Opened) -> None:
        self.heard.append(params)


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    schema = {"type": "object"}
    lined = {"type": "object", "properties": {"length": {"type": "integer"}}, "required": ["length"]}
    return types.ListToolsResult(
        tools=[
            types.Tool(name="leave", input_schema=schema),
            types.Tool(name="fetch", input_schema=schema),
            types.Tool(name="look", input_schema=schema),
            types.Tool(name="open", input_schema=schema),
            types.Tool(name="lined", input_schema=schema, output_schema=lined),
            types.Tool(name="torn", input_schema=schema),
            types.Tool(name="odd", input_schema=schema),
        ]
    )


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
    arguments = params.arguments or {}
    if params.name == "fetch":
        return types.CallToolResult(content=[types.TextContent(text=f"coat for {arguments['number']}")])
    if params.name == "look":
        capabilities = ctx.session.client_capabilities
        declared = {} if capabilities is None else capabilities.extensions or {}
        return types.CallToolResult(content=[], structured_content=declared)
    if params.name == "open":
        for hour in arguments["hours"]:
            notification = types.Notification[dict[str, Any], str](method=arguments["method"], params={"hour": hour})
            await ctx.session.send_notification(notification, related_request_id=ctx.request_id)
        return types.CallToolResult(content=[])
    return {"torn": {"resultType": "ticket"}, "odd": {"resultType": "odd"}}.get(
        params.name, {"resultType": "ticket", "ticketNumber": "t-9"}
    )


def build() -> Server[Any]:
    """The cloakroom."""
    return Server("cloakroom", on_list_tools=list_tools, on_call_tool=call_tool)
