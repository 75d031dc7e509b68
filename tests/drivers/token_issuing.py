"""An issuer of JWTs with its key server, as far as verifiers see it."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl

import jwt
import served_app
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

AUDIENCE = "https://mcp.example.com/mcp"
ISSUER = "https://auth.example.com"

RSA_KEY = rsa.generate_private_key(65537, 2048)
OTHER_RSA_KEY = rsa.generate_private_key(65537, 2048)
WEAK_RSA_KEY = rsa.generate_private_key(65537, 1024)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()


def pem(key: Any) -> bytes:
    """The public half of a key."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def jwk(key: Any, id: str | None = None, **more: Any) -> dict[str, Any]:
    """The public half of a key as a JWK."""
    families = {rsa.RSAPrivateKey: "RS256", ec.EllipticCurvePrivateKey: "ES256", ed25519.Ed25519PrivateKey: "EdDSA"}
    algorithm = next(name for family, name in families.items() if isinstance(key, family))
    made: Any = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    made.pop("key_ops", None)
    return {**made, **({} if id is None else {"kid": id}), **more}


def claims(**changed: Any) -> dict[str, Any]:
    """The claims of a good token; `changed` replaces some, or with None leaves them out."""
    now = int(time.time())
    all_claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "exp": now + 36_000,
        "iat": now,
        "sub": "alice",
        "client_id": "app",
        "scope": "read write",
        **changed,
    }
    return {name: value for name, value in all_claims.items() if value is not None}


def signed(key: Any = RSA_KEY, algorithm: str = "RS256", id: str | None = "one", **changed: Any) -> str:
    """A token; `typ` replaces the type in its header."""
    headers: dict[str, Any] = {} if id is None else {"kid": id}
    headers |= {name: changed.pop(name) for name in ("typ", "crit") if name in changed}
    return jwt.encode(claims(**changed), key, algorithm, headers=headers)


def forged(header: dict[str, Any], secret: bytes | None, **changed: Any) -> str:
    """A token with a header that no library makes; unsigned, or signed with HMAC."""
    head, body = (encoded(json.dumps(part).encode()) for part in (header, claims(**changed)))
    signature = b"" if secret is None else hmac.new(secret, f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{encoded(signature)}"


def encoded(data: bytes) -> str:
    """Base64 as JWTs have it."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class KeyServer:
    """Answers with documents that a test may change, and notes what it was asked for."""

    def __init__(self, documents: dict[str, Any]) -> None:
        self.documents = documents
        self.asked: list[str] = []
        self.forms: list[tuple[dict[str, Any], str | None]] = []

    async def answer(self, request: Request) -> Response:
        path = request.url.path
        self.asked.append(path)
        if request.method == "POST":
            form = dict(parse_qsl((await request.body()).decode(), strict_parsing=True))
            self.forms.append((form, request.headers.get("authorization")))
        document = self.documents.get(path)
        if document is None:
            return Response(status_code=404)
        return document if isinstance(document, Response) else JSONResponse(document)

    @contextmanager
    def serving(self) -> Generator[str, None, None]:
        """The origin of the server, while the block runs."""
        routes = [Route("/{path:path}", self.answer, methods=["GET", "POST"])]
        with served_app.served(Starlette(routes=routes)) as origin:
            yield origin
