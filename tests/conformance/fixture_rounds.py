"""The tools and the prompt that ask the client for input before they answer (2026-07-28)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fixture_tools import Context, Schema, text

from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    Prompt,
    PromptMessage,
    SamplingMessage,
    TextContent,
    Tool,
)

Answer = CallToolResult | InputRequiredResult
Body = Callable[[Context, CallToolRequestParams], Awaitable[Answer]]
Answers = dict[str, Any]


@dataclass(frozen=True)
class Round:
    """One tool: what a listing says about it, and what a call does."""

    tool: Tool
    body: Body


ROUNDS: dict[str, Round] = {}


def asking(description: str) -> Callable[[Body], Body]:
    """Offers a function as the tool of its name, which takes no arguments."""

    def offer(body: Body) -> Body:
        tool = Tool(name=body.__name__, description=description, input_schema={"type": "object"})
        ROUNDS[tool.name] = Round(tool, body)
        return body

    return offer


def form(message: str, **properties: Schema) -> ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def prompt_for_model(words: str, max_tokens: int) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(text=words))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=max_tokens))


def ask(state: str | None = None, /, **questions: InputRequest) -> InputRequiredResult:
    return InputRequiredResult(input_requests=questions, request_state=state)


def done(words: str) -> CallToolResult:
    return CallToolResult(content=text(words))


def accepted(answers: Answers, key: str, field: str) -> Any:
    """A field of a form that came back filled in; None where it did not."""
    answer = answers.get(key)
    content = answer.content if isinstance(answer, ElicitResult) and answer.action == "accept" else None
    return (content or {}).get(field)


def words_of(answer: object) -> str | None:
    """What the client's model said; None where it was not asked."""
    content = answer.content if isinstance(answer, CreateMessageResult) else None
    return content.text if isinstance(content, TextContent) else None


NAME_FORM = form("What is your name?", name={"type": "string"})


@asking("Asks for a name")
async def test_input_required_result_elicitation(ctx: Context, params: CallToolRequestParams) -> Answer:
    name = accepted(params.input_responses or {}, "user_name", "name")
    return ask(user_name=NAME_FORM) if name is None else done(f"Hello, {name}!")


@asking("Asks the client's model")
async def test_input_required_result_sampling(ctx: Context, params: CallToolRequestParams) -> Answer:
    words = words_of((params.input_responses or {}).get("capital_question"))
    if words is None:
        return ask(capital_question=prompt_for_model("What is the capital of France?", 100))
    return done(f"The model says: {words}")


@asking("Asks for the client's directories")
async def test_input_required_result_list_roots(ctx: Context, params: CallToolRequestParams) -> Answer:
    roots = (params.input_responses or {}).get("client_roots")
    if not isinstance(roots, ListRootsResult):
        return ask(client_roots=ListRootsRequest())
    return done(f"Roots: {', '.join(str(root.uri) for root in roots.roots)}")


@asking("Wants its state back")
async def test_input_required_result_request_state(ctx: Context, params: CallToolRequestParams) -> Answer:
    if params.request_state is None:
        return ask("asked-to-confirm", confirm=form("Please confirm", ok={"type": "boolean"}))
    return done(f"state-ok: {accepted(params.input_responses or {}, 'confirm', 'ok')}")


@asking("Asks three questions at once")
async def test_input_required_result_multiple_inputs(ctx: Context, params: CallToolRequestParams) -> Answer:
    answers: Answers = params.input_responses or {}
    roots = answers.get("client_roots")
    name, greeting = accepted(answers, "user_name", "name"), words_of(answers.get("greeting"))
    if name is None or greeting is None or not isinstance(roots, ListRootsResult):
        return ask(
            "asked-three",
            user_name=NAME_FORM,
            greeting=prompt_for_model("Generate a greeting", 50),
            client_roots=ListRootsRequest(),
        )
    return done(f"{greeting} {name}, you work in {len(roots.roots)} directories")


@asking("Asks in two rounds")
async def test_input_required_result_multi_round(ctx: Context, params: CallToolRequestParams) -> Answer:
    answers = params.input_responses or {}
    if params.request_state is None:
        return ask("step-1", step1=form("Step 1: What is your name?", name={"type": "string"}))
    if params.request_state == "step-1":
        name = accepted(answers, "step1", "name")
        return ask(f"step-2:{name}", step2=form("Step 2: What is your favorite color?", color={"type": "string"}))
    name = params.request_state.removeprefix("step-2:")
    return done(f"{name} likes {accepted(answers, 'step2', 'color')}")


@asking("Gives out a state, which the server seals")
async def test_input_required_result_tampered_state(ctx: Context, params: CallToolRequestParams) -> Answer:
    if params.request_state is None:
        return ask("as-given-out", confirm=form("Please confirm", ok={"type": "boolean"}))
    return done("The state is as it was given out")


@asking("Asks only for what the client can give")
async def test_input_required_result_capabilities(ctx: Context, params: CallToolRequestParams) -> Answer:
    if params.input_responses:
        return done("Answered")
    declared = ctx.session.client_capabilities
    questions: dict[str, InputRequest] = {}
    if declared is not None and declared.sampling is not None:
        questions["greeting"] = prompt_for_model("Generate a greeting", 50)
    if declared is not None and declared.elicitation is not None:
        questions["user_name"] = NAME_FORM
    return ask(None, **questions) if questions else done("The client can give nothing")


PROMPT = Prompt(name="test_input_required_result_prompt", description="Asks what it should be about")


async def get_prompt(ctx: Context, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
    """The prompt that asks first."""
    context = accepted(params.input_responses or {}, "user_context", "context")
    if context is None:
        return ask(user_context=form("What context should the prompt use?", context={"type": "string"}))
    return GetPromptResult(messages=[PromptMessage(role="user", content=TextContent(text=f"Context: {context}"))])
