"""Client extensions as they are declared: what is refused before there is a connection."""

from collections.abc import Sequence
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from mcp import Client, ClientSession, types
from mcp.client import (
    ClaimContext,
    ClientExtension,
    NotificationBinding,
    ResultClaim,
    UnexpectedClaimedResult,
    advertise,
)
from mcp.client.folding import fold_extensions
from mcp.server import Server


class Ticket(types.Result):
    result_type: Literal["ticket"] = "ticket"


class Voucher(types.Result):
    result_type: Literal["voucher"]


class Tagless(types.Result):
    token: str


class AnyTag(types.Result):
    result_type: str = "ticket"


class TwoTags(types.Result):
    result_type: Literal["ticket", "voucher"] = "ticket"


class CoreChild(types.CallToolResult):
    result_type: Literal["ticket"] = "ticket"  # pyright: ignore[reportIncompatibleVariableOverride]


class AskingChild(types.InputRequiredResult):
    result_type: Literal["ticket"] = "ticket"  # pyright: ignore[reportIncompatibleVariableOverride]


class NoResult(BaseModel):
    result_type: Literal["ticket"] = "ticket"


async def resolve(claimed: Any, ctx: ClaimContext) -> types.CallToolResult:
    return types.CallToolResult(content=[])


async def take(params: Any) -> None: ...


TICKETS = ResultClaim(result_type="ticket", model=Ticket, resolve=resolve)
VOUCHERS = ResultClaim(result_type="voucher", model=Voucher, resolve=resolve)
NOTES = NotificationBinding(method="com.example/note", params_type=types.NotificationParams, handler=take)


class Given(ClientExtension):
    """An extension that has what it is given."""

    def __init__(
        self,
        identifier: Any,
        claims: Sequence[ResultClaim[Any]] = (),
        notifications: Sequence[NotificationBinding[Any]] = (),
        settings: Any = None,
    ) -> None:
        self.identifier = identifier
        self._parts = claims, notifications
        self._settings: Any = {} if settings is None else settings

    def settings(self) -> dict[str, Any]:
        return self._settings

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return self._parts[0]

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        return self._parts[1]


# Claims.


def claim(**changes: Any) -> ResultClaim[Any]:
    arguments: dict[str, Any] = {"result_type": "ticket", "model": Ticket, "resolve": resolve, **changes}
    return ResultClaim[Any](**arguments)


def test_a_claim_is_for_tool_calls_in_every_revision_that_has_kinds_of_results() -> None:
    assert (TICKETS.method, TICKETS.protocol_versions) == ("tools/call", None)
    assert claim(protocol_versions=frozenset({"2026-07-28"})).protocol_versions == {"2026-07-28"}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"result_type": "complete"}, "resultType 'complete' is the protocol's own, and cannot be claimed"),
        ({"result_type": "input_required"}, "resultType 'input_required' is the protocol's own, and cannot be claimed"),
        ({"result_type": "voucher"}, "Ticket.result_type must be Literal['voucher']"),
        ({"model": Tagless}, "Tagless.result_type must be Literal['ticket']"),
        ({"model": AnyTag}, "AnyTag.result_type must be Literal['ticket']"),
        ({"model": TwoTags}, "TwoTags.result_type must be Literal['ticket']"),
        ({"model": CoreChild}, "CoreChild must be no subclass of CallToolResult or InputRequiredResult"),
        ({"model": AskingChild}, "AskingChild must be no subclass of CallToolResult or InputRequiredResult"),
        ({"model": NoResult}, "NoResult must be a subclass of mcp.types.Result"),
        ({"model": 5}, "5 must be a subclass of mcp.types.Result"),
        ({"method": "prompts/get"}, "claims are for results of tools/call only, got 'prompts/get'"),
        (
            {"protocol_versions": frozenset[str]()},
            "an empty protocol_versions set claims nothing, ever; None claims in every version",
        ),
        (
            {"protocol_versions": frozenset({"2025-11-25", "2026-07-28"})},
            "protocol_versions ['2025-11-25'] have no claimed results: only 2026-07-28 has",
        ),
    ],
)
def test_a_claim_that_cannot_work_is_refused_when_it_is_made(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError) as raised:
        claim(**changes)
    assert str(raised.value) == complaint


# Extensions.


def test_a_bad_identifier_is_refused_when_the_class_is_defined() -> None:
    with pytest.raises(TypeError, match=r"^Bad\.identifier must be a `vendor-prefix/name` string"):

        class Bad(ClientExtension):  # pyright: ignore[reportUnusedClass]
            identifier = "tickets"


