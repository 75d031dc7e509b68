"""Reports about asking the client, as functions of an `MCPServer` do."""

from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import anyio
import jsonschema_rs
import pytest
from connections import SECONDS_OF_PATIENCE, only_text, over_http
from eras import HANDSHAKE, Era
from pydantic import BaseModel, Field

from mcp import Client, types
from mcp.client import ClientRequestContext
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")]


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Booking(BaseModel):
    """A form with everything that a form may hold."""

    name: str
    size: Size = Size.SMALL
    meal: Literal["fish", "pasta"] = "pasta"
    guests: int | None = None
    day: date
    extras: list[Size] = []
    price: Annotated[float, Field(ge=0)] = 1.5
    window: bool = True


async def ask() -> Elicit[Booking]:
    return Elicit("Book what?", Booking)


def bookings(era: Era) -> MCPServer:
    """A server that asks in the way of each era."""
    mcp = MCPServer("bookings")
    if era is HANDSHAKE:

        @mcp.tool("book")
        async def book_in_the_call(ctx: Context) -> str:
            answer = await ctx.elicit("Book what?", Booking)
            return repr(answer.data) if answer.action == "accept" else answer.action

        _ = book_in_the_call
    else:

        @mcp.tool("book")
        async def book_in_rounds(booking: Annotated[Booking, Resolve(ask)]) -> str:
            return repr(booking)

        _ = book_in_rounds
    return mcp


class Form:
    """Fills in every form alike, and keeps the last."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content
        self.schema: dict[str, Any] = {}

    async def __call__(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestFormParams)
        self.schema = params.requested_schema
        return types.ElicitResult(action="accept", content=self.content)


FILLED_IN: dict[str, Any] = {"name": "Ann", "size": "l", "day": "2026-07-28", "guests": 2, "extras": ["s", "l"]}


# B89


async def test_b89_a_form_is_flat_and_its_answer_becomes_the_model(era: Era) -> None:
    """A choice with a default was an error without a reason."""
    form = Form(FILLED_IN)
    async with Client(bookings(era), mode=era.mode, elicitation_callback=form) as client:
        said = only_text(await client.call_tool("book"))

    booked = Booking(name="Ann", size=Size.LARGE, day=date(2026, 7, 28), guests=2, extras=[Size.SMALL, Size.LARGE])
    assert said == repr(booked)


async def test_b89_what_is_sent_is_a_legal_form(era: Era) -> None:
    """Clients that draw forms know flat fields: no references, no unions, no null."""
    form = Form(FILLED_IN)
    async with Client(bookings(era), mode=era.mode, elicitation_callback=form) as client:
        await client.call_tool("book")

    fields = form.schema["properties"]
    strings = dict.fromkeys(["name", "size", "meal", "day"], "string")
    others = {"guests": "integer", "extras": "array", "price": "number", "window": "boolean"}
    assert {name: field["type"] for name, field in fields.items()} == strings | others
    assert (fields["size"]["enum"], fields["size"]["default"]) == (["s", "l"], "s")
    assert fields["extras"]["items"]["enum"] == ["s", "l"]
    assert fields["day"]["format"] == "date"
    assert form.schema["required"] == ["name", "day"]
    for word in ("$ref", "$defs", "anyOf", "null"):
        assert word not in str(form.schema)
    assert jsonschema_rs.validator_for(form.schema).is_valid(FILLED_IN)


@pytest.mark.parametrize("change", [{"size": "xl"}, {"day": "soon"}, {"guests": "few"}, {"extras": ["xl"]}])
async def test_b89_an_answer_that_does_not_fit_is_told(change: dict[str, Any], era: Era) -> None:
    """It never reaches the function, and the error says what happened."""
    form = Form({**FILLED_IN, **change})
    async with Client(bookings(era), mode=era.mode, elicitation_callback=form) as client:
        result = await client.call_tool("book")

    assert result.is_error
    assert "does not match the requested schema" in only_text(result)


async def test_b89_a_form_that_cannot_be_is_refused_by_name(era: Era) -> None:
    """The reason names the field."""

    class Nested(BaseModel):
        booking: Booking

    async def ask_for_nested() -> Elicit[Nested]:
        return Elicit("What?", Nested)

    mcp = MCPServer("nested")
    if era is HANDSHAKE:

        @mcp.tool("nest")
        async def nest_in_the_call(ctx: Context) -> str:
            return (await ctx.elicit("What?", Nested)).action

        _ = nest_in_the_call
    else:

        @mcp.tool("nest")
        async def nest_in_rounds(booking: Annotated[Nested, Resolve(ask_for_nested)]) -> str:
            return repr(booking)

        _ = nest_in_rounds
    async with Client(mcp, mode=era.mode, elicitation_callback=Form({})) as client:
        result = await client.call_tool("nest")

    assert result.is_error
    assert "'booking'" in only_text(result)


# B40, B41


def sampling() -> MCPServer:
    """A server that asks the client's model, as servers of the handshake era do."""
    mcp = MCPServer("sampling")

    @mcp.tool()
    async def sample(times: int, ctx: Context) -> list[str]:
        said = [""] * times

        async def ask(number: int) -> None:
            question = types.SamplingMessage(role="user", content=types.TextContent(text=f"question {number}"))
            answer = await ctx.session.create_message([question], max_tokens=9)  # pyright: ignore[reportDeprecated]
            assert isinstance(answer.content, types.TextContent)
            said[number] = answer.content.text

        async with anyio.create_task_group() as group:
            for number in range(times):
                group.start_soon(ask, number)
        return said

    _ = sample
    return mcp


@pytest.mark.parametrize("over_network", [False, True])
async def test_b40_b41_questions_of_a_tool_are_answered_together_and_the_call_returns(over_network: bool) -> None:
    """They were answered one at a time, or never, where the client answered on the path that was waiting."""
    open_questions: list[int] = []
    peak = 0
    all_asked = anyio.Event()

    async def answer(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        nonlocal peak
        open_questions.append(1)
        peak = max(peak, len(open_questions))
        if peak == 4:
            all_asked.set()
        await all_asked.wait()
        open_questions.pop()
        asked = params.messages[0].content
        assert isinstance(asked, types.TextContent)
        return types.CreateMessageResult(role="assistant", model="m", content=asked)

    mcp = sampling()
    with over_http(mcp.streamable_http_app()) as url:
        target: Any = url if over_network else mcp
        async with Client(target, mode="legacy", sampling_callback=answer) as client:
            with anyio.fail_after(SECONDS_OF_PATIENCE):
                result = await client.call_tool("sample", {"times": 4})
    assert result.structured_content == {"result": [f"question {number}" for number in range(4)]}
    assert peak == 4
