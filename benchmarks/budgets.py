"""The cost budgets: which figure of which script is held to which limit."""

from dataclasses import dataclass
from typing import Literal

# A figure over its budget by no more than this factor is told from a plain miss.
NEAR = 1.3

Verdict = Literal["met", "within 1.3 x", "missed"]


@dataclass(frozen=True)
class Budget:
    """One line of the table.

    A `ratio` budget limits ours divided by the reference's; an `own` budget limits our figure itself, and
    the reference's stands beside it to compare. Lower is better; `limit` None only shows the figures.
    `pairs` caps the pairs of a line whose runs are long.
    """

    id: str
    what: str
    script: str
    case: str
    figure: str
    unit: str
    limit: float | None
    kind: Literal["ratio", "own"] = "ratio"
    pairs: int | None = None

    def verdict(self, value: float | None) -> Verdict | None:
        """Returns how the value stands to the limit, or None where one of them is missing."""
        if self.limit is None or value is None:
            return None
        if value <= self.limit:
            return "met"
        return "within 1.3 x" if value <= self.limit * NEAR else "missed"


CPU = "server_cpu_s_per_1000"
SECONDS = "seconds_per_1000"

BUDGETS = (
    Budget("P1", "HTTP call, parts as installed: server CPU / 1,000", "http_calls", "installed", CPU, "s", 0.15),
    Budget("P1", "HTTP call, httptools + uvloop on both: server CPU / 1,000", "http_calls", "fast", CPU, "s", None),
    Budget("P1", "the same, a plain function on MCPServer", "http_calls", "functions", CPU, "s", 0.15),
    Budget("P2", "HTTP call, h11 + asyncio on both: server CPU / 1,000", "http_calls", "plain", CPU, "s", 0.35),
    Budget("P2", "the same, a plain function on MCPServer", "http_calls", "functions-plain", CPU, "s", 0.35),
    Budget(
        "P3", "HTTP call, handshake era, sessions, SSE: server CPU / 1,000", "http_calls", "handshake", CPU, "s", 0.15
    ),
    Budget("P4", "the same, stateless, JSON: server CPU / 1,000", "http_calls", "handshake-stateless", CPU, "s", 0.20),
    Budget("P5", "stdio server alone, sequential: CPU / 1,000", "stdio_calls", "sequential", CPU, "s", 0.12),
    Budget("P5", "stdio server alone, 64 in flight: CPU / 1,000", "stdio_calls", "in-flight", CPU, "s", 0.06),
    Budget("P6", "stdio, both ends, 64 in flight: time of 1,000", "stdio_calls", "both-ends", SECONDS, "s", 0.05),
    Budget("P6", "the same, handshake era", "stdio_calls", "both-ends-handshake", SECONDS, "s", 0.05),
    Budget("P7", "in memory, low-level server: p10 of a call", "memory_calls", "lowlevel", "p10_us", "us", 0.25),
    Budget("P8", "in memory, MCPServer, async function: p10", "memory_calls", "async-function", "p10_us", "us", 0.20),
    Budget("P9", "in memory, MCPServer, plain function: p10", "memory_calls", "function", "p10_us", "us", 0.40),
    Budget("P9", "a plain function in its thread: p10", "typed_functions", "worker", "p10_us", "us", None),
    Budget("P9", "the same / anyio's thread", "typed_functions", "worker", "times_anyio", "x", None),
    Budget("P9b", "in memory, MCPServer, 20 fields: p10", "memory_calls", "report", "p10_us", "us", 0.15),
    Budget("P9b", "20 fields to text and structure: p10", "typed_functions", "structured", "p10_us", "us", None),
    Budget("P10", "500 tools listed over HTTP: server CPU", "http_calls", "listing", "server_cpu_ms", "ms", 0.01),
    Budget("P11", "500 tools listed in memory: p50", "memory_calls", "listing", "p50_us", "us", 0.15),
    Budget("P12", "HTTP call, 5,000 tools listed / 10", "http_calls", "catalogue", "times_the_cpu", "x", 1.1, "own"),
    Budget(
        "P12", "the same with a header parameter", "http_calls", "catalogue-headers", "times_the_cpu", "x", 1.1, "own"
    ),
    Budget("P12", "the same at the client", "client_cost", "catalogue-headers", "times_the_cpu", "x", 1.1, "own"),
    Budget("P13", "registering a function: CPU", "typed_functions", "registering", "cpu_us", "us", 0.40),
    Budget("P14", "import mcp, Client: CPU", "imports", "client", "cpu_ms", "ms", 0.25),
    Budget("P14", "import mcp, Client: RSS", "imports", "client", "rss_mb", "MB", 0.50),
    Budget("P14", "import mcp, Client: modules", "imports", "client", "modules", "", None),
    Budget("P14", "import mcp, Client: web packages", "imports", "client", "web_modules", "", 0, "own"),
    Budget("P15", "from mcp.server import MCPServer: CPU", "imports", "server", "cpu_ms", "ms", 0.35),
    Budget("P14", "import pydantic, anyio (the floor): CPU", "imports", "floor", "cpu_ms", "ms", None),
    Budget("P16", "stdio, process start to first result: p10", "stdio_calls", "connect", "p10_ms", "ms", 0.45),
    Budget("P16", "the same, handshake era", "stdio_calls", "connect-handshake", "p10_ms", "ms", 0.45),
    Budget("P17", "memory per open session", "open_sessions", "alone", "kb_per_session", "KB", 0.5),
    Budget(
        "P17",
        "memory per open session with its GET stream",
        "open_sessions",
        "with-stream",
        "kb_per_session",
        "KB",
        0.4,
    ),
    Budget("P18", "memory per subscription stream", "listen_streams", "memory", "kb_per_stream", "KB", 0.40),
    Budget("P19", "one publish to 500 streams: server CPU", "listen_streams", "publish", "server_cpu_ms", "ms", 0.40),
    Budget("P19", "the same: last stream told", "listen_streams", "publish", "last_stream_ms", "ms", 0.30),
    Budget("P20", "HTTP client CPU per call / bare POST", "client_cost", "http", "times_bare", "x", 1.3, "own"),
    Budget("P20", "HTTP client CPU per call", "client_cost", "http", "cpu_ms_per_call", "ms", None),
    Budget("P20", "the same ratio, handshake era", "client_cost", "http-handshake", "times_bare", "x", 1.3, "own"),
    Budget("P21", "stdio, 24 MB result / 3: time", "large_results", "stdio", "times_the_small", "x", 10, "own"),
    Budget("P21", "stdio, 24 MB result: time", "large_results", "stdio", "seconds", "s", None),
    Budget("P21", "HTTP JSON, 8 MB result / 1: CPU", "large_results", "http-json", "times_the_small", "x", 10, "own"),
    Budget("P21", "HTTP JSON, 8 MB result: CPU", "large_results", "http-json", "seconds", "s", None),
    Budget("P21", "HTTP SSE, 8 MB result / 1: CPU", "large_results", "http-sse", "times_the_small", "x", 10, "own"),
    Budget("P21", "HTTP SSE, 8 MB result: CPU", "large_results", "http-sse", "seconds", "s", None),
    Budget("P21", "the same, 1 MiB limit of the client", "large_results", "http-sse-default", "seconds", "s", None),
    Budget(
        "P21", "handshake era, stdio, 24 MB / 3", "large_results", "stdio-handshake", "times_the_small", "x", 10, "own"
    ),
    Budget(
        "P21",
        "handshake era, JSON, 8 MB / 1",
        "large_results",
        "http-json-handshake",
        "times_the_small",
        "x",
        10,
        "own",
    ),
    Budget(
        "P21", "handshake era, SSE, 8 MB / 1", "large_results", "http-sse-handshake", "times_the_small", "x", 10, "own"
    ),
    Budget(
        "P22",
        "memory after 10 times as much: 100,000 requests",
        "open_sessions",
        "growth",
        "times_the_memory",
        "x",
        1.05,
        "own",
        pairs=1,
    ),
    Budget("P22", "the same: tasks left behind", "open_sessions", "growth", "tasks_left", "", 0, "own", pairs=1),
)
