"""Resources that a function makes."""

from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from enum import Enum
from inspect import isawaitable
from typing import Any, cast

from pydantic import Field
from typing_extensions import Self

from mcp.engine.workers import run_in_worker
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.functions.content import json_text
from mcp.server.mcpserver.functions.signature import MISSING, Signature, is_async_callable
from mcp.server.mcpserver.naming import name_for
from mcp.server.mcpserver.resources.base import Resource, sendable
from mcp.server.mcpserver.utilities.context_injection import find_context_parameter
from mcp.server.mcpserver.utilities.types import Audio, Image
from mcp.types.base import Icon
from mcp.types.content import Annotations
from mcp.types.input_required import InputRequiredResult

__all__ = ["FunctionResource"]


class FunctionResource(Resource):
    """What a function returns, called each time a client reads the resource.

    Attributes:
        fn: The function. It takes no arguments; one that is not asynchronous runs in a worker thread.
    """

    fn: Callable[[], Any] = Field(exclude=True)

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., Any],
        uri: str,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: list[Icon] | None = None,
        annotations: Annotations | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Self:
        """The resource of a function.

        Args:
            fn: The function. It may have parameters, if each has a default.
            uri: The address.
            name: What it is called; the name of the function if nothing is given.
            title: A name for people.
            description: What it is; the docstring of the function if nothing is given.
            mime_type: What its contents are; `text/plain` if nothing is given.
            icons: Images that stand for it.
            annotations: Hints for whoever uses it.
            meta: Its `_meta`.

        Raises:
            ValueError: It is a lambda without a name, or needs an argument or a `Context`, which only templates have.
            InvalidSignature: The function cannot be inspected.
        """
        signature = Signature(fn)
        _refuse_parameters(signature, uri)
        return cls(
            uri=uri,
            name=name_for(fn, name),
            title=title,
            description=signature.docstring if description is None else description,
            mime_type=mime_type or "text/plain",
            icons=icons,
            annotations=annotations,
            meta=meta,
            fn=fn,
        )

    async def read(self) -> str | bytes:
        """What the function returns: a string or bytes as they are, everything else as JSON text.

        Raises:
            ValueError: It returned several contents, which `read_contents` gives.
            Exception: Whatever the function raises.
        """
        contents = self._contents_of(await self._result())
        if len(contents) != 1:
            raise ValueError(f"Resource {self.uri!r} has {len(contents)} contents; call read_contents()")
        return contents[0].content

    async def _value(self) -> Any:
        # `read` is for one content only, so it is asked where a subclass reads in its own way.
        return await (self._result() if type(self).read is FunctionResource.read else self.read())

    async def _result(self) -> Any:
        value = await self.fn() if is_async_callable(self.fn) else await run_in_worker(self._called)
        if isawaitable(value):
            value = await value
        if isinstance(value, AsyncIterator):
            return [item async for item in cast("AsyncIterator[Any]", value)]
        return value

    def _called(self) -> Any:
        value = self.fn()
        return list(cast("Iterator[Any]", value)) if isinstance(value, Iterator) else value

    def _contents_of(self, value: Any) -> list[ReadResourceContents]:
        """The contents that a returned value makes."""
        if isinstance(value, InputRequiredResult):
            raise ValueError("a resource without parameters cannot ask for input; only those of templates can")
        pieces = cast("Sequence[Any]", value) if _is_several(value) else [value]
        return [self._content_of(piece) for piece in pieces]

    def _content_of(self, value: Any) -> ReadResourceContents:
        if isinstance(value, ReadResourceContents):
            return ReadResourceContents(sendable(value.content), value.mime_type or self.mime_type, value.meta)
        if isinstance(value, Image):
            image = value.to_image_content()
            return ReadResourceContents(b64decode(image.data), image.mime_type, self.meta)
        if isinstance(value, Audio):
            sound = value.to_audio_content()
            return ReadResourceContents(b64decode(sound.data), sound.mime_type, self.meta)
        return ReadResourceContents(sendable(_text_or_bytes(value)), self.mime_type, self.meta)


def _refuse_parameters(signature: Signature, uri: str) -> None:
    context = find_context_parameter(signature.function)
    if context is not None:
        raise ValueError(
            f"Resource {uri!r} has no URI template variables, but its function {signature.name} takes a Context "
            f"({context!r}), which only templates are given. Add a variable to the URI, such as an optional {{?limit}}"
        )
    needed = [name for name, parameter in signature.parameters.items() if parameter.default is MISSING]
    if needed:
        raise ValueError(
            f"Resource {uri!r} has no URI template variables, but its function {signature.name} needs "
            f"{', '.join(map(repr, needed))}. Add variables of these names to the URI, or give them defaults"
        )


def _is_several(value: Any) -> bool:
    """Whether a function returned a list of contents, which is not meant as one JSON array."""
    if not isinstance(value, (list, tuple)) or not value:
        return False
    return all(isinstance(item, ReadResourceContents) for item in cast("list[Any]", value))


def _text_or_bytes(value: Any) -> str | bytes:
    if isinstance(value, str):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(cast("bytes", value))
    return json_text(value)
