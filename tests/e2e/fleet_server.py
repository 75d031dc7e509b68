"""One server of a fleet: `fleet_server.py NAME KEY`. It says in each answer which process gives it."""

import os
import sys
from typing import Any

from served_program import serve

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


def main(name: str, key: str) -> None:
    server = Server(name, on_call_tool=call_tool)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity(keys=[key]), default_audience=server.name))
    serve(server.streamable_http_app(), log_level="warning")


if __name__ == "__main__":
    main(*sys.argv[1:])
