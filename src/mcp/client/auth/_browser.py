"""The user's part: a page that asks them, and what comes back from it.

Specification: basic/authorization under "Authorization Response Validation"; RFC 6749, section 4.1; RFC 9207.
"""

import secrets
from collections.abc import Mapping

import httpx2

from mcp.client.auth._scopes import OFFLINE_ACCESS
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult, OAuthMetadata

__all__ = ["authorization_url", "check_callback", "check_iss", "check_pkce", "validate_authorization_response_iss"]


def check_pkce(server: OAuthMetadata, *, must_say: bool) -> None:
    """Whether an authorization server can do PKCE with S256.

    Specification: basic/authorization/security-considerations under "Authorization Code Protection".

    Args:
        server: Its metadata.
        must_say: Whether it cannot if its metadata does not say so. On 2025-03-26 it need not.

    Raises:
        OAuthFlowError: It cannot.
    """
    methods = server.code_challenge_methods_supported
    if methods is None and must_say:
        raise OAuthFlowError(
            f"The metadata of the authorization server {server.issuer} has no code_challenge_methods_supported:"
            " expected S256 (PKCE) among them, since without it a stolen code is good for anybody"
        )
    if methods is not None and "S256" not in methods:
        raise OAuthFlowError(
            f"The authorization server {server.issuer} supports {', '.join(methods) or 'nothing'} as code challenge"
            " methods: expected S256 (PKCE)"
        )


def authorization_url(endpoint: str, parameters: Mapping[str, str | None]) -> str:
    """The page to show the user.

    Args:
        endpoint: The authorization endpoint, which may have a query of its own.
        parameters: The parameters; those that are None are left out.
    """
    present = {name: value for name, value in parameters.items() if value is not None}
    if OFFLINE_ACCESS in present.get("scope", "").split():
        # Without it, an OpenID provider may ignore the scope (OpenID Connect, section 11).
        present["prompt"] = "consent"
    return str(httpx2.URL(endpoint).copy_merge_params(present))


def check_callback(result: AuthorizationCodeResult, state: str) -> None:
    """Whether what came back is the answer to what was asked.

    Raises:
        OAuthFlowError: It carries no code, no state, or another one.
    """
    returned = result.state or ""
    if not secrets.compare_digest(returned.encode(), state.encode()):
        problem = "has another state" if returned else "has no state"
        raise OAuthFlowError(f"The authorization response {problem}: expected the one that was sent, and refused it")
    if not result.code:
        raise OAuthFlowError("The authorization response has no code")


def check_iss(iss: str | None, issuer: str | None, *, promised: bool) -> None:
    """Whether an authorization response is of the server that was asked. RFC 9207, section 2.4.

    Args:
        iss: Who the response says it is of; None if it does not say.
        issuer: Who was asked, as recorded before the user was sent there.
        promised: Whether that server always says so.

    Raises:
        OAuthFlowError: It is of another, or does not say although it should.
    """
    if iss is None:
        if promised:
            raise OAuthFlowError(
                f"Authorization response missing iss parameter: {issuer} promises it, and the response was refused"
            )
        return
    if iss != issuer:
        raise OAuthFlowError(
            f"Authorization response iss mismatch: {iss[:200]!r} answers where {issuer!r} was asked, and was refused"
        )


def validate_authorization_response_iss(iss: str | None, oauth_metadata: OAuthMetadata | None) -> None:
    """Whether an authorization response is of the server that was asked; see `check_iss`.

    Args:
        iss: Who the response says it is of.
        oauth_metadata: The metadata of the server that was asked; None if it has none.

    Raises:
        OAuthFlowError: It is of another, or does not say although it should.
    """
    if oauth_metadata is None:
        check_iss(iss, None, promised=False)
    else:
        promised = oauth_metadata.authorization_response_iss_parameter_supported is True
        check_iss(iss, str(oauth_metadata.issuer), promised=promised)
