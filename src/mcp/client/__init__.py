"""Clients: `Client` for almost everything, `ClientSession` underneath, and the transports."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.client.callbacks import ClientRequestContext as ClientRequestContext
    from mcp.client.client import Client as Client
    from mcp.client.connect import Transport as Transport
    from mcp.client.input_rounds import InputRequiredRoundsExceededError as InputRequiredRoundsExceededError
    from mcp.client.session import ClientSession as ClientSession
    from mcp.client.session import IncomingMessage as IncomingMessage

__all__ = [
    "Client",
    "ClientRequestContext",
    "ClientSession",
    "IncomingMessage",
    "InputRequiredRoundsExceededError",
    "Transport",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Client": "mcp.client.client",
        "ClientRequestContext": "mcp.client.callbacks",
        "ClientSession": "mcp.client.session",
        "IncomingMessage": "mcp.client.session",
        "InputRequiredRoundsExceededError": "mcp.client.input_rounds",
        "Transport": "mcp.client.connect",
    },
)
