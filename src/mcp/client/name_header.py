"""The `Mcp-Name` header of requests that the protocol does not define."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp.protocol.headers import MCP_NAME_HEADER, encode_header_value

if TYPE_CHECKING:
    from mcp import types
    from mcp.shared.message import ClientMessageMetadata

__all__ = ["named_in_header"]


def named_in_header(
    request: types.Request[Any, Any], params: Mapping[str, Any], metadata: ClientMessageMetadata | None
) -> ClientMessageMetadata | None:
    """What a request's metadata becomes by its `name_param`; without one it stays as it is.

    Args:
        request: The request.
        params: Its params, in wire form.
        metadata: What the caller wants of the message.

    Raises:
        ValueError: The params lack the one that is to stand in the header.
    """
    if request.name_param is None:
        return metadata
    name = params.get(request.name_param)
    if not isinstance(name, str):
        raise ValueError(
            f"{request.method} requires a string params[{request.name_param!r}] for its Mcp-Name header, got {name!r}"
        )
    from mcp.shared.message import ClientMessageMetadata

    metadata = metadata or ClientMessageMetadata()
    headers = {key: value for key, value in (metadata.headers or {}).items() if key.lower() != MCP_NAME_HEADER}
    return replace(metadata, headers={**headers, MCP_NAME_HEADER: encode_header_value(name)})
