"""Errors that stay at the authorization server: in words for a user's browser, as JSON for whatever else has asked.

Specification: basic/authorization/security-considerations under "Open Redirection"; OAuth 2.1, section 7.12.2.
"""

from html import escape
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from starlette.responses import HTMLResponse

from mcp.server.auth.errors import NO_STORE
from mcp.server.auth.json_response import PydanticJSONResponse

if TYPE_CHECKING:
    from pydantic import BaseModel
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["shown_error"]

_PAGE_HEADERS: Final = {
    **NO_STORE,
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Authorization failed</title>
<h1>Authorization failed</h1>
<p>A program has sent you here to ask for access, but its request cannot be granted. What is wrong with it:</p>
<pre>{reason}</pre>
{way_back}
</html>
"""
_WAY_BACK: Final = """<p>The program waits at <strong>{host}</strong>, which nobody here has looked into.
If you know it, you can <a href="{url}" rel="noreferrer">go back to {host}</a>.</p>"""


def shown_error(
    request: "Request", content: "BaseModel", reason: str, status: int = 400, way_back: str | None = None
) -> "Response":
    """An error that is not redirected.

    Args:
        request: What is answered.
        content: The error, for programs.
        reason: The error, for the user.
        status: The HTTP status.
        way_back: The URL that would have been redirected to, if that could be trusted. The user may decide to go there.
    """
    if "text/html" not in request.headers.get("accept", "").lower():
        return PydanticJSONResponse(content, status, headers=NO_STORE)
    link = ""
    if way_back is not None:
        link = _WAY_BACK.format(host=escape(urlsplit(way_back).netloc), url=escape(way_back))
    return HTMLResponse(_PAGE.format(reason=escape(reason), way_back=link), status, headers=_PAGE_HEADERS)
