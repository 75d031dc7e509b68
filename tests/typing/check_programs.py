"""Checks the types of programs with pyright and with mypy, both strict, against the package of this environment.

    python check_programs.py PATH... [--without NAME...]

A PATH is a program or a folder of them. Prints what both report, and how many programs are without a finding; exits 1
when there are findings.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PYTHON_VERSION = "3.10"


def programs(paths: list[Path], without: list[str]) -> list[Path]:
    """The files to check: those of every folder, but not below a folder with one of the names."""
    found: list[Path] = []
    for path in paths:
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [file.resolve() for file in found if not set(without) & set(file.parts)]


def pyright(files: list[Path], neighbours: list[Path]) -> list[str]:
    """What pyright reports, as lines that begin with the file."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "include": [os.path.relpath(file, folder) for file in files],
            "extraPaths": [os.path.relpath(path, folder) for path in neighbours],
            "typeCheckingMode": "strict",
            "pythonVersion": PYTHON_VERSION,
        }
        project = Path(folder, "pyrightconfig.json")
        project.write_text(json.dumps(settings))
        command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(project)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout.startswith("{"):
        raise SystemExit(f"pyright did not run: {done.stdout}{done.stderr}")
    report = json.loads(done.stdout)
    if report["summary"]["filesAnalyzed"] < len(files):
        raise SystemExit(f"pyright read {report['summary']['filesAnalyzed']} of {len(files)} files")
    return [
        f"{found['file']}:{found['range']['start']['line'] + 1}: {found['message']} [pyright {found.get('rule', '')}]"
        for found in report["generalDiagnostics"]
        if found["severity"] == "error"
    ]


def mypy(files: list[Path]) -> list[str]:
    """What mypy reports, as lines that begin with the file."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context"]
        command += ["--python-version", PYTHON_VERSION, "--cache-dir", folder, "--config-file", "", "--no-color-output"]
        # Programs that stand alone may have the same name.
        command += ["--explicit-package-bases", "--namespace-packages", "--show-absolute-path"]
        done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode > 1 or done.stderr:
        raise SystemExit(f"mypy did not run: {done.stdout}{done.stderr}")
    return [f"{line} [mypy]" for line in done.stdout.splitlines() if ": error: " in line]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--without", nargs="*", default=[], help="names of folders to leave out")
    options = parser.parse_args()
    files = programs(options.paths, options.without)
    if not files:
        parser.error("no programs there")
    # Programs beside each other, in a folder that is no package, import one another by name.
    neighbours = [path for path in options.paths if path.is_dir() and not (path / "__init__.py").exists()]
    findings = [*pyright(files, neighbours), *mypy(files)]
    for finding in findings:
        print(finding)
    bad = {finding.partition(":")[0] for finding in findings}
    print(f"{len(files) - len(bad)} of {len(files)} programs without a finding, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
