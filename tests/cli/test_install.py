"""`mcp install FILE`: what it writes into Claude Desktop's configuration, and what it leaves there."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from commands import executable, mcp, program, with_input_open

from mcp.cli import launching
from mcp.cli.claude import get_claude_config_path, update_claude_config
from mcp.cli.failure import CommandError
from mcp.cli.files import locked
from mcp.cli.launching import mcp_requirement

pytestmark = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="HOME decides on Linux")

KEPT: dict[str, Any] = {
    "theme": "dark, größer",
    "mcpServers": {"other": {"command": "npx"}, "Book shop": {"command": "old", "disabled": True, "env": {"A": "0"}}},
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder in which Claude Desktop has been started before, and uv is on PATH."""
    (tmp_path / ".config" / "Claude").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    executable(tmp_path / "bin", "uv", "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def config_file(home: Path) -> Path:
    return home / ".config" / "Claude" / "claude_desktop_config.json"


def entries(home: Path) -> dict[str, Any]:
    return json.loads(config_file(home).read_text(encoding="utf-8"))["mcpServers"]


def test_the_entry_is_the_documented_command_with_absolute_paths(home: Path) -> None:
    file = program(home)
    code, out, err = mcp("install", "server.py:mcp", "--with", "numpy", "-e", ".", cwd=home)
    assert (code, err) == (0, "")
    assert out == f"'Book shop' is in {config_file(home)}. Quit Claude Desktop and open it again.\n"
    packages = ["--with", f"mcp[cli]=={version('mcp')}", "--with", "pandas", "--with", "numpy"]
    assert entries(home) == {
        "Book shop": {
            "command": str(home / "bin" / "uv"),
            "args": ["run", "--frozen", *packages, "--with-editable", str(home), "mcp", "run", f"{file}:mcp"],
        }
    }


def test_everything_else_in_the_file_stays(home: Path) -> None:
    config_file(home).write_text(json.dumps(KEPT), encoding="utf-8")
    config_file(home).chmod(0o640)
    file = program(home)
    (home / "more.env").write_text("B=two\nexport C='three'\nUNSET\n", encoding="utf-8")
    assert mcp("install", str(file), "-v", "B=2=2", "-f", "more.env", cwd=home).code == 0
    written = json.loads(config_file(home).read_text(encoding="utf-8"))
    entry = written["mcpServers"].pop("Book shop")
    assert written == {"theme": KEPT["theme"], "mcpServers": {"other": {"command": "npx"}}}
    assert entry["env"] == {"A": "0", "B": "2=2", "C": "three"}
    assert entry["disabled"] is True
    assert entry["command"] == str(home / "bin" / "uv")
    assert "größer" in config_file(home).read_text(encoding="utf-8")
    assert config_file(home).stat().st_mode & 0o777 == 0o640
    assert os.listdir(config_file(home).parent) == [config_file(home).name]


def test_a_new_file_is_for_its_owner_only(home: Path) -> None:
    update_claude_config("/srv/server.py", "shop", env_vars={"API_KEY": "secret"})
    assert config_file(home).stat().st_mode & 0o777 == 0o600


def test_a_link_to_the_file_stays_a_link(home: Path) -> None:
    kept = home / "dotfiles.json"
    kept.write_text("{}", encoding="utf-8")
    config_file(home).symlink_to(kept)
    assert update_claude_config("/srv/server.py", "shop") == kept
    assert config_file(home).is_symlink()
    assert list(entries(home)) == ["shop"]


@pytest.mark.parametrize("text", ["", " \n", "\ufeff{}", '{"mcpServers": {}}'])
def test_an_empty_configuration_is_one(home: Path, text: str) -> None:
    config_file(home).write_text(text, encoding="utf-8")
    update_claude_config("/srv/server.py", "shop")
    assert list(entries(home)) == ["shop"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"mcpServers": {', "is not valid JSON, and is left as it is. Mend it first"),
        ("[1]", "must hold a JSON object, and is left as it is: it holds an array"),
        ("7", "it holds 7"),
        ('{"mcpServers": null}', "'mcpServers' in .* must be a JSON object, and is left as it is: it is null"),
        ('{"mcpServers": {"shop": "x"}}', "'shop' in .* it is a string"),
        ('{"mcpServers": {"shop": {"env": []}}}', "'env' in .* it is an array"),
        ('{"mcpServers": {"shop": {"env": 5}}}', "'env' in .* it is 5"),
        ('{"size": 1e999}', "is not valid JSON, and is left as it is. Mend it first: the number 1e999 is too large"),
        ('{"size": -1e999}', "the number -1e999 is too large"),
        ('{"size": NaN}', "is not valid JSON, .*: NaN is no JSON"),
        ('{"size": -Infinity}', "-Infinity is no JSON"),
        ('{"size": ' + "9" * 5000 + "}", "is not valid JSON, .*: a number in it has 5000 digits$"),
        ("[" * 100_000 + "]" * 100_000, "is nested too deeply, and is left as it is"),
        (r'{"theme": "\ud800"}', r"is left as it is: .* holds '\\ud800', half of a character"),
    ],
    ids=range(14),
)
def test_what_is_no_configuration_is_refused_and_left_alone(home: Path, text: str, message: str) -> None:
    config_file(home).write_text(text, encoding="utf-8")
    for variables in ({"A": "1"}, {}):
        with pytest.raises(CommandError, match=message):
            update_claude_config("/srv/server.py", "shop", env_vars=variables)
        assert config_file(home).read_text(encoding="utf-8") == text
    assert os.listdir(config_file(home).parent) == [config_file(home).name]


def test_a_file_that_is_no_text_is_refused(home: Path) -> None:
    config_file(home).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CommandError, match="cannot be read, and is left as it is"):
        update_claude_config("/srv/server.py", "shop")


