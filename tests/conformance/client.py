"""The client under test: it uses whatever the server offers, on the public API.

    python client.py URL

The suite names the revision in the environment, and in `MCP_CONFORMANCE_CONTEXT` the calls to make, if the
scenario has any. Without them every tool that is listed is called with arguments made from its schema, every
resource is read and every prompt is got.
"""

import json
import os
import sys
import warnings
from typing import Any, cast

import anyio
from client_grants import GRANTS
from client_sign_in import Storage, known_client, signed_in
from pydantic import FileUrl

from mcp import Client, MCPDeprecationWarning, MCPError
from mcp.client import ClientRequestContext
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.types import (
    METHOD_NOT_FOUND,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    Root,
    TextContent,
    Tool,
)

FIRST_MODERN_REVISION = "2026-07-28"
SAMPLES: dict[str, Any] = {"string": "text", "integer": 2, "number": 2.5, "boolean": True, "array": [], "null": None}

Schema = dict[str, Any]


async def sample(context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(text="An answer"), model="a-model")


async def list_roots(context: ClientRequestContext) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri=FileUrl("file:///a/root"), name="A root")])


async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    """Accepts, and fills in each field with its default or with a sample."""
    if not isinstance(params, ElicitRequestFormParams):
        return ElicitResult(action="accept")
    fields: dict[str, Schema] = params.requested_schema["properties"]
    return ElicitResult(action="accept", content={name: sample_of(field) for name, field in fields.items()})


def sample_of(schema: Schema) -> Any:
    """A value that the schema allows."""
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    return SAMPLES.get(schema.get("type", "string"), "text")


def arguments_of(tool: Tool, listed: list[Tool]) -> dict[str, Any]:
    """Arguments that the tool's schema allows. A tool that takes a schema gets one of those listed."""
    properties = cast("dict[str, Schema]", tool.input_schema.get("properties", {}))
    return {
        name: listed[0].input_schema if schema.get("type") == "object" else sample_of(schema)
        for name, schema in properties.items()
    }


async def use_tools(client: Client, calls: list[dict[str, Any]] | None) -> None:
    """Lists the tools, and makes the given calls or one call of each."""
    tools = (await client.list_tools()).tools
    if calls is None:
        calls = [{"name": tool.name, "arguments": arguments_of(tool, tools)} for tool in tools]
    for call in calls:
        try:
            await client.call_tool(call["name"], call["arguments"])
        except MCPError as error:
            # Some servers of the suite list a tool that is only there to be looked at.
            if error.code != METHOD_NOT_FOUND:
                raise


async def use_content(client: Client) -> None:
    """Reads every resource and gets every prompt, where the server has them."""
    offered = client.server_capabilities
    if offered.resources is not None:
        for resource in (await client.list_resources()).resources:
            await client.read_resource(str(resource.uri))
    if offered.prompts is not None:
        for prompt in (await client.list_prompts()).prompts:
            await client.get_prompt(prompt.name, {one.name: "text" for one in prompt.arguments or []})


async def main(url: str) -> None:
    revision = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    if scenario in GRANTS:
        auth = GRANTS[scenario](url, Storage(), context)
    else:
        auth = signed_in(url, Storage(known_client(context)), dpop=scenario.startswith("auth/dpop"))
    http_client = create_mcp_http_client(auth=auth)
    client = Client(
        streamable_http_client(url, http_client=http_client),
        mode="auto" if revision >= FIRST_MODERN_REVISION else "legacy",
        sampling_callback=sample,
        elicitation_callback=elicit,
        list_roots_callback=list_roots,
    )
    async with http_client, client:
        await use_tools(client, context.get("toolCalls"))
        await use_content(client)


if __name__ == "__main__":
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    anyio.run(main, sys.argv[1])
