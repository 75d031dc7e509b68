"""Where requests of a flow may go."""

import pytest

from mcp.client.auth import OAuthFlowError
from mcp.client.auth._places import check_place, is_local, same_origin

HOME = "https://mcp.example.com/mcp"


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "shop.localhost",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "[fe80::1]",
        "[fd00::1]",
        "[::ffff:10.0.0.1]",
        "100.64.0.1",
        "224.0.0.1",
        "[ff02::1]",
        "[::127.0.0.1]",
        "[64:ff9b::a9fe:a9fe]",
        "[64:ff9b:1::a00:1]",
        "[2002:7f00:1::]",
        "[2001:0:0:0:0:0:f5ff:fffe]",
    ],
)
def test_an_address_in_a_private_network_is_local(host: str) -> None:
    assert is_local(f"http://{host}:8000/x")
    with pytest.raises(OAuthFlowError, match="in a private network"):
        check_place(f"https://{host}/x", "token_endpoint", HOME)


@pytest.mark.parametrize(
    "host", ["example.com", "localhost.example.com", "10.example.com", "8.8.8.8", "[2600::1]", "[64:ff9b::808:808]"]
)
def test_any_other_host_is_not(host: str) -> None:
    assert not is_local(f"http://{host}/x")
    check_place(f"https://{host}/x", "token_endpoint", HOME)


@pytest.mark.parametrize("host", ["intranet", "printer.local", "metadata.google.internal.", "NAS.home.arpa"])
def test_a_server_outside_cannot_name_a_host_whose_name_means_something_inside_alone(host: str) -> None:
    url = f"https://{host}/x"
    with pytest.raises(OAuthFlowError, match="in a private network"):
        check_place(url, "token_endpoint", HOME)
    with pytest.raises(OAuthFlowError, match="in a private network"):
        check_place(url, "metadata", HOME, requires_https=False, closed_network=False)
    check_place(url, "token_endpoint", HOME, requires_https=False)
    check_place(url, "token_endpoint", "https://mcp.internal/mcp")


def test_local_servers_may_name_each_other() -> None:
    check_place("http://127.0.0.1:9000/token", "token_endpoint", "http://localhost:8000/mcp")
    check_place("https://10.1.2.3/token", "token_endpoint", "https://192.168.0.1/mcp")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://as.example.com/token", "expected https://"),
        ("ftp://as.example.com/token", "expected a URL that starts with https://"),
        ("/token", "expected a URL that starts with https://"),
        ("https:///token", "expected a URL that starts with https://"),
        ("https://as.example.com:port/token", "is no URL"),
        ("https://user:word@as.example.com/token", "has a user name or a password"),
        ("file:///etc/passwd", "expected a URL that starts with https://"),
    ],
)
def test_other_urls_are_refused(url: str, problem: str) -> None:
    with pytest.raises(OAuthFlowError, match=problem) as raised:
        check_place(url, "token_endpoint", HOME)
    assert "token_endpoint" in str(raised.value)
    assert "word" not in str(raised.value).replace("password", "")


def test_plain_http_can_be_allowed() -> None:
    check_place("http://as.internal/token", "token_endpoint", HOME, requires_https=False)


def test_origins_differ_by_scheme_host_and_port() -> None:
    assert same_origin("https://a.example.com/x", "https://A.example.com:443/y?z")
    assert not same_origin("https://a.example.com", "http://a.example.com")
    assert not same_origin("https://a.example.com", "https://a.example.com:8443")
    assert not same_origin("https://a.example.com", "https://b.example.com")
    assert not same_origin("https://a.example.com", "https://a.example.com:port")
