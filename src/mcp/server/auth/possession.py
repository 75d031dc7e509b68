"""Whether a request holds the key of its token, where the token is bound to one. RFC 9449, section 7."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from mcp.server.auth.challenges import BEARER, Credentials, Denial, Scheme
from mcp.server.auth.dpop import DPoPError, DPoPNonces, DPoPVerifier
from mcp.server.auth.provider import AccessToken

if TYPE_CHECKING:
    from starlette.types import Scope

    from mcp.server.auth.settings import DPoPSettings

__all__ = ["Possession"]


class Possession:
    """Decides what a request must prove besides having a good token, and says how tokens may be sent.

    A token that is bound to a key is good with a proof alone, whatever is set: whoever stole it has no key.

    Args:
        settings: What the server's author has set; None for the defaults, which clients are not told of.
        resource_server_url: The public URL of the endpoint; None takes it from each request.
    """

    def __init__(self, settings: "DPoPSettings | None" = None, resource_server_url: object = None) -> None:
        self._url = None if resource_server_url is None else str(resource_server_url)
        self._verifier = _verifier(settings)
        bound = Scheme("DPoP", " ".join(self._verifier.algorithms))
        self._bound = (bound,)
        self._offered = BEARER
        if settings is not None:
            self._offered = (bound,) if settings.required else (*BEARER, bound)

    def schemes(self, credentials: Credentials | Denial) -> tuple[Scheme, ...]:
        """How the sender of a request may send a token.

        Args:
            credentials: What it has sent.
        """
        if isinstance(credentials, Credentials) and credentials.scheme == "DPoP":
            return self._bound
        return self._offered

    def denial(self, scope: "Scope", credentials: Credentials, token: AccessToken) -> Denial | None:
        """Why a request with a good token is not let in; None where it is.

        Args:
            scope: The ASGI scope of the request.
            credentials: How the token was sent.
            token: What is known of it.
        """
        confirmation = (token.claims or {}).get("cnf")
        bound_to = _thumbprint(confirmation)
        if confirmation is not None and bound_to is None:
            # Such as to a certificate of TLS (RFC 8705). Let in, it would be worth something to whoever stole it.
            return Denial(401, "invalid_token", "The access token is bound in a way that this server cannot check")
        if credentials.scheme == "Bearer":
            if bound_to is not None:
                return Denial(401, "invalid_token", "The access token is bound to a key: send it as DPoP, with a proof")
            if self._verifier.required:
                return Denial(401, "invalid_token", "The access token is not bound to a key, as it must be (DPoP)")
            return None
        proofs = [value.decode("latin-1") for name, value in scope["headers"] if name == b"dpop"]
        try:
            self._verifier.check(
                proofs,
                method=scope["method"],
                urls=self._urls(scope),
                access_token=credentials.token,
                bound_to=bound_to,
            )
        except DPoPError as error:
            return Denial(401, error.error, str(error), nonce=error.nonce)
        return None

    def _urls(self, scope: "Scope") -> list[str]:
        """The URL of a request, as its client may know it.

        Where the public URL is known, the request's own word on its host counts for nothing: a proof that was made for
        another server would come with that server's name.
        """
        path = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0].decode("latin-1")
        if self._url is None:
            host = next((value for name, value in scope["headers"] if name == b"host"), b"")
            return [f"{scope['scheme']}://{host.decode('latin-1')}{path}"]
        public = urlsplit(self._url)
        return [self._url, public._replace(path=path, query="").geturl()]


def _verifier(settings: "DPoPSettings | None") -> DPoPVerifier:
    if settings is None:
        return DPoPVerifier()
    nonces = None
    if settings.require_nonce:
        secret = None if settings.nonce_secret is None else settings.nonce_secret.encode()
        nonces = DPoPNonces(secret, settings.nonce_lifetime_seconds)
    return DPoPVerifier(
        algorithms=settings.algorithms,
        max_age=settings.max_age_seconds,
        nonces=nonces,
        required=settings.required,
    )


def _thumbprint(confirmation: object) -> object:
    """That of the key that a token is bound to; None where it is bound to no key. RFC 9449, section 6.

    Args:
        confirmation: The token's claim `cnf`.
    """
    return cast("Mapping[str, Any]", confirmation).get("jkt") if isinstance(confirmation, Mapping) else None
