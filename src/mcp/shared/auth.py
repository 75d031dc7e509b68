"""What OAuth clients and servers tell each other, as models.

Tokens (RFC 6749), clients (RFC 7591), authorization servers (RFC 8414) and protected resources (RFC 9728).
"""

from typing import Any, Final, Literal

from pydantic import AnyHttpUrl, AnyUrl, BaseModel, ConfigDict, Field, field_validator

__all__ = [
    "DEFAULT_GRANT_TYPES",
    "JWT_BEARER_GRANT_TYPE",
    "AuthorizationCodeResult",
    "InvalidRedirectUriError",
    "InvalidScopeError",
    "OAuthClientInformationFull",
    "OAuthClientMetadata",
    "OAuthClientMetadataBase",
    "OAuthMetadata",
    "OAuthToken",
    "ProtectedResourceMetadata",
    "TokenEndpointAuthMethod",
]

JWT_BEARER_GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
DEFAULT_GRANT_TYPES = ["authorization_code", "refresh_token"]

_TOKEN_TYPES: Final = {"bearer": "Bearer", "dpop": "DPoP"}

TokenEndpointAuthMethod = Literal["none", "client_secret_post", "client_secret_basic", "private_key_jwt"]
GrantType = Literal["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:jwt-bearer"] | str


class InvalidScopeError(Exception):
    """A client asks for a scope that it is not registered for.

    Attributes:
        message: What was asked for, in words.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidRedirectUriError(Exception):
    """A client names a redirect URI that it is not registered with, or none where it must name one.

    Attributes:
        message: What is wrong, in words.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class OAuthToken(BaseModel):
    """What a token endpoint answers (RFC 6749, section 5.1), and what a client must keep with it.

    Attributes:
        access_token: What requests carry.
        token_type: How they carry it: as it is, or with a proof of possession (RFC 9449).
        expires_in: How long it lives, in seconds from when it was issued.
        scope: What it is good for, separated by spaces; None where that is what was asked for.
        refresh_token: What gets the next one.
        expires_at: When it ends, in seconds since the epoch. The client works it out when the token arrives, so that
            it is right in a later process too. Never taken from an answer.
        issuer: Who issued it; a refresh token goes to nobody else. The client's own note.
        token_endpoint: Where it came from, and where it is refreshed. The client's own note.
        resource: What it was asked for (RFC 8707), and is asked for when it is refreshed. The client's own note.
    """

    model_config = ConfigDict(defer_build=True)

    access_token: str = Field(repr=False)
    token_type: Literal["Bearer", "DPoP"] = "Bearer"
    expires_in: int | None = None
    scope: str | None = None
    refresh_token: str | None = Field(default=None, repr=False)
    expires_at: float | None = None
    issuer: str | None = None
    token_endpoint: str | None = None
    resource: str | None = None

    @field_validator("token_type", mode="before")
    @classmethod
    def normalize_token_type(cls, v: str | None) -> str | None:
        """Case does not matter in the type of a token. RFC 6749, section 5.1."""
        return _TOKEN_TYPES.get(v.lower(), v) if isinstance(v, str) else v


class AuthorizationCodeResult(BaseModel):
    """What comes back with the user's browser. RFC 6749, section 4.1.2, and RFC 9207."""

    model_config = ConfigDict(defer_build=True)

    code: str = Field(repr=False)
    state: str | None = Field(default=None, repr=False)
    iss: str | None = None


class OAuthClientMetadataBase(BaseModel):
    """What is said of a client, whoever says it. RFC 7591, section 2."""

    model_config = ConfigDict(url_preserve_empty_path=True, defer_build=True)

    response_types: list[str] = ["code"]
    scope: str | None = None
    client_name: str | None = None
    client_uri: AnyHttpUrl | None = None
    logo_uri: AnyHttpUrl | None = None
    contacts: list[str] | None = None
    tos_uri: AnyHttpUrl | None = None
    policy_uri: AnyHttpUrl | None = None
    jwks_uri: AnyHttpUrl | None = None
    jwks: Any | None = None
    software_id: str | None = None
    software_version: str | None = None


class OAuthClientMetadata(OAuthClientMetadataBase):
    """What a client says of itself when it registers."""

    redirect_uris: list[AnyUrl] | None = Field(min_length=1)
    token_endpoint_auth_method: TokenEndpointAuthMethod | None = None
    grant_types: list[GrantType] = DEFAULT_GRANT_TYPES
    application_type: Literal["web", "native"] = "native"


