"""Asking the user from inside a handler, which takes a connection that was opened with a handshake."""

import datetime
from typing import Any

import pytest
from asking import answer_to, failure_of
from doing import server_that
from pydantic import BaseModel, Field
from wire import Context, refusal

from mcp import Client, types
from mcp.client import ClientRequestContext
from mcp.server.elicitation import (
    AcceptedElicitation,
    AcceptedUrlElicitation,
    CancelledElicitation,
    DeclinedElicitation,
    ElicitationResult,
    elicit_url,
    elicit_with_validation,
)
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError, NoBackChannelError

pytestmark = pytest.mark.anyio


class Booking(BaseModel):
    confirm: bool = Field(description="Book it?")
    day: datetime.date = datetime.date(2025, 12, 26)


class User:
    """Answers whatever it is asked."""

    def __init__(self, action: Any, content: Any = None) -> None:
        self.asked: list[types.ElicitRequestParams] = []
        self._answer = types.ElicitResult(action=action, content=content)

    async def __call__(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.append(params)
        return self._answer


async def book(session: ServerSession) -> ElicitationResult[Booking]:
    return await elicit_with_validation(session, "Another day?", Booking)


async def pay(session: ServerSession) -> Any:
    return await elicit_url(session, "Please pay", "https://pay.example.com/1", "payment-1")


async def test_the_user_sees_a_form_and_the_handler_gets_the_model() -> None:
    user = User("accept", {"confirm": True, "day": "2025-12-27"})
    outcome = await answer_to(book, elicitation_callback=user)
    assert outcome == AcceptedElicitation[Booking](data=Booking(confirm=True, day=datetime.date(2025, 12, 27)))
    assert outcome.action == "accept"
    assert user.asked == [
        types.ElicitRequestFormParams(
            message="Another day?",
            requested_schema={
                "properties": {
                    "confirm": {"description": "Book it?", "title": "Confirm", "type": "boolean"},
                    "day": {"default": "2025-12-26", "format": "date", "title": "Day", "type": "string"},
                },
                "required": ["confirm"],
                "title": "Booking",
                "type": "object",
            },
        )
    ]


async def test_a_field_that_is_left_out_has_its_default() -> None:
    outcome = await answer_to(book, elicitation_callback=User("accept", {"confirm": False}))
    assert outcome.data == Booking(confirm=False, day=datetime.date(2025, 12, 26))


@pytest.mark.parametrize(
    ("action", "outcome"), [("decline", DeclinedElicitation()), ("cancel", CancelledElicitation())]
)
async def test_the_user_may_say_no_or_nothing(action: str, outcome: Any) -> None:
    assert await answer_to(book, elicitation_callback=User(action)) == outcome
    assert await answer_to(pay, elicitation_callback=User(action)) == outcome


async def test_an_answer_that_does_not_fit_fails_the_handler() -> None:
    failure = await failure_of(book, elicitation_callback=User("accept", {"confirm": "maybe"}))
    assert isinstance(failure, ValueError)
    assert str(failure) == "Received an accepted elicitation whose content does not match the requested schema"


async def test_nothing_is_sent_for_a_schema_that_is_no_form() -> None:
    class Order(BaseModel):
        booking: Booking

    user = User("accept", {})
    failure = await failure_of(lambda it: elicit_with_validation(it, "?", Order), elicitation_callback=user)
    assert isinstance(failure, TypeError)
    assert "field 'booking'" in str(failure)
    assert user.asked == []


async def test_the_user_is_sent_to_a_url() -> None:
    user = User("accept")
    assert await answer_to(pay, elicitation_callback=user) == AcceptedUrlElicitation()
    assert user.asked == [
        types.ElicitRequestURLParams(message="Please pay", url="https://pay.example.com/1", elicitation_id="payment-1")
    ]


@pytest.mark.parametrize("ask", [book, pay])
async def test_a_client_that_cannot_be_asked_fails_the_handler(ask: Any) -> None:
    failure = await failure_of(ask)
    assert isinstance(failure, MCPError)
    assert str(failure) == "Elicitation not supported"


def test_an_outcome_is_known_by_its_class_not_by_the_alias() -> None:
    with pytest.raises(TypeError):
        isinstance(DeclinedElicitation(), ElicitationResult)  # pyright: ignore[reportArgumentType]
    assert isinstance(AcceptedElicitation[Booking](data=Booking(confirm=True)), AcceptedElicitation)


# 2026-07-28 has no back-channel.


async def failure_of_modern(ask: Any) -> tuple[MCPError, User]:
    """What asking fails with in a handler, and what the client sees of it."""
    seen: list[Exception] = []
    user = User("accept", {"confirm": True})

    async def work(ctx: Context) -> None:
        try:
            await ask(ctx.session)
        except Exception as error:
            seen.append(error)
            raise

    async with Client(server_that(work), elicitation_callback=user) as client:
        error = await refusal(client, "acme/do")
    assert isinstance(seen[0], NoBackChannelError)
    return error, user


@pytest.mark.parametrize("ask", [book, pay])
async def test_there_is_no_way_to_ask_from_2026_07_28_on(ask: Any) -> None:
    error, user = await failure_of_modern(ask)
    assert (error.code, str(error)) == (
        -32600,
        "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests.",
    )
    assert user.asked == []
