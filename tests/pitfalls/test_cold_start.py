"""B101: what importing the library costs programs that use little of it."""

import subprocess
import sys
from functools import cache

import pytest

HEAVY = [
    *("starlette", "uvicorn", "httpx2", "cryptography", "jwt", "jsonschema", "jsonschema_rs", "typer"),
    *("httptools", "uvloop", "rich", "dotenv", "opentelemetry", "trio", "httpx", "websockets"),
]
ROUNDS = 5


def run(program: str) -> str:
    """What a program of its own prints."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout


@pytest.mark.parametrize(
    "imports",
    [
        "import mcp",
        "import mcp; from mcp import Client",
        "from mcp import Client, MCPError, StdioServerParameters, stdio_client, types",
        "from mcp.server import Server, ServerRequestContext",
        "from mcp.server.middleware import OpenTelemetryMiddleware, RateLimit, RequestLog, TimeLimit, caller",
        "from mcp.server.stdio import stdio_server",
        "from mcp.types import Tool, CallToolResult; Tool(name='t', input_schema={'type': 'object'})",
    ],
)
def test_b101_an_import_loads_nothing_that_is_not_used(imports: str) -> None:
    """A client of a local server loaded a web server, a web framework, an HTTP client and cryptography."""
    loaded = run(f"import sys\n{imports}\nprint([name for name in {HEAVY!r} if name in sys.modules])")

    assert loaded.strip() == "[]"


IN_MEMORY = """
import anyio, sys
from mcp import Client, types
from mcp.server import Server

async def list_tools(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name="t", input_schema={"type": "object"})])

async def call_tool(ctx, params):
    return types.CallToolResult(content=[types.TextContent(text="called")])

async def main():
    async with Client(Server("s", on_list_tools=list_tools, on_call_tool=call_tool)) as client:
        await client.call_tool("t")

anyio.run(main)
"""


def test_b101_nor_does_a_call() -> None:
    """The same for a whole call without any network."""
    loaded = run(f"{IN_MEMORY}\nprint([name for name in {HEAVY!r} if name in sys.modules])")

    assert loaded.strip() == "[]"


STANDS_ON = "import pydantic, anyio\nclass Model(pydantic.BaseModel): number: int"

MEASURED = """
import time
start = time.process_time()
{imports}
print(time.process_time() - start)
print(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory's high-water mark from /proc")
@pytest.mark.parametrize(
    ("imports", "times"),
    [
        ("import mcp", 1.0),
        ("import mcp; from mcp import Client", 2.5),
        ("from mcp.server import Server; from mcp.server.stdio import stdio_server", 2.5),
    ],
)
def test_b101_an_import_costs_little_more_than_what_it_stands_on(imports: str, times: float) -> None:
    """It took seconds, and tens of megabytes, to start a server that does next to nothing."""
    seconds, memory = _cost(imports)
    seconds_below, memory_below = _cost(STANDS_ON)

    assert seconds < times * seconds_below
    assert memory < 1.5 * memory_below


@cache
def _cost(imports: str) -> tuple[float, int]:
    """CPU time in seconds, and memory in kilobytes, at their best."""
    measured = [run(MEASURED.format(imports=imports)).split() for _ in range(ROUNDS)]
    return min(float(seconds) for seconds, _ in measured), min(int(memory) for _, memory in measured)
