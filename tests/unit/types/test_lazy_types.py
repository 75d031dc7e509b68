"""Importing names loads and compiles no more than they need. Each test starts from a fresh interpreter."""

import subprocess
import sys

PRELUDE = """
import sys

def areas():
    prefix = "mcp.types."
    return {name.removeprefix(prefix) for name in sys.modules if name.startswith(prefix)}
"""


def run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, check=False, timeout=50
    )
    assert done.returncode == 0, done.stderr


def test_importing_the_package_loads_no_model() -> None:
    run("""
import mcp.types, mcp_types
assert areas() == set(), areas()
assert "pydantic" not in sys.modules
""")


def test_importing_the_method_table_loads_no_model() -> None:
    run("""
from mcp.types.methods import METHODS, is_input_required
assert not is_input_required({"resultType": "complete"})
assert areas() == {"methods", "version"}, areas()
assert "pydantic" not in sys.modules
""")


def test_importing_tools_loads_only_what_tools_are_made_of() -> None:
    run("""
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool
assert areas() == {"base", "content", "deferred", "tools"}, areas()
assert "pydantic.networks" not in sys.modules
""")


def test_importing_compiles_no_validator() -> None:
    run("""
import mcp.types
from pydantic import BaseModel

values = {name: getattr(mcp.types, name) for name in mcp.types.__all__}
models = {name: value for name, value in values.items() if isinstance(value, type) and issubclass(value, BaseModel)}
generic = {"Request", "Notification", "PaginatedRequest"}  # compiled when they are given parameters
assert len(models) > 150
assert {name for name, model in models.items() if model.__pydantic_complete__} <= generic
""")


def test_serving_a_tool_call_never_loads_sampling() -> None:
    run("""
from mcp.types import CallToolRequestParams, CallToolResult, TextContent
params = CallToolRequestParams.model_validate({"name": "add", "arguments": {"a": 1}, "_meta": {"progressToken": 7}})
result = CallToolResult(content=[TextContent(text="1")])
assert CallToolResult.model_validate(result.model_dump(by_alias=True)) == result
assert areas() == {"base", "content", "deferred", "tools"}, areas()
CallToolRequestParams.model_validate({"name": "add", "inputResponses": {"ask": {"action": "decline"}}})
assert "sampling" in areas()
""")


def test_first_use_from_many_threads_at_once_is_safe() -> None:
    run("""
import threading
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

start, problems = threading.Barrier(8), []

def use():
    start.wait()
    try:
        result = CallToolResult(content=[TextContent(text="hi")])
        assert CallToolResult.model_validate_json(result.model_dump_json(by_alias=True)) == result
        ListToolsResult(tools=[Tool(name="t", input_schema={})]).model_dump(by_alias=True)
    except BaseException as problem:
        problems.append(problem)

threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not problems, problems
""")
