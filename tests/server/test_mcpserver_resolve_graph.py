"""Which parameters are resolved, by which functions, and what is refused before a server starts."""

import functools
from collections.abc import Callable
from typing import Annotated, Any, Optional

import pytest
from pydantic import BaseModel

from mcp.server.elicitation import AcceptedElicitation, CancelledElicitation, DeclinedElicitation, ElicitationResult
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.functions.injected import InjectedContext
from mcp.server.mcpserver.resolve import (
    Elicit,
    ListRoots,
    Resolve,
    build_resolver_plans,
    find_resolved_parameters,
    returns_input_required,
)
from mcp.types import CallToolResult, InputRequiredResult


class Confirm(BaseModel):
    ok: bool


def price() -> int:
    return 1


def ask() -> Elicit[Confirm]:
    return Elicit("Sure?", Confirm)


Price = Annotated[int, Resolve(price)]
Outcomes = AcceptedElicitation[Confirm] | DeclinedElicitation | CancelledElicitation


def found(fn: Any) -> dict[str, tuple[Any, bool]]:
    """The parameters: the function that resolves each, and whether it takes every outcome."""
    return {name: (resolve.fn, takes) for name, (resolve, takes) in find_resolved_parameters(fn).items()}


def refusal_of(fn: Any, *arguments: str) -> str:
    """Why a function cannot be a tool."""
    with pytest.raises(InvalidSignature) as raised:
        build_resolver_plans(find_resolved_parameters(fn), set(arguments))
    return str(raised.value)


# Parameters.


def test_a_parameter_is_resolved_by_the_function_in_its_annotation() -> None:
    def tool(
        title: str, cost: Annotated[int, Resolve(price)], ctx: InjectedContext, *, also: Price, plain: int = 1
    ) -> None: ...

    assert found(tool) == {"cost": (price, False), "also": (price, False)}


def test_also_where_annotations_are_text() -> None:
    def tool(untyped, cost: "Price", later: "NotDefinedYet", title: "str") -> None: ...  # noqa: F821  # pyright: ignore

    assert found(tool) == {"cost": (price, False)}


@pytest.mark.parametrize(
    ("kind", "takes_outcome"),
    [
        (Confirm, False),
        (ElicitationResult[Confirm], True),
        (ElicitationResult, True),
        (ElicitationResult[Confirm] | None, True),
        (Outcomes, True),
        (AcceptedElicitation[Confirm], True),
        (AcceptedElicitation, True),
        (Optional[Confirm], False),  # noqa: UP045
        (Annotated[ElicitationResult[Confirm], "the outcome"], True),
        (list[Confirm], False),
        (Any, False),
    ],
)
def test_a_parameter_takes_answers_or_every_outcome(kind: Any, takes_outcome: bool) -> None:
    def tool(it: Any) -> None: ...

    tool.__annotations__["it"] = Annotated[kind, Resolve(ask)]
    assert found(tool) == {"it": (ask, takes_outcome)}


def test_a_tool_without_any_has_none() -> None:
    assert find_resolved_parameters(price) == {}
    assert build_resolver_plans({}, set()) == {}


@pytest.mark.parametrize("kind", [Optional[Price], Price | str])  # noqa: UP045
def test_a_marker_in_a_union_is_refused(kind: Any) -> None:
    def tool(cost: Any) -> None: ...

    tool.__annotations__["cost"] = kind
    assert refusal_of(tool) == (
        "Parameter 'cost' of 'tool' wraps `Resolve(...)` in a union; annotate the parameter directly as "
        "`Annotated[T, Resolve(...)]`"
    )


def test_a_marker_in_a_list_is_refused() -> None:
    def tool(costs: list[dict[str, Price]]) -> None: ...

    assert refusal_of(tool).startswith("Parameter 'costs' of 'tool' wraps `Resolve(...)` in dict[str, ")


def test_a_marker_as_a_default_is_refused() -> None:
    def tool(cost: Any = Resolve(price)) -> None: ...  # noqa: B008

    assert refusal_of(tool) == (
        "Parameter 'cost' of 'tool' has Resolve(price) as its default, which fills in nothing; annotate the parameter "
        "as `Annotated[T, Resolve(...)]`"
    )


def test_two_markers_are_refused() -> None:
    def tool(cost: Annotated[Price, Resolve(ask)]) -> None: ...

    assert (
        refusal_of(tool) == "Parameter 'cost' of 'tool' takes exactly one Resolve(fn), got Resolve(price), Resolve(ask)"
    )


def test_a_marker_without_a_function_is_refused() -> None:
    def tool(cost: Annotated[int, Resolve]) -> None: ...

    assert "takes exactly one Resolve(fn), got <class" in refusal_of(tool)
    with pytest.raises(TypeError, match="Resolve takes the function that fills in the parameter, got 3"):
        Resolve(3)  # pyright: ignore[reportArgumentType]


def test_a_type_that_does_not_exist_yet_is_refused_rather_than_shown_to_clients() -> None:
    def tool(cost: "Annotated[NotDefinedYet, Resolve(price)]") -> None: ...  # noqa: F821  # pyright: ignore

    assert "the name 'NotDefinedYet' is not defined" in refusal_of(tool)


def test_an_annotation_that_means_nothing_is_refused() -> None:
    def tool(cost: "int +") -> None: ...  # noqa: F722  # pyright: ignore

    assert "no Python expression" in refusal_of(tool)


# Resolvers.


def one(two: int) -> int:
    return two


def two(three: int) -> int:
    return three


def three(one: Annotated[int, Resolve(one)]) -> int:
    return one


def itself(it: int) -> int:
    return it