class OAuthClientInformationFull(OAuthClientMetadataBase):
    """What the server answers to a registration. RFC 7591, section 3.2.1."""

    redirect_uris: list[AnyUrl] | None = None
    token_endpoint_auth_method: str | None = None
    grant_types: list[str] = DEFAULT_GRANT_TYPES
    application_type: str | None = None
    client_id: str
    client_secret: str | None = Field(default=None, repr=False)
    client_id_issued_at: int | None = None
    client_secret_expires_at: int | None = None
    issuer: str | None = None

    def validate_scope(self, requested_scope: str | None) -> list[str] | None:
        """The scopes that are asked for, as a list; None where none are.

        Args:
            requested_scope: Scopes, separated by spaces.

        Raises:
            InvalidScopeError: The client is not registered for one of them.
        """
        if requested_scope is None:
            return None
        requested = requested_scope.split()
        allowed = set((self.scope or "").split())
        for scope in requested:
            if scope not in allowed:
                raise InvalidScopeError(f"Client was not registered with scope {scope}")
        return requested

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        """Where the user is sent back to: the URI that is asked for, or the only one that is registered.

        Args:
            redirect_uri: What the client asks for. It must equal a registered one; only the port of a loopback
                address may be another, unless the client is registered as `web`: a program on the user's machine
                gets its port from the system (RFC 8252, section 7.3; OAuth 2.1, section 4.1.3).

        Raises:
            InvalidRedirectUriError: It does not, or it is None and the client has not exactly one.
        """
        registered = self.redirect_uris or []
        if redirect_uri is not None:
            any_port = self.application_type != "web"
            if not any(_is_same_redirect(redirect_uri, uri, any_port) for uri in registered):
                raise InvalidRedirectUriError(f"Redirect URI '{redirect_uri}' not registered for client")
            return redirect_uri
        if len(registered) != 1:
            raise InvalidRedirectUriError("redirect_uri must be specified unless the client has exactly one registered")
        return registered[0]


def _is_same_redirect(asked: AnyUrl, registered: AnyUrl, any_loopback_port: bool) -> bool:
    if _redirect_parts(asked) != _redirect_parts(registered):
        return False
    loopback = asked.scheme == "http" and asked.host in ("127.0.0.1", "[::1]", "localhost")
    return asked.port == registered.port or (any_loopback_port and loopback)


def _redirect_parts(uri: AnyUrl) -> tuple[str | None, ...]:
    # An empty path and "/" are one path, and URL types write one for the other.
    return uri.scheme, uri.host, uri.path or "/", uri.query, uri.fragment, uri.username, uri.password


class OAuthMetadata(BaseModel):
    """What an authorization server says of itself. RFC 8414, section 2; RFC 9207; client ID metadata documents."""

    model_config = ConfigDict(url_preserve_empty_path=True, defer_build=True)

    issuer: AnyHttpUrl
    authorization_endpoint: AnyHttpUrl
    token_endpoint: AnyHttpUrl
    registration_endpoint: AnyHttpUrl | None = None
    scopes_supported: list[str] | None = None
    response_types_supported: list[str] = ["code"]
    response_modes_supported: list[str] | None = None
    grant_types_supported: list[str] | None = None
    token_endpoint_auth_methods_supported: list[str] | None = None
    token_endpoint_auth_signing_alg_values_supported: list[str] | None = None
    service_documentation: AnyHttpUrl | None = None
    ui_locales_supported: list[str] | None = None
    op_policy_uri: AnyHttpUrl | None = None
    op_tos_uri: AnyHttpUrl | None = None
    revocation_endpoint: AnyHttpUrl | None = None
    revocation_endpoint_auth_methods_supported: list[str] | None = None
    revocation_endpoint_auth_signing_alg_values_supported: list[str] | None = None
    introspection_endpoint: AnyHttpUrl | None = None
    introspection_endpoint_auth_methods_supported: list[str] | None = None
    introspection_endpoint_auth_signing_alg_values_supported: list[str] | None = None
    code_challenge_methods_supported: list[str] | None = None
    client_id_metadata_document_supported: bool | None = None
    authorization_response_iss_parameter_supported: bool | None = None
    authorization_grant_profiles_supported: list[str] | None = None
    dpop_signing_alg_values_supported: list[str] | None = None


class ProtectedResourceMetadata(BaseModel):
    """What a protected server says of itself. RFC 9728, section 2."""

    model_config = ConfigDict(url_preserve_empty_path=True, defer_build=True)

    resource: AnyHttpUrl
    authorization_servers: list[AnyHttpUrl] = Field(min_length=1)
    jwks_uri: AnyHttpUrl | None = None
    scopes_supported: list[str] | None = None
    bearer_methods_supported: list[str] | None = ["header"]
    resource_signing_alg_values_supported: list[str] | None = None
    resource_name: str | None = None
    resource_documentation: AnyHttpUrl | None = None
    resource_policy_uri: AnyHttpUrl | None = None
    resource_tos_uri: AnyHttpUrl | None = None
    tls_client_certificate_bound_access_tokens: bool | None = None
    authorization_details_types_supported: list[str] | None = None
    dpop_signing_alg_values_supported: list[str] | None = None
    dpop_bound_access_tokens_required: bool | None = None
