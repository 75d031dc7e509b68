"""Refuses to ask a client what it has not declared that it answers.

Specification: 2026-07-28, basic/patterns/mrtr under "Server Requirements", and basic/index under `_meta`.
"""

from typing import Any, Final

from pydantic import BaseModel, ValidationError

from mcp import types
from mcp.protocol.results import InvalidResultError
from mcp.server.validation import declares, wants_sampling_tools
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY
from mcp.types.methods import is_input_required

__all__ = ["check_asked"]

# With these words a client without the callback refuses what it is asked. Where nobody is asked, callers read the same.
_NAMES: Final = {"elicitation": "Elicitation", "sampling": "Sampling", "roots": "List roots"}


def check_asked(complete: type[BaseModel], ctx: Any, result: object) -> None:
    """Refuses a request for input that asks for what the client has not declared. Any other result may pass.

    Args:
        complete: What the method returns where it does not ask.
        ctx: The request.
        result: What its handler returned.

    Raises:
        MCPError: -32021, which lists in `requiredCapabilities` what the client lacks.
        InvalidResultError: It says that it is a request for input, and is none.
    """
    if not isinstance(result, complete) and is_input_required(result):
        _check(_asked(result), ctx.session.client_capabilities)


def _asked(result: types.InputRequiredResult | dict[str, Any]) -> types.InputRequests:
    if isinstance(result, dict):
        try:
            result = types.InputRequiredResult.model_validate(result, by_alias=True, by_name=False)
        except ValidationError as error:
            raise InvalidResultError(f"not a valid InputRequiredResult: {error}") from error
    return result.input_requests or {}


def _check(questions: types.InputRequests, declared: types.ClientCapabilities) -> None:
    missing: dict[str, dict[str, Any]] = {}
    refusal = ""
    for question in questions.values():
        capability, part = _needed(question)
        wanted: dict[str, dict[str, Any]] = {capability: {part: {}} if part else {}}
        if declares(declared, types.ClientCapabilities.model_validate(wanted)):
            continue
        missing.setdefault(capability, {}).update(wanted[capability])
        lacks_all = getattr(declared, capability) is None
        refusal = refusal or f"{_NAMES[capability] if lacks_all else f'{_NAMES[capability]} ({part})'} not supported"
    if missing:
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, refusal, {"requiredCapabilities": missing})


def _needed(question: types.InputRequest) -> tuple[str, str]:
    """What a client must declare to be asked this: a capability, and the part of it that is not implied."""
    if isinstance(question, types.ListRootsRequest):
        return "roots", ""
    if isinstance(question, types.CreateMessageRequest):
        return "sampling", "tools" if wants_sampling_tools(question.params.tools, question.params.tool_choice) else ""
    return "elicitation", question.params.mode
