"""What docs/handlers/multi-round-trip.md says about its programs, as checks.

Its programs 004 and 005 need MCPServer: those are in `upstream_asking`.
"""

from types import ModuleType
from typing import Any

from upstream_statements import anew, error_of, states, texts

from mcp import Client
from mcp.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.types import ElicitResult, InputRequiredResult

PROVISIONER = "mrtr/tutorial001"
PROVISIONED = ["Provisioned 'orders' in eu-west-1."]


async def answer_region(context: object, params: object) -> ElicitResult:
    return ElicitResult(action="accept", content={"region": "eu-west-1"})


async def provision(server: Server, callback: Any) -> list[str]:
    async with Client(server, elicitation_callback=callback) as client:
        return texts(await client.call_tool("provision", {"name": "orders"}))


async def first_round(server: Server) -> InputRequiredResult:
    async with Client(server) as client:
        result = await client.session.call_tool("provision", {"name": "orders"}, allow_input_required=True)
    assert isinstance(result, InputRequiredResult)
    return result


@states(PROVISIONER, "the first call asks instead of answering", [["region"], "provision-v1"])
async def _(program: ModuleType) -> object:
    asked = await first_round(program.server)
    return [list(asked.input_requests or {}), asked.request_state]


@states(PROVISIONER, "the retry has the answer under the same key", PROVISIONED)
async def _(program: ModuleType) -> object:
    return await provision(program.server, answer_region)


@states(PROVISIONER, "leave the callback off and the call fails", "Elicitation not supported")
async def _(program: ModuleType) -> object:
    async with Client(program.server) as client:
        return (await error_of(client.call_tool("provision", {"name": "orders"})))[1]


@states(PROVISIONER, "a pre-2026 session cannot carry it", (-32603, "Handler returned an invalid result"))
async def _(program: ModuleType) -> object:
    async with Client(program.server, mode="legacy", elicitation_callback=answer_region) as client:
        return await error_of(client.call_tool("provision", {"name": "orders"}))


@states(PROVISIONER, "one line seals what the handler writes", ["v1.", False, PROVISIONED])
async def _(program: ModuleType) -> object:
    security = RequestStateSecurity(keys=[b"k" * 32])
    program.server.middleware.append(RequestStateBoundary(security, default_audience=program.server.name))
    state = (await first_round(program.server)).request_state or ""
    return [state[:3], "provision" in state, await provision(program.server, answer_region)]


@states(PROVISIONER, "whatever cannot be opened gets one frozen answer", (-32602, "Invalid or expired requestState"))
async def _(program: ModuleType) -> object:
    program.server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=None))
    async with Client(program.server) as client:
        return await error_of(client.call_tool("provision", {"name": "orders"}, request_state="provision-v1"))


@states("mrtr/tutorial002", "a loop of one's own, without any callback", PROVISIONED)
async def _(program: ModuleType) -> object:
    async with Client(anew(PROVISIONER).server) as client:
        return texts(await program.provision(client, "orders"))


@states("mrtr/tutorial003", "Client runs the loop: call_tool returns a plain result", PROVISIONED)
async def _(program: ModuleType) -> object:
    return await provision(anew(PROVISIONER).server, program.handle_elicitation)
