"""What a client says of itself with every request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp import types

__all__ = ["answering_everything", "declared_capabilities", "envelope_meta", "wire_meta"]


def declared_capabilities(
    *,
    sampling: types.SamplingCapability | None,
    elicitation: bool,
    roots: bool,
    extensions: dict[str, dict[str, Any]] | None,
) -> types.ClientCapabilities:
    """The capabilities of a client, from the callbacks it has.

    Args:
        sampling: What sampling supports; None where there is no callback.
        elicitation: Whether there is a callback for questions to the user.
        roots: Whether there is a callback for root directories.
        extensions: Settings by extension identifier.
    """
    return types.ClientCapabilities(
        sampling=sampling,
        elicitation=_forms_and_pages() if elicitation else None,
        roots=types.RootsCapability(list_changed=True) if roots else None,
        extensions=extensions or None,
    )


def _forms_and_pages() -> types.ElicitationCapability:
    return types.ElicitationCapability(form=types.FormElicitationCapability(), url=types.UrlElicitationCapability())


def answering_everything(envelope: dict[str, Any], capabilities: types.ClientCapabilities) -> dict[str, Any]:
    """The `_meta` of a 2026-07-28 request whose caller answers whatever the server asks.

    Args:
        envelope: The `_meta` of other requests.
        capabilities: What those declare.
    """
    context = capabilities.sampling.context if capabilities.sampling is not None else None
    answered = {
        "elicitation": _forms_and_pages(),
        "sampling": types.SamplingCapability(context=context, tools=types.SamplingToolsCapability()),
        "roots": capabilities.roots or types.RootsCapability(),
    }
    everything = capabilities.model_copy(update=answered)
    declared = everything.model_dump(by_alias=True, exclude_none=True, mode="json")
    return {**envelope, types.CLIENT_CAPABILITIES_META_KEY: declared}


def envelope_meta(
    version: str,
    info: types.Implementation,
    capabilities: types.ClientCapabilities,
    log_level: types.LoggingLevel | None,
) -> dict[str, Any]:
    """The `_meta` of a 2026-07-28 request, in wire form.

    Args:
        version: The revision that is spoken.
        info: Who the client is.
        capabilities: What it can do.
        log_level: The least severe log message it wants; None wants none.
    """
    meta: dict[str, Any] = {
        types.PROTOCOL_VERSION_META_KEY: version,
        types.CLIENT_INFO_META_KEY: info.model_dump(by_alias=True, exclude_none=True, mode="json"),
        types.CLIENT_CAPABILITIES_META_KEY: capabilities.model_dump(by_alias=True, exclude_none=True, mode="json"),
    }
    if log_level is not None:
        meta[types.LOG_LEVEL_META_KEY] = log_level
    return meta


def wire_meta(given: Mapping[str, Any], envelope: dict[str, Any]) -> dict[str, Any]:
    """A caller's `_meta` in wire form, with the envelope; of what both name, the envelope's word counts.

    The log level is the exception: a caller may ask for another one with a single request.
    """
    meta = {("progressToken" if key == "progress_token" else key): value for key, value in given.items()}
    level = meta.get(types.LOG_LEVEL_META_KEY)
    meta.update(envelope)
    if level is not None:
        meta[types.LOG_LEVEL_META_KEY] = level
    return meta
