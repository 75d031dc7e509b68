"""What a client's callback is told about the question it answers."""

from mcp.client.callbacks import ClientRequestContext as ClientRequestContext

__all__ = ["ClientRequestContext"]
