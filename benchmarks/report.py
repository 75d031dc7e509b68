"""From the raw figures of all runs to the table of ratios."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from budgets import Budget
from measure import Result

Pair = tuple[Result, Result]

HEADINGS = ("id", "what", "ours", "reference", "ratio", "budget", "verdict", "noise")


@dataclass(frozen=True)
class Row:
    """One budget with what was found: medians over the pairs, and None for what could not be had."""

    budget: Budget
    ours: float | None
    reference: float | None
    ratio: float | None
    noise: float | None
    verdict: str
    missed: bool

    def cells(self) -> tuple[str, ...]:
        """Returns the row's texts in the order of `HEADINGS`."""
        unit, limit = self.budget.unit, self.budget.limit
        return (
            self.budget.id,
            self.budget.what,
            _number(self.ours, unit),
            _number(self.reference, unit),
            _number(self.ratio),
            "" if limit is None else _number(limit, "x" if self.budget.kind == "own" and unit == "x" else ""),
            self.verdict,
            "" if self.noise is None else f"{self.noise:.0%}",
        )


def row_for(budget: Budget, alike: Sequence[Pair], pairs: Sequence[Pair]) -> Row:
    """Returns the row of a budget, given the A/A pairs (ours twice) and the A/B pairs (ours, reference).

    The ratio is the median of the ratios within each pair, and the noise how far the ratio of any A/A pair
    came from 1.
    """
    ours = _median([each.figures.get(budget.figure) for each, _ in pairs])
    reference = _median([each.figures.get(budget.figure) for _, each in pairs])
    ratio = _median(_ratios(budget, pairs))
    noise = max((abs(each - 1) for each in _ratios(budget, alike)), default=None)
    our_runs = [*(run for pair in alike for run in pair), *(run for run, _ in pairs)]
    verdict = _failure("ours", budget, our_runs) or budget.verdict(ours if budget.kind == "own" else ratio)
    if verdict is None:
        verdict = _failure("reference", budget, [run for _, run in pairs])
    missed = budget.limit is not None and verdict not in ("met", "within 1.3 x")
    return Row(budget, ours, reference, ratio, noise, verdict or "", missed)


def table(rows: Sequence[Row]) -> str:
    """Returns the rows as a Markdown table whose columns line up."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    lines.insert(1, tuple("-" * width for width in widths))
    texts = (" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(f"| {text} |" for text in texts)


def _ratios(budget: Budget, pairs: Sequence[Pair]) -> list[float]:
    values = [(a.figures.get(budget.figure), b.figures.get(budget.figure)) for a, b in pairs]
    return [ours / reference for ours, reference in values if ours is not None and reference]


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _failure(side: str, budget: Budget, runs: Sequence[Result]) -> str | None:
    for run in runs:
        reason = run.failures.get(budget.figure) or run.failures.get("run")
        if reason is not None:
            return f"{side} failed: {reason[:80]}"
    return None


def _number(value: float | None, unit: str = "") -> str:
    if value is None:
        return "-"
    text = f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
    return f"{text} {unit}".rstrip()
