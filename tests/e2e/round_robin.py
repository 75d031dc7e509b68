"""A load balancer as plain as can be: each request goes to the next server, whatever it says."""

import itertools
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import anyio
from anyio.abc import SocketStream


@asynccontextmanager
async def balanced(urls: Sequence[str]) -> AsyncGenerator[str, None]:
    """The URL of a loopback endpoint whose requests go to each of these in turn."""
    ports = itertools.cycle([urlsplit(url).port for url in urls])

    async def forward(client: SocketStream) -> None:
        async with client:
            request = await _request(client)
            if not request:
                return
            async with await anyio.connect_tcp("127.0.0.1", next(ports) or 0) as server:
                await server.send(request)
                async for chunk in server:
                    await client.send(chunk)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, forward)
        yield f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/mcp"
        group.cancel_scope.cancel()


async def _request(client: SocketStream) -> bytes:
    """A whole request, which says that its connection ends with the answer; no bytes if the client leaves."""
    received = bytearray()
    try:
        while b"\r\n\r\n" not in received:
            received += await client.receive()
        head, _, body = bytes(received).partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        headers = dict(line.lower().split(b": ", 1) for line in lines[1:])
        while len(body) < int(headers.get(b"content-length", b"0")):
            body += await client.receive()
    except anyio.EndOfStream:
        return b""
    kept = [line for line in lines if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*kept, b"connection: close", b"", body])
