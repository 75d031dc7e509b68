"""What an extension may be called."""

import re
from typing import Any

__all__ = ["validate_extension_identifier"]

_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_IDENTIFIER = re.compile(rf"{_LABEL}(?:\.{_LABEL})*/{_NAME}")


def validate_extension_identifier(identifier: Any, *, owner: str) -> None:
    """Checks the identifier of an extension, such as `com.example/stamps`.

    Specification: basic/index under `_meta`; for extensions the prefix is required.

    Args:
        identifier: What is to be one.
        owner: The class that has it, for the error.

    Raises:
        TypeError: It is no text of that form.
    """
    if not isinstance(identifier, str) or _IDENTIFIER.fullmatch(identifier) is None:
        raise TypeError(
            f"{owner}.identifier must be a `vendor-prefix/name` string (reverse-DNS prefix required), "
            f"got {identifier!r}"
        )
