"""Measures this package against the reference, side by side, and prints the table of ratios."""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from subprocess import PIPE

from budgets import BUDGETS
from environments import create_reference
from measure import Result
from report import Pair, Row, row_for, table

HERE = Path(__file__).resolve().parent
RUN_LIMIT_SECONDS = 900


class Runner:
    """Runs cases, each in a fresh process of the interpreter that has the package to measure."""

    def __init__(self, ours: Path, reference: Path, *, pairs: int, quick: bool) -> None:
        self._ours = ours
        self._reference = reference
        self._pairs = pairs
        self._arguments = ["--quick"] if quick else []
        # Without compiled modules every start would pay for compiling.
        self._environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def compare(self, script: str, case: str, most_pairs: int | None) -> tuple[list[Pair], list[Pair]]:
        """Returns the A/A pairs (ours twice) and the A/B pairs (ours, reference), each run in turn."""
        _tell(f"{script} {case}")
        began = time.perf_counter()
        count = min(self._pairs, most_pairs or self._pairs)
        alike = self._in_turn(self._ours, self._ours, script, case, count)
        pairs = self._in_turn(self._ours, self._reference, script, case, count)
        _tell(f" {time.perf_counter() - began:.0f} s\n")
        return alike, pairs

    def _in_turn(self, first: Path, second: Path, script: str, case: str, count: int) -> list[Pair]:
        return [(self._run(first, script, case), self._run(second, script, case)) for _ in range(count)]

    def _run(self, python: Path, script: str, case: str) -> Result:
        command = [str(python), str(HERE / f"{script}.py"), case, *self._arguments]
        # A session of its own, so that the servers of a run that hangs or is interrupted end with it.
        process = subprocess.Popen(
            command, env=self._environment, stdout=PIPE, stderr=PIPE, text=True, start_new_session=True
        )
        try:
            output, errors = process.communicate(timeout=RUN_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            return Result(failures={"run": f"no end after {RUN_LIMIT_SECONDS} s"})
        finally:
            _end_session(process)
            _tell(".")
        if process.returncode != 0:
            lines = errors.strip().splitlines() or [f"exit code {process.returncode}"]
            return Result(failures={"run": lines[-1], "trace": errors})
        answer = json.loads(output)
        return Result(answer["figures"], answer["failures"])


def _end_session(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def main() -> None:
    options = _options()
    reference = options.reference or create_reference(HERE.parent / ".bench" / "reference")
    runner = Runner(options.ours, reference, pairs=options.pairs or (2 if options.quick else 5), quick=options.quick)
    budgets = [each for each in BUDGETS if not options.only or each.id in options.only]
    cases = {(each.script, each.case): each.pairs for each in budgets}
    found = {case: runner.compare(*case, most_pairs) for case, most_pairs in cases.items()}
    rows = [row_for(each, *found[each.script, each.case]) for each in budgets]
    print(table(rows))
    if options.json is not None:
        _write(options.json, rows, found)
    if options.gate and any(row.missed for row in rows):
        sys.exit(1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=lambda text: text.split(","), metavar="P1,P5", help="measure these lines only")
    parser.add_argument("--pairs", type=int, help="pairs of each case, A/A and A/B (default 5, quick 2)")
    parser.add_argument("--quick", action="store_true", help="a fifth of the requests, two pairs: rough figures")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every run's raw figures to FILE")
    parser.add_argument("--ours", type=Path, default=Path(sys.executable), help="interpreter with the package to judge")
    parser.add_argument("--reference", type=Path, help="interpreter with the reference (default: made in .bench)")
    parser.add_argument("--gate", action="store_true", help="exit 1 when a budget is missed")
    options = parser.parse_args()
    known = dict.fromkeys(each.id for each in BUDGETS)
    if not known.keys() >= set(options.only or ()):
        parser.error(f"--only knows {', '.join(known)}")
    return options


def _write(file: Path, rows: Sequence[Row], found: dict[tuple[str, str], tuple[list[Pair], list[Pair]]]) -> None:
    document = {
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "rows": [asdict(row) for row in rows],
        "runs": [
            {"script": script, "case": case, "alike": _raw(alike), "pairs": _raw(pairs)}
            for (script, case), (alike, pairs) in found.items()
        ],
    }
    file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _raw(pairs: Sequence[Pair]) -> list[list[dict[str, object]]]:
    return [[asdict(result) for result in pair] for pair in pairs]


def _tell(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
