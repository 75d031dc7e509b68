"""Statements: what a page says about a program, as a check. The means to write them.

A check observes one thing a page states and returns it. The statement holds if what was seen equals what was
expected. To cover another program, add a function with the `states` decorator to the file of its area.
"""

import contextlib
import importlib
import io
import sys
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from mcp import Client, MCPError
from mcp.types import CallToolResult, ListToolsResult, TextResourceContents

Observe = Callable[[ModuleType], Coroutine[Any, Any, object]]


@dataclass(frozen=True)
class Statement:
    """One thing a page says: `observe` runs the program and must return `expected`."""

    program: str
    words: str
    expected: object
    observe: Observe


STATEMENTS: list[Statement] = []
ERAS = ("auto", "legacy")
REFUSED = (-32603, "Internal server error")


def states(program: str, words: str, expected: object) -> Callable[[Observe], Observe]:
    """Registers the decorated function as the check of a statement about `program`, a path without suffix."""

    def register(observe: Observe) -> Observe:
        STATEMENTS.append(Statement(program, words, expected, observe))
        return observe

    return register


def server_of(program: ModuleType) -> Any:
    """The server that a program defines."""
    return getattr(program, "server", None) or program.mcp


def anew(program: str) -> ModuleType:
    """Another program: a server that a page's client is run against here, or the other way round."""
    name = f"upstream.{program.replace('/', '.')}"
    sys.modules.pop(name, None)
    return importlib.import_module(name)


async def asked(program: ModuleType, ask: Callable[[Client], Awaitable[object]], **options: Any) -> Any:
    """What a client learns from a program's server."""
    async with Client(server_of(program), **options) as client:
        return await ask(client)


async def in_both_eras(program: ModuleType, ask: Callable[[Client], Awaitable[object]], **options: Any) -> Any:
    """What a client learns in either era; both answers where they differ."""
    modern, legacy = [await asked(program, ask, mode=mode, **options) for mode in ERAS]
    return modern if modern == legacy else {"2026": modern, "2025": legacy}


async def call(program: ModuleType, tool: str, /, **arguments: object) -> CallToolResult:
    async with Client(server_of(program)) as client:
        return await client.call_tool(tool, arguments)


async def said(program: ModuleType, tool: str, /, **arguments: object) -> Any:
    """The texts of a call's result, in either era."""
    return await in_both_eras(program, lambda client: _said(client, tool, arguments))


async def _said(client: Client, tool: str, arguments: dict[str, object]) -> list[str]:
    result = await client.call_tool(tool, arguments)
    return ["failed", *texts(result)] if result.is_error else texts(result)


async def channels(program: ModuleType, tool: str, /, **arguments: object) -> Any:
    """Both channels of a call's result in either era: the texts, and the structured content."""

    async def ask(client: Client) -> Any:
        result = await client.call_tool(tool, arguments)
        return [*texts(result), result.structured_content]

    return await in_both_eras(program, ask)


def texts(result: CallToolResult) -> list[str]:
    return [block.text if block.type == "text" else block.type for block in result.content]


async def failed_call(program: ModuleType, tool: str, /, **arguments: object) -> Any:
    async with Client(server_of(program)) as client:
        return await error_of(client.call_tool(tool, arguments))


async def listing(program: ModuleType) -> ListToolsResult:
    async with Client(server_of(program)) as client:
        return await client.list_tools()


async def schemas(program: ModuleType) -> Any:
    """The input and output schemas of a program's first tool, in either era."""

    async def ask(client: Client) -> Any:
        tool = (await client.list_tools()).tools[0]
        return [tool.input_schema, tool.output_schema]

    return await in_both_eras(program, ask)


async def input_schema(program: ModuleType) -> Any:
    return (await listing(program)).tools[0].input_schema


async def output_schema(program: ModuleType) -> Any:
    return (await listing(program)).tools[0].output_schema


async def resource(program: ModuleType, uri: str) -> Any:
    """The text that a program serves at a URI, or the error it answers with."""
    async with Client(server_of(program)) as client:
        return await read(client, uri)


async def read(client: Client, uri: str) -> Any:
    try:
        [contents] = (await client.read_resource(uri)).contents
    except MCPError as error:
        return error.code, error.message
    assert isinstance(contents, TextResourceContents)
    return contents.text


def wire(model: BaseModel) -> dict[str, Any]:
    """A model as its peer reads it, without what identifies the server."""
    dumped = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(dumped.get("_meta"), dict):
        del dumped["_meta"]
    return dumped


async def error_of(awaitable: Awaitable[object]) -> Any:
    """The error of a call: code and message of a protocol error, type and text of any other."""
    try:
        return f"no error: {await awaitable!r}"
    except MCPError as error:
        return error.code, error.message
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def refusal(make: Callable[[], object]) -> str:
    """The error with which something cannot be made."""
    try:
        return f"no error: {make()!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


async def printed(main: Awaitable[object]) -> str:
    """What a program's `main()` prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        await main
    return out.getvalue()


async def printed_by(use: Callable[[Client], Awaitable[object]], server: Any) -> str:
    """What a program's function prints that is given a client."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        async with Client(server) as client:
            await use(client)
    return out.getvalue()


def exported() -> Callable[[], list[tuple[str, str, dict[str, object]]]]:
    """Installs a tracer provider; gives what it has exported: kind, name and attributes of each span."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace._TRACER_PROVIDER = provider
    return lambda: [(span.kind.name, span.name, dict(span.attributes or {})) for span in exporter.get_finished_spans()]
