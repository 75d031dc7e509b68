"""What docs/client/identity-assertion.md says about the authorization server that takes assertions."""

from types import ModuleType
from typing import Any

import httpx2
from upstream_statements import anew, states

SERVER = "identity_assertion/tutorial002"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


async def answers_of(app: Any, *requests: tuple[str, str, dict[str, str]]) -> list[Any]:
    """The answers to requests at the authorization server: status and document."""
    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="https://auth.example.com")
    async with http:
        answers = [await http.request(verb, path, data=form) for verb, path, form in requests]
    return [(answer.status_code, answer.json()) for answer in answers]


def exchange(assertion: str, **changed: str) -> tuple[str, str, dict[str, str]]:
    """The one request of the grant, as the page shows it."""
    form = {
        "grant_type": JWT_BEARER,
        "assertion": assertion,
        "client_id": "finance-agent",
        "resource": "http://localhost:8001/mcp",
        "scope": "notes:read",
        "client_secret": "finance-agent-secret",
        **changed,
    }
    return "POST", "/token", form


def assertion(audience: str = "https://auth.example.com/", resource: str = "http://localhost:8001/mcp") -> str:
    """What the identity provider of the page's client signs."""
    return anew("identity_assertion/tutorial001").idp_issue_id_jag("alice@example.com", audience, resource)


@states(
    SERVER,
    "the metadata names the issuer with the slash, the grant and its profile",
    ["https://auth.example.com/", True, ["urn:ietf:params:oauth:grant-profile:id-jag"]],
)
async def _(program: ModuleType) -> object:
    ((_, said),) = await answers_of(program.auth_app, ("GET", "/.well-known/oauth-authorization-server", {}))
    grants = said["grant_types_supported"]
    return [said["issuer"], JWT_BEARER in grants, said["authorization_grant_profiles_supported"]]


@states(
    SERVER,
    "the whole grant is one POST /token, and what it returns carries no refresh token",
    (200, {"token_type": "Bearer", "expires_in": 300, "scope": "notes:read"}),
)
async def _(program: ModuleType) -> object:
    ((status, tokens),) = await answers_of(program.auth_app, exchange(assertion()))
    issued = await program.provider.load_access_token(tokens.pop("access_token"))
    assert (issued.subject, issued.resource) == ("alice@example.com", program.MCP_SERVER)
    return status, tokens


@states(SERVER, "an assertion is accepted once", [200, (400, "invalid_grant")])
async def _(program: ModuleType) -> object:
    signed = assertion()
    (first, _), (second, refusal) = await answers_of(program.auth_app, exchange(signed), exchange(signed))
    return [first, (second, refusal["error"])]


@states(
    SERVER,
    "a bad assertion is invalid_grant, another resource invalid_target",
    ["invalid_grant", "invalid_grant", "invalid_target"],
)
async def _(program: ModuleType) -> object:
    answers = await answers_of(
        program.auth_app,
        exchange("x.y.z"),
        exchange(assertion(audience="https://other.example.com/")),
        exchange(assertion(resource="https://other.example.com/mcp")),
    )
    return [refusal["error"] for _, refusal in answers]


@states(SERVER, "the client is authenticated before the hook runs", (401, "invalid_client"))
async def _(program: ModuleType) -> object:
    ((status, refusal),) = await answers_of(program.auth_app, exchange(assertion(), client_secret="guessed"))
    return status, refusal["error"]


@states(SERVER, "switched off, /token answers unsupported_grant_type", "unsupported_grant_type")
async def _(program: ModuleType) -> object:
    from pydantic import AnyHttpUrl
    from starlette.applications import Starlette

    routes = program.create_auth_routes(program.provider, issuer_url=AnyHttpUrl(program.ISSUER))
    ((_, refusal),) = await answers_of(Starlette(routes=routes), exchange(assertion()))
    return refusal["error"]
