"""What a sealed state says besides the state: for which request, server and user it is good, and until when."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from mcp.server._request_state_codec import InvalidRequestState, encoded
from mcp.types.methods import METHODS

_FORMAT = 1


def compact_json(value: Any, *, sort_keys: bool = False) -> str:
    """JSON without spaces, in ASCII.

    Args:
        value: What to encode.
        sort_keys: Order the members of objects by name, so that equal values give equal texts.

    Raises:
        TypeError: It has no JSON form.
    """
    return json.dumps(value, sort_keys=sort_keys, separators=(",", ":"))


@dataclass(frozen=True)
class Claims:
    """The content of a token.

    Attributes:
        state: What the handler wrote.
        request: Digest of the request that was answered with it.
        audience: Which servers accept it; None for those that have no audience.
        principal: Digest of whose request it was; None for nobody's.
        expires: When it lapses, in seconds since the epoch.
    """

    state: str
    request: str
    audience: str | None
    principal: str | None
    expires: float

    @classmethod
    def of_request(
        cls,
        method: str,
        params: Mapping[str, Any],
        state: str,
        *,
        audience: str | None,
        principal: str | None,
        expires: float,
    ) -> "Claims":
        """The claims of a state that answers a request.

        Args:
            method: The request's method.
            params: Its raw params.
            state: What the handler wrote.
            audience: Which servers accept it.
            principal: Whose request it is.
            expires: When it lapses, in seconds since the epoch.
        """
        return cls(state, _of_request(method, params), audience, _of_principal(principal), expires)

    @classmethod
    def from_payload(cls, payload: bytes) -> "Claims":
        """Reads claims.

        Raises:
            InvalidRequestState: `payload` holds none.
        """
        try:
            match json.loads(payload):
                case {
                    "v": 1,
                    "state": str(state),
                    "req": str(request),
                    "aud": str() | None as audience,
                    "sub": str() | None as principal,
                    "exp": float() | int() as expires,
                }:
                    return cls(state, request, audience, principal, expires)
                case _:
                    pass
        except (ValueError, TypeError, RecursionError):
            pass
        raise InvalidRequestState("malformed")

    def to_payload(self) -> bytes:
        """Writes the claims."""
        members = {
            "v": _FORMAT,
            "state": self.state,
            "req": self.request,
            "aud": self.audience,
            "sub": self.principal,
            "exp": self.expires,
        }
        return compact_json(members).encode()

    def check(
        self, method: str, params: Mapping[str, Any], audience: str | None, principal: str | None, now: float
    ) -> None:
        """Checks that the state belongs to a request, on this server, now.

        Args:
            method: The request's method.
            params: Its raw params.
            audience: What this server accepts.
            principal: Whose request it is.
            now: The time, in seconds since the epoch.

        Raises:
            InvalidRequestState: It does not. The text says why, for the log.
        """
        if self.audience != audience:
            raise InvalidRequestState("audience")
        if self.request != _of_request(method, params):
            raise InvalidRequestState("request binding")
        if (self.principal is None) != (principal is None):
            raise InvalidRequestState("principal drift")
        if self.principal != _of_principal(principal):
            raise InvalidRequestState("principal")
        if not now < self.expires:
            raise InvalidRequestState("expired")


def _of_request(method: str, params: Mapping[str, Any]) -> str:
    """The digest of what a request is about. That it has no arguments, it may say in two ways."""
    target = params.get(METHODS[method].name_field or "")
    return _digest(compact_json([method, target, params.get("arguments") or {}], sort_keys=True))


def _of_principal(principal: str | None) -> str | None:
    """A digest, since not every codec hides what it seals."""
    return None if principal is None else _digest(compact_json(["principal", principal]))


def _digest(text: str) -> str:
    return encoded(sha256(text.encode()).digest())
