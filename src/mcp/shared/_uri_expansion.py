"""Values into a URI.

Specification: RFC 6570, section 3.2.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mcp.shared._uri_characters import encode, encode_keeping_reserved
from mcp.shared._uri_operators import OPERATORS, Expression, OperatorRule

if TYPE_CHECKING:
    from mcp.shared.uri_template import Variable

__all__ = ["expanded"]


def expanded(expression: Expression, values: Mapping[str, str | Sequence[str]]) -> str:
    """What an expression stands for; empty if none of its variables has a value.

    Raises:
        TypeError: A value is neither a string nor a sequence of strings.
        ValueError: A value holds a lone surrogate.
    """
    rule = OPERATORS[expression.operator]
    pieces: list[str] = []
    for variable in expression.variables:
        if variable.name in values:
            pieces += _pieces(variable, rule, values[variable.name])
    return rule.first + rule.separator.join(pieces) if pieces else ""


def _pieces(variable: "Variable", rule: OperatorRule, value: object) -> list[str]:
    encoded = _encoded(variable.name, rule, _items(variable.name, value))
    if len(encoded) > 1 and not variable.explode:
        encoded = [",".join(encoded)]
    if rule.named:
        return [f"{variable.name}={text}" if text else variable.name + rule.if_empty for text in encoded]
    return encoded


def _items(name: str, value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Sequence):
        raise TypeError(f"Variable {name!r} must be a str or a sequence of str, got {type(value).__name__}")
    items: list[str] = []
    for item in value:  # pyright: ignore[reportUnknownVariableType]  (an unknown sequence is what is looked at)
        if not isinstance(item, str):
            kinds = f"{type(value).__name__} with {type(item).__name__} in it"  # pyright: ignore[reportUnknownArgumentType]
            raise TypeError(f"Variable {name!r} must be a str or a sequence of str, got {kinds}")
        items.append(item)
    return items


def _encoded(name: str, rule: OperatorRule, items: list[str]) -> list[str]:
    try:
        return [encode_keeping_reserved(item) if rule.keeps_reserved else encode(item) for item in items]
    except UnicodeEncodeError:
        raise ValueError(f"Variable {name!r} holds a lone surrogate, which no URI can carry") from None
