"""A link to a server process: its pipes, why they closed, and the process's orderly end."""

import sys
from typing import Final, TextIO

import anyio

from mcp.client._encoding import framing_for
from mcp.client._process import ServerProcess, until
from mcp.client._spawn import start_process
from mcp.client._stderr import StderrPump
from mcp.client.stdio import StdioServerParameters
from mcp.engine.bytelink import ByteLink
from mcp.engine.descriptors import open_byte_link
from mcp.engine.lines import DEFAULT_MAX_LINE_SIZE
from mcp.engine.link import Frame
from mcp.shared.exceptions import ConnectionClosedError, ProcessExitedError, TransportError

__all__ = ["ProcessLink", "start_server"]

_EXIT_STATUS_TIMEOUT: Final = 1.0
_STDERR_TIMEOUT: Final = 0.5
_KILL_TIME: Final = 0.5


def start_server(
    server: StdioServerParameters, errlog: TextIO | None, max_message_size: int | None = None
) -> "ProcessLink":
    """Starts a server and links to it.

    Args:
        server: How to start it.
        errlog: Gets what the process writes to stderr.
        max_message_size: Bytes that one message of its may have.

    Raises:
        ServerStartError: It cannot be started.
        LookupError: There is no such encoding.
    """
    framing = framing_for(server.encoding, server.encoding_error_handler, max_message_size or DEFAULT_MAX_LINE_SIZE)
    process = start_process(server)
    pump = StderrPump(process.stderr, errlog)
    link = open_byte_link(process.stdout, process.stdin, framing=framing, nonblocking=sys.platform != "win32")
    return ProcessLink(link, process, pump, server.command)


class ProcessLink:
    """A `Link` to a server process.

    Args:
        link: The link over the process's stdin and stdout.
        process: The process.
        pump: What carries its stderr.
        command: What was started, for messages; without the arguments, which may be secrets.
    """

    def __init__(self, link: ByteLink, process: ServerProcess, pump: StderrPump, command: str) -> None:
        self._link = link
        self._process = process
        self._pump = pump
        self._command = command
        self._closing = False

    async def receive(self) -> list[Frame]:
        """See `Link.receive`."""
        return await self._link.receive()

    def send(self, frame: bytes) -> None:
        """See `Link.send`."""
        self._link.send(frame)

    @property
    def behind(self) -> bool:
        """See `Link.behind`."""
        return self._link.behind

    async def drain(self) -> None:
        """See `Link.drain`."""
        await self._link.drain()

    async def aclose(self) -> None:
        """Writes what is queued and closes the server's stdin. What the server still writes is read and dropped."""
        self._closing = True
        self._link.discard()
        await self._link.end_writing()

    async def closed_reason(self) -> TransportError:
        """Why `receive` came to its end. Waits a moment for the process to exit."""
        if self._closing:
            return ConnectionClosedError()
        with anyio.move_on_after(_EXIT_STATUS_TIMEOUT):
            await self._process.exited()
            await self._stderr_read()
            return ProcessExitedError(self._command, self._process.exit_code, self._pump.tail())
        return ConnectionClosedError(
            f"Connection closed: the server process {self._command!r} runs, but has closed its stdin or stdout"
        )

    async def shut_down(self, grace: float, force_timeout: float) -> None:
        """Ends the connection and the process, also if the caller is being cancelled.

        Specification: basic/transports/stdio, "Shutdown".

        Args:
            grace: Seconds that the process gets to exit after its stdin was closed.
            force_timeout: Seconds within which it is gone after that.
        """
        try:
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as group:
                    group.start_soon(self.aclose)
                    await self._end_process(grace, force_timeout)
                await self._stderr_read()
        finally:
            # Reached early if asyncio cancels the task once more, against which there is no shield.
            self._process.release()
            self._link.close_now()

    async def _end_process(self, grace: float, force_timeout: float) -> None:
        if await self._gone_within(grace):
            return
        kill_time = min(_KILL_TIME, force_timeout / 2)
        self._process.terminate()
        if await self._gone_within(force_timeout - kill_time):
            return
        self._process.kill()
        await self._gone_within(kill_time)

    async def _gone_within(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self._process.gone()
            return True
        return False

    async def _stderr_read(self) -> None:
        with anyio.move_on_after(_STDERR_TIMEOUT):
            await until(lambda: not self._pump.running)
