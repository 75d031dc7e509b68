"""What is told of a call that failed."""

import anyio
from pydantic import ValidationError

from mcp.engine.backend import asyncio_task, cancelled_itself
from mcp.shared.exceptions import MCPError

__all__ = ["argument_problems", "innermost_error", "is_own_exit", "protocol_error", "reason"]


def innermost_error(error: Exception) -> Exception:
    """The error that a task group wrapped; the error itself if it is no group, or a group of several."""
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    while len(inner) == 1 and isinstance(inner[0], Exception):
        error = inner[0]
        inner = getattr(error, "exceptions", ())
    return error


def argument_problems(error: ValidationError) -> str:
    """One sentence about the arguments that were refused. It names each of them, and repeats no value.

    Args:
        error: What `FuncMetadata.validate_arguments` raised.
    """
    return "; ".join(
        _problem(problem["type"], problem["loc"], problem["msg"])
        for problem in error.errors(include_url=False, include_context=False, include_input=False)
    )


def _problem(kind: str, place: tuple[int | str, ...], message: str) -> str:
    name, *path = place or ("",)
    if kind == "missing" and not path:
        return f"missing required argument {name!r}"
    if kind == "unknown_argument":
        return f"unknown argument {name!r}, {message.partition('; ')[2]}"
    within = "".join(f"[{part!r}]" for part in path)
    return f"argument {name!r}{within}: {message}"


def reason(failure: BaseException) -> str:
    """What an exception says, in one text: of a group what its members say, and which one it was if it is silent."""
    members = _members(failure)
    if members:
        return "; ".join(dict.fromkeys(map(reason, members)))
    text = str(failure)
    if isinstance(failure, Exception) and text:
        return text
    return f"{type(failure).__name__}: {text}" if text else type(failure).__name__


def is_own_exit(exit_: BaseException) -> bool:
    """Whether a function exits or cancels itself, and nobody ends it from outside. In doubt it is not."""
    members = _members(exit_)
    if members:
        return all(isinstance(member, Exception) or is_own_exit(member) for member in members)
    if isinstance(exit_, SystemExit):
        return True
    return isinstance(exit_, anyio.get_cancelled_exc_class()) and cancelled_itself(asyncio_task(), 0)


def protocol_error(failure: BaseException) -> MCPError | None:
    """The `MCPError` that was raised, also where a task group has wrapped it; None if there is none."""
    if isinstance(failure, MCPError):
        return failure
    found = (protocol_error(member) for member in _members(failure))
    return next((error for error in found if error is not None), None)


def _members(failure: BaseException) -> tuple[BaseException, ...]:
    members: tuple[BaseException, ...] = getattr(failure, "exceptions", ())
    return members if isinstance(members, tuple) else ()  # pyright: ignore[reportUnnecessaryIsInstance]
