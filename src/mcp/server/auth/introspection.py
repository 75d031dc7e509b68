"""Asks the authorization server about each token. RFC 7662."""

import logging
import time
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Collection, Mapping
from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Literal, TypeGuard, cast
from urllib.parse import quote_plus

from mcp.server.auth.fetching import Fetcher, check_url
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.token_kinds import is_other_token

if TYPE_CHECKING:
    import httpx2

__all__ = ["IntrospectionVerifier"]

logger = logging.getLogger(__name__)

_MAX_ANSWER_BYTES: Final = 256 * 1024
_MOST_REMEMBERED: Final = 1024


class IntrospectionVerifier(TokenVerifier):
    """Takes the tokens that an authorization server calls active.

        IntrospectionVerifier("https://auth.example.com/introspect", client_id="notes", client_secret=secret,
                              audience="https://mcp.example.com/mcp")

    Args:
        endpoint: The authorization server's introspection endpoint.
        client_id: Who this server is there.
        client_secret: What proves it.
        audience: What tokens must be for: one of these must be in `aud`. None leaves that to
            `AuthSettings.validate_token_resource`, which compares `aud` with the server's URL where there is an `aud`.
        issuer: What `iss` must be, where the answer has one; None takes any.
        auth_method: How the secret is sent: as HTTP Basic, or in the form.
        timeout: How many seconds a question may take.
        cache_seconds: For how many seconds an answer is good for the next request with the same token. For as long, a
            token that is revoked is still let in; 0 asks every time.
        http_client: Asks, with its own proxies and certificates, and stays open; when left out, a new one does each
            time, with a new connection.

    Raises:
        ValueError: `endpoint` is no HTTPS URL; `client_id`, `client_secret` or `audience` is empty; or a number of
            seconds makes no sense.
        TypeError: `endpoint` is no text.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        client_id: str,
        client_secret: str,
        audience: str | Collection[str] | None = None,
        issuer: str | None = None,
        auth_method: Literal["client_secret_basic", "client_secret_post"] = "client_secret_basic",
        timeout: float = 10,
        cache_seconds: float = 0,
        http_client: "httpx2.AsyncClient | None" = None,
    ) -> None:
        if audience is not None and not audience:
            raise ValueError("audience= must say what tokens are for; None leaves that to validate_token_resource")
        if cache_seconds < 0:
            raise ValueError(f"cache_seconds= must not be negative, got {cache_seconds}")
        if not client_id or not client_secret:
            raise ValueError("client_id= and client_secret= must say who asks: the endpoint answers nobody else")
        self._endpoint = check_url("endpoint", endpoint)
        self._audiences = [audience] if isinstance(audience, str) else list(audience or ())
        self._issuer = issuer
        self._headers, self._form = _authentication(auth_method, client_id, client_secret)
        self._fetcher = Fetcher(http_client, timeout=timeout, max_bytes=_MAX_ANSWER_BYTES)
        self._cache_seconds = cache_seconds
        self._remembered: OrderedDict[bytes, tuple[float, AccessToken]] = OrderedDict()
        self.checks_audience = bool(self._audiences)

    async def verify_token(self, token: str) -> AccessToken | None:
        """See `TokenVerifier.verify_token`. The log says at level debug why a token is not good."""
        # Looked up by what cannot be guessed step by step from how long it takes.
        key = sha256(token.encode("utf-8", "replace")).digest()
        known = self._known(key)
        if known is not None:
            return known
        form = {"token": token, "token_type_hint": "access_token", **self._form}
        answer = await self._fetcher.post(self._endpoint, self._headers, form)
        wrong = self._wrong(answer)
        if wrong is not None:
            logger.debug("a token is refused: %s", wrong)
            return None
        found = self._said(token, answer)
        self._remember(key, found)
        return found

    def _known(self, key: bytes) -> AccessToken | None:
        until, found = self._remembered.get(key, (0.0, None))
        return found if time.monotonic() < until else None

    def _remember(self, key: bytes, found: AccessToken) -> None:
        if self._cache_seconds > 0:
            self._remembered[key] = time.monotonic() + self._cache_seconds, found
            self._remembered.move_to_end(key)
            if len(self._remembered) > _MOST_REMEMBERED:
                self._remembered.popitem(last=False)

    def _wrong(self, answer: Mapping[str, Any]) -> str | None:
        """Why a token is not good; None where it is."""
        if answer.get("active") is not True:
            return "it is not active"
        if is_other_token(answer):
            return "it is no access token"
        now = time.time()
        ends, begins = answer.get("exp"), answer.get("nbf")
        if ends is not None and not (_is_number(ends) and ends > now):
            return "it has expired"
        if begins is not None and not (_is_number(begins) and begins <= now):
            return "it is not good yet"
        if self._issuer is not None and answer.get("iss", self._issuer) != self._issuer:
            return "somebody else has issued it"
        named = _audience(answer)
        return (
            None if not self._audiences or any(one in named for one in self._audiences) else "it is for another server"
        )

    def _said(self, token: str, answer: dict[str, Any]) -> AccessToken:
        named = _audience(answer)
        own = [audience for audience in self._audiences if audience in named]
        ends, scope = answer.get("exp"), answer.get("scope")
        return AccessToken(
            token=token,
            client_id=_text(answer, "client_id") or _text(answer, "azp") or _text(answer, "sub") or "",
            scopes=scope.split() if isinstance(scope, str) else [],
            expires_at=None if ends is None else int(ends),
            resource=next(iter(own or named), None),
            subject=_text(answer, "sub"),
            claims=answer,
        )


def _authentication(method: str, client_id: str, client_secret: str) -> tuple[dict[str, str], dict[str, str]]:
    """The headers and the form fields that say who asks. RFC 6749, section 2.3.1."""
    if method == "client_secret_post":
        return {}, {"client_id": client_id, "client_secret": client_secret}
    if method != "client_secret_basic":
        raise ValueError(f"auth_method= takes 'client_secret_basic' or 'client_secret_post', got {method!r}")
    both = f"{quote_plus(client_id)}:{quote_plus(client_secret)}"
    return {"authorization": f"Basic {b64encode(both.encode()).decode()}"}, {}


def _audience(answer: Mapping[str, Any]) -> list[str]:
    value: Any = answer.get("aud")
    named = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [one for one in named if isinstance(one, str)]


def _text(answer: Mapping[str, Any], name: str) -> str | None:
    value = answer.get(name)
    return value if isinstance(value, str) else None


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
