"""What an authorization server and a token verifier are, as far as their authors write them."""

from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import AnyUrl, BaseModel, ConfigDict, Field

from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

__all__ = [
    "AccessToken",
    "AccessTokenT",
    "AuthorizationCode",
    "AuthorizationCodeT",
    "AuthorizationErrorCode",
    "AuthorizationParams",
    "AuthorizeError",
    "IdentityAssertionParams",
    "OAuthAuthorizationServerProvider",
    "ProviderTokenVerifier",
    "RefreshToken",
    "RefreshTokenT",
    "RegistrationError",
    "RegistrationErrorCode",
    "TokenError",
    "TokenErrorCode",
    "TokenVerifier",
    "VerifierUnavailable",
    "construct_redirect_uri",
    "principal_components",
]


class AccessToken(BaseModel):
    """What a server knows of the token that a request came with.

    Attributes:
        token: The token itself.
        client_id: The client that it was issued to.
        scopes: What it is good for.
        expires_at: When it ends, in seconds since the epoch; None where that is not known.
        resource: The server that it was issued for (RFC 8707); None where that is not known.
        subject: The user on whose behalf it was issued; None where there is none.
        claims: What else it says.
    """

    model_config = ConfigDict(defer_build=True)

    token: str = Field(repr=False)
    client_id: str
    scopes: list[str]
    expires_at: int | None = None
    resource: str | None = None
    subject: str | None = None
    claims: dict[str, Any] | None = None


class RefreshToken(BaseModel):
    """What an authorization server knows of a refresh token that it has issued.

    Attributes:
        token: The token itself.
        client_id: The client that it was issued to.
        scopes: What access tokens may be got with it for.
        expires_at: When it ends, in seconds since the epoch; None for never.
        resource: The server that its access tokens are for.
        subject: The user on whose behalf it was issued.
    """

    model_config = ConfigDict(defer_build=True)

    token: str
    client_id: str
    scopes: list[str]
    expires_at: int | None = None
    resource: str | None = None
    subject: str | None = None


class AuthorizationCode(BaseModel):
    """What an authorization server knows of a code that it has issued.

    Attributes:
        code: The code itself.
        scopes: What the user has agreed to.
        expires_at: When it ends, in seconds since the epoch.
        client_id: The client that it was issued to.
        code_challenge: What the verifier of whoever exchanges it must match (RFC 7636).
        redirect_uri: Where the user was sent back to.
        redirect_uri_provided_explicitly: Whether the client named it; then it must name it again.
        resource: The server that tokens are for (RFC 8707).
        subject: The user who agreed.
    """

    model_config = ConfigDict(url_preserve_empty_path=True, defer_build=True)

    code: str
    scopes: list[str]
    expires_at: float
    client_id: str
    code_challenge: str
    redirect_uri: AnyUrl
    redirect_uri_provided_explicitly: bool
    resource: str | None = None
    subject: str | None = None


class AuthorizationParams(BaseModel):
    """What a client asks a user's permission for.

    Attributes:
        state: The client's own, to be handed back.
        scopes: What it asks for; None where it does not say.
        code_challenge: What the verifier of whoever exchanges the code must match (RFC 7636).
        redirect_uri: Where the user is sent back to. It is one of the client's registered ones.
        redirect_uri_provided_explicitly: Whether the client named it.
        resource: The server that tokens shall be for (RFC 8707).
        issuer: What to hand back as `iss`, beside the code and the state (RFC 9207); None where it is not known.
    """

    model_config = ConfigDict(url_preserve_empty_path=True, defer_build=True)

    state: str | None
    scopes: list[str] | None
    code_challenge: str
    redirect_uri: AnyUrl
    redirect_uri_provided_explicitly: bool
    resource: str | None = None
    issuer: str | None = None


class IdentityAssertionParams(BaseModel):
    """What a client brings from an identity provider. RFC 7523, section 2.1.

    Attributes:
        assertion: The signed assertion. Nothing has looked into it.
        scopes: What the client asks for; None where it does not say.
        resource: The server that the client says the token shall be for.
    """

    model_config = ConfigDict(defer_build=True)

    assertion: str
    scopes: list[str] | None = None
    resource: str | None = None


RegistrationErrorCode = Literal[
    "invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement", "unapproved_software_statement"
]
AuthorizationErrorCode = Literal[
    "invalid_request",
    "unauthorized_client",
    "access_denied",
    "unsupported_response_type",
    "invalid_scope",
    "server_error",
    "temporarily_unavailable",
    "invalid_target",
]
TokenErrorCode = Literal[
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
    "invalid_target",
]


class _Refusal(Exception):
    """Reads as its code, and after a colon its words.

    Its kinds are dataclasses, so that those of the same code and words are equal. They are not frozen: Python itself
    sets the traceback, the context and the notes of an exception when it passes through a context manager.
    """

    def __str__(self) -> str:
        return ": ".join(part for part in self.args if part)


@dataclass(unsafe_hash=True)
class RegistrationError(_Refusal):
    """A registration is refused. RFC 7591, section 3.2.2.

    Attributes:
        error: Why, as a code.
        error_description: Why, in words.
    """

    error: RegistrationErrorCode
    error_description: str | None = None

    def __post_init__(self) -> None:
        super().__init__(self.error, self.error_description)


