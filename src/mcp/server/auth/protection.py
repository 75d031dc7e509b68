"""How the endpoints of a server are protected: `auth=` and its companions, put to work."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, BearerAuthMiddleware, RequireAuthMiddleware
from mcp.server.auth.possession import Possession
from mcp.server.auth.provider import OAuthAuthorizationServerProvider, ProviderTokenVerifier, TokenVerifier
from mcp.server.auth.resource_metadata import build_resource_metadata_url, metadata_routes
from mcp.server.auth.settings import AuthSettings

if TYPE_CHECKING:
    from starlette.routing import Route
    from starlette.types import ASGIApp

__all__ = ["Protection", "check_arguments", "protection"]

_Provider = OAuthAuthorizationServerProvider[Any, Any, Any]

_NO_SETTINGS: Final = "Cannot specify auth_server_provider or token_verifier without auth settings"
_NO_VERIFIER: Final = "Must specify either auth_server_provider or token_verifier when auth is enabled"


def check_arguments(auth: Any, token_verifier: Any, auth_server_provider: Any) -> AuthSettings:
    """Checks that what protects a server, which is asked for with one of these at least, is whole.

    Args:
        auth: The settings; a mapping of their fields will do.
        token_verifier: Decides which tokens are good.
        auth_server_provider: The authorization server that is part of the server.

    Returns:
        The settings.

    Raises:
        ValueError: One is given without what it needs, or the settings are wrong.
        TypeError: One is of a wrong type.
    """
    if auth is None:
        raise ValueError(_NO_SETTINGS)
    if not isinstance(auth, (AuthSettings, Mapping)):
        raise TypeError(f"auth= takes AuthSettings(issuer_url=..., resource_server_url=...), got {_kind(auth)}")
    if token_verifier is None and auth_server_provider is None:
        raise ValueError(_NO_VERIFIER)
    _check_verifier(token_verifier)
    return AuthSettings.model_validate(auth)


def _check_verifier(verifier: Any) -> None:
    if verifier is None:
        return
    if isinstance(verifier, type) or not callable(getattr(verifier, "verify_token", None)):
        raise TypeError(
            f"token_verifier= takes an object with `async def verify_token(self, token)`, got {_kind(verifier)}"
        )


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"an object of type {type(value).__name__}"


def protection(
    auth: AuthSettings | None,
    token_verifier: TokenVerifier | None,
    auth_server_provider: _Provider | None,
) -> "Protection":
    """What protects a server that is asked to be.

    Args:
        auth: See `check_arguments`.
        token_verifier: See `check_arguments`. Next to an authorization server, it decides about tokens in its place.
        auth_server_provider: See `check_arguments`.

    Raises:
        ValueError: One is given without what it needs.
        TypeError: One is of a wrong type.
    """
    settings = check_arguments(auth, token_verifier, auth_server_provider)
    # Not by its truth: a verifier may be an empty container.
    verifier = token_verifier
    if verifier is None:
        verifier = ProviderTokenVerifier(cast("_Provider", auth_server_provider))
    return Protection(settings, verifier, auth_server_provider)


class Protection:
    """Protects endpoints, and has the routes that tell clients how to get in.

    Args:
        settings: How.
        verifier: Decides which tokens are good.
        provider: The authorization server, where it is part of the server.
    """

    def __init__(self, settings: AuthSettings, verifier: TokenVerifier, provider: _Provider | None = None) -> None:
        url = settings.resource_server_url
        self._settings = settings
        self._provider = provider
        self._scopes = list(settings.required_scopes or ())
        self._metadata_url = None if url is None else build_resource_metadata_url(url)
        check = settings.validate_token_resource
        if check is None and getattr(verifier, "checks_audience", False):
            # It was told what that must be, which may be another name of this resource.
            check = False
        self._backend = BearerAuthBackend(
            verifier,
            resource_server_url=None if check is False else url,
            require_resource=check is True,
            possession=Possession(settings.dpop, url),
        )

    def endpoint(self, app: "ASGIApp") -> "ASGIApp":
        """An endpoint behind the protection.

        Args:
            app: The endpoint.
        """
        required = RequireAuthMiddleware(AuthContextMiddleware(app), self._scopes, self._metadata_url)
        return BearerAuthMiddleware(required, self._backend)

    def authorization_server_routes(self) -> "list[Route]":
        """The routes of the authorization server; none where it is another server."""
        if self._provider is None:
            return []
        from mcp.server.auth.routes import create_auth_routes

        settings = self._settings
        return create_auth_routes(
            self._provider,
            settings.issuer_url,
            settings.service_documentation_url,
            settings.client_registration_options,
            settings.revocation_options,
            settings.identity_assertion_enabled,
        )

    def resource_routes(self) -> "list[Route]":
        """The routes of the resource's metadata; none where the resource has no public URL."""
        return metadata_routes(self._settings, self._settings.required_scopes)
