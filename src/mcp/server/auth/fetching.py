"""Asking an authorization server something: in bounded time, no more than a bounded answer, and nobody else."""

import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import anyio

from mcp.server.auth.provider import VerifierUnavailable
from mcp.shared._handshakes import HandshakeTrace

if TYPE_CHECKING:
    import httpx2

__all__ = ["Fetcher", "check_url"]


def check_url(name: str, url: object) -> str:
    """A URL that may be asked about tokens: HTTPS, or HTTP on this machine, and without a password in it.

    Args:
        name: The argument that it is the value of.
        url: The URL.

    Raises:
        TypeError: It is no text.
        ValueError: It is another URL, or none.
    """
    if not isinstance(url, str):
        raise TypeError(f"{name}= takes a URL as str, got an object of type {type(url).__name__}")
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"{name}= must not hold a user name or a password")
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname))):
        raise ValueError(f"{name}= takes an https URL (http on a loopback address only), got {url!r}")
    return url


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Fetcher:
    """Asks for JSON documents.

    Args:
        http_client: Sends the requests, and stays open; a new one for each request when None.
        timeout: How many seconds one request may take as a whole.
        max_bytes: The longest answer.

    Raises:
        ValueError: `timeout` is not positive.
    """

    def __init__(self, http_client: "httpx2.AsyncClient | None", *, timeout: float, max_bytes: int) -> None:
        if not timeout > 0:
            raise ValueError(f"timeout= must be a positive number of seconds, got {timeout}")
        self._http_client = http_client
        self._timeout = timeout
        self._max_bytes = max_bytes

    async def get(self, url: str) -> dict[str, Any]:
        """A JSON object at a URL.

        Raises:
            VerifierUnavailable: There is none, or it cannot be had now.
        """
        return await self._ask("GET", url, {}, None)

    async def post(self, url: str, headers: Mapping[str, str], form: Mapping[str, str]) -> dict[str, Any]:
        """The JSON object that a form is answered with.

        Args:
            url: Where the form goes.
            headers: What goes with it.
            form: The form.

        Raises:
            VerifierUnavailable: It is answered with none, or not now.
        """
        return await self._ask("POST", url, headers, form)

    async def _ask(
        self, verb: str, url: str, headers: Mapping[str, str], form: Mapping[str, str] | None
    ) -> dict[str, Any]:
        import httpx2
        from pydantic_core import from_json

        try:
            with anyio.fail_after(self._timeout):
                status, body = await self._answer(verb, url, headers, form)
        except TimeoutError:
            raise VerifierUnavailable(f"{url} does not answer within {self._timeout} seconds") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as failure:
            # Not chained: the request is in it, and a token may be in that.
            raise VerifierUnavailable(f"{url} cannot be reached: {type(failure).__name__}: {failure}") from None
        if 300 <= status < 400:
            raise VerifierUnavailable(f"{url} redirects (HTTP {status}), which is not followed")
        if status != 200:
            raise VerifierUnavailable(f"{url} answers HTTP {status}, expected 200")
        try:
            document = from_json(body, allow_inf_nan=False)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise VerifierUnavailable(f"{url} answers something that is no JSON object")
        return cast("dict[str, Any]", document)

    async def _answer(
        self, verb: str, url: str, headers: Mapping[str, str], form: Mapping[str, str] | None
    ) -> tuple[int, bytes]:
        # Not compressed, since what is small on the way may be large afterwards.
        headers = {"accept": "application/json", "accept-encoding": "identity", **headers}
        extensions = {"trace": HandshakeTrace()}
        async with (
            self._client() as client,
            client.stream(
                verb, url, headers=headers, data=form, follow_redirects=False, extensions=extensions
            ) as response,
        ):
            return response.status_code, await self._body(url, response)

    async def _body(self, url: str, response: Any) -> bytes:
        if response.is_stream_consumed:
            # A transport of somebody's own, such as one for tests, had the whole of it already.
            body: bytes = response.content
            return self._bounded(url, body)
        body = b""
        async with aclosing(response.aiter_raw()) as chunks:
            async for chunk in chunks:
                body = self._bounded(url, body + chunk)
        return body

    def _bounded(self, url: str, body: bytes) -> bytes:
        if len(body) > self._max_bytes:
            raise VerifierUnavailable(f"{url} answers more than {self._max_bytes} bytes")
        return body

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[Any, None]:
        import httpx2

        if self._http_client is not None:
            yield self._http_client
            return
        client: Any = httpx2.AsyncClient(verify=_tls(), timeout=self._timeout)
        async with client:
            yield client


@cache
def _tls() -> ssl.SSLContext:
    """What takes longest in making an HTTP client."""
    import httpx2

    return httpx2.create_ssl_context()
