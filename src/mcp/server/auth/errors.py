"""What the endpoints of an authorization server answer where something is wrong, and what they write about it.

RFC 6749, section 5.2: errors are JSON, never kept by a cache, and described in printable ASCII.
"""

import logging
import re
import traceback
from collections.abc import Iterable, Mapping
from typing import Final

from pydantic import ValidationError
from starlette.responses import JSONResponse

__all__ = [
    "NO_STORE",
    "RefusedRequest",
    "describable",
    "error_headers",
    "error_response",
    "log_failure",
    "stringify_pydantic_error",
]

NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
"""Keeps a response out of caches. RFC 6749, section 5.1."""

_NOT_DESCRIBABLE: Final = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e]")
_MAX_DESCRIPTION: Final = 500
_SHORTEST_SECRET: Final = 4


class RefusedRequest(Exception):
    """A request is refused before anybody looks at what it asks for.

    Args:
        description: Why, in words.
        error: Why, as a code.
        status: The HTTP status.
    """

    def __init__(self, description: str, error: str = "invalid_request", status: int = 400) -> None:
        super().__init__(description)
        self.description = description
        self.error = error
        self.status = status


def stringify_pydantic_error(validation_error: ValidationError) -> str:
    """What is wrong with a request, in one line: each parameter, and what it should have been.

    Args:
        validation_error: What validation found.
    """
    return "; ".join(_stringify(str(error["msg"]), error["loc"]) for error in validation_error.errors())


def _stringify(message: str, location: tuple[int | str, ...]) -> str:
    where = ".".join(map(str, location))
    return f"{where}: {message}" if where else message


def describable(text: str) -> str:
    """A text as an `error_description` may be: printable ASCII without quotes and backslashes, and not long.

    Args:
        text: Any text; double quotes become single ones, other characters that may not stand in it a question mark.
    """
    return _NOT_DESCRIBABLE.sub("?", text.replace('"', "'"))[:_MAX_DESCRIPTION]


def error_headers(status: int) -> dict[str, str]:
    """The headers of an error. 401 asks for a client's credentials.

    Args:
        status: The HTTP status.
    """
    # RFC 9110, section 11.6.1: no 401 without a challenge.
    return {**NO_STORE, "WWW-Authenticate": 'Basic realm="oauth"'} if status == 401 else dict(NO_STORE)


def error_response(
    error: str, description: str, status: int = 400, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error as JSON.

    Args:
        error: What is wrong, as a code.
        description: The same in words.
        status: The HTTP status.
        headers: More headers.
    """
    body = {"error": error, "error_description": describable(description)}
    return JSONResponse(body, status, headers={**error_headers(status), **(headers or {})})


def log_failure(logger: logging.Logger, what: str, failure: Exception, secrets: Iterable[str | None]) -> None:
    """Logs an exception that nobody expected with its traceback, but without what must not be read in a log.

    Args:
        logger: Where to.
        what: What failed.
        failure: The exception.
        secrets: What the request brought; it is blacked out wherever the exception repeats it.
    """
    text = "".join(traceback.format_exception(failure))
    for secret in secrets:
        if secret and len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "[secret]")
    logger.error("%s failed\n%s", what, text)
