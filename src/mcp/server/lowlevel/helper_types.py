"""Small types for the handlers of a low-level server."""

from dataclasses import dataclass
from typing import Any

__all__ = ["ReadResourceContents"]


@dataclass
class ReadResourceContents:
    """One piece of a resource that was read.

    Attributes:
        content: Text, or bytes.
        mime_type: What it is; None where unknown.
        meta: Its `_meta`.
    """

    content: str | bytes
    mime_type: str | None = None
    meta: dict[str, Any] | None = None
