"""What every resource has in common."""

import abc
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from mcp.engine.isolation import contained
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.edits import EditedInPlace, Edits
from mcp.server.mcpserver.exceptions import ResourceError, UnexpectedResourceError
from mcp.server.mcpserver.functions.failures import innermost_error, protocol_error
from mcp.shared.exceptions import MCPError
from mcp.types.base import Icon, Uri
from mcp.types.content import Annotations

__all__ = ["Annotations", "Icon", "Resource", "failure_of", "sendable"]


class Resource(EditedInPlace, abc.ABC):
    """Something that clients read by its URI. Subclasses say how, in `read`.

    Attributes:
        uri: The address, kept as given.
        name: What it is called; the URI if nothing is given.
        title: A name for people.
        description: What it is.
        mime_type: What its contents are. Nobody checks that they are.
        icons: Images that stand for it.
        annotations: Hints for whoever uses it.
        meta: Its `_meta`.
        size: In bytes, for the listing; None leaves that to `known_size`.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    edits: ClassVar[Edits] = Edits()

    uri: Uri
    name: str | None = Field(default=None, validate_default=True)
    title: str | None = None
    description: str | None = None
    mime_type: str = "text/plain"
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None
    size: Annotated[int, Field(ge=0)] | None = None

    @field_validator("name", mode="before")
    @classmethod
    def set_default_name(cls, name: str | None, info: ValidationInfo) -> str:
        """The name, or else the URI.

        Raises:
            ValueError: There is neither.
        """
        name = name or info.data.get("uri")
        if not name:
            raise ValueError("a resource needs a URI, or at least a name")
        return name

    @property
    def known_size(self) -> int | None:
        """How many bytes the contents have, if that is known without reading them."""
        return self.size

    @abc.abstractmethod
    async def read(self) -> str | bytes:
        """The contents, as text or as bytes."""

    async def read_contents(self) -> list[ReadResourceContents]:
        """Everything that a client receives when it reads this resource.

        Raises:
            ResourceError: The resource raised it, or, as `UnexpectedResourceError`, an exception of another kind.
            MCPError: The resource raised it, as the answer to the client.
        """
        try:
            return self._contents_of(await contained(self._value))
        except Exception as error:
            failure = failure_of(error, f"Error reading resource {self.uri}")
            raise failure from (failure.__cause__ if failure is error else error)

    async def _value(self) -> Any:
        return await self.read()

    def _contents_of(self, value: Any) -> list[ReadResourceContents]:
        if not isinstance(value, (str, bytes)):
            raise TypeError(
                f"{type(self).__name__}.read() gave a {type(value).__name__}; what can be sent is str or bytes"
            )
        return [ReadResourceContents(sendable(value), self.mime_type, self.meta)]


def failure_of(error: Exception, summary: str) -> Exception:
    """What is raised in place of what a resource raised: that itself if it is meant for the client.

    Args:
        error: What it raised, or a group of that.
        summary: What the client is told of anything else.
    """
    meant = protocol_error(error) or innermost_error(error)
    return meant if isinstance(meant, (MCPError, ResourceError)) else UnexpectedResourceError(summary)


def sendable(content: str | bytes) -> str | bytes:
    """The content, as given.

    Raises:
        UnicodeEncodeError: It holds half a surrogate pair, which no message can carry.
    """
    if isinstance(content, str) and not content.isascii():
        content.encode()
    return content
