"""Which scopes a token is asked for.

Specification: basic/authorization under "Scope Selection Strategy" and "Step-Up Authorization Flow".
"""

from typing import Final

from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata

__all__ = ["OFFLINE_ACCESS", "get_client_metadata_scopes", "still_offered", "union_scopes"]

OFFLINE_ACCESS: Final = "offline_access"
"""Asks for a refresh token, where an authorization server wants that to be asked for (OpenID Connect, section 11)."""


def union_scopes(previous_scope: str | None, new_scope: str | None) -> str | None:
    """All scopes of two lists, each once, in the order of their first mention.

    Args:
        previous_scope: Scopes, separated by spaces.
        new_scope: More of them.

    Returns:
        None where neither is given.
    """
    if previous_scope is None or new_scope is None:
        return previous_scope if new_scope is None else new_scope
    return " ".join(dict.fromkeys([*previous_scope.split(), *new_scope.split()]))


def still_offered(
    previous_scope: str | None,
    protected_resource_metadata: ProtectedResourceMetadata | None,
    authorization_server_metadata: OAuthMetadata | None,
) -> str | None:
    """Those of some scopes that can still be asked for: a server may refuse a whole login for one it does not know.

    Args:
        previous_scope: Scopes, separated by spaces.
        protected_resource_metadata: What the resource says of itself.
        authorization_server_metadata: What the authorization server says of itself.

    Returns:
        All of them where the authorization server does not say which scopes it has; None for none.
    """
    known = None if authorization_server_metadata is None else authorization_server_metadata.scopes_supported
    if previous_scope is None or known is None:
        return previous_scope
    offered = None if protected_resource_metadata is None else protected_resource_metadata.scopes_supported
    kept = [scope for scope in previous_scope.split() if scope in known or scope in (offered or ())]
    return " ".join(kept) or None


def get_client_metadata_scopes(
    www_authenticate_scope: str | None,
    protected_resource_metadata: ProtectedResourceMetadata | None,
    authorization_server_metadata: OAuthMetadata | None = None,
    client_grant_types: list[str] | None = None,
    configured_scope: str | None = None,
) -> str | None:
    """The scopes to ask for: those of the challenge, else those of the resource, else those the program has set.

    `offline_access` comes on top where the authorization server has it and the client can refresh.

    Args:
        www_authenticate_scope: What the refused request needs.
        protected_resource_metadata: What the resource says of itself.
        authorization_server_metadata: What the authorization server says of itself.
        client_grant_types: The grants that the client uses.
        configured_scope: What the program asks for.

    Returns:
        Scopes, separated by spaces; None to ask for none in particular, which leaves them to the server.
    """
    offered = None if protected_resource_metadata is None else protected_resource_metadata.scopes_supported
    if www_authenticate_scope:
        chosen = www_authenticate_scope
    elif offered:
        chosen = " ".join(offered)
    else:
        chosen = configured_scope
    supported = None if authorization_server_metadata is None else authorization_server_metadata.scopes_supported
    # Alone it would take the place of the scopes that the server gives to whoever asks for none.
    if chosen and OFFLINE_ACCESS in (supported or ()) and "refresh_token" in (client_grant_types or ()):
        return union_scopes(chosen, OFFLINE_ACCESS)
    return chosen
