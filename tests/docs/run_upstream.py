"""Runs the documentation's example programs, fetched elsewhere, and compares them with what their pages say.

    python run_upstream.py FOLDER [PROGRAM...]

FOLDER holds the programs, such as `FOLDER/lowlevel/tutorial001.py`. Each program runs in a fresh process of this
interpreter. Prints one line per statement and, last, `N passed, M failed`; exits 1 when one fails.
"""

import argparse
import asyncio
import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TypedDict

from upstream_statements import STATEMENTS, Statement

_TESTS = Path(__file__).parents[1]
# As `pythonpath` has it for pytest.
sys.path[:0] = [str(_TESTS / "drivers"), str(_TESTS.parent / "examples")]

# Each file of statements registers its own.
for _file in sorted(Path(__file__).parent.glob("upstream_*.py")):
    importlib.import_module(_file.stem)

SECONDS_PER_PROGRAM = 60
PROGRAMS_AT_ONCE = 2
PACKAGE = "upstream"


class Row(TypedDict):
    """One line of the table."""

    program: str
    words: str
    expected: str
    seen: str
    holds: bool


def load(folder: Path, program: str) -> ModuleType:
    """Imports a program anew, so that no statement sees what another one changed.

    It is a module of a package that is all of `folder`, since some programs import their neighbours.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    package = sys.modules[PACKAGE] = ModuleType(PACKAGE)
    package.__path__ = [str(folder)]
    return importlib.import_module(f"{PACKAGE}.{program.replace('/', '.')}")


def row(statement: Statement, seen: str, holds: bool) -> Row:
    return Row(
        program=statement.program, words=statement.words, expected=repr(statement.expected), seen=seen, holds=holds
    )


def judge(folder: Path, statement: Statement) -> Row:
    """Runs one statement in this process."""
    try:
        seen = asyncio.run(statement.observe(load(folder, statement.program)))
    except BaseException as error:
        return row(statement, f"{type(error).__name__}: {error}", holds=False)
    return row(statement, repr(seen), holds=seen == statement.expected)


def judge_in_fresh_process(folder: Path, program: str) -> list[Row]:
    """Runs every statement about one program in a process of its own."""
    command = [sys.executable, __file__, str(folder), program, "--here"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_PER_PROGRAM, check=True)
        return json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        fault = f"not done after {SECONDS_PER_PROGRAM} s"
    except subprocess.CalledProcessError as error:
        fault = f"exit code {error.returncode}: {error.stderr[-300:]}"
    return [row(statement, fault, holds=False) for statement in STATEMENTS if statement.program == program]


def line(program: str, words: str, expected: str, seen: str, verdict: str) -> str:
    return f"{program:22}  {shorten(words):56}  {shorten(expected):56}  {shorten(seen):56}  {verdict}"


def shorten(text: str) -> str:
    return text if len(text) <= 56 else f"{text[:53]}..."


def print_row(row: Row) -> None:
    print(line(row["program"], row["words"], row["expected"], row["seen"], "ok" if row["holds"] else "FAIL"))
    if not row["holds"]:
        print(f"    expected {row['expected']}\n    seen     {row['seen']}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("programs", nargs="*", help="such as lowlevel/tutorial001; all when left out")
    parser.add_argument("--here", action="store_true", help="in this process, with the rows as one line of JSON")
    options = parser.parse_args()
    known = list(dict.fromkeys(statement.program for statement in STATEMENTS))
    missing = [program for program in known if not (options.folder / f"{program}.py").is_file()]
    chosen: list[str] = options.programs or [program for program in known if program not in missing]
    if unknown := set(chosen) - set(known):
        parser.error(f"nothing is known about {', '.join(sorted(unknown))}")
    if options.here:
        rows = [judge(options.folder, statement) for statement in STATEMENTS if statement.program in chosen]
        print(json.dumps(rows))
        return 0
    print(line("program", "what its page says", "expected", "seen", "verdict"))
    rows: list[Row] = []
    for program in chosen:
        for seen in judge_in_fresh_process(options.folder, program):
            print_row(seen)
            rows.append(seen)
    failed = sum(not row["holds"] for row in rows)
    if missing and not options.programs:
        print(f"left out, since the folder does not hold them: {', '.join(missing)}")
    print(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
