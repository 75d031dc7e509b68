"""Server processes on POSIX: a session and process group for each, ended by signals to the group."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Final

import anyio

from mcp.client._process import ServerProcess, until
from mcp.client.stdio import StdioServerParameters

assert sys.platform != "win32"

__all__ = ["PosixProcess", "start_posix_process"]

_REAPING_TIMEOUT: Final = 0.5


def start_posix_process(server: StdioServerParameters, environment: dict[str, str]) -> "PosixProcess":
    """Starts a server as the leader of a new session.

    Raises:
        OSError: It cannot be started.
    """
    popen = subprocess.Popen(
        [server.command, *server.args],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=server.cwd,
        env=environment,
        start_new_session=True,
    )
    return PosixProcess(popen)


class PosixProcess(ServerProcess):
    """A process whose group carries its id.

    Until `gone` or `release` it stays unreaped after its exit: that keeps the group's id from being taken by others.
    """

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        super().__init__(popen)
        os.set_blocking(self.stdin, False)
        self._exited = False
        self._gone = False

    async def exited(self) -> None:
        """See `ServerProcess.exited`."""
        if not self._has_exited():
            await self._exit_event()
            await until(self._has_exited)

    async def gone(self) -> None:
        """See `ServerProcess.gone`. Does not wait for helpers that have moved to a group of their own."""
        await self.exited()
        self._popen.poll()
        await until(lambda: not _group_runs(self._popen.pid))
        self._gone = True

    def terminate(self) -> None:
        """Sends SIGTERM to the group."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Sends SIGKILL to the group."""
        self._signal(signal.SIGKILL)

    def release(self) -> None:
        """See `ServerProcess.release`."""
        if not self._gone:
            self.kill()
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(_REAPING_TIMEOUT)

    def _signal(self, number: signal.Signals) -> None:
        # No permission: all that is left of the group has changed its user, or (macOS) has exited.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, number)

    def _has_exited(self) -> bool:
        if self._exited:
            return True
        if sys.platform == "darwin" and sys.version_info < (3, 13):
            self.exit_code = self._popen.poll()
            self._exited = self.exit_code is not None
            return self._exited
        try:
            status = os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            # Somebody else in this process has reaped it.
            self._exited = True
            return True
        if status is not None:
            self.exit_code = status.si_status if status.si_code == os.CLD_EXITED else -status.si_status
            self._exited = True
        return self._exited

    async def _exit_event(self) -> None:
        """Waits for the exit where the system reports one; else, and if something goes wrong, returns at once."""
        if sys.platform != "linux":
            return
        try:
            pidfd = os.pidfd_open(self._popen.pid)
        except OSError:
            return
        try:
            await anyio.wait_readable(pidfd)
        finally:
            os.close(pidfd)


def _group_runs(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    # In containers the first process often reaps nobody; what has exited would count as running for ever.
    return sys.platform != "linux" or any(_runs_in(group, pid) for pid in os.listdir("/proc") if pid.isdigit())


def _runs_in(group: int, pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name comes first, in brackets, and may hold anything.
            state, _parent, process_group = file.read().rpartition(b")")[2].split()[:3]
    except OSError:
        return False
    return int(process_group) == group and state not in (b"Z", b"X")
