"""What can go wrong on the way to a token.

    OAuthFlowError                  discovery, the user's part, or anything else about a flow
    ├── OAuthRegistrationError      there is no client that can be used
    └── OAuthTokenError             there is no token

A network that fails raises what the HTTP client raises for it.
"""

__all__ = ["OAuthFlowError", "OAuthRegistrationError", "OAuthTokenError"]


class OAuthFlowError(Exception):
    """Authorization did not come about. The text says what was asked, where, and what was expected."""


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
