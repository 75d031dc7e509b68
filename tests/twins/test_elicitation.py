"""Questions to the user in the middle of a call: forms, links, and what becomes of each answer."""

from typing import Any

import pytest
from either_era import asking
from pydantic import BaseModel, Field, ValidationError
from shopfront import Context, Heard, said, shopfront

from mcp import Client, MCPError, types
from mcp.client import ClientRequestContext

pytestmark = pytest.mark.anyio


# A form.


class OtherDay(BaseModel):
    """What a guest is asked when a day is full."""

    agreed: bool = Field(description="Come on another day?")
    day: str = Field(default="Tuesday", description="Which day")


FULL = {"Monday", "Sunday"}


async def reserve(ctx: Context, arguments: dict[str, Any]) -> str:
    """Reserves a table, and asks for another day as long as the day is full."""
    day = arguments["day"]
    if day not in FULL:
        return f"a table on {day}"
    answer = await ctx.session.elicit_form(f"{day} is full. Another day?", OtherDay.model_json_schema())
    if answer.action != "accept":
        return f"no table: {answer.action}"
    try:
        other = OtherDay.model_validate(answer.content)
    except ValidationError as failure:
        raise MCPError(types.INVALID_PARAMS, "the answer does not match the form") from failure
    return await reserve(ctx, {"day": other.day}) if other.agreed else "no table"


# A link.


async def pay(ctx: Context, arguments: dict[str, Any]) -> str:
    """Sends the guest away to pay."""
    guest = arguments["guest"]
    answer = await ctx.session.elicit_url("Please pay.", f"https://pay.example.com/{guest}", f"pay-{guest}")
    assert answer.content is None
    return "waiting for the payment" if answer.action == "accept" else f"unpaid: {answer.action}"


async def paid(ctx: Context, arguments: dict[str, Any]) -> str:
    """Tells the client that the guest has paid."""
    await ctx.session.send_elicit_complete(f"pay-{arguments['guest']}")
    return "paid"


TAVERN = shopfront("Tavern", reserve, pay, paid)


class Guest:
    """One callback for both modes, which keeps what it is asked. Forms are answered in turn."""

    def __init__(self, *forms: dict[str, Any] | str, link: Any = "accept") -> None:
        self.asked: list[str] = []
        self.schemas: list[dict[str, Any]] = []
        self._forms = list(forms)
        self._link = link

    async def __call__(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        if isinstance(params, types.ElicitRequestURLParams):
            self.asked.append(f"{params.url} {params.elicitation_id}")
            return types.ElicitResult(action=self._link)
        self.asked.append(params.message)
        self.schemas.append(params.requested_schema)
        answer: Any = self._forms.pop(0)
        if isinstance(answer, str):
            return types.ElicitResult.model_validate({"action": answer})
        return types.ElicitResult(action="accept", content=answer)


def visit(guest: Guest | None, **options: Any) -> Client:
    return Client(TAVERN, mode="legacy", elicitation_callback=guest, **options)


async def test_nobody_is_asked_when_there_is_nothing_to_ask() -> None:
    guest = Guest()
    async with visit(guest) as client:
        assert said(await client.call_tool("reserve", {"day": "Friday"})) == "a table on Friday"
    assert guest.asked == []


async def test_a_form_is_filled_in_while_the_call_waits() -> None:
    guest = Guest({"agreed": True, "day": "Friday"})
    async with visit(guest) as client:
        assert said(await client.call_tool("reserve", {"day": "Monday"})) == "a table on Friday"
    assert guest.asked == ["Monday is full. Another day?"]
    (schema,) = guest.schemas
    assert schema["required"] == ["agreed"]
    assert schema["properties"]["day"] == {
        "default": "Tuesday",
        "description": "Which day",
        "title": "Day",
        "type": "string",
    }


async def test_an_answer_is_input_like_any_other_and_may_be_asked_about_again() -> None:
    guest = Guest({"agreed": True, "day": "Sunday"}, {"agreed": True})
    async with visit(guest) as client:
        assert said(await client.call_tool("reserve", {"day": "Monday"})) == "a table on Tuesday"
    assert guest.asked == ["Monday is full. Another day?", "Sunday is full. Another day?"]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [({"agreed": False}, "no table"), ("decline", "no table: decline"), ("cancel", "no table: cancel")],
)
async def test_a_refusal_is_no_error(answer: Any, outcome: str) -> None:
    async with visit(Guest(answer)) as client:
        assert said(await client.call_tool("reserve", {"day": "Monday"})) == outcome


