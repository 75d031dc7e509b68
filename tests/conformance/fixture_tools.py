"""The tools that the suite's server scenarios call, and nothing else."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    Tool,
)

Context = ServerRequestContext[Any, Any]
Arguments = dict[str, Any]
Body = Callable[[Context, Arguments], Awaitable[list[ContentBlock]]]
Schema = dict[str, Any]

# One red pixel, and a WAVE file with a header and no samples.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

# Long enough that a report is its own write and its own read on the other side.
PAUSE_SECONDS = 0.05


@dataclass(frozen=True)
class Fixture:
    """One tool: what a listing says about it, and what a call does."""

    tool: Tool
    body: Body


FIXTURES: dict[str, Fixture] = {}

BUS = InMemorySubscriptionBus()


def fixture(description: str, **properties: Schema) -> Callable[[Body], Body]:
    """Offers a function as the tool of its name, whose properties are all required."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return fixture_with_schema(description, schema if properties else {"type": "object"})


def fixture_with_schema(description: str, schema: Schema) -> Callable[[Body], Body]:
    """Offers a function as the tool of its name, listed with exactly this input schema."""

    def offer(body: Body) -> Body:
        name = body.__name__
        FIXTURES[name] = Fixture(Tool(name=name, description=description, input_schema=schema), body)
        return body

    return offer


async def call(ctx: Context, name: str, arguments: Arguments) -> CallToolResult:
    """Calls a tool by its name; what it raises becomes a result that says so."""
    chosen = FIXTURES.get(name)
    if chosen is None:
        raise MCPError(-32602, f"Unknown tool: {name}")
    try:
        return CallToolResult(content=await chosen.body(ctx, arguments))
    except MCPError:
        raise
    except Exception as error:
        return CallToolResult(content=[TextContent(text=str(error))], is_error=True)


def text(words: str) -> list[ContentBlock]:
    return [TextContent(text=words)]


def image() -> ImageContent:
    return ImageContent(data=PNG, mime_type="image/png")


# The scenario about headers calls the first tool of the listing without arguments, so this one stays first.
@fixture("Answers with a text")
async def test_simple_text(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    return text("This is a simple text response for testing.")


@fixture("Answers with an image")
async def test_image_content(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    return [image()]


@fixture("Answers with a sound")
async def test_audio_content(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    return [AudioContent(data=WAV, mime_type="audio/wav")]


@fixture("Answers with a resource")
async def test_embedded_resource(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    words = "This is an embedded resource content."
    return [
        EmbeddedResource(
            resource=TextResourceContents(uri="test://embedded-resource", mime_type="text/plain", text=words)
        )
    ]


@fixture("Answers with a text, an image and a resource")
async def test_multiple_content_types(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    resource = TextResourceContents(
        uri="test://mixed-content-resource", mime_type="application/json", text='{"test":"data","value":123}'
    )
    return [TextContent(text="Multiple content types test:"), image(), EmbeddedResource(resource=resource)]


@fixture("Sends three log messages while it runs")
async def test_tool_with_logging(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    await log(ctx, "Tool execution started")
    await anyio.sleep(PAUSE_SECONDS)
    await log(ctx, "Tool processing data")
    await anyio.sleep(PAUSE_SECONDS)
    await log(ctx, "Tool execution completed")
    return text("Tool with logging executed successfully")


async def log(ctx: Context, words: str) -> None:
    session = ctx.session
    await session.send_log_message("info", words, related_request_id=ctx.request_id)  # pyright: ignore[reportDeprecated]


@fixture("Always fails")
async def test_error_handling(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    raise ValueError("This tool intentionally returns an error for testing")


@fixture("Reports its progress three times")
async def test_tool_with_progress(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    await ctx.session.report_progress(0, total=100)
    await anyio.sleep(PAUSE_SECONDS)
    await ctx.session.report_progress(50, total=100)
    await anyio.sleep(PAUSE_SECONDS)
    await ctx.session.report_progress(100, total=100)
    return text("Tool with progress executed successfully")


@fixture("Asks the client's model", prompt={"type": "string", "description": "What to ask"})
async def test_sampling(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    question = SamplingMessage(role="user", content=TextContent(text=arguments["prompt"]))
    answer = await ctx.session.create_message(  # pyright: ignore[reportDeprecated]
        [question], max_tokens=100, related_request_id=ctx.request_id
    )
    words = answer.content.text if isinstance(answer.content, TextContent) else str(answer.content)
    return text(f"LLM response: {words}")


@fixture("Asks the user for a name and an address", message={"type": "string", "description": "What to say"})
async def test_elicitation(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    properties = {"username": {"type": "string"}, "email": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["username", "email"]}
    answer = await ctx.session.elicit_form(arguments["message"], schema, related_request_id=ctx.request_id)
    return text(f"User response: action={answer.action}, content={answer.content}")


async def elicit(ctx: Context, message: str, properties: Schema) -> list[ContentBlock]:
    schema: Schema = {"type": "object", "properties": properties, "required": []}
    answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return text(f"Elicitation completed: action={answer.action}, content={answer.content}")


@fixture("Asks the user with a default for each kind of property")
async def test_elicitation_sep1034_defaults(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    properties: Schema = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await elicit(ctx, "Please review the defaults", properties)


@fixture("Asks the user with each kind of choice")
async def test_elicitation_sep1330_enums(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"Value {n}"} for n in (1, 2, 3)]
    legacy = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["First", "Second", "Third"]}
    properties: Schema = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", **legacy},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await elicit(ctx, "Please choose", properties)


@fixture("Closes its own stream, so that the answer waits for the client to come back")
async def test_reconnection(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    await anyio.sleep(2 * PAUSE_SECONDS)
    return text("Reconnected and resumed")


@fixture_with_schema(
    "Listed with many keywords of JSON Schema 2020-12",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)
async def json_schema_2020_12_tool(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    return text(f"Called with {arguments}")


@fixture("Refuses clients that do not declare sampling")
async def test_missing_capability(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        missing: Schema = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs the client to sample", missing)
    return text("The client can sample")


@fixture("Would ask the user, and says what became of it")
async def test_streaming_elicitation(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    await ctx.session.report_progress(0, total=1)
    if not ctx.session.can_send_request:
        return text("This connection takes no requests from the server")
    return await elicit(ctx, "Please go on", {"ok": {"type": "boolean"}})


@fixture("Logs once, for whoever asked for messages")
async def test_logging_tool(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    await log(ctx, "Logged by test_logging_tool")
    return text("Logged")


@fixture_with_schema(
    "Has a parameter that travels in a header too",
    {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
)
async def test_x_mcp_header(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    return text(f"Region: {arguments['region']}")


@fixture("Says that the list of tools has changed")
async def test_trigger_tool_change(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    await BUS.publish(ToolsListChanged())
    return text("Published")


@fixture("Says that the list of prompts has changed")
async def test_trigger_prompt_change(ctx: Context, arguments: Arguments) -> list[ContentBlock]:
    await BUS.publish(PromptsListChanged())
    return text("Published")
