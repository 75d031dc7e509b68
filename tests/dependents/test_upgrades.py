"""Replacing another release of this package by ours, and back, with the installers people use: every order must work.

The other release keeps the package `mcp_types` in the distribution `mcp-types`. An installer that removes it deletes
those files, whoever wrote them last; so ours must have none of the same path (docs/architecture.md).
"""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Protocol

import pytest

from mcp import __path__ as package_path

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

REPOSITORY = Path(package_path[0]).parents[1]
OTHER = "2.3.0"

PROBE = """
import sys, warnings
warnings.simplefilter("error")
__import__(sys.argv[1])
import mcp, mcp_types, mcp.types, mcp_types.jsonrpc, mcp_types.methods, mcp_types.version
from importlib.metadata import version
from mcp import Client
from mcp.server import Server
assert mcp_types.Tool is mcp.types.Tool, mcp_types.__file__
assert mcp_types.jsonrpc.JSONRPCRequest is mcp.types.JSONRPCRequest
print(version("mcp"))
"""


class Install(Protocol):
    """An installer."""

    def __call__(self, environment: Path, *arguments: str) -> None: ...


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of both our distributions."""
    folder = tmp_path_factory.mktemp("dist")
    for project in (REPOSITORY, REPOSITORY / "packages" / "mcp-types"):
        build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(project)]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> Path:
    """An environment with the other release, and with what ours needs besides."""
    folder = tmp_path_factory.mktemp("other") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    ours = next(wheels.glob("mcp-*.whl"))
    pip(folder, str(ours), "uv")
    pip(folder, f"mcp=={OTHER}")
    return folder


@pytest.fixture
def environment(other: Path, tmp_path: Path) -> Path:
    """A copy of that environment, to spoil."""
    return Path(shutil.copytree(other, tmp_path / "venv", symlinks=True))


def pip(environment: Path, *arguments: str) -> None:
    pip = [str(environment / "bin" / "python"), "-m", "pip"]
    command = arguments if arguments[0] == "uninstall" else ("install", *arguments)
    subprocess.run([*pip, "--quiet", "--disable-pip-version-check", *command], check=True)


def uv(environment: Path, *arguments: str) -> None:
    python = str(environment / "bin" / "python")
    subprocess.run([python, "-m", "uv", "pip", "install", "--quiet", "--python", python, *arguments], check=True)


def works(environment: Path, release: str, first: str) -> bool:
    """Whether a release works in a fresh process that imports `first` before anything else."""
    probe = [str(environment / "bin" / "python"), "-c", PROBE, first]
    done = subprocess.run(probe, cwd=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "RuntimeWarning" in done.stderr, done.stderr
    return done.stdout == f"{release}\n"


def version_of(wheels: Path) -> str:
    return next(wheels.glob("mcp-*.whl")).name.split("-")[1]


def test_a_requirement_on_mcp_types_is_met_and_holds_no_code(wheels: Path, environment: Path) -> None:
    release = version_of(wheels)
    with zipfile.ZipFile(next(wheels.glob("mcp_types-*.whl"))) as wheel:
        assert {name.partition("/")[0] for name in wheel.namelist()} == {f"mcp_types-{release}.dist-info"}
    pip(environment, "uninstall", "--yes", "mcp", "mcp-types")
    pip(environment, "--no-index", "--find-links", str(wheels), f"mcp-types=={release}")
    assert works(environment, release, "mcp_types")
    assert works(environment, release, "mcp")


@pytest.mark.parametrize("install", [pip, uv])
@pytest.mark.parametrize("requirements", [["mcp", "mcp-types"], ["mcp-types", "mcp"], ["mcp-types"]])
def test_both_distributions_replace_the_other_release_in_any_order(
    wheels: Path, environment: Path, install: Install, requirements: list[str]
) -> None:
    release = version_of(wheels)
    from_here = ["--no-index", "--find-links", str(wheels)]
    install(environment, *from_here, *(f"{name}=={release}" for name in requirements))
    assert works(environment, release, "mcp")
    assert works(environment, release, "mcp_types")
    install(environment, f"mcp=={OTHER}")
    assert works(environment, OTHER, "mcp")
    assert works(environment, OTHER, "mcp_types")


@pytest.mark.parametrize("install", [pip, uv])
def test_mcp_alone_takes_the_name_mcp_types_from_what_is_left_behind(
    wheels: Path, environment: Path, install: Install
) -> None:
    release = version_of(wheels)
    from_here = ["--no-index", "--find-links", str(wheels)]
    install(environment, *from_here, f"mcp=={release}")
    assert works(environment, release, "mcp")
    # Imported before `mcp`, it is what was left behind, which is said.
    assert not works(environment, release, "mcp_types")
    install(environment, *from_here, f"mcp-types=={release}")
    assert works(environment, release, "mcp_types")
    pip(environment, "uninstall", "--yes", "mcp-types")
    assert works(environment, release, "mcp_types")
    install(environment, f"mcp=={OTHER}")
    assert works(environment, OTHER, "mcp_types")
