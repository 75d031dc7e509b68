"""Resources that functions make: what a function may return, and what becomes of it."""

import enum
import functools
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.exceptions import InvalidSignature, ResourceError, UnexpectedResourceError
from mcp.server.mcpserver.functions.injected import InjectedContext
from mcp.server.mcpserver.resources import FunctionResource
from mcp.server.mcpserver.utilities.types import Audio, Image
from mcp.shared.exceptions import MCPError
from mcp.types import Annotations, Icon, InputRequiredResult

pytestmark = pytest.mark.anyio


def resource_of(fn: Callable[..., Any], **options: Any) -> FunctionResource:
    return FunctionResource.from_function(fn, uri="fn://it", name="it", **options)


def test_the_function_says_what_it_is_called_and_what_it_is() -> None:
    def get_config() -> str:
        """The active
        configuration.
        """
        return ""

    resource = FunctionResource.from_function(get_config, uri="config://app")
    assert (resource.name, resource.description, resource.mime_type) == (
        "get_config",
        "The active\nconfiguration.",
        "text/plain",
    )


def test_what_is_given_wins() -> None:
    def get_config() -> str:
        """The docstring."""
        return ""

    resource = FunctionResource.from_function(
        get_config,
        uri="config://app",
        name="config",
        title="Configuration",
        description="",
        mime_type="text/ini",
        icons=[Icon(src="https://example.com/i.png")],
        annotations=Annotations(priority=0.5),
        meta={"k": 1},
    )
    assert resource.model_dump(exclude_none=True) == {
        "uri": "config://app",
        "name": "config",
        "title": "Configuration",
        "description": "",
        "mime_type": "text/ini",
        "icons": [{"src": "https://example.com/i.png"}],
        "annotations": {"priority": 0.5},
        "meta": {"k": 1},
    }


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ValueError, match=r"^You must provide a name for lambda functions$"):
        FunctionResource.from_function(lambda: "", uri="a://1")
    assert FunctionResource.from_function(lambda: "", uri="a://1", name="it").name == "it"


def test_a_function_that_needs_an_argument_is_refused() -> None:
    def profile(user: str, limit: int = 10) -> str:
        return user

    with pytest.raises(ValueError, match=r"'users://all' has no URI template variables, .* profile needs 'user'"):
        FunctionResource.from_function(profile, uri="users://all")


def test_a_function_that_takes_the_context_is_refused() -> None:
    def recent(ctx: InjectedContext) -> str:
        return ""

    with pytest.raises(ValueError, match=r"recent takes a Context \('ctx'\), which only templates are given"):
        FunctionResource.from_function(recent, uri="notes://recent")


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(InvalidSignature):
        FunctionResource.from_function("text", uri="a://1")  # pyright: ignore[reportArgumentType]


async def test_defaults_may_hold_what_a_loop_knows() -> None:
    resources: list[FunctionResource] = []
    for number in range(3):

        def say(number: int = number) -> str:
            return str(number)

        resources.append(resource_of(say))
    assert [await resource.read() for resource in resources] == ["0", "1", "2"]


class Point(BaseModel):
    x: int
    label: str | None = None


@dataclass
class Pair:
    left: int


class Colour(str, enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("h\xe9", "h\xe9"),
        (Colour.RED, "red"),
        (b"\xff", b"\xff"),
        (bytearray(b"\xff"), b"\xff"),
        (memoryview(b"\xff"), b"\xff"),
        ({"a": 1, "\xe9": "\xfc"}, '{\n  "a": 1,\n  "\xe9": "\xfc"\n}'),
        ([1, "b"], '[\n  1,\n  "b"\n]'),
        ([], "[]"),
        ((1,), "[\n  1\n]"),
        (Point(x=1), '{\n  "x": 1,\n  "label": null\n}'),
        (Pair(left=1), '{\n  "left": 1\n}'),
        (None, "null"),
        (3, "3"),
        (float("nan"), "null"),
        ({"b": b"\xff"}, '{\n  "b": "_w=="\n}'),
        (Image(data=b"png"), b"png"),
        (Audio(data=b"wav"), b"wav"),
    ],
)
async def test_what_is_no_text_and_no_bytes_becomes_json(value: Any, content: str | bytes) -> None:
    assert await resource_of(lambda: value).read() == content


