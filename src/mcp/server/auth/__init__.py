"""Authorization at the server: protecting an endpoint, and being the authorization server.

Specification: basic/authorization.
"""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.server.auth.introspection import IntrospectionVerifier as IntrospectionVerifier
    from mcp.server.auth.jwt_verifier import JWTVerifier as JWTVerifier
    from mcp.server.auth.provider import VerifierUnavailable as VerifierUnavailable

__all__ = ["IntrospectionVerifier", "JWTVerifier", "VerifierUnavailable"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "IntrospectionVerifier": "mcp.server.auth.introspection",
        "JWTVerifier": "mcp.server.auth.jwt_verifier",
        "VerifierUnavailable": "mcp.server.auth.provider",
    },
)
