"""What a request brings to be let in with, and what it is answered where that will not do.

Nothing here verifies a token, and nothing waits.

Specification: basic/authorization under "Access Token Usage" and "Error Handling"; RFC 6750 sections 2.1 and 3,
RFC 9449 section 7.1, RFC 9728 section 5.1.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from mcp.server.http_gate import Refusal

if TYPE_CHECKING:
    from mcp.server.http_response import RawHeader

__all__ = [
    "AUTHENTICATION_REQUIRED",
    "BEARER",
    "NOT_GOOD",
    "Credentials",
    "Denial",
    "Scheme",
    "challenges",
    "read_credentials",
    "refusal",
]

AUTHENTICATION_REQUIRED: Final = "Authentication required"

NOT_GOOD: Final = f"{AUTHENTICATION_REQUIRED}: the access token is not valid or no longer valid"
"""Of a token that the verifier does not take. It does not tell why."""

MAX_TOKEN_BYTES: Final = 16 * 1024
"""The longest token that is looked at."""

_SCHEMES: Final[dict[bytes, Literal["Bearer", "DPoP"]]] = {b"bearer": "Bearer", b"dpop": "DPoP"}
_VISIBLE: Final = re.compile(rb"[\x21-\x7e]+")


class Credentials(NamedTuple):
    """What an `Authorization` header brings.

    Attributes:
        scheme: How.
        token: What.
    """

    scheme: Literal["Bearer", "DPoP"]
    token: str


class Scheme(NamedTuple):
    """A way to send a token that a challenge offers.

    Attributes:
        name: As it is in the header.
        algorithms: What proofs may be signed with, separated by spaces; None where there are no proofs.
    """

    name: Literal["Bearer", "DPoP"]
    algorithms: str | None = None


BEARER: Final = (Scheme("Bearer"),)


class Denial(NamedTuple):
    """Why a request is not let in.

    Attributes:
        status: The HTTP status.
        error: The code that a challenge says; None where the request brought nothing that could be wrong.
        description: Why, in words. Nothing of the token is in it.
        scopes: What the request needs, where that is more than every request does.
        nonce: What the next proof of possession must repeat; None where that need not change.
    """

    status: Literal[400, 401, 403, 500, 503]
    error: str | None
    description: str = AUTHENTICATION_REQUIRED
    scopes: tuple[str, ...] = ()
    nonce: str | None = None


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
    kind = _SCHEMES.get(scheme.lower())
    if kind is None:
        return Denial(401, None)
    if not token:
        return Denial(400, "invalid_request", f"No token after {kind} in the Authorization header")
    if len(token) > MAX_TOKEN_BYTES:
        return Denial(401, "invalid_token", f"The access token is longer than {MAX_TOKEN_BYTES} bytes")
    if not _VISIBLE.fullmatch(token):
        return Denial(401, "invalid_token", "The access token holds a space or a character outside ASCII")
    return Credentials(kind, token.decode("ascii"))


def challenges(
    denial: Denial, scopes: Sequence[str], resource_metadata: str | None, schemes: Iterable[Scheme] = BEARER
) -> "tuple[RawHeader, ...]":
    """The headers of a response to a request that is not let in.

    Args:
        denial: Why the request is not let in.
        scopes: What every request needs.
        resource_metadata: Where the metadata of the resource is; None where there is none.
        schemes: The ways in.
    """
    headers = [
        (b"www-authenticate", _challenge(scheme, denial, scopes, resource_metadata).encode()) for scheme in schemes
    ]
    if denial.nonce is not None:
        headers += [(b"dpop-nonce", denial.nonce.encode()), (b"cache-control", b"no-store")]
    return tuple(headers)


def _challenge(scheme: Scheme, denial: Denial, scopes: Sequence[str], resource_metadata: str | None) -> str:
    """The value of `WWW-Authenticate`."""
    parameters: dict[str, str] = {}
    if denial.error is not None:
        parameters["error"] = denial.error
        parameters["error_description"] = denial.description
    if resource_metadata is not None:
        parameters["resource_metadata"] = resource_metadata
    if needed := dict.fromkeys((*scopes, *denial.scopes)):
        parameters["scope"] = " ".join(needed)
    if scheme.algorithms is not None:
        parameters["algs"] = scheme.algorithms
    return " ".join([scheme.name, ", ".join(f'{name}="{value}"' for name, value in parameters.items())]).rstrip()


def refusal(
    denial: Denial, scopes: Sequence[str], resource_metadata: str | None, schemes: Iterable[Scheme] = BEARER
) -> Refusal:
    """The response to a request that is not let in; the arguments are those of `challenges`."""
    body = json.dumps({"error": denial.error or "invalid_token", "error_description": denial.description}).encode()
    if denial.status >= 500:
        return Refusal(denial.status, body)
    return Refusal(denial.status, body, headers=challenges(denial, scopes, resource_metadata, schemes))
