"""Which addresses are on the public network."""

import pytest

from mcp.shared._addresses import is_public_address, network_of


@pytest.mark.parametrize(
    "address",
    ["93.184.215.14", "2606:2800:21f::1", "::ffff:93.184.215.14", "64:ff9b::5db8:d70e", "2002:5db8:d70e::1"],
)
def test_an_address_is_public(address: str) -> None:
    assert is_public_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "127.0.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.88.99.1",
        "192.168.0.1",
        "224.0.0.1",
        "239.255.255.250",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2001::1",
        "2002:7f00:1::1",
        "2002:c0a8:1::",
        "fc00::1",
        "fe80::1",
        "fe80::1%1",
        "fec0::1",
        "ff02::1",
        "ff0e::1",
    ],
)
def test_an_address_is_not_public(address: str) -> None:
    assert not is_public_address(address)


def test_what_is_no_address_is_an_error() -> None:
    with pytest.raises(ValueError, match="does not appear to be"):
        is_public_address("localhost")


def test_an_address_of_ipv6_is_one_of_many_of_the_same_party() -> None:
    assert network_of("93.184.215.14") == "93.184.215.14/32"
    assert network_of("2606:2800:21f:1::5") == network_of("2606:2800:21f:1:2::6") == "2606:2800:21f:1::/64"
    assert network_of("fe80::1%1") == "fe80::/64"
