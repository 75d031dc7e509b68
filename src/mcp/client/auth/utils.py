"""The rules that an OAuth client goes by, as functions. Their homes are the modules they are imported from here."""

from mcp.client.auth._browser import (
    validate_authorization_response_iss,
)
from mcp.client.auth._challenges import (
    extract_field_from_www_auth,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
)
from mcp.client.auth._discovery import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    create_oauth_metadata_request,
    handle_auth_metadata_response,
    handle_protected_resource_response,
    issuers_match,
    validate_metadata_issuer,
)
from mcp.client.auth._registration import (
    create_client_info_from_metadata_url,
    create_client_registration_request,
    credentials_match_issuer,
    handle_registration_response,
    is_valid_client_metadata_url,
    should_use_client_metadata_url,
)
from mcp.client.auth._scopes import (
    get_client_metadata_scopes,
    union_scopes,
)
from mcp.client.auth._sending import (
    redirect_note,
)
from mcp.client.auth._tokens import (
    handle_token_response_scopes,
)
from mcp.lazy import lazy_exports

__all__ = [
    "build_oauth_authorization_server_metadata_discovery_urls",
    "build_protected_resource_metadata_discovery_urls",
    "create_client_info_from_metadata_url",
    "create_client_registration_request",
    "create_oauth_metadata_request",
    "credentials_match_issuer",
    "extract_field_from_www_auth",
    "extract_resource_metadata_from_www_auth",
    "extract_scope_from_www_auth",
    "get_client_metadata_scopes",
    "handle_auth_metadata_response",
    "handle_protected_resource_response",
    "handle_registration_response",
    "handle_token_response_scopes",
    "is_valid_client_metadata_url",
    "issuers_match",
    "redirect_note",
    "should_use_client_metadata_url",
    "union_scopes",
    "validate_authorization_response_iss",
    "validate_metadata_issuer",
]

# Names that programs import from here although they are at home elsewhere.
__getattr__, _ = lazy_exports(
    __name__,
    {
        "LATEST_PROTOCOL_VERSION": "mcp.types.version",
        "MCP_PROTOCOL_VERSION_HEADER": "mcp.protocol.headers",
        "OAuthFlowError": "mcp.client.auth.exceptions",
        "OAuthRegistrationError": "mcp.client.auth.exceptions",
        "OAuthTokenError": "mcp.client.auth.exceptions",
        "OAuthClientInformationFull": "mcp.shared.auth",
        "OAuthClientMetadata": "mcp.shared.auth",
        "OAuthMetadata": "mcp.shared.auth",
        "OAuthToken": "mcp.shared.auth",
        "ProtectedResourceMetadata": "mcp.shared.auth",
    },
)
