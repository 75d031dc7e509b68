"""Checks what tools return against the output schemas they list."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from mcp.protocol.codec import dumps

if TYPE_CHECKING:
    import jsonschema_rs

    from mcp.types import CallToolResult, Tool

__all__ = ["OutputSchemas", "ValidateOutput"]

logger = logging.getLogger(__name__)

ValidateOutput = Literal["error", "warn", "off"]

_HOW_TO_SKIP = "pass validate_output='warn' or 'off' to Client to go on without this check"


class OutputSchemas:
    """The output schemas of the tools seen so far, compiled when they are first needed.

    Args:
        mode: What to do about a result that breaks its schema: raise, log a warning, or not look at all.
    """

    def __init__(self, mode: ValidateOutput = "error") -> None:
        self.mode = mode
        self._schemas: dict[str, dict[str, Any] | None] = {}
        self._validators: dict[str, jsonschema_rs.Validator] = {}

    def knows(self, tool: str) -> bool:
        """Whether it is known if the tool has a schema, and which."""
        return tool in self._schemas

    def absorb(self, tools: Iterable[Tool]) -> None:
        """Remembers the schemas of listed tools."""
        for tool in tools:
            if _differ(self._schemas.get(tool.name), tool.output_schema):
                self._validators.pop(tool.name, None)
            self._schemas[tool.name] = tool.output_schema

    def absorb_unlisted(self, tool: str) -> None:
        """Remembers that the server does not list this tool."""
        self._schemas[tool] = None

    def check(self, tool: str, result: CallToolResult) -> None:
        """Checks the result of a tool, unless it is an error.

        Raises:
            RuntimeError: The result has no structured content although its tool has a schema, the content breaks the
                schema, or the schema is no schema; only in mode "error".
        """
        schema = self._schemas.get(tool)
        if schema is None or result.is_error or self.mode == "off":
            return
        problem = self._problem(tool, schema, result.structured_content)
        if problem is None:
            return
        if self.mode == "warn":
            logger.warning("%s", problem)
            return
        raise RuntimeError(f"{problem}\n({_HOW_TO_SKIP})")

    def _problem(self, tool: str, schema: dict[str, Any], content: Any) -> str | None:
        if content is None:
            return f"Tool {tool} has an output schema but did not return structured content"
        validator = self._validators.get(tool)
        if validator is None:
            try:
                validator = self._validators[tool] = _compiled(schema)
            except ValueError as error:
                return f"Invalid schema for tool {tool}: {error}"
        if validator.is_valid(content):
            return None
        error = next(iter(validator.iter_errors(content)))
        where = "".join(f"[{part!r}]" for part in error.instance_path)
        rule = "".join(f"[{part!r}]" for part in error.schema_path)
        return (
            f"Invalid structured content returned by tool {tool}: {error.message}\n"
            f"on instance{where}, checked against schema{rule}"
        )


def _differ(known: dict[str, Any] | None, schema: dict[str, Any] | None) -> bool:
    try:
        return known != schema
    except RecursionError:
        return True


def _compiled(schema: dict[str, Any]) -> jsonschema_rs.Validator:
    import jsonschema_rs

    from mcp.client._schema_size import check_schema_size

    check_schema_size(schema)
    try:
        return jsonschema_rs.validator_for(schema, retriever=_refuse_remote)
    except Exception as error:
        raise ValueError(str(error)) from error


def _refuse_remote(uri: str) -> Any:
    raise ValueError(
        f"the schema refers to {dumps(uri).decode()}; schemas are never fetched, so the reference is refused"
    )
