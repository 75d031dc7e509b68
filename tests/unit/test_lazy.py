"""Packages whose names are loaded when they are first used."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import mcp
from mcp.lazy import lazy_exports

SOURCES = {
    "__init__.py": """
from mcp.lazy import lazy_exports
__getattr__, __dir__ = lazy_exports(
    __name__,
    {"Door": __name__ + ".doors", "Gate": __name__ + ".doors:Door", "Ghost": __name__ + ".doors",
     "Wall": __name__ + ".walls"},
)
here = 1
""",
    "doors.py": "class Door: ...\n",
    "hall.py": "size = 5\n",
    "cellar.py": "import a_module_that_nobody_has\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package with lazy names."""
    folder = tmp_path / "lazy_house"
    folder.mkdir()
    for name, source in SOURCES.items():
        (folder / name).write_text(source, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    import lazy_house  # pyright: ignore[reportMissingImports]

    house: Any = lazy_house
    yield house
    for name in [name for name in sys.modules if name.partition(".")[0] == "lazy_house"]:
        del sys.modules[name]


def test_a_name_is_loaded_when_it_is_first_used(package: ModuleType) -> None:
    assert "lazy_house.doors" not in sys.modules
    door = package.Door
    assert door is sys.modules["lazy_house.doors"].Door
    assert vars(package)["Door"] is door


def test_a_name_may_be_another_one_at_home(package: ModuleType) -> None:
    assert package.Gate is package.Door


def test_a_name_that_its_home_has_not_is_an_attribute_error_of_the_home(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=r"lazy_house\.doors.*Ghost"):
        _ = package.Ghost


def test_a_home_that_does_not_exist_is_an_import_error(package: ModuleType) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"lazy_house\.walls"):
        _ = package.Wall


@pytest.mark.parametrize("name", ["Nothing", "_hidden", "__wrapped__"])
def test_an_unknown_name_is_an_attribute_error(package: ModuleType, name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'lazy_house' has no attribute '{name}'"):
        getattr(package, name)
    assert not hasattr(package, name)


def test_a_module_of_the_package_is_reachable_without_importing_it(package: ModuleType) -> None:
    assert package.hall.size == 5


def test_a_module_that_cannot_be_imported_says_why(package: ModuleType) -> None:
    with pytest.raises(ModuleNotFoundError, match="a_module_that_nobody_has"):
        _ = package.cellar


def test_lazy_names_are_listed_before_they_are_loaded(package: ModuleType) -> None:
    names = dir(package)
    assert {"Door", "Gate", "here", "__name__"} <= set(names)
    assert names == sorted(names)
    assert "lazy_house.doors" not in sys.modules


def test_a_package_says_its_own_name_in_errors() -> None:
    get, names = lazy_exports("mcp", {"Thing": "mcp.types"})
    with pytest.raises(AttributeError, match="module 'mcp' has no attribute 'nothing_at_all'"):
        get("nothing_at_all")
    assert "Thing" in names()


def test_importing_the_library_loads_none_of_its_parts() -> None:
    program = "import sys, mcp; print(sorted(name for name in sys.modules if name.startswith('mcp')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['mcp', 'mcp.lazy', 'mcp.mcp_types', 'mcp_types']"


def test_importing_a_server_loads_nothing_of_http() -> None:
    program = "import sys; from mcp.server import MCPServer; print([name for name in sys.modules if '.http_' in name])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_parts_of_the_library_are_reachable_by_its_name_alone() -> None:
    parts = "mcp.types.Tool, mcp.client.session.ClientSession, mcp.shared.message.SessionMessage"
    program = f"import mcp; print(*(part.__name__ for part in ({parts})))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "Tool ClientSession SessionMessage"


def test_what_the_library_has_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'mcp' has no attribute 'Servant'"):
        getattr(mcp, "Servant")  # noqa: B009 (a type checker knows that there is none)


def test_whoever_looks_into_the_names_of_mcp_finds_all_of_them() -> None:
    """openai-agents does."""
    code = (
        "import sys, mcp\n"
        "assert 'mcp.client' not in sys.modules\n"
        "assert 'Tool' in dir(mcp) and 'mcp.client' not in sys.modules\n"
        "assert set(mcp.__all__) <= set(vars(mcp))\n"
        "assert vars(mcp)['Client'] is mcp.Client"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=50)
