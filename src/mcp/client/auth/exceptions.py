"""What goes wrong between a client and an authorization server."""

__all__ = ["OAuthFlowError", "OAuthRegistrationError", "OAuthTokenError"]


class OAuthFlowError(Exception):
    """The flow that gets a token cannot go on. The text names what was asked, and what was expected."""


class OAuthRegistrationError(OAuthFlowError):
    """The client is not registered: the server refused, or what it answered is of no use."""


class OAuthTokenError(OAuthFlowError):
    """No token: the token endpoint refused, or the request to it cannot be built."""
