"""B121: who is calling, as functions of an `MCPServer` see it."""

from typing import Any

import pytest
from connections import over_http
from starlette.authentication import AuthCredentials, AuthenticationBackend, SimpleUser
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared._httpx_utils import create_mcp_http_client

pytestmark = pytest.mark.anyio