async def test_media_bring_their_own_type() -> None:
    assert await resource_of(lambda: Image(data=b"", format="gif")).read_contents() == [
        ReadResourceContents(b"", "image/gif")
    ]
    assert await resource_of(lambda: Audio(data=b"")).read_contents() == [ReadResourceContents(b"", "audio/wav")]


async def test_several_contents_from_one_read() -> None:
    def parts() -> list[ReadResourceContents]:
        return [ReadResourceContents("a"), ReadResourceContents(b"b", "image/png", {"page": 2})]

    resource = resource_of(parts, mime_type="text/markdown", meta={"k": 1})
    assert await resource.read_contents() == [
        ReadResourceContents("a", "text/markdown"),
        ReadResourceContents(b"b", "image/png", {"page": 2}),
    ]
    with pytest.raises(ValueError, match="'fn://it' has 2 contents"):
        await resource.read()


async def test_iterators_are_read_to_their_end() -> None:
    def count() -> Iterator[int]:
        yield from (1, 2)

    async def count_slowly() -> AsyncIterator[int]:
        for number in (1, 2):
            await anyio.lowlevel.checkpoint()
            yield number

    assert await resource_of(count).read() == await resource_of(count_slowly).read() == "[\n  1,\n  2\n]"


async def test_synchronous_functions_run_in_a_worker_thread() -> None:
    here = threading.get_ident()

    def where() -> str:
        return str(threading.get_ident() == here)

    async def there() -> str:
        return where()

    assert await resource_of(where).read() == "False"
    assert await resource_of(there).read() == "True"
    assert await resource_of(functools.partial(there)).read() == "True"


async def test_what_a_function_returns_may_have_to_be_awaited() -> None:
    async def later() -> str:
        return "later"

    def promise() -> Any:
        return later()

    assert await resource_of(promise).read() == "later"


async def test_errors_of_the_function() -> None:
    def fail() -> str:
        raise KeyError("secret")

    resource = resource_of(fail)
    with pytest.raises(KeyError):
        await resource.read()
    with pytest.raises(UnexpectedResourceError, match=r"^Error reading resource fn://it$"):
        await resource.read_contents()


@pytest.mark.parametrize("error", [ResourceError("locked"), MCPError(-32000, "busy")])
async def test_an_error_out_of_a_task_group_keeps_its_text(error: Exception) -> None:
    async def fail() -> None:
        raise error

    async def grouped() -> str:
        async with anyio.create_task_group() as outer, anyio.create_task_group() as inner:
            outer.start_soon(anyio.sleep_forever)
            inner.start_soon(fail)
        return ""

    with pytest.raises(type(error)) as caught:
        await resource_of(grouped).read_contents()
    assert caught.value is error


async def test_two_errors_at_once_are_no_answer() -> None:
    async def fail(text: str) -> None:
        raise ResourceError(text)

    async def grouped() -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(fail, "a")
            group.start_soon(fail, "b")
        return ""

    with pytest.raises(UnexpectedResourceError):
        await resource_of(grouped).read_contents()


async def test_a_resource_without_variables_cannot_ask_for_input() -> None:
    resource = resource_of(lambda: InputRequiredResult(request_state="s"))
    with pytest.raises(ValueError, match="only those of templates can"):
        await resource.read()


class Shouted(FunctionResource):
    async def read(self) -> str:
        return str(await super().read()).upper()


async def test_a_subclass_may_read_in_its_own_way() -> None:
    resource = Shouted.from_function(lambda: "hello", uri="a://1", name="it")
    assert await resource.read_contents() == [ReadResourceContents("HELLO", "text/plain")]
