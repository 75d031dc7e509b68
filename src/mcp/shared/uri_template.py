"""URI templates: values into a URI, and a URI back into values.

The syntax is RFC 6570 without what cannot be matched: prefixes (`{name:3}`), exploded lists in operators where an item
does not show where it ends (`{?list*}`), repeated variables, and variables with nothing between them.

Specification: server/resources under "Resource Templates"; RFC 6570.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Literal, cast

from mcp.shared._uri_characters import encode_keeping_reserved
from mcp.shared._uri_expansion import expanded
from mcp.shared._uri_matching import Matcher, Row, row_of
from mcp.shared._uri_operators import OPERATORS, Expression

__all__ = [
    "DEFAULT_MAX_TEMPLATE_LENGTH",
    "DEFAULT_MAX_URI_LENGTH",
    "DEFAULT_MAX_VARIABLES",
    "InvalidUriTemplate",
    "Operator",
    "UriTemplate",
    "Variable",
]

Operator = Literal["", "+", "#", ".", "/", ";", "?", "&"]
"""What an expression begins with; empty for `{name}`."""

DEFAULT_MAX_TEMPLATE_LENGTH: Final = 8192
"""In characters."""
DEFAULT_MAX_VARIABLES: Final = 256
DEFAULT_MAX_URI_LENGTH: Final = 65536
"""In characters."""

_NAME: Final = re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*").fullmatch
_KEPT_FOR_LATER: Final = frozenset("=,!@|")
_SPLITTING: Final = frozenset("?#")
_MOST_SHOWN: Final = 60


class InvalidUriTemplate(ValueError):
    """A URI template cannot be read, or could be matched in more ways than one.

    Args:
        message: What is wrong, where, and what was expected.
        template: The template.
        position: Where in it, in characters from its start; None if it is no place in particular.
    """

    def __init__(self, message: str, *, template: str, position: int | None = None) -> None:
        super().__init__(message)
        self.template = template
        self.position = position

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (str(self), self.template, self.position)


def _rebuilt(message: str, template: str, position: int | None) -> InvalidUriTemplate:
    return InvalidUriTemplate(message, template=template, position=position)


@dataclass(frozen=True)
class Variable:
    """A variable of a template.

    Attributes:
        name: Its name.
        operator: That of the expression it stands in.
        explode: Whether it is followed by `*`: each item of a list stands for itself.
    """

    name: str
    operator: Operator
    explode: bool = False


@dataclass(frozen=True)
class UriTemplate:
    """A URI with places for values, made by `UriTemplate.parse`. Two of them are equal if their texts are.

    Attributes:
        template: The text it was made of, as `str` gives it too.
    """

    template: str
    _parts: tuple[str | Expression, ...] = field(repr=False, compare=False)
    _query: tuple[str, ...] = field(repr=False, compare=False)
    _matcher: Matcher = field(repr=False, compare=False)

    @staticmethod
    def is_template(value: str) -> bool:
        """Whether a text has braces with something to fill in. It may be an invalid template for all that.

        Args:
            value: The text.
        """
        return "}" in value.partition("{")[2]

    @classmethod
    def parse(
        cls,
        template: str,
        *,
        max_length: int = DEFAULT_MAX_TEMPLATE_LENGTH,
        max_variables: int = DEFAULT_MAX_VARIABLES,
    ) -> "UriTemplate":
        """Reads a template.

        Args:
            template: The template.
            max_length: Its longest length, in characters.
            max_variables: How many variables it may have.

        Raises:
            InvalidUriTemplate: The template is too large, breaks the syntax, uses a part of RFC 6570 that is not
                supported, or could be matched in more ways than one.
        """
        parts = tuple(_Parser(template, max_length, max_variables).parts())
        exact = _without_query(parts)
        query = tuple(
            variable.name for part in parts[exact:] if not isinstance(part, str) for variable in part.variables
        )
        row = row_of(parts[:exact])
        _refuse_ambiguous(template, parts, row)
        written = tuple(encode_keeping_reserved(part) if isinstance(part, str) else part for part in parts)
        return cls(template, written, query, Matcher(row, query))

    @property
    def variables(self) -> list[Variable]:
        """The variables, in the order of the template."""
        return [variable for part in self._parts if isinstance(part, Expression) for variable in part.variables]

    @property
    def variable_names(self) -> list[str]:
        """Their names, in the same order."""
        return [variable.name for variable in self.variables]

    @property
    def query_variable_names(self) -> frozenset[str]:
        """The names of the variables that a URI may leave out: those of `{?...}` and `{&...}` at the end."""
        return frozenset(self._query)

    def expand(self, variables: Mapping[str, str | Sequence[str]]) -> str:
        """Puts values into the template. What may not stand in a URI as it is gets percent-encoded.

        Args:
            variables: A string, or a sequence of them, for each name. One that is missing, or an empty sequence, leaves
                its place out; names that the template does not have are ignored.

        Raises:
            TypeError: A value is neither a string nor a sequence of strings.
            ValueError: A value holds a lone surrogate.
        """
        return "".join(part if isinstance(part, str) else expanded(part, variables) for part in self._parts)

    def match(self, uri: str, *, max_uri_length: int = DEFAULT_MAX_URI_LENGTH) -> dict[str, str | list[str]] | None:
        """The values that make this URI of the template.

        Literals match in either spelling: `é` and `%C3%A9` are one. The parameters of `{?...}` and `{&...}` at the end
        match in any order, may be left out, and may have others between them; a fragment behind them is ignored.

        Args:
            uri: The URI.
            max_uri_length: The longest that is looked at, in characters.

        Returns:
            A string for each variable, or a list of them for an exploded one, percent-decoded once and not checked in
            any other way: see `mcp.shared.path_security` for values that become paths. None if the URI does not match.
        """
        return self._matcher.match(uri) if len(uri) <= max_uri_length else None

    def __str__(self) -> str:
        return self.template


class _Parser:
    """Splits a template into literals and expressions."""

    def __init__(self, template: str, max_length: int, max_variables: int) -> None:
        self._template = template
        self._max_length = max_length
        self._max_variables = max_variables
        self._names: set[str] = set()
        self._queries = 0

    def parts(self) -> Iterator[str | Expression]:
        """The parts, in order; no literal is empty."""
        self._check_text()
        position = 0
        while (opening := self._template.find("{", position)) >= 0:
            if opening > position:
                yield self._template[position:opening]
            closing = self._template.find("}", opening)
            if closing < 0:
                raise self._fault("Unclosed expression", opening, "expected a } behind it")
            yield self._expression(self._template[opening + 1 : closing], opening)
            position = closing + 1
        if position < len(self._template):
            yield self._template[position:]

    def _fault(self, what: str, position: int, expected: str) -> InvalidUriTemplate:
        return _fault(self._template, what, position, expected)

    def _check_text(self) -> None:
        if len(self._template) > self._max_length:
            raise self._fault(
                "Template is too long", self._max_length, f"expected at most {self._max_length} characters"
            )
        try:
            self._template.encode()
        except UnicodeEncodeError as error:
            raise self._fault("Lone surrogate", error.start, "expected text that a URI can carry") from None

    def _expression(self, body: str, position: int) -> Expression:
        if not body:
            raise self._fault("Empty expression", position, "expected a name between the braces")
        operator = body[0] if body[0] in OPERATORS else ""
        if body[0] in _KEPT_FOR_LATER:
            raise self._fault(f"Unknown operator {body[0]!r}", position, "expected a name or one of + # . / ; ? &")
        if operator == "?":
            self._queries += 1
            if self._queries > 1:
                raise self._fault("Second {?...}", position, "expected one; write {?a,b}, or {?a} and then {&b}")
        names = body[len(operator) :].split(",")
        if len(self._names) + len(names) > self._max_variables:
            raise self._fault("Too many variables", position, f"expected at most {self._max_variables}")
        variables = tuple(self._variable(name, cast("Operator", operator), position) for name in names)
        return Expression(variables[0].operator, variables, position)

    def _variable(self, text: str, operator: Operator, position: int) -> Variable:
        name, prefix, _ = text.partition(":")
        if prefix:
            raise self._fault(
                f"Prefix in {_shown(text)!r}", position, "expected a name alone; {name:N} is not supported"
            )
        explode = name.endswith("*")
        name = name.removesuffix("*")
        if not _NAME(name):
            raise self._fault(
                f"Invalid name {_shown(name)!r}", position, "expected letters, digits and _, with . between them"
            )
        if explode and OPERATORS[operator].stops_exploded is None:
            shown = f"Exploded list {{{operator}{_shown(text)}}}"
            raise self._fault(shown, position, "expected * with . / or ; only, since others cannot be matched")
        if name in self._names:
            raise self._fault(f"Second {_shown(name)!r}", position, "expected each variable once")
        self._names.add(name)
        return Variable(name, operator, explode)


def _without_query(parts: tuple[str | Expression, ...]) -> int:
    """How many parts are matched exactly. A query at the end is not, unless its question mark need not be the first."""
    exact = len(parts)
    first = ""
    while exact and isinstance(part := parts[exact - 1], Expression) and part.operator in ("?", "&"):
        first = part.operator
        exact -= 1
    certain = all(
        part.operator != "#" if isinstance(part, Expression) else _SPLITTING.isdisjoint(part) for part in parts[:exact]
    )
    return exact if first == "?" and certain else len(parts)


def _refuse_ambiguous(template: str, parts: tuple[str | Expression, ...], row: Row) -> None:
    """Refuses what would be a guess: where one of two neighbours ends, or which of two long values a segment is of.

    Raises:
        InvalidUriTemplate: The template is ambiguous.
    """
    spanning = [capture.variable for capture in row.captures if capture.spans_segments]
    for literal, (one, other) in zip(row.literals[1:], pairwise(row.captures), strict=False):
        if not literal:
            what = f"Nothing between {_shown(one.name)!r} and {_shown(other.name)!r}"
            raise _at_variable(
                template, parts, other.variable, what, "expected a literal, to tell where the first ends"
            )
    if len(spanning) > 1:
        what = f"{_shown(spanning[1].name)!r} may span segments as {_shown(spanning[0].name)!r} does"
        raise _at_variable(template, parts, spanning[1], what, "expected one of {+name}, {#name} and {/name*} at most")


def _at_variable(
    template: str, parts: tuple[str | Expression, ...], variable: Variable, what: str, expected: str
) -> InvalidUriTemplate:
    [position] = [part.position for part in parts if isinstance(part, Expression) and variable in part.variables]
    return _fault(template, what, position, expected)


def _fault(template: str, what: str, position: int, expected: str) -> InvalidUriTemplate:
    return InvalidUriTemplate(f"{what} at position {position}: {expected}", template=template, position=position)


def _shown(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
