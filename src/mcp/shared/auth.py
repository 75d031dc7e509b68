"""What OAuth clients and servers tell each other, as models: RFC 6749 (tokens), RFC 7591 (clients).

The metadata of servers (RFC 8414, RFC 9728) is not built yet.
"""

from typing import Any, Literal

from pydantic import AnyHttpUrl, AnyUrl, BaseModel, ConfigDict, Field, field_validator

__all__ = [
    "DEFAULT_GRANT_TYPES",
    "JWT_BEARER_GRANT_TYPE",
    "AuthorizationCodeResult",
    "OAuthClientInformationFull",
    "OAuthClientMetadata",
    "OAuthClientMetadataBase",
    "OAuthToken",
    "TokenEndpointAuthMethod",
]

JWT_BEARER_GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
DEFAULT_GRANT_TYPES = ["authorization_code", "refresh_token"]

TokenEndpointAuthMethod = Literal["none", "client_secret_post", "client_secret_basic", "private_key_jwt"]
GrantType = Literal["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:jwt-bearer"] | str


class OAuthToken(BaseModel):
    """What a token endpoint answers. RFC 6749, section 5.1."""

    model_config = ConfigDict(defer_build=True)

    access_token: str
    token_type: Literal["Bearer"] = "Bearer"
    expires_in: int | None = None
    scope: str | None = None
    refresh_token: str | None = None

    @field_validator("token_type", mode="before")
    @classmethod
    def normalize_token_type(cls, v: str | None) -> str | None:
        """Case does not matter in the type of a token. RFC 6749, section 5.1."""
        return "Bearer" if isinstance(v, str) and v.lower() == "bearer" else v


class AuthorizationCodeResult(BaseModel):
    """What comes back with the user's browser. RFC 6749, section 4.1.2, and RFC 9207."""

    model_config = ConfigDict(defer_build=True)

    code: str
    state: str | None = None
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
    client_secret: str | None = None
    client_id_issued_at: int | None = None
    client_secret_expires_at: int | None = None
    issuer: str | None = None
