"""Authorization at the client: getting tokens for a protected server, and keeping them."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.client.auth.exceptions import OAuthFlowError as OAuthFlowError
    from mcp.client.auth.exceptions import OAuthRegistrationError as OAuthRegistrationError
    from mcp.client.auth.exceptions import OAuthTokenError as OAuthTokenError
    from mcp.client.auth.oauth2 import OAuthClientProvider as OAuthClientProvider
    from mcp.client.auth.oauth2 import PKCEParameters as PKCEParameters
    from mcp.client.auth.oauth2 import TokenStorage as TokenStorage
    from mcp.shared.auth import AuthorizationCodeResult as AuthorizationCodeResult

__all__ = [
    "AuthorizationCodeResult",
    "OAuthClientProvider",
    "OAuthFlowError",
    "OAuthRegistrationError",
    "OAuthTokenError",
    "PKCEParameters",
    "TokenStorage",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "AuthorizationCodeResult": "mcp.shared.auth",
        "OAuthClientProvider": "mcp.client.auth.oauth2",
        "OAuthFlowError": "mcp.client.auth.exceptions",
        "OAuthRegistrationError": "mcp.client.auth.exceptions",
        "OAuthTokenError": "mcp.client.auth.exceptions",
        "PKCEParameters": "mcp.client.auth.oauth2",
        "TokenStorage": "mcp.client.auth.oauth2",
    },
)
