"""How protocol revisions are listed and compared."""

import pytest

from mcp.types import DEFAULT_NEGOTIATED_VERSION, version
from mcp.types.version import is_version_at_least


def test_revisions_are_listed_oldest_first() -> None:
    assert version.KNOWN_PROTOCOL_VERSIONS == ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
    assert version.SUPPORTED_PROTOCOL_VERSIONS == version.KNOWN_PROTOCOL_VERSIONS
    assert version.HANDSHAKE_PROTOCOL_VERSIONS + version.MODERN_PROTOCOL_VERSIONS == version.KNOWN_PROTOCOL_VERSIONS


def test_named_revisions() -> None:
    assert version.OLDEST_SUPPORTED_VERSION == "2024-11-05"
    assert version.LATEST_HANDSHAKE_VERSION == "2025-11-25"
    assert version.LATEST_MODERN_VERSION == version.LATEST_PROTOCOL_VERSION == "2026-07-28"
    assert DEFAULT_NEGOTIATED_VERSION == "2025-03-26"


def test_known_revisions_compare_by_age() -> None:
    assert is_version_at_least("2025-06-18", "2025-06-18")
    assert is_version_at_least("2026-07-28", "2024-11-05")
    assert not is_version_at_least("2025-03-26", "2025-06-18")


@pytest.mark.parametrize("unknown", ["", "2025-07-01", "2099-01-01", "zzz"])
def test_unknown_revision_is_never_at_least_anything(unknown: str) -> None:
    assert not is_version_at_least(unknown, "2024-11-05")


@pytest.mark.parametrize("unknown", ["", "2025-07-01"])
def test_comparing_with_an_unknown_minimum_is_a_mistake_of_the_caller(unknown: str) -> None:
    with pytest.raises(ValueError, match="minimum must be a known protocol version"):
        is_version_at_least("2025-06-18", unknown)
