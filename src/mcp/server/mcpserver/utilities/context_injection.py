"""Which parameter of a function receives the context."""

from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver.functions.injected import InjectedContext, is_context
from mcp.server.mcpserver.functions.signature import MISSING, Signature

__all__ = ["InjectedContext", "find_context_parameter", "inject_context"]


def find_context_parameter(fn: Callable[..., Any]) -> str | None:
    """The parameter that wants a `Context`, however its annotation spells that.

    Args:
        fn: Any callable.

    Returns:
        Its name; None if no parameter does.

    Raises:
        InvalidSignature: The callable cannot be inspected, or an annotation is no expression.
    """
    signature = Signature(fn)
    for name, parameter in signature.parameters.items():
        if parameter.annotation is MISSING or not signature.resolves(parameter.annotation):
            continue
        if is_context(signature.evaluate(parameter.annotation, f"parameter {name!r}")):
            return name
    return None


def inject_context(
    fn: Callable[..., Any], kwargs: dict[str, Any], context: Any | None, context_kwarg: str | None
) -> dict[str, Any]:
    """The keyword arguments of a call together with its context.

    Args:
        fn: The callable that will be called.
        kwargs: Its other arguments.
        context: The context of the request; None outside a request.
        context_kwarg: What `find_context_parameter` found.
    """
    if context is None or context_kwarg is None:
        return kwargs
    return {**kwargs, context_kwarg: context}
