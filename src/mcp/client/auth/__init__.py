"""Authorization at the client: where tokens are kept, and the provider that gets them, which is not built yet."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.client.auth.oauth2 import OAuthClientProvider as OAuthClientProvider
    from mcp.client.auth.oauth2 import TokenStorage as TokenStorage
    from mcp.shared.auth import AuthorizationCodeResult as AuthorizationCodeResult

__all__ = ["AuthorizationCodeResult", "OAuthClientProvider", "TokenStorage"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "AuthorizationCodeResult": "mcp.shared.auth",
        "OAuthClientProvider": "mcp.client.auth.oauth2",
        "TokenStorage": "mcp.client.auth.oauth2",
    },
)
