"""The exceptions by which the provider of an authorization server refuses."""

import copy
import pickle
import traceback
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import pytest

from mcp.server.auth.provider import AuthorizeError, RegistrationError, TokenError

Refusal = RegistrationError | AuthorizeError | TokenError

pytestmark = pytest.mark.parametrize(
    "refuse",
    [
        lambda: RegistrationError("invalid_redirect_uri", "not yours"),
        lambda: AuthorizeError("access_denied", "not yours"),
        lambda: TokenError(error="invalid_grant", error_description="not yours"),
    ],
    ids=["registration", "authorization", "token"],
)


@asynccontextmanager
async def transaction() -> AsyncGenerator[None, None]:
    yield


@contextmanager
def lock() -> Generator[None, None, None]:
    yield


async def refuse_within_context_managers(refusal: Refusal) -> None:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(transaction())
        stack.enter_context(lock())
        raise refusal


@pytest.mark.anyio
async def test_a_refusal_leaves_context_managers_as_it_is(refuse: Callable[[], Refusal]) -> None:
    refusal = refuse()
    with pytest.raises(type(refusal)) as caught:
        await refuse_within_context_managers(refusal)
    assert caught.value is refusal
    assert "raise refusal" in "".join(traceback.format_exception(refusal))


def test_a_refusal_has_a_cause_and_is_raised_again(refuse: Callable[[], Refusal]) -> None:
    reason = LookupError("no such row")
    refusal = refuse()
    for _ in range(2):
        with pytest.raises(type(refusal)):
            raise refusal from reason
    assert refusal.__cause__ is reason
    assert refusal.with_traceback(None).__traceback__ is None


def test_a_refusal_survives_copying_and_pickling(refuse: Callable[[], Refusal]) -> None:
    refusal = refuse()
    for made in (copy.copy(refusal), copy.deepcopy(refusal), pickle.loads(pickle.dumps(refusal))):
        assert made is not refusal
        assert type(made) is type(refusal)
        assert (made, hash(made), repr(made)) == (refusal, hash(refusal), repr(refusal))
        assert (made.error, made.error_description) == (refusal.error, "not yours")


def test_a_refusal_reads_as_its_code_and_its_words(refuse: Callable[[], Refusal]) -> None:
    refusal = refuse()
    assert str(refusal) == f"{refusal.error}: not yours"
    without = type(refusal)(refusal.error)  # type: ignore[arg-type]
    assert str(without) == refusal.error
    assert without != refusal
