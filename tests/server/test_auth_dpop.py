"""Tokens that are bound to a key get in with a proof of it, and in no other way. RFC 9449, section 7."""

import logging
import re
import time
from typing import Any

import pytest
from protecting import META, METADATA_URL, MODERN, RESOURCE, Known, http_to, modern, settings, token

from mcp.protocol.dpop import DPoPKey
from mcp.server import MCPServer
from mcp.server.auth.settings import DPoPSettings

pytestmark = pytest.mark.anyio

KEY = DPoPKey.generate()
BOUND = token("bound-token", "read", claims={"cnf": {"jkt": KEY.thumbprint}})
PLAIN = token("plain-token", "read")
WEAK = token("weak-token", claims={"cnf": {"jkt": KEY.thumbprint}})


def app(dpop: DPoPSettings | None = None, **changed: Any) -> Any:
    mcp = MCPServer("vault", token_verifier=Known(BOUND, PLAIN, WEAK), auth=settings(dpop=dpop, **changed))

    @mcp.tool(scopes=["write"])
    def put() -> str:
        """Needs more."""
        raise NotImplementedError

    return mcp.streamable_http_app()


def proof(proof_id: str = "one", key: DPoPKey = KEY, **changed: Any) -> str:
    arguments: dict[str, Any] = {"method": "POST", "url": RESOURCE, "access_token": BOUND.token}
    arguments |= {"issued_at": time.time(), **changed}
    return key.proof(proof_id=proof_id, **arguments)


async def ask(
    http: Any, authorization: str | None, *proofs: str, path: str = "/mcp", host: str | None = None, tool: str = ""
) -> Any:
    """The answer to a 2026-07-28 request: a list of tools, or a call of one."""
    method = "tools/call" if tool else "tools/list"
    params = {"_meta": META, **({"name": tool, "arguments": {}} if tool else {})}
    headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", MODERN),
        ("mcp-method", method),
        *([("mcp-name", tool)] if tool else []),
        *([] if authorization is None else [("authorization", authorization)]),
        *(("dpop", one.encode("latin-1")) for one in proofs),
        *([] if host is None else [("host", host)]),
    ]
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return await http.post(path, json=body, headers=headers)


def challenges(answer: Any) -> dict[str, dict[str, str]]:
    """The parameters of each scheme that an answer offers."""
    found: dict[str, dict[str, str]] = {}
    for value in answer.headers.get_list("www-authenticate"):
        scheme, _, rest = value.partition(" ")
        found[scheme] = dict(re.findall(r'(\w+)="([^"]*)"', rest))
    return found


async def test_a_bound_token_gets_in_with_a_proof_of_its_key() -> None:
    async with http_to(app()) as http:
        answer = await ask(http, "DPoP bound-token", proof())
        assert answer.status_code == 200, answer.text
        assert (await ask(http, "dpop bound-token", proof("two"))).status_code == 200


async def test_a_bound_token_that_is_sent_as_a_bearer_token_is_refused() -> None:
    async with http_to(app()) as http:
        for answer in (await ask(http, "Bearer bound-token"), await ask(http, "Bearer bound-token", proof())):
            assert answer.status_code == 401
            assert challenges(answer)["Bearer"]["error"] == "invalid_token"
            assert "bound to a key" in challenges(answer)["Bearer"]["error_description"]


@pytest.mark.parametrize("confirmation", [{"x5t#S256": "certificate"}, {"jwk": {}}, {}, "unreadable", 5, {"jkt": None}])
async def test_a_token_that_is_bound_in_a_way_that_nobody_checks_here_is_refused(confirmation: Any) -> None:
    bound = token("bound", "read", claims={"cnf": confirmation})
    mcp = MCPServer("vault", token_verifier=Known(bound), auth=settings())
    async with http_to(mcp.streamable_http_app()) as http:
        answer = await modern(http, "tools/list", "bound")
        assert answer.status_code == 401
        text = "The access token is bound in a way that this server cannot check"
        assert answer.json() == {"error": "invalid_token", "error_description": text}


async def test_a_proof_is_good_once() -> None:
    async with http_to(app()) as http:
        once = proof()
        assert (await ask(http, "DPoP bound-token", once)).status_code == 200
        again = await ask(http, "DPoP bound-token", once)
        assert again.status_code == 401
        assert challenges(again)["DPoP"]["error"] == "invalid_dpop_proof"
        assert "used before" in challenges(again)["DPoP"]["error_description"]


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"method": "GET"}, "invalid_dpop_proof"),
        ({"url": "http://127.0.0.1:8000/other"}, "invalid_dpop_proof"),
        ({"url": "http://evil.example.com/mcp"}, "invalid_dpop_proof"),
        ({"access_token": "plain-token"}, "invalid_dpop_proof"),
        ({"access_token": None}, "invalid_dpop_proof"),
        ({"issued_at": time.time() - 1000}, "invalid_dpop_proof"),
        ({"issued_at": time.time() + 1000}, "invalid_dpop_proof"),
        ({"key": DPoPKey.generate()}, "invalid_token"),
    ],
)
async def test_a_proof_of_something_else_does_not_get_in(changed: dict[str, Any], error: str) -> None:
    async with http_to(app()) as http:
        answer = await ask(http, "DPoP bound-token", proof(**changed))
        assert answer.status_code == 401
        assert challenges(answer)["DPoP"]["error"] == error
        assert challenges(answer)["DPoP"]["algs"].startswith("ES256 ")
        assert challenges(answer)["DPoP"]["resource_metadata"] == METADATA_URL
        assert "bound-token" not in answer.text + str(answer.headers)


