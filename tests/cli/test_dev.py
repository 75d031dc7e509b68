"""`mcp dev FILE`: the command that it becomes, with scripts in the place of Node.js, npx and uv."""

import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from commands import COMMAND, executable, mcp, program, with_input_open

from mcp.cli.launching import become

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shell scripts stand for the other programs")

SHOW = 'for argument; do echo "$argument"; done\nexit 7'


def test_it_becomes_the_inspector_around_uv(tmp_path: Path) -> None:
    file, tools = program(tmp_path), tmp_path / "bin"
    for name, script in {"npx": SHOW, "uv": "", "node": ""}.items():
        executable(tools, name, script)
    code, out, err = mcp(
        "dev", "server.py", "--with", "numpy", "--with", "pandas", "-e", ".", cwd=tmp_path, PATH=str(tools)
    )
    uv, pinned = str(tools / "uv"), f"mcp[cli]=={version('mcp')}"
    packages = ["--with", pinned, "--with", "pandas", "--with", "numpy", "--with-editable", str(tmp_path)]
    assert out.split() == ["@modelcontextprotocol/inspector", uv, "run", *packages, "mcp", "run", str(file)]
    assert (code, err) == (7, "")


def test_a_signal_reaches_the_inspector(tmp_path: Path) -> None:
    file, tools = program(tmp_path), tmp_path / "bin"
    executable(tools, "npx", "trap 'exit 9' TERM\necho ready\nwhile :; do /bin/sleep 0.05; done")
    for name in ("node", "uv"):
        executable(tools, name, "")
    command = [COMMAND, "dev", str(file)]
    with subprocess.Popen(command, env={**os.environ, "PATH": str(tools)}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 9


def test_each_program_that_is_missing_is_named(tmp_path: Path) -> None:
    file, tools = program(tmp_path), tmp_path / "bin"
    executable(tools, "node", "")
    code, out, err = mcp("dev", str(file), cwd=tmp_path, PATH=str(tools))
    assert (code, out) == (1, "")
    assert [line.partition(":")[0].strip() for line in err.splitlines()[1:-1]] == ["npx", "uv"]
    assert err.splitlines()[-1].startswith("Without them, from Python: async with Client(mcp) as client:")


def test_on_windows_it_waits_for_the_inspector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SystemExit) as caught:
        become([sys.executable, "-c", "raise SystemExit(5)"])
    assert caught.value.code == 5
    # The console tells both of an interrupt; the Inspector has ended when this process takes notice.
    # A test run in the background may have been told to ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as caught:
            become([sys.executable, "-c", f"import os; os.kill({os.getpid()}, {int(signal.SIGINT)})"])
    finally:
        signal.signal(signal.SIGINT, before)
    assert caught.value.code == 130


def test_a_server_that_serves_when_it_is_imported_is_refused(tmp_path: Path) -> None:
    text = "from mcp.server import MCPServer\nmcp = MCPServer('shop')\nmcp.run()"
    (tmp_path / "server.py").write_text(text, encoding="utf-8")
    code, out, err = with_input_open("dev", "server.py", cwd=tmp_path)
    assert (code, out) == (1, "")
    assert "server.py serves as soon as it is imported" in err


def test_a_server_that_cannot_be_loaded_is_refused_first(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import nowhere_to_be_found", encoding="utf-8")
    code, _, err = mcp("dev", "broken.py", cwd=tmp_path)
    assert code == 1
    assert err.rstrip().endswith("ModuleNotFoundError: No module named 'nowhere_to_be_found'")
