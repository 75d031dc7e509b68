"""The models of authorization, as a client makes and reads them."""

import pytest
from pydantic import ValidationError

from mcp.client.auth import AuthorizationCodeResult
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken


def test_a_token_type_may_be_in_any_case() -> None:
    assert OAuthToken.model_validate({"access_token": "t", "token_type": "bearer"}).token_type == "Bearer"
    assert OAuthToken(access_token="t").token_type == "Bearer"
    with pytest.raises(ValidationError, match="token_type"):
        OAuthToken.model_validate({"access_token": "t", "token_type": "mac"})


def test_a_client_says_where_its_users_come_back_to() -> None:
    with pytest.raises(ValidationError, match="redirect_uris"):
        OAuthClientMetadata(redirect_uris=[])
    metadata = OAuthClientMetadata.model_validate({"redirect_uris": ["http://localhost"], "client_name": "Shop"})
    assert metadata.model_dump(mode="json", exclude_none=True) == {
        "redirect_uris": ["http://localhost"],
        "response_types": ["code"],
        "client_name": "Shop",
        "grant_types": ["authorization_code", "refresh_token"],
        "application_type": "native",
    }


def test_what_a_server_answers_keeps_what_it_decided() -> None:
    client = OAuthClientInformationFull.model_validate(
        {"client_id": "c", "token_endpoint_auth_method": "tls_client_auth"}
    )
    assert client.token_endpoint_auth_method == "tls_client_auth"
    assert client.grant_types == ["authorization_code", "refresh_token"]
    assert AuthorizationCodeResult(code="x").iss is None
