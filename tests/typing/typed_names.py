"""What type checkers know of programs: decorated functions, contexts, resolved parameters, results.

Nothing here runs. `make check` has pyright and mypy read it, both strict.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel
from typing_extensions import assert_type

from mcp import Client
from mcp.server import MCPServer, Server, ServerRequestContext
from mcp.server.mcpserver import (
    AcceptedElicitation,
    CancelledElicitation,
    Context,
    DeclinedElicitation,
    Elicit,
    ElicitationResult,
    Resolve,
)
from mcp.types import (
    BlobResourceContents,
    CallToolResult,
    GetPromptResult,
    Implementation,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    ServerCapabilities,
    TextContent,
    TextResourceContents,
    Tool,
)


@dataclass
class AppContext:
    books: int


@asynccontextmanager
async def bare(server: MCPServer) -> AsyncGenerator[AppContext, None]:
    yield AppContext(books=3)


@asynccontextmanager
async def exact(server: MCPServer[AppContext]) -> AsyncGenerator[AppContext, None]:
    yield AppContext(books=3)


@asynccontextmanager
async def low_level(server: Server) -> AsyncGenerator[AppContext, None]:
    yield AppContext(books=3)


mcp = MCPServer("Bookshop", lifespan=bare)
assert_type(mcp, MCPServer[AppContext])
assert_type(MCPServer("Bookshop", lifespan=exact), MCPServer[AppContext])
assert_type(MCPServer("Bookshop"), MCPServer[dict[str, Any]])


# Decorated functions are what they were.


@mcp.tool(title="Add")
def add(a: int, b: int = 1) -> int:
    return a + b


@mcp.tool()
async def add_later(a: int) -> int:
    return a


@mcp.resource("books://{title}")
def book(title: str) -> str:
    return title


@mcp.prompt()
def review(code: str) -> str:
    return code


assert_type(add(1, b=2), int)
assert_type(book("Dune"), str)
assert_type(review("x"), str)
later: Callable[[int], Awaitable[int]] = add_later


# The lifespan's object is typed.


@mcp.tool()
def count(ctx: Context[AppContext]) -> int:
    assert_type(ctx.request_context.lifespan_context, AppContext)
    return ctx.request_context.lifespan_context.books


@mcp.tool()
def untyped(ctx: Context) -> str:
    assert_type(ctx.request_context.lifespan_context, dict[str, Any])
    assert_type(ctx.request_id, str)
    return ctx.request_id


async def list_tools(ctx: ServerRequestContext[AppContext], params: PaginatedRequestParams | None) -> ListToolsResult:
    assert_type(ctx.lifespan_context, AppContext)
    return ListToolsResult(tools=[])


server = Server("Bookshop", lifespan=low_level, on_list_tools=list_tools)
assert_type(server, Server[AppContext])


# `Annotated[T, Resolve(...)]` is a T.


class Stock(BaseModel):
    copies: int


async def check_stock(title: str) -> Stock | Elicit[Stock]:
    return Elicit("How many?", Stock) if title else Stock(copies=0)


@mcp.tool()
async def order(
    title: str,
    stock: Annotated[Stock, Resolve(check_stock)],
    outcome: Annotated[ElicitationResult[Stock], Resolve(check_stock)],
) -> str:
    assert_type(stock, Stock)
    if isinstance(outcome, AcceptedElicitation):
        assert_type(outcome.data, Stock)
    else:
        narrowed: DeclinedElicitation | CancelledElicitation = outcome
        assert narrowed.action in ("decline", "cancel")
    return title


@mcp.tool()
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("How many?", schema=Stock)
    if answer.action == "accept":
        assert_type(answer.data, Stock)
    return answer.action


# What a client gets.


async def use(client: Client) -> None:
    assert_type(client.protocol_version, str)
    assert_type(client.server_info, Implementation | None)
    assert_type(client.server_capabilities, ServerCapabilities)
    assert_type((await client.list_tools()).tools, list[Tool])
    result = await client.call_tool("add", {"a": 1})
    assert_type(result, CallToolResult)
    for block in result.content:
        if isinstance(block, TextContent):
            assert_type(block.text, str)
    assert_type(await client.session.call_tool("add", allow_input_required=True), CallToolResult | InputRequiredResult)
    contents = (await client.read_resource("books://Dune")).contents
    assert_type(contents, list[TextResourceContents | BlobResourceContents])
    assert_type(await client.get_prompt("review", {"code": "x"}), GetPromptResult)
