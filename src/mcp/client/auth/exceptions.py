"""What can go wrong on the way to a token.

    OAuthFlowError                      discovery, the user's part, or anything else about a flow
    ├── AuthorizationResponseError      the user comes back without a code
    ├── LoginRequired                   a user has to log in, and cannot be asked to
    ├── OAuthRegistrationError          there is no client that can be used
    └── OAuthTokenError                 there is no token

A network that fails raises what the HTTP client raises for it.
"""

from typing import Final

from typing_extensions import Self

__all__ = [
    "AuthorizationResponseError",
    "LoginRequired",
    "OAuthFlowError",
    "OAuthRegistrationError",
    "OAuthTokenError",
]

_MAX_ERROR_CHARACTERS: Final = 300


class OAuthFlowError(Exception):
    """Authorization did not come about. The text says what was asked, where, and what was expected."""

    def __copy__(self) -> Self:
        """An error that says the same in another request."""
        twin = type(self).__new__(type(self), *self.args)
        twin.__dict__.update(self.__dict__)
        return twin


class OAuthRegistrationError(OAuthFlowError):
    """Registration did not yield a client that this flow can use."""


class OAuthTokenError(OAuthFlowError):
    """No token could be obtained.

    Attributes:
        error: The error code that the token endpoint answered with, such as `invalid_grant` (RFC 6749, section 5.2);
            None where it gave none.
        status: The HTTP status of its answer; None where none came.
    """

    def __init__(self, message: str, *, error: str | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.error = error
        self.status = status


class AuthorizationResponseError(OAuthFlowError):
    """The user comes back without a code: the authorization server, or the user, said no. RFC 6749, section 4.1.2.1.

    A `callback_handler` raises it. Before anybody sees it, the provider compares `iss` with the server that was asked.
    RFC 9207, section 2.4.

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