def test_a_base_needs_no_identifier_and_a_subclass_may_inherit_one() -> None:
    class Base(ClientExtension): ...

    class Named(Base):
        identifier = "com.example/named"

    class Child(Named): ...

    assert Child.identifier == "com.example/named"
    assert (Child().settings(), Child().claims(), Child().notifications()) == ({}, (), ())


def test_an_identifier_may_be_a_property() -> None:
    class Computed(ClientExtension):
        @property
        def identifier(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
            return "com.example/computed"

    assert fold_extensions([Computed()]).ad == {"com.example/computed": {}}


def test_an_advertised_extension_does_nothing() -> None:
    settings = {"a": 1}
    extension = advertise("com.example/x", settings)
    settings["b"] = 2
    assert (extension.identifier, extension.settings()) == ("com.example/x", {"a": 1})
    assert (extension.claims(), extension.notifications()) == ((), ())
    with pytest.raises(TypeError, match=r"^advertise\.identifier must be"):
        advertise("x")


@pytest.mark.parametrize(
    ("extensions", "kind", "complaint"),
    [
        (
            [Given("com.example/a"), advertise("com.example/a")],
            ValueError,
            "extension 'com.example/a' is given more than once",
        ),
        (
            [Given("com.example/a", [TICKETS]), Given("com.example/b", [TICKETS])],
            ValueError,
            "extension 'com.example/b' claims resultType 'ticket', like 'com.example/a': only one may",
        ),
        (
            [Given("com.example/a", [TICKETS, TICKETS])],
            ValueError,
            "extension 'com.example/a' claims resultType 'ticket', like 'com.example/a': only one may",
        ),
        (
            [Given("com.example/a", (), [NOTES]), Given("com.example/b", (), [NOTES])],
            ValueError,
            "extension 'com.example/b' binds notification method 'com.example/note', like 'com.example/a': "
            "only one may",
        ),
        (
            [Given("a")],
            TypeError,
            "Given.identifier must be a `vendor-prefix/name` string (reverse-DNS prefix required), got 'a'",
        ),
        (
            [ClientExtension()],
            TypeError,
            "ClientExtension.identifier must be a `vendor-prefix/name` string (reverse-DNS prefix required), got None",
        ),
        (
            [Given("com.example/a", settings=["x"])],
            TypeError,
            "settings() of extension 'com.example/a' must return a dict, got list",
        ),
        ([Given], TypeError, "extensions= takes instances of ClientExtension, got the class Given"),
        (["com.example/a"], TypeError, "extensions= takes instances of ClientExtension, got str"),
    ],
)
def test_what_a_client_cannot_take_is_refused_when_it_is_made(
    extensions: list[Any], kind: type[Exception], complaint: str
) -> None:
    with pytest.raises(kind) as raised:
        Client(Server("srv"), extensions=extensions)
    assert str(raised.value) == complaint


def test_extensions_fold_into_what_a_session_takes() -> None:
    folded = fold_extensions(
        [Given("com.example/a", [TICKETS, VOUCHERS]), Given("com.example/b", (), [NOTES], {"k": 1})]
    )
    assert folded.ad == {"com.example/a": {}, "com.example/b": {"k": 1}}
    assert folded.claims == {"com.example/a": (TICKETS, VOUCHERS)}
    assert folded.bindings == (NOTES,)
    assert folded.by_model == {Ticket: TICKETS, Voucher: VOUCHERS}
    for nothing in (None, ()):
        folded = fold_extensions(nothing)
        assert (folded.ad, folded.claims, folded.bindings, folded.by_model) == (None, None, None, {})


# Sessions.


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            {"result_claims": {"com.example/a": [TICKETS]}},
            "result_claims of 'com.example/a', which extensions= does not declare",
        ),
        (
            {"result_claims": {"com.example/a": [TICKETS, TICKETS]}, "extensions": {"com.example/a": {}}},
            "result_claims claim resultType 'ticket' more than once",
        ),
        (
            {"notification_bindings": [NOTES, NOTES]},
            "notification_bindings bind method 'com.example/note' more than once",
        ),
    ],
)
def test_what_a_session_cannot_take_is_refused_when_it_is_made(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError) as raised:
        ClientSession(**options)
    assert str(raised.value) == complaint


def test_the_error_about_a_claimed_result_holds_it() -> None:
    result = Ticket()
    error = UnexpectedClaimedResult(result)
    assert error.result is result
    assert "allow_claimed=True" in str(error)
