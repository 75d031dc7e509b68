"""A shop that answers a purchase with a receipt, and a client extension that redeems it."""

from collections.abc import Sequence
from typing import Any, Literal

from mcp import types
from mcp.client import ClaimContext, ClientExtension, NotificationBinding, ResultClaim
from mcp.server import Server, ServerRequestContext

RECEIPTS = "com.example/receipts"
OPENED = "com.example/opened"
"""The method of the shop's own notification."""

Context = ServerRequestContext[Any, Any]


class Receipt(types.Result):
    result_type: Literal["receipt"] = "receipt"
    receipt_token: str


class Opened(types.NotificationParams):
    hour: int


class Receipts(ClientExtension):
    """Redeems receipts with a further call."""

    identifier = RECEIPTS

    def __init__(self) -> None:
        self.contexts: list[ClaimContext] = []

    def settings(self) -> dict[str, Any]:
        return {"currency": "EUR"}

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="receipt", model=Receipt, resolve=self.redeem)]

    async def redeem(self, claimed: Receipt, ctx: ClaimContext) -> types.CallToolResult:
        self.contexts.append(ctx)
        return await ctx.session.call_tool("redeem", {"token": claimed.receipt_token})


class Hours(ClientExtension):
    """Notes when the shop opens."""

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
    priced = {"type": "object", "properties": {"price": {"type": "integer"}}, "required": ["price"]}
    return types.ListToolsResult(
        tools=[
            types.Tool(name="buy", input_schema=schema),
            types.Tool(name="redeem", input_schema=schema),
            types.Tool(name="look", input_schema=schema),
            types.Tool(name="open", input_schema=schema),
            types.Tool(name="priced", input_schema=schema, output_schema=priced),
            types.Tool(name="torn", input_schema=schema),
            types.Tool(name="odd", input_schema=schema),
        ]
    )


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
    arguments = params.arguments or {}
    if params.name == "redeem":
        return types.CallToolResult(content=[types.TextContent(text=f"goods for {arguments['token']}")])
    if params.name == "look":
        capabilities = ctx.session.client_capabilities
        declared = {} if capabilities is None else capabilities.extensions or {}
        return types.CallToolResult(content=[], structured_content=declared)
    if params.name == "open":
        for hour in arguments["hours"]:
            notification = types.Notification[dict[str, Any], str](method=arguments["method"], params={"hour": hour})
            await ctx.session.send_notification(notification, related_request_id=ctx.request_id)
        return types.CallToolResult(content=[])
    return {"torn": {"resultType": "receipt"}, "odd": {"resultType": "odd"}}.get(
        params.name, {"resultType": "receipt", "receiptToken": "r-117"}
    )


def build() -> Server[Any]:
    """The shop."""
    return Server("shop", on_list_tools=list_tools, on_call_tool=call_tool)
