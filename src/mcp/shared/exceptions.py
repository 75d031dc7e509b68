"""What a caller sees when something fails.

MCPError                          an error answer, or the root of what went wrong
├── NoBackChannelError            this request has no way to ask the client anything
├── UrlElicitationRequiredError   the user has to visit a URL first
├── RequestTimeoutError           no answer within the time allowed
├── MalformedResultError          the answer is of a kind that nobody knows
└── TransportError                the way to the peer failed; no answer will come
    ├── ConnectionClosedError     the connection ended, by either side
    │   └── ProcessExitedError    a server process ended; knows exit code and last words
    ├── ServerStartError          a server process could not be started
    │   └── ServerNotFoundError   its command or directory does not exist; a FileNotFoundError as well
    ├── StreamableHTTPError       what streamable HTTP asks of a server is not there
    │   └── ResumptionError       the stream of an answer broke off, and cannot be taken up again
    └── HTTPResponseError         the HTTP server refused; knows status, headers and body
        └── SessionExpiredError   the server no longer knows the session

MCPDeprecationWarning             a protocol feature that its revision deprecates
"""

import errno
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from mcp.types.jsonrpc import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    REQUEST_TIMEOUT,
    URL_ELICITATION_REQUIRED,
    ErrorData,
    JSONRPCError,
)
from mcp.types.methods import METHODS

if TYPE_CHECKING:
    from mcp.types import ElicitRequestURLParams

__all__ = [
    "ConnectionClosedError",
    "HTTPResponseError",
    "MCPDeprecationWarning",
    "MCPError",
    "MalformedResultError",
    "NoBackChannelError",
    "ProcessExitedError",
    "RequestTimeoutError",
    "ResumptionError",
    "ServerNotFoundError",
    "ServerStartError",
    "SessionExpiredError",
    "StreamableHTTPError",
    "TransportError",
    "UrlElicitationRequiredError",
]


class MCPDeprecationWarning(UserWarning):
    """A feature that the protocol deprecates was used. A `UserWarning`, so that it is shown by default."""


class MCPError(Exception):
    """A JSON-RPC error: raised by a handler it is the answer; raised by a client it is what the server answered.

    Args:
        code: The JSON-RPC error code.
        message: One sentence for a person.
        data: Anything that serialises to JSON; sent along when it is not None.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self._code = code
        self._message = message
        self._data = data

    @property
    def code(self) -> int:
        """The JSON-RPC error code."""
        return self._code

    @property
    def message(self) -> str:
        """The error's text."""
        return self._message

    @property
    def data(self) -> Any:
        """What the error carries besides code and text, or None."""
        return self._data

    @property
    def error(self) -> ErrorData:
        """The same three facts as the protocol's error object."""
        return ErrorData(code=self._code, message=self._message, data=self._data)

    @classmethod
    def from_jsonrpc_error(cls, error: JSONRPCError) -> "MCPError":
        """The exception for a JSON-RPC error message."""
        return cls.from_error_data(error.error)

    @classmethod
    def from_error_data(cls, error: ErrorData) -> "MCPError":
        """The exception for a JSON-RPC error object."""
        return MCPError(error.code, error.message, error.data)

    def __str__(self) -> str:
        return self._message


class NoBackChannelError(MCPError):
    """A handler asked the client something on a request that cannot carry questions.

    Args:
        method: The request that could not be sent.
    """

    def __init__(self, method: str) -> None:
        super().__init__(
            INVALID_REQUEST,
            f"Cannot send {method!r}: this transport context has no back-channel for server-initiated requests.",
        )
        self.method = method

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.method,)


class UrlElicitationRequiredError(MCPError):
    """A request cannot go on before the user has completed one or more URL elicitations.

    Args:
        elicitations: What the user has to visit.
        message: The error's text; made from the number of elicitations when left out.
    """

    def __init__(self, elicitations: "list[ElicitRequestURLParams]", message: str | None = None) -> None:
        if message is None:
            message = f"URL elicitation{'s' if len(elicitations) > 1 else ''} required"
        wire = [elicitation.model_dump(by_alias=True, exclude_none=True) for elicitation in elicitations]
        super().__init__(URL_ELICITATION_REQUIRED, message, {"elicitations": wire})
        self._elicitations = elicitations

    @property
    def elicitations(self) -> "list[ElicitRequestURLParams]":
        """What the user has to visit."""
        return self._elicitations

    @classmethod
    def from_error(cls, error: ErrorData) -> "UrlElicitationRequiredError":
        """The exception for an error object with code -32042.

        Raises:
            ValueError: The code is another one, or the data is not that of such an error.
        """
        from mcp.types import ElicitRequestURLParams

        if error.code != URL_ELICITATION_REQUIRED:
            raise ValueError(f"expected error code {URL_ELICITATION_REQUIRED}, got {error.code}")
        data: Any = {} if error.data is None else error.data
        items: Any = cast("Any", data).get("elicitations", []) if isinstance(data, dict) else None
        if not isinstance(items, list):
            raise ValueError("the data of an error -32042 must be an object with a list of elicitations")
        elicitations = [ElicitRequestURLParams.model_validate(item) for item in cast("list[Any]", items)]
        return cls(elicitations, error.message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._elicitations, self.message)


