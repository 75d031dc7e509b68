"""What every benchmark script shares: clocks, percentiles, server processes, and the one JSON object it prints."""

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"


@dataclass
class Result:
    """What one run found: `figures` by name, and for a figure that could not be had, why, in `failures`."""

    figures: dict[str, float] = field(default_factory=dict[str, float])
    failures: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Effort:
    """How much a run does: everything, or a small part of it with `--quick`."""

    quick: bool

    def count(self, full: int) -> int:
        """Returns `full`, or a fifth of it in a quick run."""
        return full // 5 if self.quick else full


def run_case(cases: Mapping[str, Callable[[Effort], Result]]) -> None:
    """Runs the case named on the command line and prints its result as one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=sorted(cases))
    parser.add_argument("--quick", action="store_true", help="fewer requests: rough figures, quickly")
    options = parser.parse_args()
    result = cases[options.case](Effort(options.quick))
    print(
        json.dumps(
            {
                "case": options.case,
                "mcp": metadata.version("mcp"),
                "python": platform.python_version(),
                "figures": result.figures,
                "failures": result.failures,
            }
        )
    )


def cpu_seconds(pid: int) -> float:
    """Returns the CPU seconds that the operating system has charged to the process, ended threads included.

    The clock of another process is numbered as clock_getcpuclockid(3) numbers it on Linux; it counts
    nanoseconds where /proc counts hundredths of a second.
    """
    return time.clock_gettime((~pid << 3) | 2)


def resident_bytes(pid: int) -> int:
    """Returns the resident memory of the process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def percentile(samples: Sequence[float], percent: float) -> float:
    """Returns the sample below which `percent` per cent of the samples lie."""
    ordered = sorted(samples)
    return ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)]


def latency_figures(seconds: Sequence[float]) -> dict[str, float]:
    """Returns the 10th, 50th and 99th percentile of latencies, in microseconds."""
    return {f"p{percent}_us": percentile(seconds, percent) * 1e6 for percent in (10, 50, 99)}


@contextmanager
def running(program: str, *arguments: str) -> Generator[subprocess.Popen[bytes], None, None]:
    """Runs a program of the `programs` folder with piped standard input and output; ends it on exit."""
    command = [sys.executable, str(PROGRAMS / program), *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


@dataclass(frozen=True)
class HttpServer:
    """A server process under test, listening on a loopback port."""

    pid: int
    port: int

    @property
    def url(self) -> str:
        """The address of its MCP endpoint."""
        return f"http://127.0.0.1:{self.port}/mcp"


@contextmanager
def http_server(*arguments: str) -> Generator[HttpServer, None, None]:
    """Runs `programs/http_server.py` with these arguments.

    Raises:
        RuntimeError: the process ended before it listened.
    """
    with running("http_server.py", *arguments) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the HTTP server did not start; see its standard error above")
        yield HttpServer(process.pid, int(line))
