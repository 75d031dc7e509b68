"""What an extension may be called, and what makes one, on either side."""

import re
from typing import Any, Protocol, cast

from pydantic_core import to_json

__all__ = ["check_class_identifier", "read_extension", "validate_extension_identifier"]


class _Extension(Protocol):
    def settings(self) -> dict[str, Any]: ...


_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_IDENTIFIER = re.compile(rf"{_LABEL}(?:\.{_LABEL})*/{_NAME}")


def validate_extension_identifier(identifier: Any, *, owner: str) -> None:
    """Checks the identifier of an extension, such as `com.example/labels`.

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


def check_class_identifier(cls: type) -> None:
    """Checks the identifier that the body of a class sets, as soon as the class is defined.

    Args:
        cls: The class. An abstract one has none yet, and a property is not asked before there is an object.

    Raises:
        TypeError: It is no identifier.
    """
    identifier = vars(cls).get("identifier")
    if identifier is not None and not hasattr(identifier, "__get__"):
        validate_extension_identifier(identifier, owner=cls.__name__)


def read_extension(extension: Any, kind: type[_Extension]) -> tuple[str, dict[str, Any]]:
    """The identifier of an extension, and its settings.

    Args:
        extension: What is to be an extension.
        kind: The class of extensions on this side.

    Raises:
        TypeError: It is none, or its identifier or its settings are not what they should be.
    """
    if not isinstance(extension, kind):
        what = f"the class {extension.__name__}" if isinstance(extension, type) else type(extension).__name__
        raise TypeError(f"extensions= takes instances of {kind.__name__}, got {what}")
    identifier: Any = getattr(extension, "identifier", None)
    validate_extension_identifier(identifier, owner=type(extension).__name__)
    settings: Any = extension.settings()
    if not isinstance(settings, dict):
        raise TypeError(f"settings() of extension {identifier!r} must return a dict, got {type(settings).__name__}")
    settings = cast("dict[Any, Any]", settings)
    _check_settings(identifier, settings)
    return identifier, settings


def _check_settings(identifier: str, settings: dict[Any, Any]) -> None:
    for key in settings:
        if not isinstance(key, str):
            raise TypeError(f"settings() of extension {identifier!r} must have text as keys, got {key!r}")
    try:
        to_json(settings)
    except (ValueError, TypeError) as error:
        raise TypeError(f"settings() of extension {identifier!r} must be JSON: {error}") from error
