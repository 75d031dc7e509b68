"""Proofs of possession, and what a browser brings back from a login: no input gets in that was not made for it."""

from random import Random

from fuzz_parsers import target

from mcp.client.auth._redirects import outcome_of
from mcp.protocol.dpop import InvalidDPoPProof, checked_proof

NOW = 1_800_000_000.0
URL = "https://server.example.com/mcp"
# Made once, since signatures differ each time, and an input must follow from the seed.
THUMBPRINT = "M4SrPJ-7y8263WLN2G3tdNz15B-Jc5H9dHau7pmTB7Y"
PROOF = (
    b"eyJhbGciOiJFUzI1NiIsImp3ayI6eyJjcnYiOiJQLTI1NiIsImt0eSI6IkVDIiwieCI6InJwckNWaE1sSU40TWJZOW45R0dXdGI5"
    b"TGszVVgtdGFJa0U4Y19vNld1QmsiLCJ5IjoiZnhjcGs4SGxRcWZXaXgwWmxOeU90YjJUeXNoT3hqWWJ3Mjg1RjJuak5xdyJ9LCJ0"
    b"eXAiOiJkcG9wK2p3dCJ9."
    b"eyJqdGkiOiJvbmUiLCJodG0iOiJQT1NUIiwiaHR1IjoiaHR0cHM6Ly9zZXJ2ZXIuZXhhbXBsZS5jb20vbWNwIiwiaWF0IjoxODAw"
    b"MDAwMDAwLCJhdGgiOiJQRWFlbld4WWRkTjZRX05UMVBpT1lmejRFc1p1N2pSWFJscEFzTnBCVS1BIiwibm9uY2UiOiJuIn0."
    b"jEoHs_xf_E_McbWYMwBBMPI5X_cn4OY54uizz7K4VWLL-I2xFZ1DnLacLIkwsxrn7NqgTBkCwzudUKDLZZsbDA"
)
STATE = "the-state"


@target("dpop", [PROOF], [b".", b"e30", b"e30.e30.e30", b"=", b"\xc3\xbc"])
def check_proof(data: bytes, random: Random) -> None:
    """Anything is refused by the one exception, or is a proof by the one key."""
    try:
        proof = checked_proof(
            data.decode("latin-1"), method="POST", urls=[URL], now=NOW, max_age=60, access_token="token"
        )
    except InvalidDPoPProof:
        return
    assert (proof.thumbprint, proof.proof_id, proof.nonce) == (THUMBPRINT, "one", "n")


@target(
    "redirect",
    [b"code=c&state=the-state&iss=https%3A%2F%2Fauth.example.com", b"error=access_denied&state=the-state"],
    [b"&", b"=", b"%", b"%ff", b"state=", b"code=", b"error=", b"+", b"\xc3\xbc"],
)
def check_redirect(data: bytes, random: Random) -> None:
    """Nothing is taken that has another state than the login."""
    query = data.decode("latin-1")
    outcome = outcome_of(query, STATE)
    assert outcome is None or f"state={STATE}" in query or "%" in query
    assert outcome_of(query, "another") is None
