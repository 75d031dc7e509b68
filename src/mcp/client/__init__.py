"""Clients: `Client` for almost everything, `ClientSession` underneath, and the transports."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.client.caching import CacheConfig as CacheConfig
    from mcp.client.caching import CacheEntry as CacheEntry
    from mcp.client.caching import CacheKey as CacheKey
    from mcp.client.caching import CacheMode as CacheMode
    from mcp.client.caching import InMemoryResponseCacheStore as InMemoryResponseCacheStore
    from mcp.client.caching import ResponseCacheStore as ResponseCacheStore
    from mcp.client.callbacks import ClientRequestContext as ClientRequestContext
    from mcp.client.client import Client as Client
    from mcp.client.connect import Transport as Transport
    from mcp.client.extension import ClaimContext as ClaimContext
    from mcp.client.extension import ClientExtension as ClientExtension
    from mcp.client.extension import NotificationBinding as NotificationBinding
    from mcp.client.extension import ResultClaim as ResultClaim
    from mcp.client.extension import UnexpectedClaimedResult as UnexpectedClaimedResult
    from mcp.client.extension import advertise as advertise
    from mcp.client.input_rounds import InputRequiredRoundsExceededError as InputRequiredRoundsExceededError
    from mcp.client.session import ClientSession as ClientSession
    from mcp.client.session import IncomingMessage as IncomingMessage

__all__ = [
    "CacheConfig",
    "CacheEntry",
    "CacheKey",
    "CacheMode",
    "ClaimContext",
    "Client",
    "ClientExtension",
    "ClientRequestContext",
    "ClientSession",
    "InMemoryResponseCacheStore",
    "IncomingMessage",
    "InputRequiredRoundsExceededError",
    "NotificationBinding",
    "ResponseCacheStore",
    "ResultClaim",
    "Transport",
    "UnexpectedClaimedResult",
    "advertise",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "CacheConfig": "mcp.client.caching",
        "CacheEntry": "mcp.client.caching",
        "CacheKey": "mcp.client.caching",
        "CacheMode": "mcp.client.caching",
        "ClaimContext": "mcp.client.extension",
        "Client": "mcp.client.client",
        "ClientExtension": "mcp.client.extension",
        "ClientRequestContext": "mcp.client.callbacks",
        "ClientSession": "mcp.client.session",
        "InMemoryResponseCacheStore": "mcp.client.caching",
        "IncomingMessage": "mcp.client.session",
        "InputRequiredRoundsExceededError": "mcp.client.input_rounds",
        "NotificationBinding": "mcp.client.extension",
        "ResponseCacheStore": "mcp.client.caching",
        "ResultClaim": "mcp.client.extension",
        "Transport": "mcp.client.connect",
        "UnexpectedClaimedResult": "mcp.client.extension",
        "advertise": "mcp.client.extension",
    },
)
