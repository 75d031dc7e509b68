"""Asking the client's user: with a form that is made of a pydantic model, or at a URL.

These functions send a request to the client, and need a connection that has a way to: one that was opened with a
handshake, up to revision 2025-11-25. A resolver asks on every connection; see `mcp.server.mcpserver.resolve`.

Specification: client/elicitation.
"""

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Generic, Literal, cast

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypeAliasType, TypeVar

from mcp.server._elicitation_form import MismatchedAnswerError, form_of

if TYPE_CHECKING:
    from mcp.server.session import ServerSession
    from mcp.types import ElicitResult
    from mcp.types.jsonrpc import RequestId

__all__ = [
    "AcceptedElicitation",
    "AcceptedUrlElicitation",
    "CancelledElicitation",
    "DeclinedElicitation",
    "ElicitSchemaModelT",
    "ElicitationResult",
    "MismatchedAnswerError",
    "UrlElicitationResult",
    "elicit_url",
    "elicit_with_validation",
    "outcome_of",
    "render_elicitation_schema",
]

ElicitSchemaModelT = TypeVar("ElicitSchemaModelT", bound=BaseModel)


class AcceptedElicitation(BaseModel, Generic[ElicitSchemaModelT]):
    """The user submitted the form; `data` is what it held."""

    model_config = ConfigDict(defer_build=True)

    action: Literal["accept"] = "accept"
    data: ElicitSchemaModelT


class DeclinedElicitation(BaseModel):
    """The user said no."""

    model_config = ConfigDict(defer_build=True)

    action: Literal["decline"] = "decline"


class CancelledElicitation(BaseModel):
    """The user dismissed the question without choosing."""

    model_config = ConfigDict(defer_build=True)

    action: Literal["cancel"] = "cancel"


class AcceptedUrlElicitation(BaseModel):
    """The user agreed to open the URL, which does not mean that they are done there."""

    model_config = ConfigDict(defer_build=True)

    action: Literal["accept"] = "accept"


ElicitationResult = TypeAliasType(
    "ElicitationResult",
    AcceptedElicitation[ElicitSchemaModelT] | DeclinedElicitation | CancelledElicitation,
    type_params=(ElicitSchemaModelT,),
)
"""What became of a form. `action` tells which it is, and so does the class; `isinstance` takes no alias."""

UrlElicitationResult = AcceptedUrlElicitation | DeclinedElicitation | CancelledElicitation
"""What became of a request to visit a URL."""


def render_elicitation_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """The form of a model, as the JSON Schema that a client is sent.

    Args:
        schema: A model whose fields are strings, numbers, booleans, dates (`date`, `datetime`), URLs, choices
            (`Literal`, `Enum`) and lists of choices. Each may have a default, or be optional.

    Raises:
        TypeError: It is no model, or a field is of another type. The text names the field.
    """
    return deepcopy(form_of(schema).schema)


async def elicit_with_validation(
    session: "ServerSession",
    message: str,
    schema: type[ElicitSchemaModelT],
    related_request_id: "RequestId | None" = None,
) -> ElicitationResult[ElicitSchemaModelT]:
    """Asks the user to fill in a form.

    Args:
        session: The way to the client.
        message: What the user is told.
        schema: The model to fill in; see `render_elicitation_schema`.
        related_request_id: The request it belongs to; the one at hand when left out.

    Returns:
        What the user did; `data` of an `AcceptedElicitation` is a `schema`.

    Raises:
        TypeError: The schema makes no form.
        NoBackChannelError: The connection has no way to ask.
        MismatchedAnswerError: A ValueError: what the client sent does not fit the schema.
        MCPError: The client answered with an error.
    """
    answer = await session.elicit_form(message, form_of(schema).schema, related_request_id)
    return outcome_of(answer, schema)


async def elicit_url(
    session: "ServerSession",
    message: str,
    url: str,
    elicitation_id: str,
    related_request_id: "RequestId | None" = None,
) -> UrlElicitationResult:
    """Asks the user to visit a URL.

    Args:
        session: The way to the client.
        message: What the user is told.
        url: Where to go.
        elicitation_id: Names the elicitation in `session.send_elicit_complete`.
        related_request_id: The request it belongs to; the one at hand when left out.

    Returns:
        What the user decided. Nothing else comes back this way.

    Raises:
        NoBackChannelError: The connection has no way to ask.
        MCPError: The client answered with an error.
    """
    answer = await session.elicit_url(message, url, elicitation_id, related_request_id)
    return AcceptedUrlElicitation() if answer.action == "accept" else _refusal(answer.action)


def outcome_of(answer: "ElicitResult", schema: type[ElicitSchemaModelT]) -> ElicitationResult[ElicitSchemaModelT]:
    """What a client answered to a form.

    Args:
        answer: What it sent.
        schema: The model of the form.

    Raises:
        MismatchedAnswerError: The form was accepted with content that does not fit.
    """
    if answer.action != "accept":
        return _refusal(answer.action)
    data = cast("ElicitSchemaModelT", form_of(schema).read(schema, answer.content))
    # The data is an instance already: to validate it once more could only change it.
    return AcceptedElicitation[ElicitSchemaModelT].model_construct(data=data)


def _refusal(action: Literal["decline", "cancel"]) -> DeclinedElicitation | CancelledElicitation:
    return DeclinedElicitation() if action == "decline" else CancelledElicitation()
