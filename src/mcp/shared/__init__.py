"""Documented import paths shared by servers and clients. Each module is one concept; there is nothing here itself."""

from mcp.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__, {})
