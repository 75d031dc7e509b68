"""The prompts, resources and completions that the suite's server scenarios ask for."""

import json
import re
from collections.abc import Callable

import fixture_rounds
from fixture_tools import PNG, Context, image

from mcp import MCPError
from mcp.types import (
    BlobResourceContents,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ContentBlock,
    EmbeddedResource,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

INVALID_PARAMS = -32602


def argument(name: str) -> PromptArgument:
    return PromptArgument(name=name, description=f"The argument {name}", required=True)


PROMPTS = [
    Prompt(name="test_simple_prompt", description="Says one sentence"),
    Prompt(
        name="test_prompt_with_arguments",
        description="Repeats its arguments",
        arguments=[argument("arg1"), argument("arg2")],
    ),
    Prompt(
        name="test_prompt_with_embedded_resource",
        description="Carries a resource",
        arguments=[argument("resourceUri")],
    ),
    Prompt(name="test_prompt_with_image", description="Carries an image"),
    fixture_rounds.PROMPT,
]


async def list_prompts(ctx: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
    return ListPromptsResult(prompts=PROMPTS)


def simple(arguments: dict[str, str]) -> list[ContentBlock]:
    return [TextContent(text="This is a simple prompt for testing.")]


def with_arguments(arguments: dict[str, str]) -> list[ContentBlock]:
    return [TextContent(text=f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'")]


def with_resource(arguments: dict[str, str]) -> list[ContentBlock]:
    resource = TextResourceContents(
        uri=arguments["resourceUri"], mime_type="text/plain", text="Embedded resource content for testing."
    )
    return [EmbeddedResource(resource=resource), TextContent(text="Please process the embedded resource above.")]


def with_image(arguments: dict[str, str]) -> list[ContentBlock]:
    return [image(), TextContent(text="Please analyze the image above.")]


CONTENT_OF_PROMPT: dict[str, Callable[[dict[str, str]], list[ContentBlock]]] = {
    "test_simple_prompt": simple,
    "test_prompt_with_arguments": with_arguments,
    "test_prompt_with_embedded_resource": with_resource,
    "test_prompt_with_image": with_image,
}


async def get_prompt(ctx: Context, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
    if params.name == fixture_rounds.PROMPT.name:
        return await fixture_rounds.get_prompt(ctx, params)
    content_of = CONTENT_OF_PROMPT.get(params.name)
    if content_of is None:
        raise MCPError(INVALID_PARAMS, f"Unknown prompt: {params.name}")
    content = content_of(params.arguments or {})
    return GetPromptResult(messages=[PromptMessage(role="user", content=block) for block in content])


async def complete(ctx: Context, params: CompleteRequestParams) -> CompleteResult:
    values = [word for word in ("test", "testing", "tested") if word.startswith(params.argument.value)]
    return CompleteResult(completion=Completion(values=values, total=len(values), has_more=False))


RESOURCES = [
    Resource(uri="test://static-text", name="static-text", description="A text", mime_type="text/plain"),
    Resource(uri="test://static-binary", name="static-binary", description="An image", mime_type="image/png"),
    Resource(uri="test://watched-resource", name="watched-resource", description="Changes", mime_type="text/plain"),
]
TEMPLATE = ResourceTemplate(
    uri_template="test://template/{id}/data", name="template", description="One per id", mime_type="application/json"
)
TEMPLATED_URI = re.compile(r"test://template/([^/]+)/data")


async def list_resources(ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
    return ListResourcesResult(resources=RESOURCES)


async def list_templates(ctx: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(resource_templates=[TEMPLATE])


def contents_of(uri: str) -> TextResourceContents | BlobResourceContents:
    if uri == "test://static-text":
        words = "This is the content of the static text resource."
        return TextResourceContents(uri=uri, mime_type="text/plain", text=words)
    if uri == "test://static-binary":
        return BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    if uri == "test://watched-resource":
        return TextResourceContents(uri=uri, mime_type="text/plain", text="Watched")
    if found := TEMPLATED_URI.fullmatch(uri):
        document = {"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"}
        return TextResourceContents(uri=uri, mime_type="application/json", text=json.dumps(document))
    raise MCPError(INVALID_PARAMS, f"Resource not found: {uri}", {"uri": uri})


async def read_resource(ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    return ReadResourceResult(contents=[contents_of(str(params.uri))])
