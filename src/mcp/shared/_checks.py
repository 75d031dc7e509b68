"""Checks of what a program configures, where a wrong value would be noticed late, or never."""

__all__ = ["check_whole"]


def check_whole(name: str, value: object) -> None:
    """Refuses what is no whole number from 0 on.

    Args:
        name: What it is, as the program calls it.
        value: What the program gave.

    Raises:
        TypeError: It is no `int`, or a `bool`.
        ValueError: It is negative.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < 0:
        raise ValueError(f"{name} must be >= 0, got {value!r}")