def circle(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (os.mkfifo, r"is a FIFO \(a named pipe\), and no file, and is left as it is"),
        (os.mkdir, "is a folder, and is left as it is"),
        (partial(os.symlink, "/dev/null"), "is a device, and no file, and is left"),
        (circle, r"cannot be read \(.*\), and is left as it is"),
    ],
)
def test_a_configuration_that_is_no_file_is_refused(home: Path, make: Callable[[Path], None], kind: str) -> None:
    make(config_file(home))
    with pytest.raises(CommandError, match=kind):
        update_claude_config("/srv/server.py", "shop")


def test_a_file_that_is_read_only_is_left_alone(home: Path) -> None:
    config_file(home).write_text("{}", encoding="utf-8")
    config_file(home).chmod(0o444)
    with pytest.raises(CommandError, match=r"is read-only, and is left as it is. Make it writable first"):
        update_claude_config("/srv/server.py", "shop")
    assert config_file(home).read_text(encoding="utf-8") == "{}"
    assert config_file(home).stat().st_mode & 0o777 == 0o444


def test_a_command_takes_the_place_of_an_address(home: Path) -> None:
    old = {"type": "http", "url": "https://shop.example/mcp", "env": {"A": "0"}, "disabled": True}
    local = {"type": "stdio", "command": "old"}
    config_file(home).write_text(json.dumps({"mcpServers": {"shop": old, "local": local}}), encoding="utf-8")
    update_claude_config("/srv/server.py", "shop")
    update_claude_config("/srv/server.py", "local")
    entry = entries(home)["shop"]
    assert entry.pop("args")[-1] == "/srv/server.py"
    assert entry == {"command": str(home / "bin" / "uv"), "env": {"A": "0"}, "disabled": True}
    assert entries(home)["local"]["type"] == "stdio"


def test_several_commands_at_once_lose_nothing(home: Path) -> None:
    """As a script does that installs the servers of a project."""
    names = [f"shop {n}" for n in range(8)]
    program = "import sys; from mcp.cli.claude import update_claude_config as u; u('/srv/server.py', sys.argv[1])"
    installs = [subprocess.Popen([sys.executable, "-c", program, name]) for name in names]
    assert [install.wait(timeout=50) for install in installs] == [0] * len(names)
    assert sorted(entries(home)) == names
    assert os.listdir(config_file(home).parent) == [config_file(home).name]


def test_a_command_that_does_not_end_is_not_waited_for_for_ever(home: Path) -> None:
    lock = home / ".server.json.lock"
    lock.touch()
    message = f"another command is changing it. If there is none, .*: remove {lock}$"
    with pytest.raises(CommandError, match=message), locked(home / "server.json", patience=0.05):
        raise AssertionError("it is locked")
    assert lock.exists()


def test_a_name_that_is_no_text_is_refused(home: Path) -> None:
    with pytest.raises(CommandError, match=r"is left as it is: .* holds '\\udcff', half of a character"):
        update_claude_config("/srv/caf\udcff.py", "shop")
    assert not config_file(home).exists()


def test_a_file_of_variables_is_utf_8(home: Path) -> None:
    (home / "more.env").write_bytes(b"A=\xff\xfe")
    code, out, err = mcp("install", str(program(home)), "-f", "more.env", cwd=home)
    assert (code, out) == (1, "")
    assert err.startswith("more.env cannot be read as a .env file, which is UTF-8 text: ")


