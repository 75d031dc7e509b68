"""Clients whose id is the URL of a document about themselves, which the authorization server fetches.

Whoever asks says which URL that is, so the server goes to none but public addresses, follows nowhere, and reads little.

Specification: basic/authorization/client-registration under "Client ID Metadata Documents", and
security-considerations under the same name; draft-ietf-oauth-client-id-metadata-document-00.
"""

import re
import socket
import ssl
import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import SplitResult, unquote, urlsplit

import anyio
from pydantic import ValidationError
from pydantic_core import from_json

from mcp.server.auth.client_assertions import has_keys
from mcp.server.auth.errors import RefusedRequest, stringify_pydantic_error
from mcp.server.auth.redirects import registration_problem
from mcp.shared._addresses import is_public_address
from mcp.shared.auth import OAuthClientInformationFull

if TYPE_CHECKING:
    import httpx2

    from mcp.server.auth.provider import OAuthAuthorizationServerProvider

__all__ = ["ClientDocuments", "find_client", "registered_itself"]

_SECONDS: Final = 5.0
"""How long a document may take."""

_MAX_SIZE: Final = 5 * 1024
"""The largest document, in bytes. Section 6.6 of the draft."""

_MOST_AT_ONCE: Final = 20
_MOST_KEPT: Final = 1000
_USUAL_LIFE: Final = 300
_LONGEST_LIFE: Final = 86400
_LONGEST_OUTAGE: Final = 3600
"""For how many seconds beyond its life a document is still used while its host cannot be reached."""

_MAX_AGE: Final = re.compile(r"max-age=(\d{1,9})")