@dataclass(unsafe_hash=True)
class AuthorizeError(_Refusal):
    """An authorization request is refused. RFC 6749, section 4.1.2.1.

    Attributes:
        error: Why, as a code.
        error_description: Why, in words.
    """

    error: AuthorizationErrorCode
    error_description: str | None = None

    def __post_init__(self) -> None:
        super().__init__(self.error, self.error_description)


@dataclass(unsafe_hash=True)
class TokenError(_Refusal):
    """A token request is refused. RFC 6749, section 5.2.

    Attributes:
        error: Why, as a code.
        error_description: Why, in words.
    """

    error: TokenErrorCode
    error_description: str | None = None

    def __post_init__(self) -> None:
        super().__init__(self.error, self.error_description)


class VerifierUnavailable(Exception):
    """A verifier cannot decide at the moment: what it asks does not answer. The request is refused with 503."""


class TokenVerifier(Protocol):
    """Decides which tokens are good."""

    async def verify_token(self, token: str) -> AccessToken | None:
        """What a token says; None where it is not good.

        Args:
            token: What stood in the `Authorization` header.

        Raises:
            VerifierUnavailable: It cannot be decided at the moment. Whatever else it raises refuses the request with
                500.
        """
        ...


AuthorizationCodeT = TypeVar("AuthorizationCodeT", bound=AuthorizationCode)
RefreshTokenT = TypeVar("RefreshTokenT", bound=RefreshToken)
AccessTokenT = TypeVar("AccessTokenT", bound=AccessToken)


class OAuthAuthorizationServerProvider(Protocol, Generic[AuthorizationCodeT, RefreshTokenT, AccessTokenT]):
    """An authorization server, apart from its endpoints: who the clients are, and what they were given."""

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """A registered client; None where there is none of that id.

        Args:
            client_id: Its id.
        """
        ...

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Keeps a client that has registered itself.

        Args:
            client_info: The client, its id and secret included.

        Raises:
            RegistrationError: It is refused.
        """
        ...

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """Begins to ask the user.

        Args:
            client: Who asks.
            params: What for.

        Returns:
            The URL to send the user's browser to: a page of one's own, an identity provider's, or, where the user
            need not be asked, the redirect URI with a code (see `construct_redirect_uri`).

        Raises:
            AuthorizeError: It is refused.
        """
        ...

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCodeT | None:
        """What a code stands for; None where it is not known.

        Args:
            client: Who brings it.
            authorization_code: The code.
        """
        ...

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCodeT
    ) -> OAuthToken:
        """Gives tokens for a code, which is good for one time.

        Args:
            client: Who brings it.
            authorization_code: The code; its client, its end, its redirect URI and its challenge have been checked.

        Raises:
            TokenError: It is refused.
        """
        ...

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshTokenT | None:
        """What a refresh token stands for; None where it is not known.

        Args:
            client: Who brings it.
            refresh_token: The token.
        """
        ...

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshTokenT, scopes: list[str]
    ) -> OAuthToken:
        """Gives new tokens for a refresh token. Both should be new.

        Args:
            client: Who brings it.
            refresh_token: The token; its client, its end and its scopes have been checked.
            scopes: What the new access token shall be good for.

        Raises:
            TokenError: It is refused.
        """
        ...

    async def load_access_token(self, token: str) -> AccessTokenT | None:
        """What an access token stands for; None where it is not good.

        Args:
            token: The token.
        """
        ...

    async def revoke_token(self, token: AccessTokenT | RefreshTokenT) -> None:
        """Makes a token worthless, and those that came with it. One that is worthless already is no error.

        Args:
            token: The token.
        """
        ...

    async def exchange_identity_assertion(
        self, client: OAuthClientInformationFull, params: IdentityAssertionParams
    ) -> OAuthToken:
        """Gives a token for what an identity provider has signed. Needed with `identity_assertion_enabled` only.

        Args:
            client: Who brings it; it has authenticated itself, and is registered for this grant.
            params: What it brings. Nothing has looked into the assertion: everything about it is yours to check.

        Raises:
            TokenError: It is refused.
        """
        raise TokenError("unsupported_grant_type", "This server takes no identity assertions")


class ProviderTokenVerifier(TokenVerifier):
    """Takes the tokens that an authorization server in the same process has issued.

    Args:
        provider: The authorization server.
    """

    def __init__(self, provider: OAuthAuthorizationServerProvider[Any, Any, Any]) -> None:
        self.provider = provider

    async def verify_token(self, token: str) -> AccessToken | None:
        """See `TokenVerifier.verify_token`."""
        return await self.provider.load_access_token(token)


def construct_redirect_uri(redirect_uri_base: str, **params: str | None) -> str:
    """A redirect URI with more in its query.

    Args:
        redirect_uri_base: The URI; the query that it has stays.
        **params: What is added; what is None is left out.
    """
    parts = urlsplit(redirect_uri_base)
    query = parse_qsl(parts.query, keep_blank_values=True)
    query += [(name, value) for name, value in params.items() if value is not None]
    return urlunsplit(parts._replace(query=urlencode(query)))


def principal_components(token: AccessToken) -> tuple[str, str | None, str | None]:
    """What tells the owner of a token from others: client, issuer (the claim `iss`) and subject.

    Args:
        token: The token.
    """
    return token.client_id, (token.claims or {}).get("iss"), token.subject
