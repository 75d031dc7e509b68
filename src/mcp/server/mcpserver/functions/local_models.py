"""Models that pydantic could not complete, because what they name is local to a function."""

from typing import Any

from pydantic import BaseModel

from mcp.server.mcpserver.functions.annotations import Scope

__all__ = ["complete"]


def complete(model: type[BaseModel], scope: Scope) -> None:
    """Builds a model whose types name local classes, and those of the local classes that are models themselves.

    Args:
        model: One that may be complete already.
        scope: Knows the local names.

    Raises:
        NameError: A name does not exist.
        PydanticUserError: pydantic does not know a type.
    """
    if model.__pydantic_complete__:
        return
    for local in scope.locals.values():
        if _is_incomplete(local):
            local.model_rebuild(raise_errors=False, _types_namespace=scope.names)
    model.model_rebuild(_types_namespace=scope.names)


def _is_incomplete(local: Any) -> bool:
    return isinstance(local, type) and issubclass(local, BaseModel) and not local.__pydantic_complete__
