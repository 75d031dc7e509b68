"""One server of a fleet: `fleet_server.py NAME KEY`. It says in each answer which process gives it.

It listens on a free loopback port, prints its URL as the first line, and ends when its standard input does.
"""

import os
import socket
import sys
import threading
from typing import Any

import uvicorn

from mcp.server import Server, ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
)

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"word": {"type": "string"}}}


async def call_tool(
    ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams
) -> CallToolResult | InputRequiredResult:
    here = str(os.getpid())
    if params.name == "echo":
        said = [here, here, (params.arguments or {})["word"]]
    elif params.input_responses is None:
        question = ElicitRequest(params=ElicitRequestFormParams(message="Which word?", requested_schema=SCHEMA))
        return InputRequiredResult(input_requests={"word": question}, request_state=here)
    else:
        answer = params.input_responses["word"]
        assert isinstance(answer, ElicitResult)
        assert answer.content is not None
        said = [str(params.request_state), here, str(answer.content["word"])]
    return CallToolResult(content=[TextContent(text=" ".join(said))])


def serve(name: str, key: str) -> None:
    server = Server(name, on_call_tool=call_tool)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity(keys=[key]), default_audience=server.name))
    http = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning", ws="none"))

    def stop_at_end_of_input() -> None:
        sys.stdin.read()
        http.should_exit = True

    threading.Thread(target=stop_at_end_of_input, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        http.run(sockets=[listener])


if __name__ == "__main__":
    serve(*sys.argv[1:])
