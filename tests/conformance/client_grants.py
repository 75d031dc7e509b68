"""How the client under test gets in where no user is asked: the scenarios of the extensions."""

from collections.abc import Callable
from typing import Any

import httpx2

from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
    static_assertion_provider,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.auth.extensions.token_exchange import identity_provider_exchange
from mcp.client.auth.extensions.workload_identity import WorkloadIdentityOAuthProvider
from mcp.client.auth.oauth2 import TokenStorage
from mcp.client.auth.utils import build_protected_resource_metadata_discovery_urls

__all__ = ["GRANTS"]

Context = dict[str, Any]


def issuer_of(url: str) -> str:
    """The authorization server that a server names. Programs are configured with it; the suite does not say."""
    for place in build_protected_resource_metadata_discovery_urls(None, url):
        response = httpx2.get(place)
        if response.status_code == 200:
            return str(response.json()["authorization_servers"][0])
    raise LookupError(f"{url} names no authorization server")


def with_secret(url: str, storage: TokenStorage, context: Context) -> httpx2.Auth:
    return ClientCredentialsOAuthProvider(
        url, storage, context["client_id"], context["client_secret"], issuer=issuer_of(url)
    )


def with_key(url: str, storage: TokenStorage, context: Context) -> httpx2.Auth:
    client_id = context["client_id"]
    parameters = SignedJWTParameters(
        issuer=client_id,
        subject=client_id,
        signing_key=context["private_key_pem"],
        signing_algorithm=context["signing_algorithm"],
    )
    assertions = parameters.create_assertion_provider()
    return PrivateKeyJWTOAuthProvider(url, storage, client_id, assertions, issuer=issuer_of(url))


def managed_by_an_enterprise(url: str, storage: TokenStorage, context: Context) -> httpx2.Auth:
    async def signed_in() -> str:
        return context["idp_id_token"]

    return IdentityAssertionOAuthProvider(
        url,
        storage,
        context["client_id"],
        context["client_secret"],
        issuer=issuer_of(url),
        assertion_provider=identity_provider_exchange(
            context["idp_token_endpoint"], client_id=context["idp_client_id"], subject_token=signed_in
        ),
        token_endpoint_auth_method="client_secret_basic",
    )


def as_a_workload(url: str, storage: TokenStorage, context: Context) -> httpx2.Auth:
    return WorkloadIdentityOAuthProvider(
        url,
        storage,
        static_assertion_provider(context["valid_jwt"]),
        client_id=context["client_id"],
        issuer=issuer_of(url),
    )


GRANTS: dict[str, Callable[[str, TokenStorage, Context], httpx2.Auth]] = {
    "auth/client-credentials-basic": with_secret,
    "auth/client-credentials-jwt": with_key,
    "auth/enterprise-managed-authorization": managed_by_an_enterprise,
    "auth/wif-jwt-bearer": as_a_workload,
}
