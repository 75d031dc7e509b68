"""An authorization server that binds tokens to a client's key, and a resource that wants to see the key. RFC 9449."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from oauth_peers import Asked, AuthServer, Resource
from scripted_http_server import Posted, Reply, serve

from mcp.server.auth.dpop import DPoPError, DPoPNonces, DPoPVerifier

__all__ = ["BindingAuthServer", "BindingResource", "binding_peers"]


@dataclass
class BindingAuthServer(AuthServer):
    """An authorization server.

    Attributes:
        verifier: Checks proofs.
        keys: The thumbprint that each token is bound to, access and refresh tokens alike.
        proofs: How many came, good or not.
    """

    verifier: DPoPVerifier = field(default_factory=DPoPVerifier)
    keys: dict[str, str] = field(default_factory=dict[str, str])
    proofs: int = 0
    _thumbprint: str = ""

    def metadata(self) -> dict[str, Any]:
        return super().metadata() | {"dpop_signing_alg_values_supported": ["ES256"]}

    def issue(self, scope: str = "") -> dict[str, Any]:
        answer = super().issue(scope) | {"token_type": "DPoP"}
        for name in ("access_token", "refresh_token"):
            if name in answer:
                self.keys[answer[name]] = self._thumbprint
        return answer

    async def _token(self, asked: Asked, reply: Reply) -> None:
        try:
            self._thumbprint = self._checked(asked)
        except DPoPError as error:
            headers = {} if error.nonce is None else {"dpop-nonce": error.nonce}
            await reply.json({"error": error.error, "error_description": str(error)}, "400 Bad Request", headers)
            return
        await super()._token(asked, reply)

    def _checked(self, asked: Asked) -> str:
        proofs = [asked.headers["dpop"]] if "dpop" in asked.headers else []
        self.proofs += len(proofs)
        thumbprint = self.verifier.check(proofs, method="POST", urls=[f"{self.origin}/token"])
        if self.keys.get(asked.parameters.get("refresh_token", ""), thumbprint) != thumbprint:
            raise DPoPError("invalid_dpop_proof", "The refresh token is bound to another key")
        return thumbprint


@dataclass
class BindingResource(Resource):
    """A resource that takes bound tokens alone.

    Attributes:
        verifier: Checks proofs.
        sent: Each proof that came with a request that was let in.
    """

    verifier: DPoPVerifier = field(default_factory=DPoPVerifier)
    sent: list[str] = field(default_factory=list[str])

    async def _protected(self, path: str, request: Posted, reply: Reply) -> None:
        header = request.headers.get("authorization")
        self.seen.append(header)
        token = (header or "").removeprefix("DPoP ")
        if token not in self.auth.live:
            await self._challenge(reply, 'error="invalid_token"' if header else "")
            return
        assert isinstance(self.auth, BindingAuthServer)
        proofs = [request.headers["dpop"]] if "dpop" in request.headers else []
        try:
            self.verifier.check(
                proofs,
                method=request.method,
                urls=[f"{self.origin}{path}"],
                access_token=token,
                bound_to=self.auth.keys[token],
            )
        except DPoPError as error:
            await self._challenge(reply, f'error="{error.error}"', error.nonce)
            return
        self.sent += proofs
        await reply.json({"path": path})

    async def _challenge(self, reply: Reply, parameters: str, nonce: str | None = None) -> None:
        headers = {"www-authenticate": f"DPoP {parameters}".strip()}
        if nonce is not None:
            headers["dpop-nonce"] = nonce
        await reply.send("401 Unauthorized", b"refused", "text/plain", headers)


@asynccontextmanager
async def binding_peers(*, nonces: bool = False) -> AsyncGenerator[tuple[BindingResource, BindingAuthServer], None]:
    """A resource and its authorization server.

    Args:
        nonces: Whether each of them wants a nonce of its own in proofs.
    """

    def verifier() -> DPoPVerifier:
        return DPoPVerifier(nonces=DPoPNonces() if nonces else None)

    auth = BindingAuthServer(verifier=verifier())
    resource = BindingResource(auth, verifier=verifier())
    async with serve(auth.handle) as auth_server, serve(resource.handle) as resource_server:
        auth.origin, resource.origin = auth_server.origin, resource_server.origin
        yield resource, auth
