"""Reports about registering functions: what is taken twice, what docstrings say, what decorators leave behind."""

import logging
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import pytest
from connections import only_message, only_text
from pydantic import Field
from typing_extensions import assert_type

from mcp import Client, types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.duplicates import DuplicatePolicy

pytestmark = pytest.mark.anyio


# B100


def register(mcp: MCPServer, answer: str) -> None:
    """One of each kind. Registered a second time, every name is taken."""

    @mcp.tool("t")
    def tool() -> str:
        return answer

    @mcp.prompt("p")
    def prompt() -> str:
        return answer

    @mcp.resource("r://one")
    def resource() -> str:
        return answer

    @mcp.resource("r://one/{of}")
    def template(of: str) -> str:
        return answer + of

    _ = tool, prompt, resource, template


async def answers(mcp: MCPServer, mode: str) -> set[str]:
    """What the four of them say, without their differences."""
    async with Client(mcp, mode=mode) as client:
        assert len((await client.list_tools()).tools) == len((await client.list_prompts()).prompts) == 1
        assert len((await client.list_resources()).resources) == 1
        assert len((await client.list_resource_templates()).resource_templates) == 1
        said = [only_text(await client.call_tool("t")), only_message(await client.get_prompt("p"))]
        for uri in ("r://one", "r://one/"):
            [content] = (await client.read_resource(uri)).contents
            assert isinstance(content, types.TextResourceContents)
            said.append(content.text)
    return set(said)


async def test_b100_the_first_one_stays_and_a_warning_tells(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    """The second one vanished, and nobody knew."""
    mcp = MCPServer("twice")
    register(mcp, "first")
    register(mcp, "second")

    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 4
    for name in ("t", "p", "r://one", "r://one/{of}"):
        assert any(warning.endswith(f"already exists: {name}") for warning in warnings)
    assert await answers(mcp, mode) == {"first"}


@pytest.mark.parametrize(("policy", "left"), [("ignore", "first"), ("warn", "first"), ("replace", "second")])
async def test_b100_a_server_says_what_happens(
    policy: DuplicatePolicy, left: str, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One option for tools, prompts, resources and templates."""
    mcp = MCPServer("twice", on_duplicate=policy)
    register(mcp, "first")
    register(mcp, "second")

    assert len(caplog.records) == (4 if policy == "warn" else 0)
    assert await answers(mcp, mode) == {left}


def test_b100_a_second_one_may_be_refused() -> None:
    """The name is in the error."""
    mcp = MCPServer("twice", on_duplicate="error")
    register(mcp, "first")

    def again(of: str = "") -> str:
        return of

    def once_more() -> str:
        return ""

    with pytest.raises(ValueError, match="Tool already exists: t"):
        mcp.tool("t")(again)
    with pytest.raises(ValueError, match="Prompt already exists: p"):
        mcp.prompt("p")(again)
    with pytest.raises(ValueError, match="already exists: r://one"):
        mcp.resource("r://one")(once_more)
    with pytest.raises(ValueError, match=r"already exists: r://one/\{of\}"):
        mcp.resource("r://one/{of}")(again)


# B87


GOOGLE = "Reads.\n\n    Args:\n        city: The city.\n        days: How many."
NUMPY = "Reads.\n\n    Parameters\n    ----------\n    city : str\n        The city.\n    days\n        How many."
SPHINX = "Reads.\n\n    :param city: The city.\n    :param int days: How many."


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
async def test_b87_docstrings_describe_the_parameters_that_are_listed(docstring: str, mode: str) -> None:
    """The whole text described the tool, and nothing described its parameters."""

    def f(city: str, ctx: Context, days: Annotated[int, Field(description="Explicit.")] = 1) -> str:
        return city

    f.__doc__ = docstring
    mcp = MCPServer("described")
    mcp.add_tool(f)
    mcp.prompt()(f)
    async with Client(mcp, mode=mode) as client:
        [tool] = (await client.list_tools()).tools
        [prompt] = (await client.list_prompts()).prompts

    assert tool.description is not None
    assert tool.description.startswith("Reads.")
    properties = tool.input_schema["properties"]
    assert (properties["city"]["description"], properties["days"]["description"]) == ("The city.", "Explicit.")
    told = {argument.name: argument.description for argument in prompt.arguments or []}
    assert told == {"city": "The city.", "days": "Explicit."}


# B106


def test_b106_decorated_functions_keep_their_types_and_can_be_called() -> None:
    """Type checkers took them for objects of the library. This file is checked by one; see `assert_type`."""
    mcp = MCPServer("typed")

    @mcp.tool()
    def add(a: int, b: int = 1) -> int:
        return a + b

    @mcp.tool(name="later", title="Later")
    async def add_later(a: int, ctx: Context[Any, Any]) -> float:
        return a / 2

    @mcp.resource("a://{b}")
    def read(b: str) -> bytes:
        return b.encode()

    @mcp.prompt()
    def greet(name: str) -> list[str]:
        return [name]

    assert_type(add(1, b=2), int)
    later: Callable[[int, Context[Any, Any]], Awaitable[float]] = add_later
    assert_type(read("b"), bytes)
    assert_type(greet("Ann"), list[str])
    assert (add(1), read("b"), greet("Ann"), later.__name__) == (2, b"b", ["Ann"], "add_later")


# B76 for decorators that were not called, which fm#1116 is about too.


@pytest.mark.parametrize("decorator", ["tool", "prompt", "resource"])
def test_b106_a_decorator_without_parentheses_is_told(decorator: str) -> None:
    """It failed somewhere else, or not at all."""

    def f() -> str:
        return ""

    with pytest.raises(TypeError, match="Did you forget to call it"):
        getattr(MCPServer("typed"), decorator)(f)


# B102


@pytest.mark.parametrize("old", ["mcp.server.fastmcp", "mcp.server.fastmcp.server", "mcp.shared.session"])
def test_b102_an_import_of_before_the_rename_names_the_new_one(old: str) -> None:
    """Unpinned programs broke with nothing but the name of a missing module."""
    program = f"from {old} import FastMCP"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ModuleNotFoundError")
    assert re.search(r"\bmcp\.(server\.mcpserver|client\.session)\b", last)
