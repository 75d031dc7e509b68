"""A URI back into values.

A template is a row of literals with one capture between each two. Each capture takes as little as it can, but for one,
which takes what is left: the one that may span segments, or else the first. What is left of that one is read from the
left, what is right of it from the right, so that no choice is ever taken back: the time is linear in the URI.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp.shared._uri_characters import canonical, decode
from mcp.shared._uri_operators import OPERATORS, Expression

if TYPE_CHECKING:
    from mcp.shared.uri_template import Variable

__all__ = ["Capture", "Matcher", "Row", "row_of"]


class Capture:
    """A place in the URI that holds the value of a variable.

    Args:
        variable: The variable.
    """

    def __init__(self, variable: "Variable") -> None:
        rule = OPERATORS[variable.operator]
        self.variable = variable
        self.name = variable.name
        self.spans_segments = variable.explode or rule.keeps_reserved
        """Whether the value may go on behind a delimiter, so that only what follows can end it."""
        self._stops = rule.stops_exploded or rule.stops if variable.explode else rule.stops
        self._explode = variable.explode
        self._separator = rule.separator
        self._name_first = variable.name if rule.named and not rule.if_empty else ""

    def read(self, text: str) -> str | list[str] | None:
        """The value that a piece of a URI gives to the variable, or None if it cannot be one."""
        if not self._stops.isdisjoint(text):
            return None
        if self._explode:
            return _items(text, self._separator, self._name_first)
        return _behind_name(text) if self._name_first else decode(text)


def _items(text: str, separator: str, name: str) -> list[str] | None:
    """The items of an exploded list, each of which follows a separator and, if it has one, its name."""
    if not text:
        return []
    nothing, *pieces = text.split(separator)
    if nothing:
        return None
    if not name:
        return [decode(piece) for piece in pieces]
    items = [_behind_name(piece[len(name) :]) for piece in pieces if piece.startswith(name)]
    found = [item for item in items if item is not None]
    return found if len(found) == len(pieces) else None


def _behind_name(text: str) -> str | None:
    """The value behind the name of a path parameter: `;name=value`, or `;name` alone for an empty one."""
    if not text:
        return ""
    return decode(text[1:]) if text[0] == "=" else None


@dataclass(frozen=True)
class Row:
    """The literals of a template, one more than there are captures, and what stands between them."""

    literals: tuple[str, ...]
    captures: tuple[Capture, ...]


def row_of(parts: Iterable[str | Expression]) -> Row:
    """Puts the parts of a template into a row. Delimiters and names that an expression brings along are literals."""
    literals, captures = [""], list[Capture]()
    for part in parts:
        if isinstance(part, str):
            literals[-1] += canonical(part)
            continue
        rule = OPERATORS[part.operator]
        lead = rule.first
        for variable in part.variables:
            if not variable.explode:
                literals[-1] += lead + variable.name + rule.if_empty if rule.named else lead
            captures.append(Capture(variable))
            literals.append("")
            lead = rule.separator
    return Row(tuple(literals), tuple(captures))


class Matcher:
    """Matches URIs against one template.

    Args:
        row: What is matched exactly.
        query: The names of parameters at the end that may come in any order, with others between them, or not at all.
    """

    def __init__(self, row: Row, query: tuple[str, ...]) -> None:
        self._captures = row.captures
        self._query = query
        spanning = [place for place, capture in enumerate(row.captures) if capture.spans_segments]
        cut = spanning[0] + 1 if spanning else 1
        self._front = row.literals[:cut]
        self._end = row.literals[-1]
        self._back = ("", *(literal[::-1] for literal in row.literals[-2 : cut - 1 : -1]))

    def match(self, uri: str) -> dict[str, str | list[str]] | None:
        """The values that a URI gives to the variables, decoded, in the order of the template; None if it is no match.

        Parameters of the query that it leaves out are not among them.
        """
        try:
            text = canonical(uri)
        except UnicodeEncodeError:
            return None
        if not self._query:
            return self._exactly(text)
        path, _, query = text.partition("#")[0].partition("?")
        values = self._exactly(path)
        if values is not None and query:
            values.update(self._parameters(query))
        return values

    def _exactly(self, text: str) -> dict[str, str | list[str]] | None:
        pieces = self._pieces(text)
        if pieces is None:
            return None
        values: dict[str, str | list[str]] = {}
        for capture, piece in zip(self._captures, pieces, strict=True):
            value = capture.read(piece)
            if value is None:
                return None
            values[capture.name] = value
        return values

    def _pieces(self, text: str) -> list[str] | None:
        """What the captures hold, as it stands in the text."""
        if not self._captures:
            return [] if text == self._front[0] else None
        pieces = _carved(text, self._front)
        if pieces is None or not pieces[-1].endswith(self._end):
            return None
        rest = pieces.pop()
        rest = rest[: len(rest) - len(self._end)]
        if len(self._back) == 1:
            return [*pieces, rest]
        # From behind is from the front in a mirror, and there `find` is linear, which `rfind` is not.
        mirrored = _carved(rest[::-1], self._back)
        return mirrored and [*pieces, *(piece[::-1] for piece in reversed(mirrored))]

    def _parameters(self, query: str) -> dict[str, str | list[str]]:
        found: dict[str, str] = {}
        for parameter in query.split("&"):
            name, _, value = parameter.partition("=")
            found.setdefault(name, value)
        return {name: decode(found[name]) for name in self._query if name in found}


def _carved(text: str, literals: Sequence[str]) -> list[str] | None:
    """What stands behind each literal, the first of which begins the text; the last piece is all that is left."""
    if not text.startswith(literals[0]):
        return None
    start = len(literals[0])
    pieces: list[str] = []
    for literal in literals[1:]:
        found = text.find(literal, start)
        if found < 0:
            return None
        pieces.append(text[start:found])
        start = found + len(literal)
    pieces.append(text[start:])
    return pieces
