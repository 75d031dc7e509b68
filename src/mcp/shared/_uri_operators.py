"""The operators of a URI template, one row each. Expansion and matching both read it.

Specification: RFC 6570, appendix A.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp.shared.uri_template import Operator, Variable

__all__ = ["OPERATORS", "Expression", "OperatorRule"]


@dataclass(frozen=True)
class OperatorRule:
    """What one operator does.

    Attributes:
        first: Stands before the first value.
        separator: Stands between two values.
        stops: Characters that no value holds as they are; encoded, it may hold any.
        stops_exploded: The same for a list with a value per item; None where that cannot be matched.
        named: Whether values carry their names.
        if_empty: What stands behind the name of an empty value.
        keeps_reserved: Whether delimiters in a value are left as they are.
    """

    first: str
    separator: str
    stops: frozenset[str]
    stops_exploded: frozenset[str] | None = None
    named: bool = False
    if_empty: str = ""
    keeps_reserved: bool = False


OPERATORS: Final[dict[str, OperatorRule]] = {
    "": OperatorRule("", ",", frozenset("/?#&,")),
    "+": OperatorRule("", ",", frozenset("?#"), keeps_reserved=True),
    "#": OperatorRule("#", ",", frozenset(), keeps_reserved=True),
    ".": OperatorRule(".", ".", frozenset("./?#"), frozenset("/?#")),
    "/": OperatorRule("/", "/", frozenset("/?#"), frozenset("?#")),
    ";": OperatorRule(";", ";", frozenset(";/?#"), frozenset("/?#"), named=True),
    "?": OperatorRule("?", "&", frozenset("&#"), named=True, if_empty="="),
    "&": OperatorRule("&", "&", frozenset("&#"), named=True, if_empty="="),
}


@dataclass(frozen=True)
class Expression:
    """What stands between two braces.

    Attributes:
        operator: What it begins with, if with an operator.
        variables: The variables in it, at least one.
        position: Where its brace opens, in characters from the start of the template.
    """

    operator: "Operator"
    variables: "tuple[Variable, ...]"
    position: int
