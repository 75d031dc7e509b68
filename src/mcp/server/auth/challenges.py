"""What a request brings to be let in with, and what it is answered where that will not do.

Nothing here verifies a token, and nothing waits.

Specification: basic/authorization under "Access Token Usage" and "Error Handling"; RFC 6750 sections 2.1 and 3,
RFC 9728 section 5.1.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from mcp.server.http_gate import Refusal

if TYPE_CHECKING:
    from mcp.server.http_response import RawHeader

__all__ = ["AUTHENTICATION_REQUIRED", "Credentials", "Denial", "challenge", "read_credentials", "refusal"]

AUTHENTICATION_REQUIRED: Final = "Authentication required"

MAX_TOKEN_BYTES: Final = 16 * 1024
"""The longest token that is looked at."""

_VISIBLE: Final = re.compile(rb"[\x21-\x7e]+")


class Credentials(NamedTuple):
    """What an `Authorization` header brings.

    Attributes:
        scheme: How, in lower case.
        token: What.
    """

    scheme: str
    token: str


class Denial(NamedTuple):
    """Why a request is not let in.

    Attributes:
        status: The HTTP status.
        error: The code that a challenge says; None where the request brought nothing that could be wrong.
        description: Why, in words. Nothing of the token is in it.
        scopes: What the request needs, where that is more than every request does.
    """

    status: Literal[400, 401, 403, 500, 503]
    error: str | None
    description: str = AUTHENTICATION_REQUIRED
    scopes: tuple[str, ...] = ()


def read_credentials(headers: "Iterable[RawHeader]") -> Credentials | Denial:
    """The credentials of a request, or why it has none that anybody could look at.

    This is the one place that knows the schemes.

    Args:
        headers: The request's, names in lower case.
    """
    values = [value for name, value in headers if name == b"authorization"]
    if not values:
        return Denial(401, None)
    if len(values) > 1:
        return Denial(400, "invalid_request", "Several Authorization headers where one is expected")
    scheme, _, token = values[0].strip().partition(b" ")
    token = token.strip()
    if scheme.lower() != b"bearer":
        return Denial(401, None)
    if not token:
        return Denial(400, "invalid_request", "No token after Bearer in the Authorization header")
    if len(token) > MAX_TOKEN_BYTES:
        return Denial(401, "invalid_token", f"The access token is longer than {MAX_TOKEN_BYTES} bytes")
    if not _VISIBLE.fullmatch(token):
        return Denial(401, "invalid_token", "The access token holds a space or a character outside ASCII")
    return Credentials("bearer", token.decode("ascii"))


def challenge(denial: Denial, scopes: Sequence[str], resource_metadata: str | None) -> str:
    """The value of `WWW-Authenticate`.

    Args:
        denial: Why the request is not let in.
        scopes: What every request needs.
        resource_metadata: Where the metadata of the resource is; None where there is none.
    """
    parameters: dict[str, str] = {}
    if denial.error is not None:
        parameters["error"] = denial.error
        parameters["error_description"] = denial.description
    if resource_metadata is not None:
        parameters["resource_metadata"] = resource_metadata
    if needed := dict.fromkeys((*scopes, *denial.scopes)):
        parameters["scope"] = " ".join(needed)
    return " ".join(["Bearer", ", ".join(f'{name}="{value}"' for name, value in parameters.items())]).rstrip()


def refusal(denial: Denial, scopes: Sequence[str], resource_metadata: str | None) -> Refusal:
    """The response to a request that is not let in; the arguments are those of `challenge`."""
    body = json.dumps({"error": denial.error or "invalid_token", "error_description": denial.description}).encode()
    if denial.status >= 500:
        return Refusal(denial.status, body)
    header = challenge(denial, scopes, resource_metadata).encode()
    return Refusal(denial.status, body, headers=((b"www-authenticate", header),))
