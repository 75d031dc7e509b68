"""Parameters that cannot be arguments of callers."""

from collections.abc import Iterable
from typing import Annotated, Any, Final, get_args, get_origin

from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.functions.injected import injected_by
from mcp.server.mcpserver.functions.signature import Signature

__all__ = ["refuse_injected", "refuse_no_type", "refuse_shared_names"]

_VALUES: Final = (int, float, complex, bytes, list, tuple, dict, set, frozenset)
_CONTAINERS: Final = (dict, frozenset, list, set, tuple)


def refuse_injected(signature: Signature, name: str, annotation: Any) -> None:
    """Refuses to show callers what the library is to fill in: they could confirm what nobody was asked.

    Raises:
        InvalidSignature: The annotation says that it is filled in.
    """
    source = injected_by(annotation)
    if source is None:
        return
    if signature.is_late:
        problem = "which nobody could know when the function was registered; define the type above the function"
    else:
        problem = "which does not happen here: only tools have resolvers, and one parameter takes the context"
    raise InvalidSignature(
        f"Function {signature.name}: the parameter {name!r} is to be filled in by {source}, {problem}"
    )


def refuse_no_type(signature: Signature, name: str, annotation: Any) -> None:
    """Refuses a value where a type should be.

    Raises:
        InvalidSignature: It is a number, a tuple or the like.
    """
    for part in _parts(annotation):
        if isinstance(part, _VALUES):
            raise InvalidSignature(
                f"Function {signature.name}: cannot evaluate the annotation of parameter {name!r}: "
                f"{part!r} is no type; expected one such as int, list[str] or int | str"
            )


def _parts(annotation: Any) -> Iterable[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _parts(get_args(annotation)[0])
    elif origin in _CONTAINERS:
        for part in get_args(annotation):
            yield from _parts(part)
    elif origin is None:
        yield annotation


def refuse_shared_names(signature: Signature, names: Iterable[tuple[str, str]]) -> None:
    """Refuses two parameters that one argument would fill.

    Args:
        signature: Of the function.
        names: Each parameter, and what callers call it.

    Raises:
        InvalidSignature: Callers call two of them the same.
    """
    owners: dict[str, str] = {}
    for parameter, name in names:
        owner = owners.setdefault(name, parameter)
        if owner != parameter:
            raise InvalidSignature(
                f"Function {signature.name}: callers would call both {owner!r} and {parameter!r} {name!r}; "
                "give them different aliases"
            )
