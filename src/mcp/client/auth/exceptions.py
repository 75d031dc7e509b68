"""What goes wrong between a client and an authorization server."""

from typing import Final

__all__ = [
    "AuthorizationResponseError",
    "LoginRequired",
    "OAuthFlowError",
    "OAuthRegistrationError",
    "OAuthTokenError",
]

_MAX_ERROR_CHARACTERS: Final = 300


class OAuthFlowError(Exception):
    """The flow that gets a token cannot go on. The text names what was asked, and what was expected."""


class OAuthRegistrationError(OAuthFlowError):
    """The client is not registered: the server refused, or what it answered is of no use."""


class OAuthTokenError(OAuthFlowError):
    """No token: the token endpoint refused, or the request to it cannot be built."""


class AuthorizationResponseError(OAuthFlowError):
    """The user comes back without a code: the authorization server, or the user, said no. RFC 6749, section 4.1.2.1.

    Whoever knows the issuer must compare `iss` before showing the rest to anybody. RFC 9207, section 2.4.

    Attributes:
        error: The code, such as `access_denied`.
        description: What the server says about it, if anything.
        iss: Who says so, if it says.
    """

    def __init__(self, error: str, description: str | None = None, iss: str | None = None) -> None:
        said = f": {_printable(description)}" if description else ""
        super().__init__(f"The login ended without a code: {_printable(error)}{said}")
        self.error = error
        self.description = description
        self.iss = iss


class LoginRequired(OAuthFlowError):
    """A user has to log in, and nobody is there to be shown a page.

    Attributes:
        url: Where the login starts. It is good for one attempt.
    """

    def __init__(self, url: str) -> None:
        super().__init__("A user has to log in, at the page in the attribute `url`")
        self.url = url


def _printable(text: str) -> str:
    """The text without what terminals obey, and not without end. RFC 6749 allows ASCII alone there."""
    return "".join(one if " " <= one <= "~" else "?" for one in text[:_MAX_ERROR_CHARACTERS])
