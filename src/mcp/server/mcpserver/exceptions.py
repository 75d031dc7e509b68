"""Errors of functions that serve as tools, resources and prompts.

MCPServerError                 something a function of the server did
├── ToolError                  a tool failed; the model reads why
│   └── UnexpectedToolError    it failed with an exception that was not meant for the model
└── ResourceError              a resource failed
    ├── ResourceNotFoundError  there is no such resource
    └── UnexpectedResourceError

InvalidSignature               a function cannot be registered as it is; raised when the program starts
"""

__all__ = [
    "InvalidSignature",
    "MCPServerError",
    "ResourceError",
    "ResourceNotFoundError",
    "ToolError",
    "UnexpectedResourceError",
    "UnexpectedToolError",
]


class MCPServerError(Exception):
    """Root of what functions of a server raise."""


class ToolError(MCPServerError):
    """A tool failed. Its text reaches the model, which may try again."""


class UnexpectedToolError(ToolError):
    """A tool failed with an exception of another kind, which is the `__cause__`."""


class ResourceError(MCPServerError):
    """A resource could not be read."""


class ResourceNotFoundError(ResourceError):
    """There is no such resource; the client is told with -32602 and the URI."""


class UnexpectedResourceError(ResourceError):
    """A resource failed with an exception of another kind, which is the `__cause__`."""


class InvalidSignature(TypeError):
    """A function cannot be registered: its text names the function, and what to change about it."""
