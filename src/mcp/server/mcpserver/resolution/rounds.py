"""What a call knows of its questions from earlier rounds (2026-07-28).

Between rounds the client keeps it, as `request_state`, which `MCPServer` seals. It holds the digest of each question of
the last round, so that an answer is taken for that question only, and every answer so far.

Specification: 2026-07-28, basic/patterns/mrtr.
"""

import json
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from mcp.server.mcpserver.utilities.logging import get_logger
from mcp.server.request_state import compact_json

if TYPE_CHECKING:
    from mcp.server.mcpserver.resolution.questions import Question
    from mcp.types import InputRequiredResult, InputResponses

__all__ = ["Rounds"]

logger = get_logger("mcp.server.mcpserver.resolve")


class _State(BaseModel):
    """What the client keeps.

    Attributes:
        v: The version of this format.
        asked: The digests of the questions of the last round.
        answers: The answers so far, each after the digest of its question.
    """

    model_config = ConfigDict(defer_build=True)

    v: Literal[1] = 1
    asked: dict[str, str]
    answers: dict[str, tuple[str, dict[str, Any]]]


class Rounds:
    """The questions and answers of a call, as of the round at hand.

    Args:
        state: What the last round handed to the client; None in the first.
        responses: What the client answered to it.
    """

    def __init__(self, state: str | None, responses: "InputResponses | None") -> None:
        kept = _read(state)
        self._answers = kept.answers
        self._open: dict[str, Question] = {}
        for key, response in (responses or {}).items():
            if key in kept.asked:
                wire = response.model_dump(by_alias=True, exclude_none=True, mode="json")
                self._answers[key] = (kept.asked[key], wire)

    def answer(self, question: "Question") -> dict[str, Any] | None:
        """The answer to a question, in wire form; None as long as there is none."""
        digest, answer = self._answers.get(question.key, ("", None))
        if answer is not None and digest != question.digest:
            logger.info("discarded the answer for resolver %r: it asks something else now", question.key)
            del self._answers[question.key]
            return None
        return answer

    def ask(self, question: "Question") -> None:
        """Has a question asked at the end of the round."""
        self._open[question.key] = question

    def close(self) -> "InputRequiredResult":
        """Asks what there is to ask."""
        from mcp.types import InputRequiredResult

        digests = {key: question.digest for key, question in self._open.items()}
        state = _State(asked=digests, answers=self._answers)
        requests = {key: question.request for key, question in self._open.items()}
        return InputRequiredResult(input_requests=requests, request_state=compact_json(state.model_dump()))


def _read(state: str | None) -> _State:
    """What was asked last, and the answers so far.

    A state that is none of ours is no reason to fail: another version of the program may have written it, and
    everything can be asked again.
    """
    if state is not None:
        try:
            return _State.model_validate(json.loads(state))
        except (ValueError, RecursionError):
            logger.info("started over: the request state was not written by resolvers")
    return _State(asked={}, answers={})
