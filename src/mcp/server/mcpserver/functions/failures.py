"""What is told of a call that failed."""

from itertools import islice
from typing import Final

import anyio
from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from mcp.engine.backend import asyncio_task, cancelled_itself
from mcp.shared.exceptions import MCPError

__all__ = ["argument_problems", "innermost_error", "is_own_exit", "protocol_error", "reason"]

MOST_PROBLEMS: Final = 20
"""So many problems with one value are told; there can be one for each number in a request."""

MOST_SORTED: Final = 100_000
"""Of more problems only the number is told: pydantic gives all or none, which would take seconds."""

LONGEST_TEXT: Final = 10_000
"""Of what is told of a value, which may quote it."""

_LONGEST_NAME: Final = 200


def innermost_error(error: Exception) -> Exception:
    """The error that a task group wrapped; the error itself if it is no group, or a group of several."""
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    while len(inner) == 1 and isinstance(inner[0], Exception):
        error = inner[0]
        inner = getattr(error, "exceptions", ())
    return error


def argument_problems(error: ValidationError) -> str:
    """One sentence about the arguments that were refused. It names the first of them, and repeats no value.

    Args:
        error: What `FuncMetadata.validate_arguments` raised.
    """
    if error.error_count() > MOST_SORTED:
        return f"{error.error_count()} problems"
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    told = [_problem(it["type"], it["loc"], it["msg"]) for it in problems[:MOST_PROBLEMS]]
    return _shortened("; ".join(told)) + _rest(error, "; ")


def _problem(kind: str, place: tuple[int | str, ...], message: str) -> str:
    name, *path = map(_short_part, place or ("",))
    if kind == "missing" and not path:
        return f"missing required argument {name!r}"
    if kind == "unknown_argument":
        return f"unknown argument {name!r}, {message.partition('; ')[2]}"
    within = "".join(f"[{part!r}]" for part in path)
    return f"argument {name!r}{within}: {message}"


def _short_part(part: int | str) -> int | str:
    return part if isinstance(part, int) else _shortened(part, _LONGEST_NAME)


def _shortened(text: str, longest: int = LONGEST_TEXT) -> str:
    return text if len(text) <= longest else f"{text[:longest]}..."


def _rest(error: ValidationError, separator: str) -> str:
    count = error.error_count() - MOST_PROBLEMS
    return f"{separator}... and {count} more" if count > 0 else ""


def _validation_text(error: ValidationError) -> str:
    """What pydantic says of a value, without repeating all of it."""
    count = error.error_count()
    if count <= MOST_PROBLEMS:
        return _shortened(str(error))
    if count > MOST_SORTED:
        return f"{count} validation errors for {error.title}"
    first = map(_init_details, islice(error.errors(include_url=False, include_context=False), MOST_PROBLEMS))
    head, _, lines = str(ValidationError.from_exception_data(error.title, list(first))).partition("\n")
    head = head.replace(str(MOST_PROBLEMS), str(count), 1)
    return _shortened(f"{head}\n{lines}") + _rest(error, "\n")


def _init_details(problem: ErrorDetails) -> InitErrorDetails:
    kind = PydanticCustomError(problem["type"], problem["msg"])  # pyright: ignore[reportArgumentType]
    return {"type": kind, "loc": tuple(map(_short_part, problem["loc"])), "input": problem["input"]}


def _text(failure: BaseException) -> str:
    """The text of an exception, also of one that has none because it fails to make it."""
    try:
        return _validation_text(failure) if isinstance(failure, ValidationError) else str(failure)
    except Exception as error:
        return f"{type(failure).__name__} (to make its text raised {type(error).__name__})"


def reason(failure: BaseException) -> str:
    """What an exception says, in one text: of a group what its members say, and which one it was if it is silent."""
    members = _members(failure)
    if members:
        return "; ".join(dict.fromkeys(map(reason, members)))
    text = _text(failure)
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
