"""Serves an application by uvicorn on a loopback socket in the test's own event loop, and speaks raw HTTP to it."""

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import uvicorn
from anyio.abc import SocketStream


@asynccontextmanager
async def listening(app: Any, **options: Any) -> AsyncGenerator[int, None]:
    """The port at which `app` is served, its lifespan entered. Only on asyncio."""
    config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5, **options)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        await server.startup(sockets=[listener])
        try:
            yield listener.getsockname()[1]
        finally:
            await server.shutdown(sockets=[listener])


def request_bytes(pairs: list[tuple[bytes, bytes]], body: bytes, port: int, *, path: str = "/mcp") -> bytes:
    """A POST; `pairs` are its headers, but for `host`, which names the port, and those of framing."""
    lines = [b"POST %b HTTP/1.1" % path.encode(), b"host: 127.0.0.1:%d" % port, b"connection: close"]
    lines += [b"%b: %b" % pair for pair in pairs if pair[0] != b"host"]
    if not any(name == b"content-length" for name, _ in pairs):
        lines.append(b"content-length: %d" % len(body))
    return b"\r\n".join([*lines, b"", b""]) + body


@asynccontextmanager
async def sending(data: bytes, port: int) -> AsyncGenerator[SocketStream, None]:
    """A connection on which `data` has been sent."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(data)
        yield stream


async def everything(stream: SocketStream) -> bytes:
    """What arrives until the server closes the connection."""
    return b"".join([chunk async for chunk in stream])


async def exchange(data: bytes, port: int) -> tuple[int, dict[str, str], bytes]:
    """Sends `data`, and returns status, headers and body of the answer."""
    async with sending(data, port) as stream:
        head, _, body = (await everything(stream)).partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return int(first.split(" ")[1]), {name.lower(): value for name, value in headers.items()}, body
