"""Parameters of tools that functions of the server fill in, and questions to the client that such functions ask.

    async def check_stock(title: str) -> Stock: ...

    @mcp.tool()
    async def order_book(title: str, stock: Annotated[Stock, Resolve(check_stock)]) -> str: ...

A function may return `Elicit`, `Sample` or `ListRoots` instead of a value. Up to revision 2025-11-25 the client is then
sent a request, during the call. From 2026-07-28 on the call is answered with the questions, and made again with the
answers; the functions run again in each round, and find every answer where they ask for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import TypeIs

from mcp.engine.workers import run_in_worker
from mcp.server.elicitation import (
    AcceptedElicitation,
    CancelledElicitation,
    DeclinedElicitation,
    ElicitationResult,
)
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolution.graph import Plan, build_resolver_plans, identity
from mcp.server.mcpserver.resolution.markers import Elicit, ListRoots, Marker, Resolve, Sample, is_marker
from mcp.server.mcpserver.resolution.parameters import find_resolved_parameters, returns_input_required
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.server.mcpserver.context import Context
    from mcp.server.mcpserver.resolution.questions import Question
    from mcp.server.mcpserver.resolution.rounds import Rounds
    from mcp.types import InputRequiredResult

__all__ = [
    "AcceptedElicitation",
    "CancelledElicitation",
    "DeclinedElicitation",
    "Elicit",
    "ElicitationResult",
    "ListRoots",
    "Resolve",
    "Sample",
    "build_resolver_plans",
    "find_resolved_parameters",
    "resolve_arguments",
    "returns_input_required",
]


async def resolve_arguments(
    resolved_params: Mapping[str, tuple[Resolve, bool]],
    plans: Mapping[Hashable, Plan],
    tool_args: Mapping[str, Any],
    context: Context[Any, Any],
) -> dict[str, Any] | InputRequiredResult:
    """The values of a tool's resolved parameters.

    Each resolver runs once, however many parameters it is for. Whatever does not depend on an open question is worked
    out first, so that a round asks all that it can.

    Args:
        resolved_params: What `find_resolved_parameters` found.
        plans: What `build_resolver_plans` made of that.
        tool_args: The tool's own arguments, validated, by the names of its parameters.
        context: Of the request.

    Returns:
        A value for each parameter; or what the client has to answer first, from 2026-07-28 on.

    Raises:
        ToolError: A question was declined, or the answer does not fit.
        MCPError: The client cannot be asked (-32021), or answered with an error.
        NoBackChannelError: There is no way to ask.
        Exception: Whatever a resolver raises.
    """
    resolution = _Resolution(plans, tool_args, context)
    values: dict[str, Any] = {}
    for name, (resolve, takes_outcome) in resolved_params.items():
        outcome = await resolution.outcome(identity(resolve.fn))
        if outcome is not _OPEN:
            values[name] = _injected(name, outcome, takes_outcome)
    return values if resolution.rounds is None or len(values) == len(resolved_params) else resolution.rounds.close()


_OPEN: Final = object()
"""Stands for what depends on a question that is not answered."""


class _Resolution:
    """What the resolvers of one call have come to.

    Attributes:
        rounds: The questions that travel with the answer of the call; None if nothing was asked that way.
    """

    def __init__(
        self, plans: Mapping[Hashable, Plan], arguments: Mapping[str, Any], context: Context[Any, Any]
    ) -> None:
        self.rounds: Rounds | None = None
        self._plans = plans
        self._arguments = arguments
        self._context = context
        self._outcomes: dict[Hashable, Any] = {}

    async def outcome(self, resolver: Hashable) -> Any:
        """What a resolver has come to: a value, what became of its question, or `_OPEN`."""
        if resolver not in self._outcomes:
            self._outcomes[resolver] = await self._run(self._plans[resolver])
        return self._outcomes[resolver]

    async def _run(self, plan: Plan) -> Any:
        given: dict[str, Any] = {}
        for name, resolver, takes_outcome in plan.resolved:
            outcome = await self.outcome(resolver)
            given[name] = outcome if outcome is _OPEN else _injected(name, outcome, takes_outcome)
        if any(value is _OPEN for value in given.values()):
            return _OPEN
        given.update((name, self._arguments[name]) for name in plan.arguments)
        given.update(dict.fromkeys(plan.contexts, self._context))
        value = await _called(plan, given)
        return await self._ask(plan, value) if is_marker(value) else value

    async def _ask(self, plan: Plan, marker: Marker) -> Any:
        from mcp.server.mcpserver.resolution.questions import Question

        question = Question(plan.key, marker)
        context = self._context
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._ask_in_rounds(question)
        session = context.session
        if session.can_send_request:
            question.check_capability(context.client_capabilities)
        return await question.ask(session)

    def _ask_in_rounds(self, question: Question) -> Any:
        from mcp.server.mcpserver.resolution.rounds import Rounds

        context = self._context
        if self.rounds is None:
            self.rounds = Rounds(context.request_state, context.input_responses)
        answer = self.rounds.answer(question)
        if answer is not None:
            return question.read(answer)
        question.check_capability(context.client_capabilities)
        self.rounds.ask(question)
        return _OPEN


async def _called(plan: Plan, given: dict[str, Any]) -> Any:
    positional = [given.pop(name) for name in plan.positional]
    if plan.is_async:
        return await plan.fn(*positional, **given)
    value = await run_in_worker(partial(plan.fn, *positional, **given))
    return await value if isawaitable(value) else value


def _injected(name: str, outcome: Any, takes_outcome: bool) -> Any:
    """An outcome as a parameter takes it.

    Raises:
        ToolError: There is no answer, and the parameter takes answers only.
    """
    if not _is_outcome(outcome):
        # Not validated: it is what the resolver returned, of whatever type that is.
        return AcceptedElicitation[Any].model_construct(data=outcome) if takes_outcome else outcome
    if takes_outcome:
        return outcome
    if outcome.action == "accept":
        return outcome.data
    raise ToolError(f"Resolver for parameter {name!r} could not resolve: elicitation was {outcome.action}")


def _is_outcome(value: Any) -> TypeIs[AcceptedElicitation[Any] | DeclinedElicitation | CancelledElicitation]:
    return isinstance(value, (AcceptedElicitation, DeclinedElicitation, CancelledElicitation))
