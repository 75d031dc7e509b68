"""P14, P15: what importing the package costs, in a fresh interpreter each time."""

import json
import subprocess
import sys
from statistics import median

from measure import Effort, Result, percentile, run_case

WEB_STACK = ("h11", "httpcore2", "httptools", "httpx2", "sse_starlette", "starlette", "uvicorn", "uvloop")
FLOOR = "import anyio, pydantic\nclass Model(pydantic.BaseModel):\n    number: int"
CLIENT = "import mcp\nfrom mcp import Client"
SERVER = "from mcp.server import MCPServer"

# The interpreter's own start is nobody's import: CPU and modules are counted from the first line on.
PROBE = """
import json, sys, time
cpu, modules = time.process_time(), len(sys.modules)
{statements}
figures = {{"cpu_ms": (time.process_time() - cpu) * 1000, "modules": len(sys.modules) - modules}}
with open("/proc/self/status", encoding="ascii") as status:
    figures["rss_mb"] = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))
figures["web_modules"] = sum(name in {web_stack} for name in sys.modules)
print(json.dumps(figures))
"""


def import_cost(statements: str, effort: Effort) -> Result:
    """Measures CPU (p10), modules, memory after the import, and how much of a web stack came along."""
    probe = PROBE.format(statements=statements, web_stack=WEB_STACK)
    rounds: list[dict[str, float]] = []
    # The first round may have to compile, and is left out.
    for _ in range(4 if effort.quick else 11):
        done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr)
        rounds.append(json.loads(done.stdout))
    figures = {name: median(each[name] for each in rounds[1:]) for name in ("modules", "rss_mb", "web_modules")}
    return Result({"cpu_ms": percentile([each["cpu_ms"] for each in rounds[1:]], 10), **figures})


if __name__ == "__main__":
    run_case(
        {
            "client": lambda effort: import_cost(CLIENT, effort),
            "server": lambda effort: import_cost(SERVER, effort),
            "floor": lambda effort: import_cost(FLOOR, effort),
        }
    )
