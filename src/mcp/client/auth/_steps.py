"""The parts that a flow is made of, and how one comes after another.

`httpx2` drives an `Auth` as a generator: what it yields is sent with the client's proxies, certificates, hooks and
transport, and the response comes back as the value of the `yield`. Steps are written that way too. A step that yields
another step has it done first:

    async def _flow(self, request: httpx2.Request) -> Steps:
        yield self._discover()
        response = yield create_token_request()
"""

from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, cast

import httpx2

__all__ = ["StepStack", "Steps"]

Steps = AsyncGenerator["httpx2.Request | AsyncGenerator[Any, httpx2.Response]", httpx2.Response]
"""Part of a flow: yields requests to be sent, and steps to be done before it goes on."""


class StepStack:
    """Steps that are under way: each waits for the one above it."""

    def __init__(self, steps: Steps) -> None:
        self._steps = [steps]

    async def next_request(self, response: httpx2.Response | None, failure: Exception | None) -> httpx2.Request | None:
        """Goes on to the next request; None at the end.

        Args:
            response: The answer to the one before.
            failure: What is wrong with it.

        Raises:
            Exception: What a step raises, and the steps below it let through.
        """
        while self._steps:
            try:
                wanted = await _resume(self._steps[-1], response, failure)
            except StopAsyncIteration:
                self._steps.pop()
                failure = None
            except Exception as error:
                self._steps.pop()
                failure = error
            else:
                if isinstance(wanted, httpx2.Request):
                    return wanted
                self._steps.append(wanted)
                failure = None
            response = None
        if failure is not None:
            raise failure
        return None

    async def aclose(self, failure: Exception | None) -> None:
        """Ends what is under way, from the top.

        Args:
            failure: Why it ends; None if nobody wants it any more.

        Raises:
            Exception: A step has another reason.
        """
        reason = failure
        while self._steps:
            step = self._steps.pop()
            try:
                if failure is not None:
                    with suppress(StopAsyncIteration):
                        await step.athrow(failure)
                await step.aclose()
            except Exception as error:
                failure = error
        if failure is not None and failure is not reason:
            raise failure


async def _resume(step: Steps, response: httpx2.Response | None, failure: Exception | None) -> Any:
    if failure is not None:
        return await step.athrow(failure)
    # A step that has not begun, or waited for another step, gets None.
    return await step.asend(cast("httpx2.Response", response))
