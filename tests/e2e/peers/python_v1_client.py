# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportArgumentType=false, reportReturnType=false
"""A client on the Python SDK 1.x for the server of workshop.py. It prints what it saw as one line of JSON.

python python_v1_client.py http URL
python python_v1_client.py sse URL
python python_v1_client.py stdio COMMAND [ARGUMENT...]
"""

import json
import sys
from contextlib import asynccontextmanager
from typing import Any

import anyio
from pydantic import AnyUrl

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

seen: dict[str, Any] = {"logged": [], "progress": [], "changes": []}


@asynccontextmanager
async def open_streams(kind: str, target: str, *arguments: str):
    if kind == "stdio":
        async with stdio_client(StdioServerParameters(command=target, args=list(arguments))) as streams:
            yield streams
    elif kind == "sse":
        async with sse_client(target) as streams:
            yield streams
    else:
        async with streamablehttp_client(target) as (read_stream, write_stream, _):
            yield read_stream, write_stream


async def sample(context, params):
    words = f"yes to {params.messages[0].content.text}"
    content = types.TextContent(type="text", text=words)
    return types.CreateMessageResult(role="assistant", content=content, model="oracle")


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"name": f"asked: {params.message}"})


async def list_roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///a/folder")])


async def note_log(params):
    seen["logged"].append({"level": params.level, "data": params.data})


async def note_message(message):
    if isinstance(message, Exception):
        raise message
    notification = getattr(message, "root", None)
    if isinstance(notification, types.ResourceUpdatedNotification):
        seen["changes"].append(str(notification.params.uri))
    elif isinstance(notification, types.ToolListChangedNotification):
        seen["changes"].append("tools")


async def note_progress(progress, total, message):
    seen["progress"].append([progress, total, message])


async def call(session: ClientSession, name: str, arguments: dict[str, Any] | None = None, **options) -> Any:
    try:
        result = await session.call_tool(name, arguments, **options)
    except McpError as error:
        return {"code": error.error.code, "message": error.error.message}
    return result.content[0].text


async def hear_about_changes(session: ClientSession) -> None:
    await session.subscribe_resource(AnyUrl("workshop://board"))
    with anyio.fail_after(10):
        while set(seen["changes"]) != {"tools", "workshop://board"}:
            await call(session, "change_board")
            await anyio.sleep(0.02)


async def use(session: ClientSession) -> None:
    initialized = await session.initialize()
    seen["version"] = initialized.protocolVersion
    seen["server"] = initialized.serverInfo.model_dump(exclude_none=True)
    seen["instructions"] = initialized.instructions
    seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
    seen["sum"] = await call(session, "add", {"a": 2, "b": 3})
    seen["unknown"] = await call(session, "burn")
    resource = (await session.read_resource(AnyUrl("workshop://board"))).contents[0]
    seen["resource"] = resource.model_dump(mode="json", by_alias=True, exclude_none=True)
    prompt = (await session.get_prompt("greet", {"name": "Ada"})).messages[0]
    seen["prompt"] = prompt.model_dump(mode="json", exclude_none=True)
    seen["pong"] = (await session.send_ping()).model_dump(exclude_none=True)
    seen["model"] = await call(session, "ask_model", {"question": "why"})
    seen["user"] = await call(session, "ask_user")
    seen["folders"] = await call(session, "folders")
    seen["counted"] = await call(session, "count", {"steps": 3}, progress_callback=note_progress)
    await session.set_logging_level("info")
    await call(session, "log")
    await hear_about_changes(session)


async def main(*arguments: str) -> None:
    async with open_streams(*arguments) as (read_stream, write_stream):
        session = ClientSession(
            read_stream,
            write_stream,
            sampling_callback=sample,
            elicitation_callback=elicit,
            list_roots_callback=list_roots,
            logging_callback=note_log,
            message_handler=note_message,
        )
        async with session:
            await use(session)
    print(json.dumps(seen))


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
