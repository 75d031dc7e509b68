"""An import path that programs use; the home of the name is `mcp.client.negotiation`."""

from mcp.client.negotiation import negotiate_auto

__all__ = ["negotiate_auto"]
