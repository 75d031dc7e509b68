"""The list of what is known to fail, and why."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from suite import Outcome, Scenario


@dataclass(frozen=True)
class Entry:
    """One line: a scenario, or one check of it, that may fail. Role, revision and scenario may be patterns."""

    role: str
    revision: str
    scenario: str
    check: str | None

    def matches(self, scenario: Scenario) -> bool:
        return (
            fnmatchcase(scenario.role, self.role)
            and fnmatchcase(scenario.revision, self.revision)
            and fnmatchcase(scenario.name, self.scenario)
        )

    def __str__(self) -> str:
        return f"{self.role} {self.revision} {self.scenario}" + (f":{self.check}" if self.check else "")


class Expectations:
    """What may fail."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries

    @classmethod
    def read(cls, path: Path) -> "Expectations":
        """Reads lines of `role revision scenario[:check]`. A `#` starts a comment, and every entry needs one.

        Raises:
            ValueError: A line is not of that form, or no comment stands above it or at its end.
        """
        entries: list[Entry] = []
        reason = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            words, _, comment = line.partition("#")
            if not words.strip():
                reason = comment.strip()
                continue
            if not (reason or comment.strip()):
                raise ValueError(f"no reason is given for: {line}")
            role, revision, target = words.split()
            scenario, _, check = target.partition(":")
            entries.append(Entry(role, revision, scenario, check or None))
        return cls(entries)

    def about(self, scenarios: list[Scenario]) -> "Expectations":
        """The entries that concern any of these scenarios."""
        return Expectations([entry for entry in self._entries if any(map(entry.matches, scenarios))])

    def unexpected(self, outcome: Outcome) -> list[str]:
        """What went wrong in a scenario that no entry allows."""
        allowed = [entry for entry in self._entries if entry.matches(outcome.scenario)]
        if any(entry.check is None for entry in allowed):
            return []
        checks = {entry.check for entry in allowed}
        problems = [f"{check}: {text}" for check, text in outcome.failed_checks.items() if check not in checks]
        return [*problems, outcome.trouble] if outcome.trouble else problems

    def stale(self, outcomes: list[Outcome]) -> list[str]:
        """Entries that allow what does not happen: one line for each scenario that passes in spite of one."""
        lines: list[str] = []
        for entry in self._entries:
            concerned = [outcome for outcome in outcomes if entry.matches(outcome.scenario)]
            lines += [f"{entry}: {one.scenario} passes" for one in concerned if not _fails(entry, one)]
            if not concerned:
                lines.append(f"{entry}: there is no such scenario")
        return lines


def _fails(entry: Entry, outcome: Outcome) -> bool:
    return not outcome.passed if entry.check is None else entry.check in outcome.failed_checks
