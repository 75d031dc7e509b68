"""Runs the official conformance suite against the server, the client and the authorization server of this folder.

    python run.py [--role ROLE ...] [--revision REVISION ...] [--scenario NAME ...] [--python PROGRAM]

The scenarios run one by one, two at a time. What counts is what the suite stored about each of them: its own
summary leaves out warnings and clients that crashed. `expectations.txt` lists what may fail, and why; anything
else that fails is an error, and so is an entry whose scenario passes.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from expectations import Expectations
from suite import EXTENSIONS, Outcome, Scenario, Suite

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
REVISIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", EXTENSIONS]
ROLES = ["server", "client", "authorization"]
AT_ONCE = 2


@contextmanager
def under_test(python: str, program: str, wanted: bool) -> Generator[str]:
    """Runs a server of this folder and gives its URL, if it is to be tested."""
    if not wanted:
        yield ""
        return
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES)}
    with subprocess.Popen(
        [python, HERE / program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            url = process.stdout.readline().decode().strip()
            if not url:
                sys.exit(f"{program} did not start")
            yield url
            process.stdin.close()
            if process.wait(timeout=20) != 0:
                sys.exit(f"{program} ended with {process.returncode}")
        finally:
            process.kill()


def run_all(suite: Suite, scenarios: list[Scenario]) -> Generator[Outcome]:
    """Runs the scenarios, a few at a time, and yields their outcomes in order."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(suite.run, scenarios)


def print_table(outcomes: list[Outcome], expectations: Expectations) -> None:
    """Prints how many scenarios of each revision and role passed, failed as expected, and failed."""
    print(f"\n{'revision':12}{'role':15}{'scenarios':>10}{'passed':>8}{'expected to fail':>18}{'failed':>8}")
    for revision, role in dict.fromkeys((one.scenario.revision, one.scenario.role) for one in outcomes):
        leg = [one for one in outcomes if (one.scenario.revision, one.scenario.role) == (revision, role)]
        passed = sum(one.passed for one in leg)
        failed = sum(bool(expectations.unexpected(one)) for one in leg)
        print(f"{revision:12}{role:15}{len(leg):>10}{passed:>8}{len(leg) - passed - failed:>18}{failed:>8}")


def report(outcomes: list[Outcome], expectations: Expectations) -> int:
    """Prints the results and returns the number of things that are wrong."""
    print_table(outcomes, expectations)
    wrong = 0
    for outcome in outcomes:
        for problem in expectations.unexpected(outcome):
            wrong += 1
            print(f"\nFAILED {outcome.scenario}: {problem}")
    for entry in expectations.stale(outcomes):
        wrong += 1
        print(f"\nSTALE {entry}; remove it from expectations.txt")
    return wrong


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the official conformance suite.")
    parser.add_argument("--role", choices=ROLES, action="append", help="only the scenarios for this role")
    parser.add_argument("--revision", choices=REVISIONS, action="append", help="only this revision")
    parser.add_argument("--scenario", action="append", help="only the scenario of this name")
    parser.add_argument("--python", default=sys.executable, help="runs server and client (default: this one)")
    parser.add_argument("--keep", type=Path, help="keep what the suite stored in this folder")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    roles = arguments.role or ROLES
    folder = arguments.keep or Path(tempfile.mkdtemp(prefix="conformance-"))
    try:
        with (
            under_test(arguments.python, "server.py", "server" in roles) as url,
            under_test(arguments.python, "authorization_server.py", "authorization" in roles) as issuer,
        ):
            suite = Suite(HERE, folder, server_url=url, issuer=issuer, python=arguments.python)
            scenarios = [
                scenario
                for revision in arguments.revision or REVISIONS
                for role in roles
                for scenario in suite.scenarios(revision, role)
                if arguments.scenario is None or scenario.name in arguments.scenario
            ]
            outcomes = list(run_all(suite, scenarios))
    finally:
        if arguments.keep is None:
            shutil.rmtree(folder)
    expectations = Expectations.read(HERE / "expectations.txt")
    if arguments.role or arguments.revision or arguments.scenario:
        expectations = expectations.about(scenarios)
    wrong = report(outcomes, expectations)
    print(f"\n{sum(one.passed for one in outcomes)} passed, {wrong} failed")
    return 1 if wrong or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
