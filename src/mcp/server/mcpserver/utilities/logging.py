"""Logging of a server's process."""

import logging
import sys
from typing import Literal

__all__ = ["configure_logging", "get_logger"]


def get_logger(name: str) -> logging.Logger:
    """The logger called `name`."""
    return logging.getLogger(name)


def configure_logging(level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO") -> None:
    """Sends the log to stderr, through rich if that is installed; does nothing if the root logger has a handler.

    For programs. The library never calls it while it is imported or while a server is being constructed.

    Args:
        level: Messages below it are not logged.
    """
    logging.basicConfig(format="%(message)s", level=level, handlers=[_handler()])


def _handler() -> logging.Handler:
    try:
        from rich.console import Console
        from rich.logging import RichHandler
    except ImportError:
        return logging.StreamHandler(sys.stderr)
    return RichHandler(console=Console(stderr=True), rich_tracebacks=True)
