"""The `bearer`, `jwt` and `jwks` targets: what a request brings to be let in with, and the keys it is held against."""

import json
import logging
import sys
from pathlib import Path
from random import Random
from typing import Any, Final

from fuzz_parsers import target
from fuzz_server import run
from pydantic_core import from_json

sys.path.insert(0, str(Path(__file__).parents[1] / "drivers"))

from token_issuing import AUDIENCE, EC_KEY, ISSUER, OTHER_RSA_KEY, RSA_KEY, forged, jwk, signed

from mcp.server.auth import JWTVerifier
from mcp.server.auth.challenges import Credentials, Denial, challenges, read_credentials
from mcp.server.auth.jwt_keys import ALGORITHMS, read_key_set

# Not all of logging: another target looks at what is logged.
logging.getLogger("mcp.server.auth").addHandler(logging.NullHandler())
logging.getLogger("mcp.server.auth").propagate = False

_LIVES: Final = 10**10
KEY_SET: Final[dict[str, Any]] = {"keys": [jwk(RSA_KEY, "one"), jwk(EC_KEY, "two")]}
VERIFIER: Final = JWTVerifier(issuer=ISSUER, audience=AUDIENCE, keys=KEY_SET)
GOOD: Final = (signed(exp=_LIVES), signed(EC_KEY, "ES256", "two", exp=_LIVES))


@target(
    "bearer",
    (b"Bearer token", b"bearer a.b.c", b"DPoP token", b"Basic YTpi", b"Bearer"),
    (b"Bearer ", b"DPoP", b" ", b"\t", b"\x00", b"\xe9", b",", b'"', b"a" * 20_000),
)
def check_bearer(data: bytes, random: Random) -> None:
    """Any header is credentials of one token or a denial, and neither breaks the response."""
    headers = [(b"authorization", data)] * random.choice((1, 1, 1, 2))
    found = read_credentials(headers)
    if isinstance(found, Credentials):
        assert len(headers) == 1
        assert found.token.isascii()
        assert found.token.isprintable()
        assert " " not in found.token
        assert data.strip().endswith(found.token.encode())
        return
    assert isinstance(found, Denial)
    assert found.status in (400, 401)
    for _, value in challenges(found, ["read"], "https://mcp.example.com/.well-known/x"):
        text = value.decode("ascii")
        assert text.isprintable()
        assert text.count('"') % 2 == 0


@target(
    "jwt",
    (
        *(token.encode() for token in GOOD),
        signed(OTHER_RSA_KEY, exp=_LIVES).encode(),
        forged({"alg": "none"}, None, exp=_LIVES).encode(),
        forged({"alg": "HS256", "kid": "one"}, b"secret", exp=_LIVES).encode(),
    ),
    (b".", b"..", b"e30", b"e30.e30.", b"=", b"-_", b"\x00", b"\xff", b'{"alg":"none"}'),
)
def check_jwt(data: bytes, _random: Random) -> None:
    """Only what the issuer has signed is let in, whatever is changed in it."""
    token = data.decode("latin-1")
    found = run(VERIFIER.verify_token(token))
    # Other spellings of the same bytes, such as with other bits behind the end of a base64 text, are the same token.
    assert found is None or any(token.rpartition(".")[0] == good.rpartition(".")[0] for good in GOOD)


@target(
    "jwks",
    (json.dumps(KEY_SET).encode(), b'{"keys": []}', b'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}'),
    (b'"kty"', b'"RSA"', b'"EC"', b'"OKP"', b'"oct"', b"null", b"[]", b"{}", b"1e999", b'"use": "enc",', b'"e": "AA",'),
)
def check_jwks(data: bytes, _random: Random) -> None:
    """Any JSON object is a set of public keys, or no key set."""
    try:
        document: Any = from_json(data)
    except ValueError:
        return
    if not isinstance(document, dict):
        return
    try:
        keys = read_key_set(document)  # pyright: ignore[reportUnknownArgumentType]
    except ValueError:
        return
    for key in keys:
        assert key.algorithms
        assert key.algorithms <= set(ALGORITHMS)
