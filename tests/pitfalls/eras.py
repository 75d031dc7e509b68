"""The two eras of the protocol, for reports that are about both."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Era:
    """One revision, and how a client comes to speak it with a server that speaks both.

    Attributes:
        version: The revision.
        mode: The `mode` of `Client`.
    """

    version: str
    mode: str


MODERN = Era("2026-07-28", "auto")
HANDSHAKE = Era("2025-11-25", "legacy")
ERAS = (MODERN, HANDSHAKE)
