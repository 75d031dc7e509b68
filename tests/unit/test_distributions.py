"""The two distributions belong together."""

from importlib.metadata import version
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "packages" / "mcp-types" / "pyproject.toml"


@pytest.mark.parametrize("line", ['version = "{version}"', 'dependencies = ["mcp=={version}"]'])
def test_mcp_types_has_the_version_of_mcp_and_requires_it(line: str) -> None:
    assert line.format(version=version("mcp")) in PROJECT.read_text(encoding="utf-8").splitlines()
