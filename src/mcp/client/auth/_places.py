"""Where requests of a flow may go.

A server names its authorization server, and that names its endpoints. So each of these URLs is somebody else's word,
and is looked at before anything is sent to it.

Specification: basic/authorization/security-considerations under "Communication Security".
"""

import ipaddress
import socket
from typing import Final

import httpx2

from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared._addresses import is_public_address

__all__ = ["check_place", "is_local", "origin_of", "same_origin"]

_PRIVATE_NAMES: Final = (".local", ".localdomain", ".internal", ".home.arpa")
"""Names that exist in private networks alone. RFC 6762, section 3; RFC 8375."""


def origin_of(url: str | httpx2.URL) -> str:
    """Scheme, host and port of a URL: all that a text shows of one that may hold secrets."""
    parts = httpx2.URL(url)
    return f"{parts.scheme}://{parts.netloc.decode('ascii')}"


def same_origin(first: str | httpx2.URL, second: str | httpx2.URL) -> bool:
    """Whether two URLs have the same scheme, host and port. One that cannot be read has the origin of no other."""
    try:
        return origin_of(first) == origin_of(second)
    except httpx2.InvalidURL:
        return False


def is_local(url: str | httpx2.URL) -> bool:
    """Whether a URL names this machine, or by its address one in a private network. No name is looked up."""
    host = _host(httpx2.URL(url))
    if _is_loopback(host):
        return True
    address = _address(host)
    return address is not None and not is_public_address(str(address))


def _is_private_name(url: httpx2.URL) -> bool:
    host = _host(url)
    return _address(host) is None and ("." not in host or host.endswith(_PRIVATE_NAMES))


def check_place(
    url: str, what: str, home: str, *, requires_https: bool = True, closed_network: bool | None = None
) -> None:
    """Whether something may be sent to a URL that a peer has named.

    Args:
        url: The URL.
        what: What it is, as a noun, for the error.
        home: The URL of the server that the user connects to. Only if that is local, may others be.
        requires_https: Whether plain HTTP is refused to anything but this machine.
        closed_network: Whether names are good that mean something in a private network alone; None where they are if
            plain HTTP is.

    Raises:
        OAuthFlowError: It is no HTTP URL, is not secure, or leads into a private network from outside.
    """
    try:
        parts = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise OAuthFlowError(f"The {what} is no URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.host:
        raise OAuthFlowError(f"The {what} is {url!r}: expected a URL that starts with https://")
    if parts.userinfo:
        raise OAuthFlowError(f"The {what} at {origin_of(parts)} has a user name or a password in its URL")
    if closed_network is None:
        closed_network = not requires_https
    private = is_local(parts) or (not closed_network and _is_private_name(parts))
    if private and not is_local(home) and not _is_private_name(httpx2.URL(home)):
        raise OAuthFlowError(
            f"The {what} is {url!r}, in a private network, and {origin_of(home)} is not: nothing is sent there"
        )
    if requires_https and parts.scheme == "http" and not _is_loopback(_host(parts)):
        raise OAuthFlowError(f"The {what} is {url!r}: expected https://, since tokens and codes are secrets")


def _host(url: httpx2.URL) -> str:
    return url.raw_host.decode("ascii").rstrip(".").lower()


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return _short_address(host)
    return getattr(address, "ipv4_mapped", None) or address


def _short_address(host: str) -> ipaddress.IPv4Address | None:
    """What the resolver makes of `127.1`, `2130706433` and `0x7f000001`."""
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None
