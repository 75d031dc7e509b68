"""What happens when something is registered under a name that is taken."""

from logging import Logger
from typing import Literal, get_args

__all__ = ["DuplicatePolicy", "check_policy", "takes_over"]

DuplicatePolicy = Literal["warn", "ignore", "replace", "error"]
"""The first one stays, with or without a warning in the log; the newcomer takes over; or it is refused."""


def check_policy(policy: object) -> None:
    """Checks the argument `on_duplicate`.

    Raises:
        ValueError: There is no such policy.
    """
    if policy not in get_args(DuplicatePolicy):
        known = ", ".join(map(repr, get_args(DuplicatePolicy)))
        raise ValueError(f"on_duplicate= must be one of {known}, got {policy!r}")


def takes_over(policy: DuplicatePolicy, kind: str, name: str, logger: Logger) -> bool:
    """Whether a newcomer takes the place of what has its name.

    Args:
        policy: What the server wants.
        kind: What the two are, as a message begins with it.
        name: What they are both called.
        logger: Where the warning goes.

    Raises:
        ValueError: The policy is to refuse newcomers.
    """
    if policy == "error":
        raise ValueError(f"{kind} already exists: {name}")
    if policy == "warn":
        logger.warning("%s already exists: %s", kind, name)
    return policy == "replace"
