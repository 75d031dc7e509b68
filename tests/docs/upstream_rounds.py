"""What docs/handlers/multi-round-trip.md says about its programs."""

import logging
from types import ModuleType
from typing import Annotated, Any

from upstream_statements import anew, error_of, read, refusal, states, texts

from mcp import Client, MCPError
from mcp.client.subscriptions import ResourceUpdated
from mcp.server import Server
from mcp.server.mcpserver import Context, Resolve
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus
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


BRIEFING = ["Write a briefing for the board."]


async def answer_audience(context: object, params: object) -> ElicitResult:
    return ElicitResult(action="accept", content={"audience": "the board"})


async def briefing(program: ModuleType, **options: Any) -> list[str]:
    async with Client(program.mcp, **options) as client:
        messages = (await client.get_prompt("briefing")).messages
    return [message.content.text for message in messages if message.content.type == "text"]


@states("mrtr/tutorial004", "a prompt asks, and the retry has the answer", BRIEFING)
async def _(program: ModuleType) -> object:
    return await briefing(program, elicitation_callback=answer_audience)


@states("mrtr/tutorial004", "without a callback the call fails", "Elicitation not supported")
async def _(program: ModuleType) -> object:
    return (await error_of(briefing(program)))[1]


@states("mrtr/tutorial004", "a pre-2026 session cannot carry it", -32603)
async def _(program: ModuleType) -> object:
    return (await error_of(briefing(program, mode="legacy", elicitation_callback=answer_audience)))[0]


@states("mrtr/tutorial004", "a template resource asks the same way", "for the board")
async def _(program: ModuleType) -> object:
    async def memo(which: str, ctx: Context) -> Any:
        answer = (ctx.input_responses or {}).get("audience")
        if not isinstance(answer, ElicitResult) or answer.content is None:
            return InputRequiredResult(input_requests={"audience": program.ASK_AUDIENCE}, request_state=which)
        assert ctx.request_state == which
        return f"for {answer.content['audience']}"

    program.mcp.resource("memo://{which}")(memo)
    async with Client(program.mcp, elicitation_callback=answer_audience) as client:
        return await read(client, "memo://today")


@states("mrtr/tutorial004", "the loop has a cap", 4)
async def _(program: ModuleType) -> object:
    rounds = 0

    async def never(ctx: Context) -> Any:
        nonlocal rounds
        rounds += 1
        return InputRequiredResult(request_state=str(rounds))

    program.mcp.tool()(never)
    async with Client(program.mcp, input_required_max_rounds=3) as client:
        error = await error_of(client.call_tool("never"))
    return rounds if "no error" not in str(error) else error


@states("mrtr/tutorial004", "Resolve and InputRequiredResult do not mix", "InvalidSignature")
async def _(program: ModuleType) -> object:
    def one() -> int:
        return 1

    async def mixed(number: Annotated[int, Resolve(one)]) -> str | InputRequiredResult: ...

    return refusal(lambda: program.mcp.tool()(mixed)).partition(":")[0]


SEALED = "mrtr/tutorial005"


@states(SEALED, "its codec opens what it sealed, and nothing else", [b"state", "kms1.", ["InvalidRequestState"] * 3])
async def _(program: ModuleType) -> object:
    codec = program.EnvelopeCodec(program.unwrap_data_key())
    token = codec.seal(b"state")
    wrong = [token.upper(), token[:-2], program.EnvelopeCodec(program.unwrap_data_key()).seal(b"state")]
    return [
        codec.unseal(token),
        token[:5],
        [refusal(lambda: codec.unseal(one)).partition(":")[0] for one in wrong],  # noqa: B023
    ]


