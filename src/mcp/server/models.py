"""What a server says of itself when a connection opens."""

from pydantic import BaseModel, ConfigDict

from mcp.types import Icon, ServerCapabilities

__all__ = ["InitializationOptions"]


class InitializationOptions(BaseModel):
    """A server's identity and capabilities, as one connection announces them.

    Attributes:
        server_name: The server's programmatic name.
        server_version: Its version; empty where it has none.
        title: Its name for people.
        description: What it is for.
        capabilities: What it can do.
        instructions: How a model should use it.
        website_url: Where to read more.
        icons: Images to show beside it.
    """

    model_config = ConfigDict(defer_build=True)

    server_name: str
    server_version: str
    title: str | None = None
    description: str | None = None
    capabilities: ServerCapabilities
    instructions: str | None = None
    website_url: str | None = None
    icons: list[Icon] | None = None
