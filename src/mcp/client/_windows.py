"""Server processes on Windows: a job object for each, which holds it and all that it starts.

There are no signals to ask a process to exit; closing its stdin is the one polite way.
"""

import ctypes
import logging
import shutil
import subprocess
import sys
from contextlib import suppress
from ctypes import wintypes
from typing import Final

from mcp.client._process import ServerProcess, until
from mcp.client.stdio import StdioServerParameters

assert sys.platform == "win32"

__all__ = ["WindowsProcess", "start_windows_process"]

logger = logging.getLogger(__name__)

_REAPING_TIMEOUT: Final = 0.5


def start_windows_process(server: StdioServerParameters, environment: dict[str, str]) -> "WindowsProcess":
    """Starts a server without a window, in a job of its own.

    The command may be a script such as `npx.cmd`, named without its suffix.

    Raises:
        OSError: It cannot be started.
    """
    # Names count as equal in any case, and a program would see one of the two at random.
    environment = {name.upper(): value for name, value in environment.items()}
    command = shutil.which(server.command, path=environment.get("PATH")) or server.command
    popen = subprocess.Popen(
        [command, *server.args],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=server.cwd,
        env=environment,
        creationflags=subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP,
    )
    return WindowsProcess(popen)


class WindowsProcess(ServerProcess):
    """A process in a job. What it starts with `CREATE_BREAKAWAY_FROM_JOB` is left alone."""

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        super().__init__(popen)
        self._job = _create_job(popen.pid)

    async def exited(self) -> None:
        """See `ServerProcess.exited`."""
        await until(lambda: self._popen.poll() is not None)
        self.exit_code = self._popen.returncode

    async def gone(self) -> None:
        """Waits for the process itself; what it leaves behind ends with the job, in `release`."""
        await self.exited()

    def terminate(self) -> None:
        """See `ServerProcess.terminate`: no different from `kill`."""
        self.kill()

    def kill(self) -> None:
        """See `ServerProcess.kill`."""
        if self._job is not None:
            _kernel32.TerminateJobObject(self._job, 1)
        with suppress(OSError):
            self._popen.kill()

    def release(self) -> None:
        """See `ServerProcess.release`."""
        if self._job is not None:
            _kernel32.CloseHandle(self._job)
            self._job = None
        if self._popen.poll() is None:
            self.kill()
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(_REAPING_TIMEOUT)


_KILL_ON_JOB_CLOSE: Final = 0x2000
_BREAKAWAY_OK: Final = 0x0800
_EXTENDED_LIMIT_INFORMATION: Final = 9
_PROCESS_SET_QUOTA: Final = 0x0100
_PROCESS_TERMINATE: Final = 0x0001


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", wintypes.DWORD),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", wintypes.DWORD),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", wintypes.DWORD),
        ("SchedulingClass", wintypes.DWORD),
    )


class _ExtendedLimits(ctypes.Structure):
    _fields_ = (
        ("BasicLimitInformation", _BasicLimits),
        ("IoInfo", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


def _load_kernel32() -> ctypes.WinDLL:
    library = ctypes.WinDLL("kernel32", use_last_error=True)
    handle, number, flag = wintypes.HANDLE, wintypes.DWORD, wintypes.BOOL
    for name, result, arguments in (
        ("CreateJobObjectW", handle, (wintypes.LPVOID, wintypes.LPCWSTR)),
        ("SetInformationJobObject", flag, (handle, ctypes.c_int, wintypes.LPVOID, number)),
        ("OpenProcess", handle, (number, flag, number)),
        ("AssignProcessToJobObject", flag, (handle, handle)),
        ("TerminateJobObject", flag, (handle, wintypes.UINT)),
        ("CloseHandle", flag, (handle,)),
    ):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


_kernel32 = _load_kernel32()


def _create_job(pid: int) -> int | None:
    """A job that holds the process and ends with its handle; None where the system refuses."""
    limits = _ExtendedLimits()
    limits.BasicLimitInformation.LimitFlags = _KILL_ON_JOB_CLOSE | _BREAKAWAY_OK
    job: int | None = _kernel32.CreateJobObjectW(None, None)
    process: int | None = _kernel32.OpenProcess(_PROCESS_SET_QUOTA | _PROCESS_TERMINATE, False, pid)
    try:
        if (
            job
            and process
            and _kernel32.SetInformationJobObject(
                job, _EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), ctypes.sizeof(limits)
            )
            and _kernel32.AssignProcessToJobObject(job, process)
        ):
            return job
        logger.warning("no job object for the server process: processes that it starts may outlive it")
        if job:
            _kernel32.CloseHandle(job)
        return None
    finally:
        if process:
            _kernel32.CloseHandle(process)