@states(
    SEALED,
    "the server's rounds are sealed by it",
    ["kms1.", False, ["deployed"], (-32602, "Invalid or expired requestState")],
)
async def _(program: ModuleType) -> object:
    async def deploy(target: str, ctx: Context) -> Any:
        if ctx.request_state is None:
            return InputRequiredResult(request_state="half way")
        return "deployed" if ctx.request_state == "half way" else ctx.request_state

    program.mcp.tool()(deploy)
    async with Client(program.mcp) as client:
        call = client.session.call_tool("deploy", {"target": "eu"}, allow_input_required=True)
        asked = await call
        assert isinstance(asked, InputRequiredResult)
        state = asked.request_state or ""
        done = texts(await client.call_tool("deploy", {"target": "eu"}, request_state=state))
        elsewhere = await error_of(client.call_tool("deploy", {"target": "us"}, request_state=state))
    return [state[:5], "half way" in state, done, elsewhere]


# docs/run/deploy.md


async def refund(first: Any, second: Any, arguments: dict[str, Any]) -> object:
    """The question comes from one server, the answer goes to another, as between two workers."""
    async with Client(first) as client:
        asked = await client.session.call_tool("refund", {"amount": 120}, allow_input_required=True)
    assert isinstance(asked, InputRequiredResult)
    yes = ElicitResult(action="accept", content={"ok": True})
    async with Client(second) as client:
        try:
            retry = client.call_tool(
                "refund", arguments, input_responses={"ok": yes}, request_state=asked.request_state
            )
            return texts(await retry)
        except MCPError as error:
            return [error.code, error.message, error.data]


REFUSED_STATE = [-32602, "Invalid or expired requestState", {"reason": "invalid_request_state"}]
AMOUNT = {"amount": 120}


@states("deploy/tutorial002", "one worker asks, and acts on the retry", ["refunded $120"])
async def _(program: ModuleType) -> object:
    worker = program.make_server()
    return await refund(worker, worker, AMOUNT)


@states(
    "deploy/tutorial002",
    "two workers: the second refuses, and logs why",
    [REFUSED_STATE, ["requestState rejected on tools/call: unknown key"]],
)
async def _(program: ModuleType) -> object:
    lines: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    logging.getLogger("mcp.server.request_state").addHandler(Collect())
    return [await refund(program.make_server(), program.make_server(), AMOUNT), lines]


KEY = "k" * 32


@states("deploy/tutorial003", "the same key, and the same name", ["refunded $120"])
async def _(program: ModuleType) -> object:
    return await refund(program.make_server(KEY), program.make_server(KEY), AMOUNT)


@states("deploy/tutorial003", "other arguments are refused", REFUSED_STATE)
async def _(program: ModuleType) -> object:
    return await refund(program.make_server(KEY), program.make_server(KEY), {"amount": 999})


@states("deploy/tutorial003", "another name is another audience, unless one is set", [REFUSED_STATE, ["refunded $120"]])
async def _(program: ModuleType) -> object:
    make = program.MCPServer

    def named(name: str, **policy: Any) -> Any:
        program.MCPServer = lambda _, **options: make(  # pyright: ignore
            name, request_state_security=RequestStateSecurity(keys=[KEY], **policy)
        )
        return program.make_server(KEY)

    return [
        await refund(named("billing-1"), named("billing-2"), AMOUNT),
        await refund(named("billing-1", audience="billing"), named("billing-2", audience="billing"), AMOUNT),
    ]


@states(
    "deploy/tutorial003",
    "a weak key is refused at once",
    "ValueError: request-state keys must be at least 32 bytes of secret randomness; keys[0] is 7 bytes. "
    'Generate one with: python -c "import secrets; print(secrets.token_hex(32))"',
)
async def _(program: ModuleType) -> object:
    return refusal(lambda: program.make_server("letmein"))


@states(
    "deploy/tutorial004",
    "two servers, one bus: an edit on one reaches the stream on the other",
    ["note://todo", "buy tea"],
)
async def _(program: ModuleType) -> object:
    bus = InMemorySubscriptionBus()
    here, there = program.make_server(bus), program.make_server(bus)
    async with (
        Client(here) as watching,
        Client(there) as editing,
        watching.listen(resource_subscriptions=["note://todo"]) as subscription,
    ):
        await editing.call_tool("edit_note", {"name": "todo", "text": "buy tea"})
        event = await anext(subscription)
        assert isinstance(event, ResourceUpdated)
        return [event.uri, await read(watching, event.uri)]
