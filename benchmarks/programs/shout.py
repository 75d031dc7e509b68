"""The servers under test: one cheap tool, listed among as many others as asked for."""

from typing import Any

from pydantic import BaseModel, create_model

from mcp.server import MCPServer, Server, ServerRequestContext
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool

MEGABYTE = 1_000_000
FIELDS = 20
REPORTED: tuple[int | float | str | bool, ...] = (1, 1.5, "text", True)


def build_server(listed_tools: int = 10, *, header_parameters: bool = False) -> Server:
    """Returns a low-level server with `listed_tools` tools: `shout`, `large`, and others that nobody calls.

    `shout` answers its `text` in capitals. `large` answers `megabytes` of text in one piece, and reports
    progress first where the caller asked for it, which turns an HTTP answer into an event stream. With
    `header_parameters`, each tool has an argument that clients repeat in a header.
    """
    tools = [_shout(), _large(), *(_listed_only(number) for number in range(listed_tools - 2))]
    if header_parameters:
        for tool in tools:
            name, schema = next(iter(tool.input_schema["properties"].items()))
            schema["x-mcp-header"] = name.capitalize()

    async def list_tools(ctx: ServerRequestContext, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call_tool(ctx: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult:
        arguments = params.arguments or {}
        if params.name == "large":
            await ctx.session.report_progress(1, 2)
            text = "x" * (arguments["megabytes"] * MEGABYTE)
        else:
            text = arguments["text"].upper()
        return CallToolResult(content=[TextContent(type="text", text=text)])

    return Server("shout", version="1.0.0", on_list_tools=list_tools, on_call_tool=call_tool)


def build_function_server(listed_tools: int = 10) -> MCPServer:
    """Returns an `MCPServer` with `listed_tools` tools.

    `shout` and `shout_in_turn` answer their `text` in capitals, the one from a plain function, the other from an
    asynchronous one. `report` answers a model of 20 fields. Nobody calls the others.
    """
    server: MCPServer = MCPServer("shout", version="1.0.0", log_level="ERROR")
    report_type = _report_type()
    report_made = report_type.model_validate({f"field_{number}": REPORTED[number % 4] for number in range(FIELDS)})

    @server.tool()
    def shout(text: str) -> str:
        """Answers the text in capitals."""
        return text.upper()

    @server.tool()
    async def shout_in_turn(text: str) -> str:
        """Answers the text in capitals."""
        return text.upper()

    async def report() -> BaseModel:
        """Answers twenty fields."""
        return report_made

    report.__annotations__["return"] = report_type
    server.add_tool(report)
    for number in range(listed_tools - 3):
        server.add_tool(search, name=f"tool_{number}", description=f"Tool number {number}, listed and never called.")
    return server


def search(query: str, limit: int = 10) -> str:
    """Stands for the tools that are only listed."""
    return f"{query} {limit}"


def _report_type() -> type[BaseModel]:
    fields: dict[str, Any] = {f"field_{number}": (type(REPORTED[number % 4]), ...) for number in range(FIELDS)}
    return create_model("Report", **fields)


def _shout() -> Tool:
    return Tool(
        name="shout",
        description="Answers the text in capitals.",
        input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    )


def _large() -> Tool:
    return Tool(
        name="large",
        description="Answers a text of so many megabytes.",
        input_schema={"type": "object", "properties": {"megabytes": {"type": "integer"}}, "required": ["megabytes"]},
    )


def _listed_only(number: int) -> Tool:
    return Tool(
        name=f"tool_{number}",
        description=f"Tool number {number}, listed and never called.",
        input_schema={
            "type": "object",
            "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
            "required": ["query"],
        },
    )
