"""What protects a server is whole, or there is no server."""

from typing import Any

import pytest
from protecting import Known, settings, token

from mcp.server import MCPServer, Server
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions

NO_SETTINGS = "^Cannot specify auth_server_provider or token_verifier without auth settings$"
NO_VERIFIER = "^Must specify either auth_server_provider or token_verifier when auth is enabled$"


class Empty(Known):
    """A verifier that is not true."""

    def __len__(self) -> int:
        return 0


WHOLE: dict[str, Any] = {"auth": settings(), "token_verifier": Known(), "auth_server_provider": object()}


def without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in WHOLE.items() if name not in names}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (without("token_verifier", "auth_server_provider"), NO_VERIFIER),
        (without("auth", "auth_server_provider"), NO_SETTINGS),
        (without("auth", "token_verifier"), NO_SETTINGS),
        (without("auth"), NO_SETTINGS),
    ],
)
def test_half_of_a_protection_is_refused_before_anything_is_served(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        MCPServer("half", **given)
    with pytest.raises(ValueError, match=text):
        Server("half").streamable_http_app(**given)


def test_two_that_decide_about_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^Cannot specify both auth_server_provider and token_verifier$"):
        MCPServer("two", **WHOLE)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"auth": "https://auth.example.com"}, r"^auth= takes AuthSettings\(.*\), got an object of type str$"),
        ({"auth": AuthSettings}, "got the class ModelMetaclass|got the class AuthSettings"),
        ({"token_verifier": object()}, r"^token_verifier= takes an object with `async def verify_token.*type object$"),
        ({"token_verifier": Known}, "got the class Known$"),
    ],
)
def test_what_is_of_a_wrong_type_is_refused(given: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        MCPServer("wrong", **{**without("auth_server_provider"), **given})


def test_settings_may_be_a_mapping_of_their_fields() -> None:
    fields: Any = {"issuer_url": "https://auth.example.com", "resource_server_url": None}
    mcp = MCPServer("mapped", auth=fields, token_verifier=Known())
    assert mcp.settings.auth == AuthSettings(issuer_url=fields["issuer_url"], resource_server_url=None)
    fields["issuer_url"] = "nowhere"
    with pytest.raises(ValueError, match="issuer_url"):
        MCPServer("mapped", auth=fields, token_verifier=Known())


def test_a_verifier_that_is_not_true_protects_as_well() -> None:
    app = MCPServer("empty", auth=settings(), token_verifier=Empty(token("t"))).streamable_http_app()
    assert [getattr(route, "path", None) for route in app.routes] == [
        "/mcp",
        "/.well-known/oauth-protected-resource/mcp",
    ]


def test_a_protection_that_is_taken_apart_later_serves_nothing() -> None:
    mcp = MCPServer("apart", auth=settings(), token_verifier=Known())
    mcp.settings.auth = None
    for build in (mcp.streamable_http_app, mcp.sse_app):
        with pytest.raises(ValueError, match=NO_SETTINGS):
            build()


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"requred_scopes": ["write"]}, "requred_scopes"),
        ({"dpop": {"require": True}}, r"dpop\.require"),
        ({"client_registration_options": {"enable": True}}, r"client_registration_options\.enable"),
        ({"revocation_options": {"enable": True}}, r"revocation_options\.enable"),
    ],
)
def test_a_misspelt_setting_is_refused_and_named(changed: dict[str, Any], where: str) -> None:
    fields: Any = {"issuer_url": "https://auth.example.com", "resource_server_url": None, **changed}
    for build in (lambda: AuthSettings(**fields), lambda: MCPServer("typo", auth=fields, token_verifier=Known())):
        with pytest.raises(ValueError, match=rf"(?m)^{where}$"):
            build()


@pytest.mark.parametrize("scope", ["a b", 'a"b', "a\\b", "", "a\r\nX-Injected: b", "é"])
def test_a_scope_that_no_token_could_carry_is_refused(scope: str) -> None:
    with pytest.raises(ValueError, match=r"required_scopes=: .* cannot be a scope"):
        settings(required_scopes=["read", scope])
    for name in ("valid_scopes", "default_scopes"):
        with pytest.raises(ValueError, match=rf"{name}=: .* cannot be a scope"):
            ClientRegistrationOptions.model_validate({"enabled": True, name: [scope]})


def test_a_resource_has_no_fragment() -> None:
    with pytest.raises(ValueError, match=r"a resource has no fragment in its URL .*, got '#part'"):
        settings(resource_server_url="https://mcp.example.com/mcp#part")
