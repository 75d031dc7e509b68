"""Where an authorization server may send a browser."""

import pytest
from pydantic import AnyUrl

from mcp.server.auth.provider import construct_redirect_uri
from mcp.server.auth.redirects import is_answer_at, redirect_uri_problem, registration_problem, same_uri
from mcp.shared.auth import InvalidRedirectUriError, OAuthClientInformationFull

REGISTERED = "https://shop.example.com/callback"


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,<script>",
        "data:text/html;base64,PHNjcmlwdD4=",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:https://shop.example.com/1",
        "view-source:https://shop.example.com",
        "intent://x#Intent;end",
        "https://shop.example.com/callback#token",
        "https://shop.example.com/callback#",
        "https://shop.example.com@evil.example.com/callback",
        "https://user:password@shop.example.com/callback",
        "https://shop.example.com\\@evil.example.com/callback",
        "https:\\\\evil.example.com",
        "https://shop.example.com/call back",
        "https://shop.example.com/callback\r\nSet-Cookie: a=b",
        "\x00https://shop.example.com",
        " https://shop.example.com/callback",
        "https://shop.example.com/\u202ecallback",
        "//evil.example.com/callback",
        "/callback",
        "callback",
        "",
        "https:///callback",
        "https://",
        "http://[::1",
    ],
)
def test_a_browser_is_never_sent_to(uri: str) -> None:
    assert redirect_uri_problem(uri) is not None
    assert registration_problem(uri, "native") is not None
    assert registration_problem(uri, "web") is not None


@pytest.mark.parametrize(
    ("uri", "native", "web"),
    [
        ("https://shop.example.com/callback?from=mcp", True, True),
        ("https://127.0.0.1/callback", True, True),
        ("http://127.0.0.1:3000/callback", True, False),
        ("http://localhost/callback", True, False),
        ("http://[::1]:3000/callback", True, False),
        ("com.example.shop:/callback", True, False),
        ("cursor://anysphere.cursor-mcp/oauth/callback", True, False),
        ("vscode://saoudrizwan.claude-dev/mcp-auth/callback", True, False),
        ("http://shop.example.com/callback", False, False),
        ("http://127.0.0.1.evil.example.com/callback", False, False),
        ("http://localhost.evil.example.com/callback", False, False),
        ("http://0.0.0.0/callback", False, False),
        ("http://192.168.0.1/callback", False, False),
    ],
)
def test_what_a_client_may_register_depends_on_what_it_is(uri: str, native: bool, web: bool) -> None:
    assert (registration_problem(uri, "native") is None, registration_problem(uri, "web") is None) == (native, web)


@pytest.mark.parametrize(
    "scheme",
    [
        "afp",
        "chrome-extension",
        "coap",
        "feed",
        "gopher",
        "irc",
        "itms",
        "ldap",
        "magnet",
        "moz-extension",
        "ms-msdt",
        "ms-word",
        "news",
        "onenote",
        "search-ms",
        "shell",
        "shop",
        "sip",
        "slack",
        "smb",
        "ssh",
        "steam",
        "telnet",
        "vnc",
        "zoommtg",
    ],
)
def test_a_client_registers_no_scheme_that_a_system_may_act_on(scheme: str) -> None:
    assert registration_problem(f"{scheme}://shop/callback", "native") is not None
    assert registration_problem(f"{scheme.upper()}:callback", "native") is not None


@pytest.mark.parametrize("uri", ["ms-msdt:/id", "search-ms:query=x", "shell:startup", "feed:javascript:alert(1)"])
def test_what_starts_programs_is_not_used_whoever_registered_it(uri: str) -> None:
    assert "its scheme must not be" in (redirect_uri_problem(uri) or "")


def test_an_operator_says_which_schemes_without_a_dot_may_be_registered() -> None:
    assert registration_problem("shop://callback", "native", ["shop"]) is None
    assert registration_problem("cursor://callback", "native", ["shop"]) is not None
    assert registration_problem("com.example.shop:/callback", "native", []) is None
    assert registration_problem("shop://callback", "web", ["shop"]) is not None
    assert registration_problem("javascript:alert(1)", "native", ["javascript"]) is not None


