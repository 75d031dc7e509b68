"""Protected servers, and clients of them that say which token they send."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

BASE_URL = "http://127.0.0.1:8000"


@asynccontextmanager
async def http_to(app: Any, base_url: str = BASE_URL) -> AsyncGenerator[Any, None]:
    """An HTTP client of an application whose lifespan is entered."""
    http: Any = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=base_url)
    async with app.router.lifespan_context(app), http:
        yield http
