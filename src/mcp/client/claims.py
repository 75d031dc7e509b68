"""Which results of extensions a session takes, and which extensions it declares, by the revision that is spoken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcp.types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp import types
    from mcp.client.extension import ResultClaim

__all__ = ["Claims"]


class Claims:
    """The claims of a session.

    Args:
        extensions: What is declared, by identifier.
        claims: Claims, by the identifier of their extension.

    Raises:
        ValueError: A claim's extension is not declared, or two claim the same kind of result.
    """

    def __init__(
        self, extensions: Mapping[str, Any] | None, claims: Mapping[str, Sequence[ResultClaim[Any]]] | None
    ) -> None:
        self._claims = {identifier: tuple(own) for identifier, own in (claims or {}).items() if own}
        seen: set[str] = set()
        for identifier, own in self._claims.items():
            if identifier not in (extensions or {}):
                raise ValueError(f"result_claims of {identifier!r}, which extensions= does not declare")
            for claim in own:
                if claim.result_type in seen:
                    raise ValueError(f"result_claims claim resultType {claim.result_type!r} more than once")
                seen.add(claim.result_type)

    def models(self, version: str) -> dict[str, type[types.Result]]:
        """The models of the results that may come in a revision, by `resultType`.

        Args:
            version: The revision.
        """
        return {claim.result_type: claim.model for own in self._claims.values() for claim in _active(own, version)}

    def declared(self, capabilities: types.ClientCapabilities, version: str) -> types.ClientCapabilities:
        """What a client declares in a revision: no extension, of whose results none may come there.

        Args:
            capabilities: What it declares elsewhere.
            version: The revision.
        """
        dissolved = {identifier for identifier, own in self._claims.items() if not any(_active(own, version))}
        if not dissolved:
            return capabilities
        left = {name: value for name, value in (capabilities.extensions or {}).items() if name not in dissolved}
        return capabilities.model_copy(update={"extensions": left or None})


def _active(claims: Iterable[ResultClaim[Any]], version: str) -> Iterable[ResultClaim[Any]]:
    if version not in MODERN_PROTOCOL_VERSIONS:
        return ()
    return [claim for claim in claims if claim.protocol_versions is None or version in claim.protocol_versions]
