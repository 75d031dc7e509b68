"""A server's side of proofs of possession: each is good once, for one request and one token. RFC 9449."""

import logging
import time
from base64 import urlsafe_b64encode
from typing import Any

import pytest

from mcp.protocol.dpop import DPoPKey
from mcp.server.auth.dpop import DPoPError, DPoPNonces, DPoPVerifier, _SeenProofs

URL = "https://server.example.com/mcp"
KEY = DPoPKey.generate()
TOKEN = "the-token"


def proof(proof_id: str = "one", key: DPoPKey = KEY, **changes: Any) -> str:
    arguments: dict[str, Any] = {"method": "POST", "url": URL, "access_token": TOKEN, "issued_at": time.time()}
    arguments.update(changes)
    return key.proof(proof_id=proof_id, **arguments)


def check(verifier: DPoPVerifier, *proofs: str, **changes: Any) -> str:
    arguments: dict[str, Any] = {"method": "POST", "urls": [URL], "access_token": TOKEN, "bound_to": KEY.thumbprint}
    return verifier.check(proofs, **{**arguments, **changes})


def refusal(verifier: DPoPVerifier, *proofs: str, **changes: Any) -> DPoPError:
    with pytest.raises(DPoPError) as caught:
        check(verifier, *proofs, **changes)
    return caught.value


def test_a_fresh_proof_of_the_right_key_lets_a_request_in() -> None:
    assert check(DPoPVerifier(), proof()) == KEY.thumbprint


def test_a_proof_is_good_once() -> None:
    verifier, text = DPoPVerifier(), proof()
    check(verifier, text)
    assert refusal(verifier, text).error == "invalid_dpop_proof"
    assert "used before" in str(refusal(verifier, text))
    check(verifier, proof("two"))


def test_clients_may_choose_the_same_identifier() -> None:
    verifier, other = DPoPVerifier(), DPoPKey.generate()
    check(verifier, proof("one"))
    check(verifier, proof("one", other), bound_to=other.thumbprint)


def test_there_must_be_one_proof() -> None:
    verifier = DPoPVerifier()
    assert "there are 0" in str(refusal(verifier))
    assert "there are 2" in str(refusal(verifier, proof("a"), proof("b")))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"method": "GET"}, "htm"),
        ({"url": "https://server.example.com/other"}, "htu"),
        ({"access_token": "another"}, "ath"),
        ({"access_token": None}, "ath"),
        ({"issued_at": time.time() - 1000}, "iat"),
        ({"issued_at": time.time() + 1000}, "iat"),
    ],
)
def test_a_proof_for_another_request_does_not_let_it_in(changes: dict[str, Any], reason: str) -> None:
    error = refusal(DPoPVerifier(), proof(**changes))
    assert error.error == "invalid_dpop_proof"
    assert reason in str(error)
    assert TOKEN not in str(error)


@pytest.mark.parametrize(
    "bound_to", [None, "", DPoPKey.generate().thumbprint, ["x"]], ids=["nothing", "empty", "another", "list"]
)
def test_a_token_of_another_key_does_not_let_a_request_in(bound_to: object) -> None:
    assert refusal(DPoPVerifier(), proof(), bound_to=bound_to).error == "invalid_token"


def test_a_token_endpoint_binds_what_it_issues_to_the_key() -> None:
    text = proof(access_token=None)
    assert check(DPoPVerifier(), text, access_token=None, bound_to=None) == KEY.thumbprint


def test_a_proof_that_is_refused_is_not_remembered() -> None:
    verifier, text = DPoPVerifier(), proof()
    refusal(verifier, text, bound_to="another")
    check(verifier, text)


def test_a_server_may_ask_for_its_nonce() -> None:
    verifier = DPoPVerifier(nonces=DPoPNonces())
    first = refusal(verifier, proof())
    assert first.error == "use_dpop_nonce"
    assert first.nonce is not None
    check(verifier, proof("two", nonce=first.nonce))
    made_up = urlsafe_b64encode(b"\0" * 24).decode()
    for wrong in ("x", "", "ü", made_up, first.nonce[:-4] + "AAAA"):
        assert refusal(verifier, proof("three", nonce=wrong)).error == "use_dpop_nonce"


def test_a_nonce_is_good_for_a_while_and_in_every_process_with_the_secret() -> None:
    secret = b"s" * 32
    nonce = DPoPNonces(secret, lifetime=10).issue(1000)
    assert DPoPNonces(secret, lifetime=10).accepts(nonce, 1010)
    assert not DPoPNonces(secret, lifetime=10).accepts(nonce, 1011)
    assert not DPoPNonces(lifetime=10).accepts(nonce, 1000)
    with pytest.raises(ValueError, match="at least 32 bytes"):
        DPoPNonces(b"short")


def test_only_algorithms_with_key_pairs_can_be_allowed() -> None:
    for algorithms in (["HS256"], ["none"], []):
        with pytest.raises(ValueError, match="algorithms must be some of ES256"):
            DPoPVerifier(algorithms=algorithms)


def test_the_memory_of_proofs_is_bounded_and_says_when_it_is_too_small(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    seen = _SeenProofs(size=2, keep=10)
    assert seen.add("a", now=0)
    assert seen.add("b", now=1)
    assert not seen.add("a", now=2)
    assert caplog.text == ""
    assert seen.add("c", now=3)
    assert "More than 2 fresh DPoP proofs" in caplog.text
    assert seen.add("a", now=4)
    assert not seen.add("c", now=4)
    assert caplog.text.count("More than") == 1


def test_proofs_are_forgotten_when_they_are_too_old_to_be_taken() -> None:
    seen = _SeenProofs(size=2, keep=10)
    assert seen.add("a", now=0)
    assert not seen.add("a", now=9.9)
    assert seen.add("a", now=10)