async def test_an_answer_that_does_not_match_the_form_fails_the_call() -> None:
    async with visit(Guest({"agreed": "perhaps"})) as client:
        with pytest.raises(MCPError, match="does not match the form"):
            await client.call_tool("reserve", {"day": "Monday"})


@pytest.mark.parametrize(
    ("action", "outcome"),
    [("accept", "waiting for the payment"), ("decline", "unpaid: decline"), ("cancel", "unpaid: cancel")],
)
async def test_a_user_is_sent_to_a_link_and_says_only_whether_they_go(action: str, outcome: str) -> None:
    guest = Guest(link=action)
    async with visit(guest) as client:
        assert said(await client.call_tool("pay", {"guest": "ada"})) == outcome
    assert guest.asked == ["https://pay.example.com/ada pay-ada"]


async def test_a_client_is_told_when_the_link_has_done_its_work() -> None:
    heard = Heard()
    async with visit(Guest(), message_handler=heard) as client:
        await client.call_tool("pay", {"guest": "ada"})
        assert heard.told == []
        assert said(await client.call_tool("paid", {"guest": "ada"})) == "paid"
        await heard.until(1)
    (complete,) = heard.told
    assert isinstance(complete, types.ElicitCompleteNotification)
    assert complete.params.elicitation_id == "pay-ada"


async def test_one_callback_answers_both_modes() -> None:
    guest = Guest({"agreed": True})
    async with visit(guest) as client:
        assert said(await client.call_tool("reserve", {"day": "Monday"})) == "a table on Tuesday"
        assert said(await client.call_tool("pay", {"guest": "ada"})) == "waiting for the payment"
    assert guest.asked == ["Monday is full. Another day?", "https://pay.example.com/ada pay-ada"]


CALLS = pytest.mark.parametrize(("tool", "arguments"), [("reserve", {"day": "Monday"}), ("pay", {"guest": "ada"})])


@CALLS
async def test_a_client_without_a_callback_cannot_be_asked(tool: str, arguments: dict[str, Any]) -> None:
    async with visit(None) as client:
        with pytest.raises(MCPError, match=r"^Elicitation not supported$"):
            await client.call_tool(tool, arguments)


@CALLS
async def test_a_modern_client_cannot_be_asked_in_the_middle_of_a_call(tool: str, arguments: dict[str, Any]) -> None:
    guest = Guest()
    async with Client(TAVERN, elicitation_callback=guest) as client:
        with pytest.raises(MCPError, match="'elicitation/create': this transport context has no back-channel"):
            await client.call_tool(tool, arguments)
    assert guest.asked == []


# A question that works on every connection.

SHELVES = {"empty": 0, "poetry": 3}
SURE: dict[str, Any] = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}


def are_you_sure(arguments: dict[str, Any]) -> types.ElicitRequest | None:
    shelf = arguments["shelf"]
    if not SHELVES[shelf]:
        return None
    question = f"There are {SHELVES[shelf]} books on {shelf}. Sure?"
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=question, requested_schema=SURE))


def cleared(arguments: dict[str, Any], answer: Any) -> str:
    if answer is None:
        return f"{arguments['shelf']} cleared unasked"
    assert isinstance(answer, types.ElicitResult)
    if answer.action != "accept":
        return f"{answer.action}: left alone"
    return f"{arguments['shelf']} cleared" if (answer.content or {})["sure"] else "kept"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"sure": True}, "poetry cleared"),
        ({"sure": False}, "kept"),
        ("decline", "decline: left alone"),
        ("cancel", "cancel: left alone"),
    ],
)
async def test_a_gate_asks_in_either_era(mode: str, answer: Any, outcome: str) -> None:
    guest = Guest(answer)
    async with Client(asking(are_you_sure, cleared), mode=mode, elicitation_callback=guest) as client:
        assert said(await client.call_tool("work", {"shelf": "poetry"})) == outcome
    assert guest.asked == ["There are 3 books on poetry. Sure?"]
    assert guest.schemas == [SURE]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_gate_asks_only_when_it_must(mode: str) -> None:
    guest = Guest()
    async with Client(asking(are_you_sure, cleared), mode=mode, elicitation_callback=guest) as client:
        assert said(await client.call_tool("work", {"shelf": "empty"})) == "empty cleared unasked"
    assert guest.asked == []
