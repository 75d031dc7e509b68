"""The documents that a client reads before it has a token.

Specification: basic/authorization under discovery; RFC 8414 section 3.2, RFC 9728 section 3.2.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mcp.server.auth.json_response import PydanticJSONResponse
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["MetadataHandler", "ProtectedResourceMetadataHandler"]

_KEEP_AN_HOUR: Final = {"Cache-Control": "public, max-age=3600"}


@dataclass
class MetadataHandler:
    """Says what the authorization server is.

    Attributes:
        metadata: The document.
    """

    metadata: OAuthMetadata

    async def handle(self, request: "Request") -> "Response":
        """Answers a request for the document."""
        return PydanticJSONResponse(self.metadata, headers=_KEEP_AN_HOUR)


@dataclass
class ProtectedResourceMetadataHandler:
    """Says what the protected resource is.

    Attributes:
        metadata: The document.
    """

    metadata: ProtectedResourceMetadata

    async def handle(self, request: "Request") -> "Response":
        """Answers a request for the document."""
        return PydanticJSONResponse(self.metadata, headers=_KEEP_AN_HOUR)