class RequestTimeoutError(MCPError):
    """No answer came within the time allowed. The request was cancelled; the connection goes on.

    Args:
        method: The request that was sent.
        seconds: How long it was waited for.
    """

    def __init__(self, method: str, seconds: float) -> None:
        seconds = max(seconds, 0.0)
        super().__init__(REQUEST_TIMEOUT, f"Timed out after {seconds:g}s waiting for {method!r}")
        self.method = method
        self.seconds = seconds

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.method, self.seconds)


class MalformedResultError(MCPError):
    """The peer answered, but with something that is no result of the method.

    Args:
        method: The request that was sent.
        problem: What does not fit, and what was expected.
    """

    def __init__(self, method: str, problem: str) -> None:
        super().__init__(INTERNAL_ERROR, f"{_owner(method)} for {method!r} does not fit: {problem}")
        self.method = method
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.method, self.problem)


def _owner(method: str) -> str:
    spec = METHODS.get(method)
    if spec is None or spec.direction == "both":
        return "The result"
    return "The server's result" if spec.direction == "client_to_server" else "The client's result"


class TransportError(MCPError):
    """The way to the peer failed. Subclasses say how, and keep what is known about it."""


class ConnectionClosedError(TransportError):
    """The connection is closed, or closed while an answer was awaited.

    Args:
        message: What closed it, as far as known.
    """

    def __init__(self, message: str = "Connection closed") -> None:
        super().__init__(CONNECTION_CLOSED, message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message,)


class ProcessExitedError(ConnectionClosedError):
    """A server process ended while it was needed.

    Args:
        command: The command that was started, without its arguments, which may be secrets.
        exit_code: The process's exit code; negative is the number of the signal that ended it; None if unknown.
        stderr_tail: The last lines it wrote to stderr; empty if none were seen.
    """

    def __init__(self, command: str, exit_code: int | None, stderr_tail: str = "") -> None:
        text = f"Connection closed: the server process {command!r} exited with code {exit_code}"
        if stderr_tail:
            text += f"; the end of its stderr:\n{stderr_tail}"
        super().__init__(text)
        self.command = command
        self.exit_code = exit_code
        self.stderr_tail = stderr_tail

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.command, self.exit_code, self.stderr_tail)


class ServerStartError(TransportError):
    """A server process could not be started.

    Args:
        message: What could not be started, and why.
    """

    def __init__(self, message: str) -> None:
        super().__init__(CONNECTION_CLOSED, message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message,)


class ServerNotFoundError(ServerStartError, FileNotFoundError):
    """The server's command, or its working directory, does not exist.

    Args:
        message: What was not found, and where it was looked for.
        filename: What was not found.
    """

    def __init__(self, message: str, filename: str) -> None:
        super().__init__(message)
        self.errno = errno.ENOENT
        self.strerror = message
        self.filename = filename

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.filename)


class StreamableHTTPError(TransportError):
    """Streamable HTTP failed in a way of its own.

    Args:
        message: What is missing or broken.
    """

    def __init__(self, message: str) -> None:
        super().__init__(CONNECTION_CLOSED, message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message,)


class ResumptionError(StreamableHTTPError):
    """The stream of an answer ended before the answer came, and the server did not let it be taken up again."""


class HTTPResponseError(TransportError):
    """The HTTP server answered, but not with JSON-RPC.

    Args:
        code: The JSON-RPC error code this maps to.
        message: What happened, with the status and the start of the body.
        status: The HTTP status.
        headers: The response's headers, names in lower case.
        body: The start of the response's body, as text.
    """

    def __init__(self, code: int, message: str, *, status: int, headers: Mapping[str, str], body: str) -> None:
        super().__init__(code, message)
        self.status = status
        self.headers = dict(headers)
        self.body = body

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword-only arguments do not fit the default protocol of exceptions.
        return _rebuild_http_error, (type(self), self.code, self.message, self.status, self.headers, self.body)


class SessionExpiredError(HTTPResponseError):
    """The server no longer knows the session of a handshake revision: it answered 404."""


def _rebuild_http_error(
    kind: type[HTTPResponseError], code: int, message: str, status: int, headers: dict[str, str], body: str
) -> HTTPResponseError:
    return kind(code, message, status=status, headers=headers, body=body)
