"""Clients whose id is the URL of a document about themselves, which the authorization server fetches.

Whoever asks says which URL that is, so the server goes to none but public addresses, follows nowhere, and reads little.

Specification: basic/authorization/client-registration under "Client ID Metadata Documents", and
security-considerations under the same name; draft-ietf-oauth-client-id-metadata-document-00.
"""

import re
import socket
import ssl
import time
from collections import Counter
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

import anyio

from mcp.server.auth.client_document_contents import (
    UnreachableDocumentError,
    client_of,
    refused_document,
    unreachable_document,
)
from mcp.server.auth.errors import RefusedRequest
from mcp.server.auth.redirects import PROGRAM_SCHEMES
from mcp.shared._addresses import is_public_address, network_of
from mcp.shared._handshakes import HandshakeTrace
from mcp.shared.auth import OAuthClientInformationFull

if TYPE_CHECKING:
    import httpx2

    from mcp.server.auth.provider import OAuthAuthorizationServerProvider

__all__ = ["ClientDocuments", "find_client", "registered_itself"]

_SECONDS: Final = 5.0
"""How long a document may take."""

_MAX_SIZE: Final = 5 * 1024
"""The largest document, in bytes. Section 6.6 of the draft."""

_MOST_AT_ONCE: Final = 100
_MOST_IN_ONE_NETWORK: Final = 10
_MOST_KEPT: Final = 1000
_USUAL_LIFE: Final = 300
_LONGEST_LIFE: Final = 86400
_LONGEST_OUTAGE: Final = 3600
"""For how many seconds beyond its life a document is still used while its host cannot be reached."""

_MAX_AGE: Final = re.compile(r"max-age=(\d{1,9})")


@dataclass
class _Flight:
    """A document that is being fetched, for all who ask for it meanwhile."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    outcome: OAuthClientInformationFull | RefusedRequest | None = None


class ClientDocuments:
    """Fetches documents, and keeps each for as long as its host says, a day at most.

    A provider that has one as its attribute `client_documents` serves such clients beside those that its
    `get_client()` knows, and the metadata of the server says so.

    Args:
        scopes: What these clients may ask for.
        trusted_hosts: The hosts whose documents are fetched; None for any.
        allow_private_addresses: Whether a document may be in a private network or on this machine.
        ssl_context: Decides which certificates are good; None for the usual ones.
        program_schemes: As in `ClientRegistrationOptions`.
    """

    def __init__(
        self,
        scopes: Sequence[str],
        *,
        trusted_hosts: Collection[str] | None = None,
        allow_private_addresses: bool = False,
        ssl_context: ssl.SSLContext | None = None,
        program_schemes: Collection[str] = PROGRAM_SCHEMES,
    ) -> None:
        self._scopes = list(scopes)
        self._trusted_hosts = trusted_hosts
        self._allow_private = allow_private_addresses
        self._verify = True if ssl_context is None else ssl_context
        self._program_schemes = program_schemes
        self._kept: dict[str, tuple[float, OAuthClientInformationFull]] = {}
        self._flights: dict[str, _Flight] = {}
        self._running: Counter[str] = Counter()

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
        flight = self._flights.setdefault(client_id, _Flight())
        try:
            async with flight.lock:
                if flight.outcome is None:
                    flight.outcome = await self._outcome(client_id)
        finally:
            # Whoever comes after the outcome begins anew; who is cancelled before it leaves the fetch to who waits.
            if self._flights.get(client_id) is flight and (flight.outcome or not flight.lock.locked()):
                del self._flights[client_id]
        if isinstance(flight.outcome, RefusedRequest):
            raise RefusedRequest(flight.outcome.description, flight.outcome.error) from flight.outcome
        return flight.outcome

    async def _outcome(self, client_id: str) -> OAuthClientInformationFull | RefusedRequest:
        try:
            return await self._fetched(client_id)
        except RefusedRequest as refused:
            return refused

    async def _fetched(self, client_id: str) -> OAuthClientInformationFull:
        until, client = self._kept.get(client_id, (0.0, None))
        try:
            body, seconds = await self._fetch(client_id, self._checked(client_id))
        except UnreachableDocumentError:
            # Its users should not have to sign in again because its host is down for a moment.
            if client is not None and until > time.monotonic() - _LONGEST_OUTAGE:
                return client
            raise
        client = client_of(client_id, body, self._scopes, self._program_schemes)
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
            raise refused_document("it is not a URL") from None
        if not url.hostname or port == 0 or "@" in url.netloc or "#" in client_id or "\\" in client_id:
            raise refused_document("it must have a host, and neither a user name nor a fragment")
        if url.path in ("", "/") or not {".", ".."}.isdisjoint(unquote(url.path).split("/")):
            raise refused_document("it must have a path, without dots as segments")
        if self._trusted_hosts is not None and url.hostname not in self._trusted_hosts:
            raise refused_document("its host is not one that this server trusts")
        return url

    async def _fetch(self, client_id: str, url: SplitResult) -> tuple[bytes, int]:
        """The document, and for how many seconds it may be kept."""
        import httpx2

        try:
            # Each step has its own limit; this one is for a host that trickles.
            with anyio.fail_after(2 * _SECONDS), self._one_of("everywhere", _MOST_AT_ONCE):
                return await self._read_from_any(client_id, url, await self._addresses(url))
        except (OSError, TimeoutError, UnicodeError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unreachable_document(f"its document cannot be fetched ({type(error).__name__})") from error

    @contextmanager
    def _one_of(self, place: str, most: int) -> Generator[None, None, None]:
        """Refuses what would be more at once in one place: slow hosts must not keep others from being asked."""
        if self._running[place] >= most:
            raise unreachable_document("too many documents are being fetched; try again later")
        self._running[place] += 1
        try:
            yield
        finally:
            self._running[place] -= 1
            if not self._running[place]:
                del self._running[place]

    async def _addresses(self, url: SplitResult) -> list[str]:
        """Where the host is. The connection goes to one of these, whatever a second look-up would say."""
        found = await anyio.getaddrinfo(url.hostname, url.port or 443, type=socket.SOCK_STREAM)
        addresses = [str(address[0]) for *_, address in found]
        if not self._allow_private and not all(map(is_public_address, addresses)):
            raise refused_document("its host is not on the public network")
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
        with self._one_of(network_of(address), _MOST_IN_ONE_NETWORK):
            async with (
                http,
                http.stream(
                    "GET",
                    httpx2.URL(client_id).copy_with(host=address),
                    # Not compressed, since what is small on the way may be large afterwards.
                    headers={"Host": url.netloc, "Accept": "application/json", "Accept-Encoding": "identity"},
                    extensions={"sni_hostname": url.hostname, "trace": HandshakeTrace()},
                ) as response,
            ):
                if response.status_code >= 500:
                    raise unreachable_document(f"its document was answered with status {response.status_code}")
                if response.status_code != 200:
                    raise refused_document(f"its document was answered with status {response.status_code}")
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
            raise refused_document(f"its document is larger than {_MAX_SIZE} bytes")
    return bytes(body)


def _life(response: "httpx2.Response") -> int:
    control: str = response.headers.get("cache-control", "").lower()
    if "no-store" in control or "no-cache" in control:
        return 0
    named = _MAX_AGE.search(control)
    return min(int(named[1]), _LONGEST_LIFE) if named else _USUAL_LIFE


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
