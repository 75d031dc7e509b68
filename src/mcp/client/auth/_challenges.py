"""What a server asks for when it refuses a request: the `WWW-Authenticate` header.

Specification: RFC 9110, section 11.6.1; RFC 6750, section 3; RFC 9728, section 5.1.
"""

import re
from typing import Final, NamedTuple

import httpx2

__all__ = [
    "Challenge",
    "extract_field_from_www_auth",
    "extract_resource_metadata_from_www_auth",
    "extract_scope_from_www_auth",
    "parse_challenges",
]

TOKEN_SCHEMES: Final = ("bearer", "dpop")
"""The schemes whose parameters are about access tokens."""

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_SEPARATORS: Final = re.compile(r"[\s,]*")
_SCHEME: Final = re.compile(rf"({_TOKEN})(?=[\s,]|$)")
# URLs without quotes are against the grammar, and common.
_PARAMETER: Final = re.compile(rf'({_TOKEN})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_ANYTHING: Final = re.compile(r"[^\s,]+")


class Challenge(NamedTuple):
    """One way in that a server offers.

    Attributes:
        scheme: The authentication scheme, in lower case.
        parameters: Its parameters; their names in lower case.
    """

    scheme: str
    parameters: dict[str, str]


def parse_challenges(header: str) -> list[Challenge]:
    """The challenges in the value of a `WWW-Authenticate` header. What cannot be read is passed over."""
    challenges: list[Challenge] = []
    position = 0
    while (position := _end(_SEPARATORS, header, position)) < len(header):
        if challenges and (parameter := _PARAMETER.match(header, position)):
            name, quoted, plain = parameter.groups()
            value = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            challenges[-1].parameters.setdefault(name.lower(), value)
            position = parameter.end()
        elif scheme := _SCHEME.match(header, position):
            challenges.append(Challenge(scheme[1].lower(), {}))
            position = scheme.end()
        else:
            position = _end(_ANYTHING, header, position)
    return challenges


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return position if match is None else match.end()


def extract_field_from_www_auth(response: httpx2.Response, field_name: str) -> str | None:
    """A parameter of the challenge for an access token.

    Args:
        response: What the server answered.
        field_name: The name of the parameter.

    Returns:
        Its value; None where there is none, or it is empty.
    """
    header = ", ".join(response.headers.get_list("www-authenticate"))
    for challenge in parse_challenges(header):
        if challenge.scheme in TOKEN_SCHEMES and (value := challenge.parameters.get(field_name.lower())):
            return value
    return None


def extract_scope_from_www_auth(response: httpx2.Response) -> str | None:
    """The scopes that the refused request needs, separated by spaces; None where the server does not say."""
    return extract_field_from_www_auth(response, "scope")


def extract_resource_metadata_from_www_auth(response: httpx2.Response) -> str | None:
    """Where the server's protected resource metadata is; None where it does not say, or refuses nothing."""
    if response.status_code not in (401, 403):
        return None
    return extract_field_from_www_auth(response, "resource_metadata")
