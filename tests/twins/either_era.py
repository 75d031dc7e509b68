"""A tool that asks its client one thing in whichever way the client's revision has."""

from collections.abc import Callable
from typing import Any

from shopfront import Context

from mcp import MCPError, types
from mcp.server import Server
from mcp.types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY

Question = types.ElicitRequest | types.CreateMessageRequest | types.ListRootsRequest
Answer = types.ElicitResult | types.CreateMessageResult | types.ListRootsResult

MODERN = "2026-07-28"
RESULTS: dict[str, type[Answer]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}
NEEDS = {
    "elicitation/create": types.ClientCapabilities(elicitation=types.ElicitationCapability()),
    "sampling/createMessage": types.ClientCapabilities(sampling=types.SamplingCapability()),
    "roots/list": types.ClientCapabilities(roots=types.RootsCapability()),
}


def asking(
    ask: Callable[[dict[str, Any]], Question | None], finish: Callable[[dict[str, Any], Any], str], *, gate: bool = True
) -> Server[Any]:
    """A server of one tool, `work`. It asks what `ask` makes of the arguments, unless that is None, and says what
    `finish` makes of the answer. With a `gate`, a client that has not declared that it can answer is refused."""

    async def call_tool(
        ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        arguments = params.arguments or {}
        question = ask(arguments)
        answer: Any = None
        if question is not None:
            if gate and not ctx.session.check_client_capability(NEEDS[question.method]):
                raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, f"the client has not declared {question.method}")
            if ctx.session.protocol_version != MODERN:
                answer = await ctx.session.send_request(question, RESULTS[question.method])
            elif not params.input_responses:
                return types.InputRequiredResult(input_requests={"it": question})
            else:
                answer = params.input_responses["it"]
        return types.CallToolResult(content=[types.TextContent(text=finish(arguments, answer))])

    return Server("Asking", on_call_tool=call_tool)
