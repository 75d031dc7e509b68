"""Worker threads for functions that block.

On asyncio the threads are our own. They are daemons, so none holds up the end of the process; a call that is cancelled
is abandoned, and its thread is replaced; and what several threads finish at a time costs the event loop one wake-up.
On trio, and with an anyio that is built otherwise, `anyio.to_thread` does the work.
"""

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from queue import Empty, SimpleQueue
from typing import Any, Final, Literal, TypeVar
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread
from anyio._core import _eventloop
from typing_extensions import TypeVarTuple, Unpack

from mcp.engine.backend import asyncio_task

__all__ = ["run_in_worker", "worker_threads"]

T = TypeVar("T")
_Ts = TypeVarTuple("_Ts")

IDLE_SECONDS: Final = 10.0
"""How long a thread without work stays."""

MOST_LEFT: Final = 200
"""How many threads may be left to calls that nobody waits for any more. With more of them, such calls count again."""

# What makes a thread one of anyio's is not public. A test notices when it is not there any more.
_anyio: Any = _eventloop
_HAS_SEAM: Final = all(
    hasattr(_anyio, name)
    for name in ("claim_worker_thread", "get_async_backend", "set_current_async_library", "threadlocals")
)


def worker_threads() -> Literal["own", "anyio"]:
    """Whose threads the running event loop uses."""
    return "own" if _HAS_SEAM and asyncio_task() is not None else "anyio"


def run_in_worker(call: Callable[[Unpack[_Ts]], T], *args: Unpack[_Ts]) -> Coroutine[Any, Any, T]:
    """Runs `call(*args)` in a worker thread, in a copy of the caller's context.

    `anyio.from_thread` works inside. No more run at once than anyio's default limiter of the event loop allows; up to
    200 that were abandoned do not count. A cancelled caller goes on at once, and what the thread returns is dropped.

    Args:
        call: What to run.
        args: Its arguments.

    Returns:
        What gives what it returns.

    Raises:
        BaseException: What it raises, `SystemExit` included; where it is awaited.
    """
    task = asyncio_task() if _HAS_SEAM else None
    if task is None:
        return _run_in_anyios(call, *args)
    loop = task.get_loop()
    pool = _pools.get(loop)
    if pool is None:
        pool = _pools[loop] = _Pool()
    return pool.run(loop, call, *args)


async def _run_in_anyios(call: Callable[[Unpack[_Ts]], T], *args: Unpack[_Ts]) -> T:
    def in_tuple() -> tuple[T]:
        # Trio takes a coroutine for a mistake if it is returned as it is.
        return (call(*args),)

    return (await anyio.to_thread.run_sync(in_tuple, abandon_on_cancel=True))[0]


def _names_its_library() -> bool:
    """Whether the context itself says which library runs the event loop, as it does within `anyio.run`."""
    sniffio = getattr(_anyio, "sniffio", None)
    return sniffio is not None and sniffio.current_async_library_cvar.get() is not None


class _Job:
    """One call. What changes about it in two threads is guarded by the lock of its pool."""

    __slots__ = ("abandoned", "call", "context", "ended", "error", "future", "left", "scope", "started", "value")

    def __init__(self, call: tuple[Any, ...], loop: asyncio.AbstractEventLoop, scope: anyio.CancelScope) -> None:
        self.call = call
        self.future: asyncio.Future[None] = loop.create_future()
        self.context = contextvars.copy_context()
        if _names_its_library():
            # What runs in the thread may start an event loop there.
            self.context.run(_anyio.set_current_async_library, None)
        self.scope = scope
        self.started = False
        self.abandoned = False
        self.left = False
        self.ended = False
        self.value: Any = None
        self.error: BaseException | None = None

    def execute(self) -> None:
        _anyio.threadlocals.current_cancel_scope = self.scope
        try:
            self.value = self.context.run(*self.call)
        except BaseException as error:
            self.error = error

    def outcome(self) -> Any:
        """Returns or raises, once. An exception knows this job by its traceback, so the job must forget it."""
        error, self.error = self.error, None
        if error is None:
            return self.value
        try:
            raise error
        finally:
            del error


class _Pool:
    """The threads of one event loop, which they hold only while they live."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._done: deque[_Job] = deque()
        self._waking = False
        self._lock = threading.Lock()
        self._threads = 0
        self._left = 0
        self._idle = 0
        # Jobs in the queue that no thread has been told off for.
        self._waiting = 0
        self._limiter = anyio.to_thread.current_default_thread_limiter()
        # Nobody has entered or cancelled these: a new one costs a tenth of a call.
        self._scopes: list[anyio.CancelScope] = []

    async def run(self, loop: asyncio.AbstractEventLoop, *call: Any) -> Any:
        job = _Job(call, loop, self._scopes.pop() if self._scopes else anyio.CancelScope())
        with self._lock:
            if self._idle:
                self._idle -= 1
            elif self._threads < self._limiter.total_tokens:
                self._start_thread(loop)
            else:
                self._waiting += 1
        self._jobs.put(job)
        try:
            await job.future
        except asyncio.CancelledError:
            self._abandon(job, loop)
            raise
        self._scopes.append(job.scope)
        return job.outcome()

    def _start_thread(self, loop: asyncio.AbstractEventLoop) -> None:
        threading.Thread(
            target=self._work, args=(loop, _anyio.get_async_backend()), name="mcp-worker", daemon=True
        ).start()
        # Not before: the system may start none.
        self._threads += 1

    def _abandon(self, job: _Job, loop: asyncio.AbstractEventLoop) -> None:
        """Leaves a thread to itself; it ends when the call does. Another one may take its place, within limits."""
        with self._lock:
            job.abandoned = True
            if job.started and not job.ended and self._left < MOST_LEFT:
                job.left = True
                self._left += 1
                self._threads -= 1
                if self._waiting:
                    self._waiting -= 1
                    self._start_thread(loop)
        job.scope.cancel()

    def _work(self, loop: asyncio.AbstractEventLoop, backend: Any) -> None:
        with _anyio.claim_worker_thread(backend, loop):
            while (job := self._next_job()) is not None:
                with self._lock:
                    job.started = not job.abandoned
                if job.started:
                    job.execute()
                with self._lock:
                    job.ended = True
                    if job.abandoned:
                        job.error = None
                    if job.left:
                        self._left -= 1
                        return
                    if self._waiting:
                        self._waiting -= 1
                    else:
                        self._idle += 1
                self._finish(job)
                del job

    def _next_job(self) -> _Job | None:
        try:
            return self._jobs.get(timeout=IDLE_SECONDS)
        except Empty:
            with self._lock:
                if self._idle:
                    self._idle -= 1
                    self._threads -= 1
                    return None
        # Somebody has told this thread off for a job, which is on its way.
        return self._jobs.get()

    def _finish(self, job: _Job) -> None:
        self._done.append(job)
        if not self._waking:
            self._waking = True
            try:
                job.future.get_loop().call_soon_threadsafe(self._drain)
            except RuntimeError:
                self._waking = False  # the event loop was closed meanwhile

    def _drain(self) -> None:
        self._waking = False
        while self._done:
            future = self._done.popleft().future
            if not future.done():
                future.set_result(None)


_pools: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool]" = WeakKeyDictionary()
