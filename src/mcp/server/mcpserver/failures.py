"""What is told of an exception that a function raised."""

from mcp.engine.isolation import HandlerExit
from mcp.shared.exceptions import MCPError

__all__ = ["protocol_error", "reason"]


def reason(failure: BaseException) -> str:
    """What an exception says, in one text: of a group what its members say, of an exit which one it was."""
    members = _members(failure)
    if members:
        return "; ".join(dict.fromkeys(map(reason, members)))
    if isinstance(failure, HandlerExit) and failure.__cause__ is not None:
        return f"{failure}: {text}" if (text := str(failure.__cause__)) else str(failure)
    return str(failure) or type(failure).__name__


def protocol_error(failure: BaseException) -> MCPError | None:
    """The `MCPError` that was raised, also where a task group has wrapped it; None if there is none."""
    if isinstance(failure, MCPError):
        return failure
    found = (protocol_error(member) for member in _members(failure))
    return next((error for error in found if error is not None), None)


def _members(failure: BaseException) -> tuple[BaseException, ...]:
    members: tuple[BaseException, ...] = getattr(failure, "exceptions", ())
    return members if isinstance(members, tuple) else ()  # pyright: ignore[reportUnnecessaryIsInstance]
