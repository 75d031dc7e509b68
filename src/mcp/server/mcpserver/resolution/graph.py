"""The functions that resolve a tool's parameters, and what each of them takes: worked out when a tool is registered."""

import functools
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from inspect import Parameter
from types import MethodType
from typing import Any, cast

from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.functions.annotations import innermost
from mcp.server.mcpserver.functions.injected import is_context
from mcp.server.mcpserver.functions.signature import MISSING, Signature, callable_name, is_async_callable
from mcp.server.mcpserver.resolution.markers import Resolve
from mcp.server.mcpserver.resolution.parameters import resolved_parameter

__all__ = ["Plan", "build_resolver_plans", "identity"]


@dataclass(frozen=True)
class Plan:
    """How to call a resolver.

    Attributes:
        fn: The function.
        key: Names its question among those of a call: the same in every process that runs the same program.
        is_async: Whether a call gives an awaitable.
        arguments: Parameters that take the tool's argument of the same name.
        contexts: Parameters that take the context.
        resolved: Parameters that other resolvers fill in: the identity of each, and whether it takes every outcome.
        positional: Parameters that are passed by position only, in order.
    """

    fn: Callable[..., Any]
    key: str
    is_async: bool
    arguments: tuple[str, ...]
    contexts: tuple[str, ...]
    resolved: tuple[tuple[str, Hashable, bool], ...]
    positional: tuple[str, ...]


def identity(fn: Callable[..., Any]) -> Hashable:
    """What tells resolvers apart: the function itself, and for a method its object too.

    Objects are told apart by where they are, since they may be unhashable, or equal while they are not the same. It
    holds for as long as somebody keeps the function.
    """
    return (id(fn.__self__), id(fn.__func__)) if isinstance(fn, MethodType) else id(fn)


def build_resolver_plans(
    resolved_params: Mapping[str, tuple[Resolve, bool]], tool_arg_names: set[str]
) -> dict[Hashable, Plan]:
    """Plans for the resolvers of a tool and those that they depend on.

    Args:
        resolved_params: What `find_resolved_parameters` found.
        tool_arg_names: The tool's own arguments, which resolvers may take.

    Returns:
        The plans, by the identity of the resolver.

    Raises:
        InvalidSignature: A resolver takes what nothing can fill in, or depends on itself.
    """
    builder = _Builder(tool_arg_names)
    for resolve, _ in resolved_params.values():
        builder.add(resolve.fn, ())
    return builder.plans


class _Builder:
    def __init__(self, arguments: set[str]) -> None:
        self.plans: dict[Hashable, Plan] = {}
        self._arguments = arguments
        self._keys: set[str] = set()

    def add(self, fn: Callable[..., Any], path: tuple[Callable[..., Any], ...]) -> Hashable:
        known = identity(fn)
        if known in map(identity, path):
            circle = " -> ".join(map(callable_name, (*path, fn)))
            raise InvalidSignature(f"Resolver {callable_name(fn)!r} has a cyclic dependency: {circle}")
        if known not in self.plans:
            plan = self._plan(fn, (*path, fn))
            self.plans[known] = plan
        return known

    def _plan(self, fn: Callable[..., Any], path: tuple[Callable[..., Any], ...]) -> Plan:
        signature = Signature(fn, skip=_bound(fn))
        signature.check()
        arguments: list[str] = []
        contexts: list[str] = []
        resolved: list[tuple[str, Hashable, bool]] = []
        for name, parameter in signature.parameters.items():
            marked = resolved_parameter(signature, parameter)
            if marked is not None:
                resolve, takes_outcome = marked
                resolved.append((name, self.add(resolve.fn, path), takes_outcome))
            elif _wants_context(signature, parameter):
                contexts.append(name)
            elif name in self._arguments:
                arguments.append(name)
            else:
                raise _unknown(signature.name, name)
        if signature.extras is not None:
            raise _unknown(signature.name, signature.extras.name)
        return Plan(
            fn=fn,
            key=self._new_key(fn),
            is_async=is_async_callable(fn),
            arguments=tuple(arguments),
            contexts=tuple(contexts),
            resolved=tuple(resolved),
            positional=tuple(name for name in signature.positional_only if name in signature.parameters),
        )

    def _new_key(self, fn: Callable[..., Any]) -> str:
        """Functions may share a name. Their order in the graph is the same wherever the program runs."""
        core = innermost(fn)
        name = f"{getattr(core, '__module__', None)}:{getattr(core, '__qualname__', None) or callable_name(fn)}"
        key, count = name, 1
        while key in self._keys:
            count += 1
            key = f"{name}#{count}"
        self._keys.add(key)
        return key


def _bound(fn: Callable[..., Any]) -> set[str]:
    """The parameters that a partial has filled in already; their names may be given again, and need not be."""
    names: set[str] = set()
    while isinstance(fn, functools.partial):
        names |= fn.keywords.keys()
        fn = cast("Callable[..., Any]", fn.func)
    return names


def _wants_context(signature: Signature, parameter: Parameter) -> bool:
    annotation = parameter.annotation
    if annotation is MISSING or not signature.resolves(annotation):
        return False
    return is_context(signature.evaluate(annotation, f"parameter {parameter.name!r}"))


def _unknown(resolver: str, parameter: str) -> InvalidSignature:
    return InvalidSignature(
        f"Resolver {resolver!r} parameter {parameter!r} cannot be resolved: expected a Context, an "
        f"Annotated[_, Resolve(...)], or a tool argument by name"
    )
