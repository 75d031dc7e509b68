"""From the extensions of a client to what its session needs of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp import types

if TYPE_CHECKING:
    from mcp.client.extension import ClientExtension, NotificationBinding, ResultClaim
    from mcp.client.session import ClientSession

__all__ = ["FoldedExtensions", "finish_claimed", "fold_extensions"]


@dataclass(frozen=True)
class FoldedExtensions:
    """What all extensions of a client come to. Where they have nothing of a kind, it is None.

    Attributes:
        ad: Settings by identifier.
        claims: Claims by identifier.
        bindings: The notifications that are taken.
        by_model: The claims by their models; empty where there are none.
    """

    ad: dict[str, dict[str, Any]] | None
    claims: dict[str, tuple[ResultClaim[Any], ...]] | None
    bindings: tuple[NotificationBinding[Any], ...] | None
    by_model: Mapping[type[types.Result], ResultClaim[Any]]


def fold_extensions(extensions: Sequence[ClientExtension] | None) -> FoldedExtensions:
    """Asks every extension, once, for what it has.

    Args:
        extensions: The extensions.

    Raises:
        TypeError: One is no extension, or its identifier or settings are not what they should be.
        ValueError: Two have the same, or both claim a kind of result or a notification.
    """
    if not extensions:
        return FoldedExtensions(None, None, None, {})
    from mcp.client.extension import ClientExtension
    from mcp.shared.extension import read_extension

    ad: dict[str, dict[str, Any]] = {}
    claims: dict[str, tuple[ResultClaim[Any], ...]] = {}
    bindings: dict[str, tuple[NotificationBinding[Any], ...]] = {}
    for extension in extensions:
        identifier, settings = read_extension(extension, ClientExtension)
        if identifier in ad:
            raise ValueError(f"extension {identifier!r} is given more than once")
        ad[identifier] = settings
        if claimed := tuple(extension.claims()):
            claims[identifier] = claimed
        if taken := tuple(extension.notifications()):
            bindings[identifier] = taken
    _check_single("claims resultType", ((name, claim.result_type) for name, own in claims.items() for claim in own))
    _check_single("binds notification method", ((name, one.method) for name, own in bindings.items() for one in own))
    return FoldedExtensions(
        ad=ad or None,
        claims=claims or None,
        bindings=tuple(one for own in bindings.values() for one in own) or None,
        by_model={claim.model: claim for own in claims.values() for claim in own},
    )


def _check_single(deed: str, owned: Iterable[tuple[str, str]]) -> None:
    owners: dict[str, str] = {}
    for owner, thing in owned:
        if thing in owners:
            raise ValueError(f"extension {owner!r} {deed} {thing!r}, like {owners[thing]!r}: only one may")
        owners[thing] = owner


async def finish_claimed(
    session: ClientSession,
    claims: Mapping[type[types.Result], ResultClaim[Any]],
    claimed: types.Result,
    tool: str,
    timeout: float | None,
) -> types.CallToolResult:
    """Has a result finished by the extension that claims it, and checks what becomes of it like any result.

    Args:
        session: Where it came.
        claims: The claims by their models.
        claimed: The result.
        tool: The tool that was called.
        timeout: The time limit that the call was given, in seconds.

    Raises:
        RuntimeError: What becomes of it breaks the tool's output schema.
        TypeError: It is no `CallToolResult`.
    """
    from mcp.client.extension import ClaimContext

    claim = claims[type(claimed)]
    context = ClaimContext(session=session, tool_name=tool, read_timeout_seconds=timeout)
    result: Any = await claim.resolve(claimed, context)
    if not isinstance(result, types.CallToolResult):
        raise TypeError(
            f"the claim of resultType {claim.result_type!r} must resolve to a CallToolResult, "
            f"got {type(result).__name__}"
        )
    if not result.is_error:
        await session.validate_tool_result(tool, result)
    return result
