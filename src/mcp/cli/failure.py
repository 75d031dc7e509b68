"""What ends a command with a message of its own, rather than with a traceback."""

__all__ = ["CommandError"]


class CommandError(Exception):
    """The command cannot do what it was asked for. Its text says why, and what to do, and is shown as it is."""