class ClientDocuments:
    """Fetches documents, and keeps each for as long as its host says, a day at most.

    A provider that has one as its attribute `client_documents` serves such clients beside those that its
    `get_client()` knows, and the metadata of the server says so.

    Args:
        scopes: What these clients may ask for.
        trusted_hosts: The hosts whose documents are fetched; None for any.
        allow_private_addresses: Whether a document may be in a private network or on this machine.
        ssl_context: Decides which certificates are good; None for the usual ones.
    """

    def __init__(
        self,
        scopes: Sequence[str],
        *,
        trusted_hosts: Collection[str] | None = None,
        allow_private_addresses: bool = False,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._scopes = list(scopes)
        self._trusted_hosts = trusted_hosts
        self._allow_private = allow_private_addresses
        self._verify = True if ssl_context is None else ssl_context
        self._kept: dict[str, tuple[float, OAuthClientInformationFull]] = {}
        self._running = 0

    @property
    def has_trusted_hosts(self) -> bool:
        """Whether a document is read only from hosts that the operator has named."""
        return self._trusted_hosts is not None

    async def client(self, client_id: str) -> OAuthClientInformationFull | None:
        """The client that a document is about.

        Args:
            client_id: Its URL.

        Returns:
            None where the id is not such a URL.

        Raises:
            RefusedRequest: The document cannot be had, or is not in order.
        """
        if not client_id.startswith("https://"):
            return None
        until, client = self._kept.get(client_id, (0.0, None))
        if client is not None and until > time.monotonic():
            return client
        try:
            body, seconds = await self._fetch(client_id, self._checked(client_id))
        except _UnreachableError:
            # Its users should not have to sign in again because its host is down for a moment.
            if client is not None and until > time.monotonic() - _LONGEST_OUTAGE:
                return client
            raise
        client = _client(client_id, body, self._scopes)
        self._keep(client_id, time.monotonic() + seconds, client)
        return client

    def _keep(self, client_id: str, until: float, client: OAuthClientInformationFull) -> None:
        self._kept.pop(client_id, None)
        while len(self._kept) >= _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[client_id] = (until, client)

    def _checked(self, client_id: str) -> SplitResult:
        """The URL, if it may be a client's. Section 3 of the draft."""
        try:
            url = urlsplit(client_id)
            port = url.port
        except ValueError:
            raise _refused("it is not a URL") from None
        if not url.hostname or port == 0 or "@" in url.netloc or "#" in client_id or "\\" in client_id:
            raise _refused("it must have a host, and neither a user name nor a fragment")
        if url.path in ("", "/") or not {".", ".."}.isdisjoint(unquote(url.path).split("/")):
            raise _refused("it must have a path, without dots as segments")
        if self._trusted_hosts is not None and url.hostname not in self._trusted_hosts:
            raise _refused("its host is not one that this server trusts")
        return url

    async def _fetch(self, client_id: str, url: SplitResult) -> tuple[bytes, int]:
        """The document, and for how many seconds it may be kept."""
        import httpx2

        if self._running >= _MOST_AT_ONCE:
            raise _refused("too many documents are being fetched; try again later")
        self._running += 1
        try:
            # Each step has its own limit, which closes what it opened; this one is for a host that trickles.
            with anyio.fail_after(2 * _SECONDS):
                return await self._read_from_any(client_id, url, await self._addresses(url))
        except (OSError, TimeoutError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise _unreachable(f"its document cannot be fetched ({type(error).__name__})") from error
        finally:
            self._running -= 1

    async def _addresses(self, url: SplitResult) -> list[str]:
        """Where the host is. The connection goes to one of these, whatever a second look-up would say."""
        found = await anyio.getaddrinfo(url.hostname, url.port or 443, type=socket.SOCK_STREAM)
        addresses = [str(address[0]) for *_, address in found]
        if not self._allow_private and not all(map(is_public_address, addresses)):
            raise _refused("its host is not on the public network")
        return addresses

    async def _read_from_any(self, client_id: str, url: SplitResult, addresses: list[str]) -> tuple[bytes, int]:
        import httpx2

        for address in addresses[:-1]:
            try:
                return await self._read(client_id, url, address)
            except httpx2.ConnectError:
                continue
        return await self._read(client_id, url, addresses[-1])

    async def _read(self, client_id: str, url: SplitResult, address: str) -> tuple[bytes, int]:
        import httpx2

        # No proxy of the environment: it would look the host up once more, and by itself.
        http = httpx2.AsyncClient(verify=self._verify, timeout=_SECONDS, trust_env=False, follow_redirects=False)
        async with (
            http,
            http.stream(
                "GET",
                httpx2.URL(client_id).copy_with(host=address),
                # Not compressed, since what is small on the way may be large afterwards.
                headers={"Host": url.netloc, "Accept": "application/json", "Accept-Encoding": "identity"},
                extensions={"sni_hostname": url.hostname},
            ) as response,
        ):
            if response.status_code >= 500:
                raise _unreachable(f"its document was answered with status {response.status_code}")
            if response.status_code != 200:
                raise _refused(f"its document was answered with status {response.status_code}")
            return await _body(response), _life(response)


async def _body(response: "httpx2.Response") -> bytes:
    body = bytearray()
    chunks = response.aiter_raw()
    async for chunk in chunks:
        body += chunk
        if len(body) > _MAX_SIZE:
            # Closing the iterator would leave those inside it to the garbage collector. A cancelled read ends them all.
            with anyio.CancelScope(shield=True) as scope:
                scope.cancel()
                async for _ in chunks:
                    pass
            raise _refused(f"its document is larger than {_MAX_SIZE} bytes")
    return bytes(body)


def _life(response: "httpx2.Response") -> int:
    control: str = response.headers.get("cache-control", "").lower()
    if "no-store" in control or "no-cache" in control:
        return 0
    named = _MAX_AGE.search(control)
    return min(int(named[1]), _LONGEST_LIFE) if named else _USUAL_LIFE


def _client(client_id: str, body: bytes, scopes: list[str]) -> OAuthClientInformationFull:
    """The client, if its document is in order. Section 4.1 of the draft."""
    try:
        parsed = from_json(body, allow_inf_nan=False)
    except ValueError:
        raise _refused("its document is not JSON") from None
    if not isinstance(parsed, dict):
        raise _refused("its document is not a JSON object")
    document = cast("dict[str, Any]", parsed)
    if document.get("client_id") != client_id:
        raise _refused("its document is about another client_id")
    if "client_secret" in document or "client_secret_expires_at" in document:
        raise _refused("its document must not hold a secret")
    document = {"token_endpoint_auth_method": "none", "application_type": "native", **document}
    try:
        client = OAuthClientInformationFull.model_validate(document)
    except ValidationError as error:
        raise _refused(f"its document is not in order: {stringify_pydantic_error(error)}") from None
    _check(client, document)
    asked = scopes if client.scope is None else [scope for scope in client.scope.split() if scope in scopes]
    grants = [grant for grant in ("authorization_code", "refresh_token") if grant in client.grant_types]
    return client.model_copy(update={"scope": " ".join(asked), "grant_types": grants, "issuer": None})


def _check(client: OAuthClientInformationFull, document: dict[str, Any]) -> None:
    if not client.client_name or not client.redirect_uris:
        raise _refused("its document must have a client_name and redirect_uris")
    kind = "web" if client.application_type == "web" else "native"
    for uri in document["redirect_uris"]:
        problem = registration_problem(uri, kind)
        if problem is not None:
            raise _refused(f"its redirect URI '{uri}' cannot be used: {problem}")
    method = client.token_endpoint_auth_method
    if method != "none" and not (method == "private_key_jwt" and has_keys(client.jwks)):
        raise _refused("its token_endpoint_auth_method must be none, or private_key_jwt with its keys as jwks")


class _UnreachableError(RefusedRequest):
    """A document cannot be had now."""


def _refused(reason: str) -> RefusedRequest:
    return RefusedRequest(f"client_id: {reason}", "invalid_client")


def _unreachable(reason: str) -> RefusedRequest:
    return _UnreachableError(f"client_id: {reason}", "invalid_client")


async def find_client(
    provider: "OAuthAuthorizationServerProvider[Any, Any, Any]", client_id: str
) -> OAuthClientInformationFull | None:
    """A client that the provider knows, or that a document is about.

    Args:
        provider: The authorization server.
        client_id: The client's id.

    Returns:
        None where there is no such client.

    Raises:
        RefusedRequest: Its document cannot be had, or is not in order.
    """
    client = await provider.get_client(client_id)
    documents: ClientDocuments | None = getattr(provider, "client_documents", None)
    if client is not None or documents is None:
        return client
    return await documents.client(client_id)


def registered_itself(
    provider: "OAuthAuthorizationServerProvider[Any, Any, Any]", client: OAuthClientInformationFull
) -> bool:
    """Whether nobody but a client itself vouches for what it says.

    Args:
        provider: The authorization server.
        client: The client. Registration notes when it issued an id; a client that was registered by hand has no such
            note.
    """
    if client.client_id_issued_at is not None:
        return True
    documents: ClientDocuments | None = getattr(provider, "client_documents", None)
    return documents is not None and not documents.has_trusted_hosts and client.client_id.startswith("https://")
