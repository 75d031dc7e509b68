"""Mistakes in what an `MCPServer` is constructed with: refused there, with the argument and what it takes."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from mcp import Client, types
from mcp.server import MCPServer
from mcp.server.mcpserver import DEFAULT_RESOURCE_SECURITY, RequestStateSecurity
from mcp.server.mcpserver.resources import TextResource
from mcp.server.mcpserver.tools import Tool
from mcp.server.subscriptions import InMemorySubscriptionBus

construct: Any = MCPServer


def add(a: int, b: int) -> int:
    return a + b


async def undecorated(server: Any) -> AsyncGenerator[int]:
    yield 1


def undecorated_and_sync(server: Any) -> Generator[int]:
    yield 1


async def returning(server: Any) -> None: ...


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": 5}, "name= takes a str or None, got 5"),
        ({"title": add}, "title= takes a str or None, got the function add"),
        ({"instructions": ["be kind"]}, "instructions= takes a str or None, got an object of type list"),
        ({"website_url": b"x" * 80}, r"website_url= takes a str or None, got b'x+\.\.\."),
        ({"version": None}, "version= takes a str, got None"),
        ({"icons": "x"}, "icons= takes a list of Icon objects, got 'x'"),
        ({"icons": ["x"]}, "icons= takes a list of Icon objects; 'x' is in it"),
        ({"tools": [add]}, r"tools= takes a list of Tool objects \(.*Tool.from_function.*; the function add is in it"),
        ({"tools": add}, "tools= takes .*, got the function add"),
        ({"tools": iter(())}, "tools= takes .*, got an object of type tuple_iterator"),
        ({"resources": ["x"]}, r"resources= takes a list of Resource objects \(.*\); 'x' is in it"),
        ({"extensions": 5}, "extensions= takes a list of Extension objects, got 5"),
        ({"dependencies": "requests"}, "dependencies= takes a list of requirements as str, got 'requests'"),
        ({"dependencies": ["requests", 5]}, "dependencies= .*; 5 is in it"),
        ({"middleware": add}, "middleware= takes a list of callables: .*, got the function add"),
        ({"middleware": [None]}, "middleware= .*; None is in it"),
        ({"lifespan": 5}, "lifespan= takes a function under @asynccontextmanager, or None, got 5"),
        ({"lifespan": undecorated}, "lifespan= .*the function undecorated returns none: .*@contextlib.asynccontextman"),
        ({"lifespan": partial(undecorated)}, "lifespan= .*an object of type partial returns none: .*decorate it"),
        ({"lifespan": undecorated_and_sync}, "lifespan= .*write `async def`.*decorate it"),
        ({"lifespan": returning}, "lifespan= .*`yield` once"),
        ({"resource_security": None}, r"resource_security= takes a ResourceSecurity \(.*\), got None"),
        (
            {"request_state_security": b"key"},
            "request_state_security= takes a RequestStateSecurity or None, got b'key'",
        ),
        ({"subscriptions": True}, "subscriptions= takes a SubscriptionBus, False .*, or None .*, got True"),
        ({"subscriptions": InMemorySubscriptionBus}, "subscriptions= .*the class InMemorySubscriptionBus"),
    ],
)
def test_an_argument_of_another_type_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        construct(**{"name": "shop", **arguments})


@pytest.mark.parametrize("word", ["raise", True, ["warn"]])
def test_a_word_that_there_is_not_is_refused_with_those_that_there_are(word: Any) -> None:
    with pytest.raises(ValueError, match="on_duplicate= must be one of 'warn', 'ignore', 'replace', 'error', got "):
        construct(on_duplicate=word)
    with pytest.raises(ValueError, match="unknown_arguments= must be one of 'suggest', 'refuse', got "):
        construct(unknown_arguments=word)


@pytest.mark.anyio
async def test_what_is_right_is_taken() -> None:
    @asynccontextmanager
    async def lifespan(server: Any) -> AsyncGenerator[dict[str, Any]]:
        yield {}

    mcp = construct(
        None,
        "Shop",
        icons=({"src": "https://shop.example/icon.png"}, types.Icon(src="https://shop.example/2.png")),
        tools=(Tool.from_function(add),),
        resources=[TextResource(uri="shop://hours", text="9 to 5")],
        dependencies=("requests",),
        lifespan=partial(lifespan),
        resource_security=DEFAULT_RESOURCE_SECURITY,
        request_state_security=RequestStateSecurity.ephemeral(),
        subscriptions=InMemorySubscriptionBus(),
        middleware=(),
        extensions=(),
        on_duplicate="error",
        unknown_arguments="refuse",
    )
    assert mcp.dependencies == ["requests"]
    async with Client(mcp) as client:
        assert [icon.src[-6:] for icon in (client.server_info and client.server_info.icons) or []] == [
            "on.png",
            "/2.png",
        ]
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add"]
