"""Which addresses are on the public network, and not in a private one or on this machine.

IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890); RFC 6052 (NAT64), RFC 3056 (6to4).
"""

import ipaddress
from typing import Final

__all__ = ["is_public_address", "network_of"]

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")

# The standard library counts these as global, or does so in some versions.
_NOT_PUBLIC: Final = (
    ipaddress.IPv4Network("192.88.99.0/24"),
    ipaddress.IPv6Network("::/96"),
    ipaddress.IPv6Network("64:ff9b:1::/48"),
    ipaddress.IPv6Network("fec0::/10"),
)


def is_public_address(address: str) -> bool:
    """Whether an address is on the public network, and so is every address that it leads to by translation.

    Args:
        address: An IPv4 or IPv6 address.

    Raises:
        ValueError: It is no address.
    """
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = _inner(parsed)
        if inner is not None:
            return is_public_address(str(inner))
    if parsed.is_multicast or any(parsed in network for network in _NOT_PUBLIC):
        return False
    return parsed.is_global


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that packets for an IPv6 address may come out at."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def network_of(address: str) -> str:
    """What one party has at least, where it has an address: that of IPv4, or 64 bits of that of IPv6.

    Args:
        address: An IPv4 or IPv6 address.

    Raises:
        ValueError: It is no address.
    """
    plain = address.partition("%")[0]
    return str(ipaddress.ip_network(f"{plain}/64" if ":" in plain else plain, strict=False))
