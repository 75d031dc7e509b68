"""Shows one server reached in three ways: over HTTP, over stdio, and in the same process.

    python examples/demo.py

Takes a few seconds, uses a free port of this machine, and leaves no process behind. Exits with 1 if anything is not
as it should be.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from bookshop import mcp as bookshop

from mcp import Client, MCPError, StdioServerParameters, types

BOOKSHOP = Path(__file__).with_name("bookshop.py")
SECONDS_TO_EXIT = 5


class Visit:
    """What a client does at a server. Every step is printed as it happens, and kept."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def note(self, what: str, outcome: str = "") -> None:
        self.steps.append(f"{what:<12} {outcome}".rstrip())
        print(f"   {self.steps[-1]}", flush=True)

    async def make(self, server: Any) -> None:
        async with Client(server, read_timeout_seconds=10) as client:
            info = client.server_info or types.Implementation(name="a server that keeps its name to itself", version="")
            self.note("connected", f"{info.name} {info.version}, protocol {client.protocol_version}")
            listing = await client.list_tools()
            self.note("list_tools", ", ".join(tool.name for tool in listing.tools))
            await self.call(client, "find_books", {"title": "north"})
            await self.call(client, "take_stock", {})
            await self.call(client, "find_books", {"title": "Ulysses"})  # which it does not have
            await self.read(client, "shop://hours")
            await self.read(client, "shop://owner")  # which there is not
        self.note("disconnected")

    async def call(self, client: Client, tool: str, arguments: dict[str, Any]) -> None:
        shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        result = await client.call_tool(tool, arguments, progress_callback=self.progressed)
        if result.structured_content is not None and not result.is_error:
            self.note("call_tool", f"{tool}({shown}) returned {result.structured_content}")
            return
        text = " ".join(block.text for block in result.content if isinstance(block, types.TextContent))
        self.note("call_tool", f"{tool}({shown}) failed: {text}")

    async def read(self, client: Client, uri: str) -> None:
        try:
            [contents] = (await client.read_resource(uri)).contents
        except MCPError as error:
            self.note("an error", f"read_resource({uri!r}) raised {type(error).__name__} {error.code}: {error}")
            return
        self.note("read", f"{uri} says: {getattr(contents, 'text', '')}")

    async def progressed(self, progress: float, total: float | None, message: str | None) -> None:
        self.note("progress", f"{progress:g} of {total:g}: {message}" if total is not None else f"{progress:g}")


EXPECTED = [
    "connected    bookshop 1.0, protocol 2026-07-28",
    "list_tools   find_books, take_stock",
    "progress     1 of 4: counted Middlemarch",
    "call_tool    find_books(title='north') returned {'Northern Lights': 2}",
    "call_tool    take_stock() returned {'result': '10 books in stock'}",
    "call_tool    find_books(title='Ulysses') failed: Error executing tool find_books:"
    " There is no book with 'Ulysses' in its title.",
    "read         shop://hours says: Tuesday to Saturday, 10 to 18",
    "an error     read_resource('shop://owner') raised MCPError -32602: Unknown resource: shop://owner",
]


@contextmanager
def bookshop_over_http() -> Generator[str, None, None]:
    """Starts the bookshop as an HTTP server in a process of its own, and yields its URL."""
    process = subprocess.Popen([sys.executable, BOOKSHOP, "--http"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise SystemExit(f"{BOOKSHOP} --http did not start: it exited with code {process.wait()}")
        yield url
    finally:
        process.terminate()
        try:
            process.wait(SECONDS_TO_EXIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def visit(server: Any) -> list[str]:
    """Visits a server and checks that everything happened as expected."""
    visit = Visit()
    anyio.run(visit.make, server)
    missing = [step for step in EXPECTED if step not in visit.steps]
    if missing:
        raise SystemExit("\nThis was expected and did not happen:\n   " + "\n   ".join(missing))
    return visit.steps


def shown(path: str | Path) -> str:
    """A path as one would type it from here."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def end_in_order(signum: int, frame: object) -> None:
    """Ends this process with an exception, so that the server process is ended as well."""
    sys.exit("terminated")


def main() -> None:
    signal.signal(signal.SIGTERM, end_in_order)

    print(f"One server, {shown(BOOKSHOP)}, reached in three ways.\n")
    with bookshop_over_http() as url:
        print(f"1. Over HTTP. Another process serves it at {url}")
        over_http = visit(url)

    print("\n2. Over stdio. The client starts a process and talks to it through its stdin and stdout.")
    over_stdio = visit(StdioServerParameters(command=sys.executable, args=[str(BOOKSHOP)]))

    print("\n3. In memory. Client and server share this process, as in a test.")
    in_memory = visit(bookshop)

    if not over_http == over_stdio == in_memory:
        raise SystemExit("\nThe three ways should give the same answers, and do not.")
    python, call = shown(sys.executable), shown(BOOKSHOP.with_name("call.py"))
    print(f"""
All three gave the same answers, and every process that was started has ended.

What to try next
   Serve it, and leave it running (Ctrl-C ends it):
      {python} {shown(BOOKSHOP)} --http
   Call it from another terminal, with the URL that it printed:
      {python} {call} URL find_books '{{"title": "rose"}}'
   Or let the client start it:
      {python} {call} "{python} {shown(BOOKSHOP)}" take_stock
   Write a server of your own: README.md, then docs/servers/index.md""")


if __name__ == "__main__":
    main()
