"""The codec of request state: who can open what, and which keys it takes."""

import base64
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from mcp.server.request_state import (
    AESGCMRequestStateCodec,
    InvalidRequestState,
    RequestStateBoundary,
    RequestStateSecurity,
    compact_json,
)

KEY = b"k" * 32
OTHER = b"o" * 32


def reason_of(codec: AESGCMRequestStateCodec, token: str) -> str:
    with pytest.raises(InvalidRequestState) as raised:
        codec.unseal(token)
    return str(raised.value)


@pytest.mark.parametrize("payload", [b"", b"hello", bytes(range(256)) * 1000])
def test_a_token_holds_its_payload(payload: bytes) -> None:
    codec = AESGCMRequestStateCodec([KEY])
    assert codec.unseal(codec.seal(payload)) == payload


def test_a_token_is_safe_anywhere_and_shows_nothing() -> None:
    token = AESGCMRequestStateCodec([KEY]).seal(b"refund:120")
    assert set(token) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
    assert token.startswith("v1.")
    raw = base64.urlsafe_b64decode(token[3:] + "==")
    assert b"refund" not in raw
    assert KEY[:8] not in raw


def test_no_two_tokens_are_the_same() -> None:
    codec = AESGCMRequestStateCodec([KEY])
    assert len({codec.seal(b"same") for _ in range(100)}) == 100


def test_the_first_key_seals_and_every_key_opens() -> None:
    old, both, new = (AESGCMRequestStateCodec(keys) for keys in ([KEY], [OTHER, KEY], [OTHER]))
    assert both.unseal(old.seal(b"x")) == b"x"
    assert new.unseal(both.seal(b"x")) == b"x"
    assert reason_of(old, both.seal(b"x")) == "unknown key"
    assert reason_of(new, old.seal(b"x")) == "unknown key"


def test_a_key_is_the_same_as_text_and_as_bytes() -> None:
    token = AESGCMRequestStateCodec(["ž" * 16]).seal(b"x")
    assert AESGCMRequestStateCodec([bytearray("ž" * 16, "utf-8")]).unseal(token) == b"x"


def test_a_long_key_counts_whole() -> None:
    token = AESGCMRequestStateCodec([KEY + b"1"]).seal(b"x")
    assert reason_of(AESGCMRequestStateCodec([KEY + b"2"]), token) == "unknown key"


def flipped(token: str, place: int) -> str:
    raw = bytearray(base64.urlsafe_b64decode(token[3:] + "=" * (-len(token[3:]) % 4)))
    raw[place] ^= 1
    return "v1." + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("place", "reason"), [(0, "unknown key"), (8, "broken seal"), (20, "broken seal"), (-1, "broken seal")]
)
def test_a_changed_bit_is_noticed_wherever_it_is(place: int, reason: str) -> None:
    codec = AESGCMRequestStateCodec([KEY])
    assert reason_of(codec, flipped(codec.seal(b"hello"), place)) == reason