@pytest.mark.parametrize(
    "asked",
    [
        "https://evil.example.com/callback",
        "https://shop.example.com.evil.example.com/callback",
        "https://evil.example.com/?https://shop.example.com/callback",
        "https://shop.example.com:8443/callback",
        "http://shop.example.com/callback",
        "https://shop.example.com/callback/",
        "https://shop.example.com/callback/more",
        "https://shop.example.com/Callback",
        "https://shop.example.com/callback?more=1",
        "https://shop.example.com/callback#more",
        "https://user@shop.example.com/callback",
        "https://shop.example.com",
    ],
)
def test_a_redirect_uri_that_is_not_quite_a_registered_one_is_refused(asked: str) -> None:
    client = OAuthClientInformationFull(client_id="shop", redirect_uris=[AnyUrl(REGISTERED)])
    with pytest.raises(InvalidRedirectUriError, match="not registered for client"):
        client.validate_redirect_uri(AnyUrl(asked))


def test_only_the_port_of_a_loopback_address_may_be_another_one() -> None:
    uris = [AnyUrl("http://127.0.0.1:3000/callback"), AnyUrl("http://localhost/callback")]
    client = OAuthClientInformationFull(client_id="shop", redirect_uris=uris)
    for asked in ("http://127.0.0.1:50123/callback", "http://127.0.0.1/callback", "http://localhost:50123/callback"):
        assert client.validate_redirect_uri(AnyUrl(asked)) == AnyUrl(asked)
    for asked in ("http://127.0.0.1:50123/other", "http://[::1]:3000/callback", "https://localhost:1/callback"):
        with pytest.raises(InvalidRedirectUriError):
            client.validate_redirect_uri(AnyUrl(asked))


def test_the_port_of_a_web_application_is_the_registered_one() -> None:
    uris = [AnyUrl("http://127.0.0.1:3000/callback")]
    client = OAuthClientInformationFull(client_id="shop", redirect_uris=uris, application_type="web")
    with pytest.raises(InvalidRedirectUriError):
        client.validate_redirect_uri(AnyUrl("http://127.0.0.1:3001/callback"))


def test_an_empty_path_is_the_same_as_a_slash() -> None:
    client = OAuthClientInformationFull.model_validate({"client_id": "shop", "redirect_uris": ["https://shop.example"]})
    assert str(client.validate_redirect_uri(AnyUrl("https://shop.example/"))) == "https://shop.example/"
    assert same_uri("https://shop.example", AnyUrl("https://shop.example/"))
    assert not same_uri("https://shop.example", "https://shop.example/callback")


def test_a_client_with_one_redirect_uri_need_not_name_it_and_others_must() -> None:
    one = OAuthClientInformationFull(client_id="shop", redirect_uris=[AnyUrl(REGISTERED)])
    assert one.validate_redirect_uri(None) == AnyUrl(REGISTERED)
    for uris in (None, [AnyUrl(REGISTERED), AnyUrl(f"{REGISTERED}/2")]):
        client = OAuthClientInformationFull(client_id="shop", redirect_uris=uris)
        with pytest.raises(InvalidRedirectUriError, match="must be specified"):
            client.validate_redirect_uri(None)


@pytest.mark.parametrize(
    ("location", "is_answer"),
    [
        (f"{REGISTERED}?code=1", True),
        (f"{REGISTERED}?state=2&code=1", True),
        (f"{REGISTERED}?error=access_denied", True),
        (REGISTERED, False),
        (f"{REGISTERED}?barcode=1", False),
        ("https://as.example.com/sign-in?code=1", False),
        ("https://shop.example.com/?code=1", False),
    ],
)
def test_an_answer_is_told_from_a_page_that_asks(location: str, is_answer: bool) -> None:
    assert is_answer_at(location, AnyUrl(REGISTERED)) is is_answer


def test_the_query_of_a_redirect_uri_stays() -> None:
    built = construct_redirect_uri("https://shop.example.com/?a=1&b=", code="x y", state=None)
    assert built == "https://shop.example.com/?a=1&b=&code=x+y"