UNGUARDED = """
from mcp.server import MCPServer
mcp = MCPServer("shop")
{serve}
"""


@pytest.mark.parametrize(
    "serve",
    [
        "mcp.run()",
        "mcp.run('streamable-http', port=0)",
        "mcp.run('sse', port=0)",
        "import anyio; anyio.run(mcp.run_stdio_async, backend='trio')",
    ],
)
def test_a_file_that_serves_when_it_is_imported_is_not_installed(home: Path, serve: str) -> None:
    (home / "server.py").write_text(UNGUARDED.format(serve=serve), encoding="utf-8")
    code, _, err = with_input_open("install", "server.py", cwd=home)
    assert code == 1
    assert "server.py serves as soon as it is imported" in err
    assert '    if __name__ == "__main__":\n        mcp.run()\n' in err
    assert "Traceback" not in err
    assert not config_file(home).exists()


def test_a_file_that_reads_its_input_is_installed(home: Path) -> None:
    (home / "server.py").write_text(UNGUARDED.format(serve="import sys; sys.stdin.read()"), encoding="utf-8")
    assert with_input_open("install", "server.py", cwd=home).code == 0
    assert list(entries(home)) == ["shop"]


def test_where_nothing_can_be_written_nothing_is_left_behind(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    config_file(home).write_text("{}", encoding="utf-8")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(CommandError, match=r"cannot be written, and is left as it is: .*No space left"):
        update_claude_config("/srv/server.py", "shop")
    assert os.listdir(config_file(home).parent) == [config_file(home).name]
    assert config_file(home).read_text(encoding="utf-8") == "{}"


def test_claude_desktop_must_have_run_before(home: Path) -> None:
    config_file(home).parent.rmdir()
    code, out, err = mcp("install", str(program(home)), cwd=home)
    assert (code, out) == (1, "")
    assert err.startswith("Claude app not found: ")


def test_each_platform_has_its_own_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_claude_config_path() == home / ".config" / "Claude"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "xdg"))
    assert get_claude_config_path() is None
    folders = {"darwin": home / "Library" / "Application Support", "win32": home / "AppData" / "Roaming"}
    for platform, folder in folders.items():
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.delenv("APPDATA", raising=False)
        assert get_claude_config_path() is None
        (folder / "Claude").mkdir(parents=True)
        assert get_claude_config_path() == folder / "Claude"
    monkeypatch.setenv("APPDATA", str(home / "elsewhere"))
    assert get_claude_config_path() is None


def test_a_name_of_its_own_wins(home: Path) -> None:
    assert mcp("install", str(program(home)), "--name", "Shop 2", cwd=home).code == 0
    assert list(entries(home)) == ["Shop 2"]


def test_without_uv_it_is_installed_with_a_warning(home: Path) -> None:
    code, _, err = mcp("install", str(program(home)), cwd=home, PATH="")
    assert code == 0
    assert err.startswith("uv is not on PATH here, and Claude Desktop needs it")
    assert entries(home)["Book shop"]["command"] == "uv"


def test_a_server_whose_imports_are_only_there_in_its_own_environment_can_be_installed(home: Path) -> None:
    (home / "stocks.py").write_text("import nowhere_to_be_found", encoding="utf-8")
    code, _, err = mcp("install", "stocks.py", cwd=home)
    assert code == 0
    assert "No module named 'nowhere_to_be_found'\nIt is installed nevertheless" in err
    assert list(entries(home)) == ["stocks"]


def test_a_file_without_a_server_is_not_installed(home: Path) -> None:
    (home / "empty.py").write_text("", encoding="utf-8")
    assert mcp("install", "empty.py", cwd=home).code == 1
    assert not config_file(home).exists()


@pytest.mark.parametrize("pair", ["NO_VALUE", "=value", ""])
def test_a_variable_needs_a_name_and_a_value(home: Path, pair: str) -> None:
    code, _, err = mcp("install", str(program(home)), "-v", pair, cwd=home)
    assert (code, err) == (1, f"{pair!r} is no environment variable: write KEY=VALUE\n")


def test_a_build_that_no_registry_has_is_not_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    assert mcp_requirement("mcp[cli]") == f"mcp[cli]=={version('mcp')}"
    for unpublished in ("2.5.0.dev3", "2.4.0+local"):
        monkeypatch.setattr(launching, "version", {"mcp": unpublished}.get)
        assert mcp_requirement() == "mcp"