CHANGES: list[Callable[[str], str]] = [
    lambda token: "",
    lambda token: "v1.",
    lambda token: "x" + token,
    lambda token: token[3:],
    lambda token: "v2." + token[3:],
    lambda token: token + "=",
    lambda token: token + "\n",
    lambda token: " " + token,
    lambda token: token[:10],
    lambda token: token[:20] + "+" + token[21:],
    lambda token: token[:20] + "é" + token[21:],
    lambda token: token[:20] + "\ud800" + token[21:],
    lambda token: token[:20] + "\n" + token[20:],
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_another_shape_is_malformed(change: Callable[[str], str]) -> None:
    codec = AESGCMRequestStateCodec([KEY])
    assert reason_of(codec, change(codec.seal(b"hello"))) == "malformed"


def test_bits_that_base64_leaves_unused_may_not_differ() -> None:
    codec = AESGCMRequestStateCodec([KEY])
    token = codec.seal(b"")  # 36 bytes need no padding
    assert reason_of(codec, token[:-1]) == "malformed"
    token = codec.seal(b"x")  # 37 do: four bits of the last letter say nothing
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    twin = alphabet[alphabet.index(token[-1]) ^ 1]
    assert reason_of(codec, token[:-1] + twin) == "malformed"


ADVICE = 'Generate one with: python -c "import secrets; print(secrets.token_hex(32))"'


@pytest.mark.parametrize(
    ("keys", "kind", "text"),
    [
        ([], ValueError, "AESGCMRequestStateCodec requires at least one key"),
        ([b"short"], ValueError, f"at least 32 bytes of secret randomness; keys[0] is 5 bytes. {ADVICE}"),
        ([KEY, "k" * 31], ValueError, "keys[1] is 31 bytes"),
        ([KEY, KEY], ValueError, "keys[1] duplicates an earlier ring key"),
        ([KEY, KEY.decode()], ValueError, "keys[1] duplicates an earlier ring key"),
        ([None], TypeError, "request-state keys must be bytes, bytearray, or str; keys[0] is NoneType"),
        (KEY, TypeError, "request-state keys must be a list of keys, got bytes"),
        (KEY.decode(), TypeError, "request-state keys must be a list of keys, got str"),
    ],
)
def test_keys_that_do_not_do_are_refused_at_once(keys: Any, kind: type[Exception], text: str) -> None:
    for make in (AESGCMRequestStateCodec, RequestStateSecurity):
        with pytest.raises(kind) as raised:
            make(keys=keys)
        assert text in str(raised.value)
        assert "kkkk" not in str(raised.value)


class Sealer:
    def seal(self, payload: bytes) -> str:
        return payload.decode()


async def who(ctx: Any) -> str:
    return "me"


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({}, ValueError, "exactly one of keys= or codec="),
        ({"keys": [KEY], "codec": AESGCMRequestStateCodec([KEY])}, ValueError, "exactly one of keys= or codec="),
        ({"codec": Sealer()}, TypeError, "a codec has seal(bytes) -> str and unseal(str) -> bytes, got Sealer"),
        ({"keys": [KEY], "ttl": 0}, ValueError, "ttl must be a positive finite number, got 0"),
        ({"keys": [KEY], "ttl": -1.5}, ValueError, "ttl must be a positive finite number, got -1.5"),
        ({"keys": [KEY], "ttl": float("inf")}, ValueError, "ttl must be a positive finite number, got inf"),
        ({"keys": [KEY], "ttl": float("nan")}, ValueError, "ttl must be a positive finite number, got nan"),
        ({"keys": [KEY], "ttl": "600"}, TypeError, "ttl must be a number of seconds, got str"),
        ({"keys": [KEY], "ttl": True}, TypeError, "ttl must be a number of seconds, got bool"),
        ({"keys": [KEY], "bind_principal": who}, TypeError, "bind_principal must be a plain function"),
        ({"keys": [KEY], "bind_principal": 5}, TypeError, "bind_principal must be a plain function, got int"),
        ({"keys": [KEY], "clock": 5}, TypeError, "clock must be a plain function, got int"),
        ({"keys": [KEY], "audience": 5}, TypeError, "audience must be a str or None, got int"),
    ],
)
def test_a_policy_that_cannot_work_is_refused_at_once(options: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as raised:
        RequestStateSecurity(**options)
    assert text in str(raised.value)


def test_so_is_an_audience_that_is_no_text() -> None:
    audience: Any = 5
    with pytest.raises(TypeError, match="audience must be a str or None, got int"):
        RequestStateBoundary(RequestStateSecurity(keys=[KEY]), default_audience=audience)


def test_an_ephemeral_policy_has_a_key_of_its_own() -> None:
    one, two = RequestStateSecurity.ephemeral(), RequestStateSecurity.ephemeral(ttl=5, audience="billing")
    assert (one.ttl, one.audience) == (600.0, None)
    assert (two.ttl, two.audience) == (5, "billing")
    with pytest.raises(InvalidRequestState, match="unknown key"):
        two.codec.unseal(one.codec.seal(b"x"))


def test_compact_json_is_short_ascii_and_sorted_if_asked() -> None:
    assert compact_json({"b": [1, None], "a": "ž"}) == '{"b":[1,null],"a":"\\u017e"}'
    assert compact_json({"b": {"d": 1, "c": 2}, "a": 1}, sort_keys=True) == '{"a":1,"b":{"c":2,"d":1}}'


def test_the_library_is_loaded_when_something_is_sealed() -> None:
    program = (
        "import sys\n"
        "from mcp.server import Server\n"
        "from mcp.server.request_state import RequestStateSecurity\n"
        "security = RequestStateSecurity.ephemeral()\n"
        "assert not [name for name in sys.modules if name.partition('.')[0] == 'cryptography']\n"
        "assert security.codec.unseal(security.codec.seal(b'x')) == b'x'\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=30)
