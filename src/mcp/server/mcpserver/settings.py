"""What a server was constructed with."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Generic, Literal

from pydantic import BaseModel, ConfigDict

from mcp.server.lowlevel.server import LifespanResultT

if TYPE_CHECKING:
    from mcp.server.auth.settings import AuthSettings

__all__ = ["LogLevel", "Settings"]

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]


class Settings(BaseModel, Generic[LifespanResultT]):
    """What a server was constructed with, apart from what it tells clients.

    Attributes:
        debug: Starlette's debug mode, in the applications that are built.
        log_level: What `run()` logs.
        warn_on_duplicate_resources: Whether a warning is logged when the URI of a resource is taken.
        warn_on_duplicate_tools: Whether a warning is logged when the name of a tool is taken.
        warn_on_duplicate_prompts: Whether a warning is logged when the name of a prompt is taken.
        dependencies: What `mcp dev` and `mcp install` install besides.
        lifespan: What is entered when serving starts. It is read at construction.
        auth: How the HTTP endpoints are protected; None where they are not.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    debug: bool
    log_level: LogLevel
    warn_on_duplicate_resources: bool
    warn_on_duplicate_tools: bool
    warn_on_duplicate_prompts: bool
    dependencies: list[str]
    lifespan: Callable[[Any], AbstractAsyncContextManager[LifespanResultT]] | None
    if TYPE_CHECKING:
        auth: AuthSettings | None
    else:
        # Few servers are protected, and the others need not load what that takes.
        auth: Any
