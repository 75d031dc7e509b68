"""The raw protocol server: you hand it protocol objects and it sends them as they are."""

from mcp.server.lowlevel.server import NotificationOptions, Server

__all__ = ["NotificationOptions", "Server"]
