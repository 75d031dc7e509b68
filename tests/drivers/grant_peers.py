"""An authorization server for clients without a user, and an identity provider, on loopback sockets."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
from oauth_peers import Asked, AuthServer, Resource
from scripted_http_server import Reply, serve

from mcp.shared.auth import JWT_BEARER_GRANT_TYPE

__all__ = ["GrantServer", "IdentityProvider", "grant_peers", "identity_provider"]

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


@dataclass
class GrantServer(AuthServer):
    """An authorization server for the client `agent`.

    Attributes:
        key: What verifies the client's assertions.
        algorithm: What they are signed with.
        scopes: What it grants; None for whatever is asked for.
        presented: The claims of each assertion that was good.
    """

    key: Any = None
    algorithm: str = "ES256"
    scopes: str | None = None
    presented: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def metadata(self) -> dict[str, Any]:
        methods = ["client_secret_basic", "client_secret_post", "private_key_jwt"]
        changes = {"registration_endpoint": None, "token_endpoint_auth_methods_supported": methods}
        return {name: value for name, value in (super().metadata() | changes).items() if value is not None}

    async def _token(self, asked: Asked, reply: Reply) -> None:
        form = asked.parameters
        error = self._refusal(asked)
        if error is not None:
            await reply.json({"error": error, "error_description": "It is not good."}, "400 Bad Request")
            return
        scope = form.get("scope", "") if self.scopes is None else self.scopes
        await reply.json(self.issue(scope) | {"scope": scope})

    def _refusal(self, asked: Asked) -> str | None:
        form = asked.parameters
        if form["grant_type"] == JWT_BEARER_GRANT_TYPE:
            known = self.clients.get(form["client_id"])
            if known is None or ("client_secret" in known and not self._authenticates(asked)):
                return "invalid_client"
            return None if self._verified(form["assertion"]) else "invalid_grant"
        if form["grant_type"] != "client_credentials":
            return "unsupported_grant_type"
        if form.get("client_assertion_type") == ASSERTION_TYPE:
            return None if self._verified(form["client_assertion"]) else "invalid_client"
        return None if self._authenticates(asked) else "invalid_client"

    def _verified(self, assertion: str) -> bool:
        try:
            claims = jwt.decode(assertion, self.key, [self.algorithm], audience=self.metadata()["issuer"])
        except jwt.InvalidTokenError:
            return False
        self.presented.append(claims)
        return True


@asynccontextmanager
async def grant_peers(**options: Any) -> AsyncGenerator[tuple[Resource, GrantServer], None]:
    """A protected resource, and its authorization server, which takes `options`."""
    auth = GrantServer(**options)
    resource = Resource(auth)
    async with serve(auth.handle) as auth_server, serve(resource.handle) as resource_server:
        auth.origin, resource.origin = auth_server.origin, resource_server.origin
        yield resource, auth


@dataclass
class IdentityProvider(AuthServer):
    """An identity provider that trades the token of a sign-in for an ID-JAG.

    Attributes:
        key: What it signs with, by HS256.
        signed_in: The tokens of sign-ins that are good, and whose they are.
    """

    key: str = "k" * 32
    signed_in: dict[str, str] = field(default_factory=dict[str, str])

    async def _token(self, asked: Asked, reply: Reply) -> None:
        form = asked.parameters
        subject = self.signed_in.get(form["subject_token"])
        if subject is None or form["requested_token_type"] != ID_JAG:
            await reply.json({"error": "invalid_grant"}, "400 Bad Request")
            return
        now = int(time.time())
        names = {"iss": self.origin, "sub": subject, "aud": form["audience"], "resource": form["resource"]}
        claims = {**names, "client_id": "agent", "iat": now, "exp": now + 60, "jti": str(len(self.asked))}
        assertion = jwt.encode(claims, self.key, "HS256", headers={"typ": "oauth-id-jag+jwt"})
        await reply.json({"access_token": assertion, "issued_token_type": ID_JAG, "token_type": "N_A"})


@asynccontextmanager
async def identity_provider() -> AsyncGenerator[IdentityProvider, None]:
    """An identity provider."""
    provider = IdentityProvider()
    async with serve(provider.handle) as server:
        provider.origin = server.origin
        yield provider