@pytest.mark.parametrize("proofs", [[], ["nonsense"], ["ü"], [proof("a"), proof("b")]])
async def test_without_one_readable_proof_a_bound_token_does_not_get_in(proofs: list[str]) -> None:
    async with http_to(app()) as http:
        answer = await ask(http, "DPoP bound-token", *proofs)
        assert answer.status_code == 401
        assert challenges(answer)["DPoP"]["error"] == "invalid_dpop_proof"


async def test_a_token_that_is_bound_to_nothing_proves_nothing() -> None:
    async with http_to(app()) as http:
        answer = await ask(http, "DPoP plain-token", proof(access_token="plain-token"))
        assert answer.status_code == 401
        assert challenges(answer)["DPoP"]["error"] == "invalid_token"
        assert (await ask(http, "Bearer plain-token")).status_code == 200


async def test_an_unknown_token_gets_no_further_with_a_proof() -> None:
    async with http_to(app()) as http:
        answer = await ask(http, "DPoP unknown", proof(access_token="unknown"))
        assert answer.status_code == 401
        assert challenges(answer)["DPoP"]["error"] == "invalid_token"
        assert (await ask(http, "DPoP ")).status_code == 400


async def test_what_the_host_header_says_makes_no_proof_good() -> None:
    async with http_to(app()) as http:
        stolen = proof(url="http://localhost:8000/mcp")
        assert (await ask(http, "DPoP bound-token", stolen, host="localhost:8000")).status_code == 401


async def test_a_server_without_a_public_url_goes_by_the_request() -> None:
    async with http_to(app(resource_server_url=None)) as http:
        assert (await ask(http, "DPoP bound-token", proof(url=f"{RESOURCE}?x=1"), path="/mcp?y=2")).status_code == 200
        assert (await ask(http, "DPoP bound-token", proof("b", url="http://other/mcp"))).status_code == 401


async def test_a_server_behind_a_proxy_is_known_by_its_public_url() -> None:
    public = "https://api.example.com/tools/mcp"
    async with http_to(app(resource_server_url=public)) as http:
        assert (await ask(http, "DPoP bound-token", proof("a", url=public))).status_code == 200
        assert (await ask(http, "DPoP bound-token", proof("b", url=RESOURCE))).status_code == 401


async def test_clients_are_told_of_it_where_the_author_says_so() -> None:
    async with http_to(app()) as http:
        assert list(challenges(await ask(http, None))) == ["Bearer"]
        assert "dpop_bound_access_tokens_required" not in (await http.get(METADATA_URL)).json()
    async with http_to(app(DPoPSettings(algorithms=["ES256", "EdDSA"]))) as http:
        offered = challenges(await ask(http, None))
        assert offered["DPoP"] == {"resource_metadata": METADATA_URL, "scope": "read", "algs": "ES256 EdDSA"}
        assert offered["Bearer"] == {"resource_metadata": METADATA_URL, "scope": "read"}
        metadata = (await http.get(METADATA_URL)).json()
        assert metadata["dpop_signing_alg_values_supported"] == ["ES256", "EdDSA"]
        assert metadata["dpop_bound_access_tokens_required"] is False


async def test_a_server_may_take_bound_tokens_alone() -> None:
    async with http_to(app(DPoPSettings(required=True))) as http:
        assert list(challenges(await ask(http, None))) == ["DPoP"]
        refused = await ask(http, "Bearer plain-token")
        assert refused.status_code == 401
        assert "not bound to a key" in challenges(refused)["DPoP"]["error_description"]
        assert (await ask(http, "DPoP bound-token", proof())).status_code == 200
        assert (await http.get(METADATA_URL)).json()["dpop_bound_access_tokens_required"] is True


async def test_a_server_may_ask_for_its_nonce() -> None:
    async with http_to(app(DPoPSettings(require_nonce=True, nonce_secret="s" * 32))) as http:
        first = await ask(http, "DPoP bound-token", proof("a"))
        assert first.status_code == 401
        assert challenges(first)["DPoP"]["error"] == "use_dpop_nonce"
        assert first.headers["cache-control"] == "no-store"
        nonce = first.headers["dpop-nonce"]
        assert (await ask(http, "DPoP bound-token", proof("b", nonce=nonce))).status_code == 200
        assert (await ask(http, "DPoP bound-token", proof("c", nonce="made-up"))).status_code == 401
    async with http_to(app(DPoPSettings(require_nonce=True, nonce_secret="s" * 32))) as another:
        assert (await ask(another, "DPoP bound-token", proof("d", nonce=nonce))).status_code == 200
    async with http_to(app(DPoPSettings(require_nonce=True))) as stranger:
        assert (await ask(stranger, "DPoP bound-token", proof("e", nonce=nonce))).status_code == 401


async def test_a_secret_of_nonces_is_not_shown() -> None:
    assert "s" * 32 not in repr(DPoPSettings(nonce_secret="s" * 32))


async def test_missing_scopes_are_asked_for_in_the_scheme_of_the_request() -> None:
    async with http_to(app()) as http:
        weak = await ask(http, "DPoP weak-token", proof("a", access_token="weak-token"))
        assert weak.status_code == 403
        assert challenges(weak)["DPoP"]["error"] == "insufficient_scope"
        call = await ask(http, "DPoP bound-token", proof("b"), tool="put")
        assert call.status_code == 403
        assert challenges(call)["DPoP"]["scope"] == "read write"


async def test_nothing_secret_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with http_to(app(DPoPSettings(require_nonce=True))) as http:
        one = proof()
        await ask(http, "DPoP bound-token", one)
        await ask(http, "Bearer bound-token", one)
    assert "bound-token" not in caplog.text
    assert one not in caplog.text
