"""Protocol revisions this package knows, oldest first, and how to compare them.

A revision is a date string. Up to 2025-11-25 a connection opens with an `initialize` handshake; from
2026-07-28 every request names its revision in `_meta` and there is no handshake.
"""

from typing import Final

__all__ = [
    "DEFAULT_NEGOTIATED_VERSION",
    "HANDSHAKE_PROTOCOL_VERSIONS",
    "KNOWN_PROTOCOL_VERSIONS",
    "LATEST_HANDSHAKE_VERSION",
    "LATEST_MODERN_VERSION",
    "LATEST_PROTOCOL_VERSION",
    "MODERN_PROTOCOL_VERSIONS",
    "OLDEST_SUPPORTED_VERSION",
    "SUPPORTED_PROTOCOL_VERSIONS",
    "is_version_at_least",
]

HANDSHAKE_PROTOCOL_VERSIONS: Final[tuple[str, ...]] = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_PROTOCOL_VERSIONS: Final[tuple[str, ...]] = ("2026-07-28",)
KNOWN_PROTOCOL_VERSIONS: Final[tuple[str, ...]] = HANDSHAKE_PROTOCOL_VERSIONS + MODERN_PROTOCOL_VERSIONS
SUPPORTED_PROTOCOL_VERSIONS: tuple[str, ...] = KNOWN_PROTOCOL_VERSIONS

OLDEST_SUPPORTED_VERSION: Final[str] = HANDSHAKE_PROTOCOL_VERSIONS[0]
LATEST_HANDSHAKE_VERSION: Final[str] = HANDSHAKE_PROTOCOL_VERSIONS[-1]
LATEST_MODERN_VERSION: Final[str] = MODERN_PROTOCOL_VERSIONS[-1]
LATEST_PROTOCOL_VERSION: Final[str] = KNOWN_PROTOCOL_VERSIONS[-1]

DEFAULT_NEGOTIATED_VERSION: Final[str] = "2025-03-26"
"""What an HTTP request of an initialized session means when it names no revision."""


def is_version_at_least(version: str, minimum: str) -> bool:
    """Whether `version` is a known revision that is `minimum` or a later one.

    An unknown `version` is never at least anything, whatever its date says.

    Raises:
        ValueError: `minimum` is not a known revision.
    """
    if minimum not in KNOWN_PROTOCOL_VERSIONS:
        known = ", ".join(KNOWN_PROTOCOL_VERSIONS)
        raise ValueError(f"minimum must be a known protocol version ({known}), got {minimum!r}")
    return version in KNOWN_PROTOCOL_VERSIONS and version >= minimum
