"""A port that no other test gets: for a server that must be told one, or for a place where there is none."""

import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def held_port(*, for_server: bool = False) -> Generator[int, None, None]:
    """A port at which nobody listens, kept from others as long as the context lasts.

    Args:
        for_server: A server is going to listen there. On Linux it may, by the number, since both sockets have
            SO_REUSEADDR, and the system still gives the port to nobody who asks for any. Other systems have no such
            state between free and taken: there the port is free, and another program may be quicker.
    """
    with socket.socket() as holder:
        if for_server:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        if for_server and sys.platform != "linux":
            holder.close()
        yield port
