"""What a resolver asks, as a request to the client, and the client's answer, as what the tool gets."""

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from mcp import types
from mcp.server._elicitation_form import form_of
from mcp.server.elicitation import MismatchedAnswerError, outcome_of
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolution.markers import Elicit, Marker, Sample
from mcp.server.request_state import compact_json
from mcp.server.validation import declares, wants_sampling_tools
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

__all__ = ["Question"]


class Question:
    """One question.

    Args:
        key: Of the resolver that asks.
        marker: What it returned.

    Attributes:
        key: Names the question among those of a call.
        request: To the client.
        digest: Tells questions apart by their content.

    Raises:
        TypeError: The schema of an elicitation makes no form.
    """

    def __init__(self, key: str, marker: Marker) -> None:
        self.key = key
        self._schema: type[BaseModel] | None = None
        self.request: types.InputRequest
        self._answer: type[BaseModel]
        if isinstance(marker, Elicit):
            self._schema, self._answer = marker.schema, types.ElicitResult
            form = types.ElicitRequestFormParams(message=marker.message, requested_schema=form_of(marker.schema).schema)
            self.request = types.ElicitRequest(params=form)
            self._needs, self._needs_name = ("elicitation", "form"), "form elicitation"
        elif isinstance(marker, Sample):
            self.request = types.CreateMessageRequest(params=marker.params)
            with_tools = wants_sampling_tools(marker.params.tools, marker.params.tool_choice)
            self._answer = types.CreateMessageResultWithTools if with_tools else types.CreateMessageResult
            self._needs = ("sampling", "tools") if with_tools else ("sampling", "")
            self._needs_name = "sampling.tools" if with_tools else "sampling"
        else:
            self.request, self._answer = types.ListRootsRequest(), types.ListRootsResult
            self._needs, self._needs_name = ("roots", ""), "roots"
        wire = self.request.model_dump(by_alias=True, exclude_none=True, mode="json")
        self.digest = sha256(compact_json(wire, sort_keys=True).encode()).hexdigest()

    def check_capability(self, declared: types.ClientCapabilities | None) -> None:
        """Refuses to ask a client what it has not declared that it answers.

        Raises:
            MCPError: -32021, with what it would have to declare.
        """
        capability, part = self._needs
        wanted: dict[str, Any] = {capability: {part: {}} if part else {}}
        if declared is not None and declares(declared, types.ClientCapabilities.model_validate(wanted)):
            return
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"Client did not declare the {self._needs_name} capability required by resolver {self.key!r}",
            {"requiredCapabilities": wanted},
        )

    async def ask(self, session: "ServerSession") -> Any:
        """Asks at once, on a connection that has a way to.

        Returns:
            What the tool gets; see `read`.

        Raises:
            NoBackChannelError: It has none.
            MCPError: The client answered with an error.
            ToolError: The answer does not fit the question.
        """
        try:
            answer: BaseModel = await session.send_request(self.request, self._answer)
        except ValidationError as error:
            raise self._misfit() from error
        return self._outcome(answer)

    def read(self, answer: dict[str, Any]) -> Any:
        """What the tool gets for an answer: one of the members of `ElicitationResult`, or the client's result.

        Args:
            answer: In wire form.

        Raises:
            ToolError: It does not fit the question.
        """
        try:
            return self._outcome(self._answer.model_validate(answer))
        except ValidationError as error:
            raise self._misfit() from error

    def _outcome(self, answer: BaseModel) -> Any:
        if self._schema is None or not isinstance(answer, types.ElicitResult):
            return answer
        try:
            return outcome_of(answer, self._schema)
        except MismatchedAnswerError as error:
            raise ToolError(f"Resolver {self.key!r}: {error}") from error.__cause__

    def _misfit(self) -> ToolError:
        return ToolError(
            f"Resolver {self.key!r}: Received an answer to {self.request.method} that is no {self._answer.__name__}"
        )
