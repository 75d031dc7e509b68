"""What protects a server, as its author says it.

A setting that does not exist is an error: whoever misspells one would be protected less than they think.
"""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, AnyHttpUrl, BaseModel, ConfigDict, Field, ValidationInfo, model_validator
from typing_extensions import Self

from mcp.protocol.dpop import PROOF_ALGORITHMS
from mcp.server.auth.redirects import PROGRAM_SCHEMES
from mcp.server.tool_scopes import check_scopes

__all__ = ["AuthSettings", "ClientRegistrationOptions", "DPoPSettings", "RevocationOptions"]


_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*")
"""RFC 3986, section 3.1."""


def _scopes(scopes: list[str], info: ValidationInfo) -> list[str]:
    check_scopes(scopes, f"{info.field_name}=")
    return scopes


def _resource(url: AnyHttpUrl) -> AnyHttpUrl:
    if url.fragment is not None:
        raise ValueError(f"a resource has no fragment in its URL (RFC 8707, section 2), got '#{url.fragment}'")
    return url


def _schemes(schemes: list[str], info: ValidationInfo) -> list[str]:
    for scheme in schemes:
        if _SCHEME.fullmatch(scheme) is None:
            raise ValueError(f"{info.field_name}: expected schemes such as 'cursor', in lower case, got {scheme!r}")
    return schemes


_Scopes = Annotated[list[str], AfterValidator(_scopes)]
_Schemes = Annotated[list[str], AfterValidator(_schemes)]
_Resource = Annotated[AnyHttpUrl, AfterValidator(_resource)]


class ClientRegistrationOptions(BaseModel):
    """Whether and how clients may register themselves. RFC 7591.

    Attributes:
        enabled: Whether they may.
        client_secret_expiry_seconds: How long a client's secret lives, in seconds; None for ever.
        valid_scopes: What a client may register for; None for anything.
        default_scopes: What a client is registered for that does not say.
        program_schemes: Schemes of programs on the user's machine that a redirect URI may have, beside `https`,
            `http` on loopback, and every scheme with a dot in it. Left out, those of well-known programs, such as
            `cursor` and `vscode`.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    enabled: bool = False
    client_secret_expiry_seconds: int | None = None
    valid_scopes: _Scopes | None = None
    default_scopes: _Scopes | None = None
    program_schemes: _Schemes = list(PROGRAM_SCHEMES)


class RevocationOptions(BaseModel):
    """Whether clients may revoke tokens. RFC 7009.

    Attributes:
        enabled: Whether they may.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    enabled: bool = False


class DPoPSettings(BaseModel):
    """How tokens are treated that are bound to a client's key. RFC 9449.

    Attributes:
        required: Whether tokens that are bound to no key are refused.
        algorithms: What proofs may be signed with.
        max_age_seconds: How old, or how far ahead of this server's clock, a proof may be.
        require_nonce: Whether every proof must repeat a nonce of the server's.
        nonce_secret: What nonces are made with, at least 32 bytes: the same in all processes that serve a client. None
            for one of each process's own.
        nonce_lifetime_seconds: How long a nonce is good.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    required: bool = False
    algorithms: list[str] = list(PROOF_ALGORITHMS)
    max_age_seconds: float = 60
    require_nonce: bool = False
    nonce_secret: str | None = Field(default=None, repr=False)
    nonce_lifetime_seconds: float = 300


class AuthSettings(BaseModel):
    """How a server is protected: the public face of a resource server.

    Attributes:
        issuer_url: The authorization server that issues the tokens.
        service_documentation_url: Where developers read about the server.
        client_registration_options: Whether clients may register, where the server is its own authorization server.
        revocation_options: Whether clients may revoke, where the server is its own authorization server.
        required_scopes: What every token must carry; None for nothing in particular.
        identity_assertion_enabled: Whether `/token` takes the assertions of an identity provider (RFC 7523).
        resource_server_url: The public URL of the MCP endpoint: what tokens are for, and where clients discover how
            to get one. None publishes nothing of the kind.
        validate_token_resource: Whether a token must have been issued for this resource (RFC 8707). Left out, a token
            that names another resource is refused, and one that names none is let in; True lets in only those that
            name this one, and False looks at none.
        dpop: How tokens are treated that are bound to a client's key, and that clients are told of it. Left out, such
            tokens still need a proof, by the defaults, but nobody is told.
    """

    model_config = ConfigDict(extra="forbid", url_preserve_empty_path=True, defer_build=True)

    issuer_url: AnyHttpUrl
    service_documentation_url: AnyHttpUrl | None = None
    client_registration_options: ClientRegistrationOptions | None = None
    revocation_options: RevocationOptions | None = None
    required_scopes: _Scopes | None = None
    identity_assertion_enabled: bool = False
    resource_server_url: _Resource | None = Field(...)
    validate_token_resource: bool | None = None
    dpop: DPoPSettings | None = None

    @model_validator(mode="after")
    def check_resource_is_known(self) -> Self:
        """Refuses to compare tokens with a resource that nobody has named."""
        if self.validate_token_resource and self.resource_server_url is None:
            raise ValueError("validate_token_resource requires resource_server_url")
        return self