# Only text can name what comes later.
one.__annotations__["two"] = "Annotated[int, Resolve(two)]"
two.__annotations__["three"] = "Annotated[int, Resolve(three)]"
itself.__annotations__["it"] = "Annotated[int, Resolve(itself)]"


def test_a_cycle_is_refused() -> None:
    def tool(title: str, it: Annotated[int, Resolve(two)]) -> None: ...

    assert refusal_of(tool, "title") == "Resolver 'two' has a cyclic dependency: two -> three -> one -> two"


def test_a_resolver_that_depends_on_itself_is_refused() -> None:
    def tool(it: Annotated[int, Resolve(itself)]) -> None: ...

    assert refusal_of(tool) == "Resolver 'itself' has a cyclic dependency: itself -> itself"


def test_a_cycle_that_the_tool_is_not_part_of_is_refused_with_its_way_in() -> None:
    def entrance(it: Annotated[int, Resolve(itself)]) -> None: ...

    def tool(it: Annotated[int, Resolve(entrance)]) -> None: ...

    assert refusal_of(tool) == "Resolver 'itself' has a cyclic dependency: entrance -> itself -> itself"


def unknown(titel: str) -> str:
    return titel


def unknown_with_default(titel: str = "") -> str:
    return titel


def unknown_keywords(**titel: str) -> object:
    return titel


lambda_that_is_unknown: Callable[[str], str] = lambda titel: titel  # noqa: E731


def resolved_without_saying_so(cost: int) -> int:
    return cost


@pytest.mark.parametrize(
    ("resolver", "parameter"),
    [
        (unknown, "titel"),
        (unknown_with_default, "titel"),
        (unknown_keywords, "titel"),
        (resolved_without_saying_so, "cost"),
        (lambda_that_is_unknown, "titel"),
    ],
)
def test_a_parameter_that_nothing_can_fill_in_is_refused(resolver: Any, parameter: str) -> None:
    def tool(title: str, cost: Any) -> None: ...

    tool.__annotations__["cost"] = Annotated[int, Resolve(resolver)]
    assert refusal_of(tool, "title") == (
        f"Resolver {resolver.__name__!r} parameter {parameter!r} cannot be resolved: expected a Context, an "
        "Annotated[_, Resolve(...)], or a tool argument by name"
    )


def test_also_deep_in_the_graph() -> None:
    def outer(inner: Annotated[str, Resolve(unknown)]) -> str:
        return inner

    def tool(title: str, it: Annotated[str, Resolve(outer)]) -> None: ...

    assert refusal_of(tool, "title").startswith("Resolver 'unknown' parameter 'titel' cannot be resolved")


def test_arguments_by_position_only_work_and_any_number_of_them_do_not() -> None:
    def by_position(title: str, /) -> str:
        return title

    def any_number(*titles: str) -> object:
        return titles

    def tool(title: str, a: Annotated[str, Resolve(by_position)]) -> None: ...

    def wrong(title: str, a: Annotated[str, Resolve(any_number)]) -> None: ...

    assert build_resolver_plans(find_resolved_parameters(tool), {"title"})
    assert "*titles cannot be filled" in refusal_of(wrong, "title")


def test_a_method_without_its_object_is_refused() -> None:
    class Shop:
        def price(self) -> int:
            return 1

    def tool(cost: Annotated[int, Resolve(Shop.price)]) -> None: ...

    assert "this is a method without its object" in refusal_of(tool)


def test_what_a_partial_fills_in_is_not_looked_for() -> None:
    def priced(title: str, currency: str) -> str:
        return title + currency

    in_euro = functools.partial(priced, currency="EUR")

    def tool(title: str, cost: Annotated[str, Resolve(in_euro)]) -> None: ...

    assert build_resolver_plans(find_resolved_parameters(tool), {"title"})


def test_each_resolver_is_planned_once() -> None:
    def doubled(cost: Price) -> int:
        return cost * 2

    def tool(a: Price, b: Price, c: Annotated[int, Resolve(doubled)]) -> None: ...

    plans = build_resolver_plans(find_resolved_parameters(tool), set())
    assert sorted(plan.key.rpartition(":")[2].rpartition(".")[2] for plan in plans.values()) == ["doubled", "price"]


def test_questions_of_functions_that_share_a_name_are_told_apart() -> None:
    class Shop:
        def price(self) -> int:
            return 1

    a, b = Shop(), Shop()

    def tool(
        a: Annotated[int, Resolve(a.price)], b: Annotated[int, Resolve(b.price)], c: Annotated[int, Resolve(a.price)]
    ) -> None: ...

    keys = [plan.key for plan in build_resolver_plans(find_resolved_parameters(tool), set()).values()]
    name = f"{__name__}:{Shop.price.__qualname__}"
    assert keys == [name, f"{name}#2"]


# Results.


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        (InputRequiredResult, True),
        (str | InputRequiredResult, True),
        (Optional[InputRequiredResult], True),  # noqa: UP045
        ("str | InputRequiredResult", True),
        (Annotated[CallToolResult | InputRequiredResult, "either"], True),
        (str, False),
        (None, False),
        (list[InputRequiredResult], False),
        ("NotDefinedYet", False),
    ],
)
def test_whether_a_function_may_ask_by_itself(returns: Any, expected: bool) -> None:
    def tool() -> Any: ...

    tool.__annotations__["return"] = returns
    assert returns_input_required(tool) is expected


def test_a_function_that_does_not_say_what_it_returns_does_not() -> None:
    assert not returns_input_required(lambda: None)


# What programs print.


def test_markers_say_what_they_are() -> None:
    assert repr(Resolve(price)) == "Resolve(price)"
    assert repr(Elicit("Sure?", Confirm)) == "Elicit('Sure?', Confirm)"
    assert isinstance(ListRoots(), ListRoots)
