"""Names outside the documented API that programs import: they stay where they are, and do what those programs need."""

import subprocess
import sys
from importlib import import_module
from typing import Any

import anyio
import pytest
from pydantic import ValidationError

import mcp.client.client as client_module
from mcp import MCPError, types
from mcp.client._input_required import InputRequiredRoundsExceededError, run_input_required_driver
from mcp.client.caching import ClientResponseCache, InMemoryResponseCacheStore
from mcp.client.session import IncomingMessage
from mcp.types.method_results import result_models, validate_server_result

HOMES = {
    "mcp.client._input_required.DEFAULT_INPUT_REQUIRED_MAX_ROUNDS": "mcp.client.input_rounds.MOST_ROUNDS",
    "mcp.client._input_required.InputRequiredRoundsExceededError": "mcp.client.InputRequiredRoundsExceededError",
    "mcp.client._input_required.run_input_required_driver": "mcp.client.input_rounds.driven_rounds",
    "mcp.client._probe.negotiate_auto": "mcp.client.negotiation.negotiate_auto",
    "mcp.client._transport.Transport": "mcp.client.Transport",
    "mcp.client._transport.TransportStreams": "mcp.engine.streams.TransportStreams",
    "mcp.client.client._evicting_message_handler": "mcp.client.cache_setup.evicting_message_handler",
    "mcp.client.client._fold_extensions": "mcp.client.folding.fold_extensions",
    "mcp.client.client._synthesize_discover": "mcp.client.negotiation.presumed_discovery",
    "mcp.client.client.negotiate_auto": "mcp.client.negotiation.negotiate_auto",
    "mcp.client.session.ProgressFnT": "mcp.engine.progress.ProgressFnT",
    "mcp.client.streamable_http.create_mcp_http_client": "mcp.client._http_client.create_mcp_http_client",
    "mcp.server._otel.OpenTelemetryMiddleware": "mcp.server.middleware.OpenTelemetryMiddleware",
    "mcp.server.mcpserver.server.configure_logging": "mcp.server.mcpserver.utilities.logging.configure_logging",
    "mcp.shared._httpx_utils.MCP_DEFAULT_SSE_READ_TIMEOUT": "mcp.client._http_client.READ_TIMEOUT",
    "mcp.shared._httpx_utils.MCP_DEFAULT_TIMEOUT": "mcp.client._http_client.TIMEOUT",
    "mcp.shared._httpx_utils.McpHttpClientFactory": "mcp.client.sse.McpHttpClientFactory",
    "mcp.shared._httpx_utils.create_mcp_http_client": "mcp.client.streamable_http.create_mcp_http_client",
    "mcp.shared._stream_protocols.ReadStream": "mcp.engine.streams.ReadStream",
    "mcp.shared._stream_protocols.WriteStream": "mcp.engine.streams.WriteStream",
    "mcp.shared.dispatcher.ProgressFnT": "mcp.engine.progress.ProgressFnT",
    "mcp.shared.inbound.x_mcp_header_map": "mcp.protocol.param_headers.header_map",
    "mcp_types.methods.CacheableMethod": "mcp.types.methods.CacheableMethod",
    "mcp_types.methods.SPEC_CLIENT_METHODS": "mcp.types.methods.SPEC_CLIENT_METHODS",
    "mcp_types.methods.validate_server_result": "mcp.types.method_results.validate_server_result",
}


def named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


@pytest.mark.parametrize("path", HOMES)
def test_a_private_name_is_that_of_its_home(path: str) -> None:
    assert named(path) is named(HOMES[path])


@pytest.mark.parametrize("path", ["mcp.server.connection.Connection", "mcp_types.methods.MONOLITH_RESULTS"])
def test_what_has_no_other_home_can_be_imported(path: str) -> None:
    assert named(path)


@pytest.mark.parametrize("module", ["mcp.client.client", "mcp.shared._httpx_utils", "mcp_types.methods"])
def test_a_name_that_is_not_there_is_an_ordinary_error(module: str) -> None:
    with pytest.raises(AttributeError, match=f"module '.*{module.removeprefix('mcp_types.')}' has no attribute 'nope'"):
        _ = import_module(module).nope


def test_the_import_paths_load_nothing_that_is_not_asked_for() -> None:
    code = (
        "import sys, mcp.shared._httpx_utils, mcp.shared.dispatcher, mcp.shared._stream_protocols, mcp_types.methods\n"
        "assert not {'mcp.client', 'mcp.engine', 'pydantic', 'httpx2', 'anyio'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=50)


@pytest.mark.parametrize(
    ("module", "new"),
    [
        ("mcp.server.fastmcp", "from mcp.server import MCPServer"),
        ("mcp.server.fastmcp.server", "from mcp.server import MCPServer"),
        ("mcp.shared.session", "ClientSession from mcp.client.session"),
    ],
)
def test_a_module_of_version_1_names_the_new_import(module: str, new: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=new) as caught:
        import_module(module)
    assert str(caught.value).startswith("No module named 'mcp.")
    assert module.startswith(caught.value.name or "?")


def test_a_presumed_discovery_says_the_version_and_nothing_else() -> None:
    presumed = client_module._synthesize_discover("2026-07-28")
    assert presumed == types.DiscoverResult(supported_versions=["2026-07-28"], capabilities=types.ServerCapabilities())


@pytest.mark.anyio
async def test_a_message_handler_shows_notifications_to_the_cache_first() -> None:
    seen: list[object] = []

    class Cache(ClientResponseCache):
        async def evict_for_notification(self, notification: types.ServerNotification) -> None:
            seen.append(("cache", notification.method))

    async def user(message: IncomingMessage) -> None:
        seen.append(message)

    cache = Cache(
        store=InMemoryResponseCacheStore(),
        partition="",
        arm_id="a",
        default_ttl_ms=0,
        clock=lambda: 0.0,
        share_public=False,
        negotiated_version=lambda: "2026-07-28",
    )
    changed, failure = types.ToolListChangedNotification(), ValueError("bad")
    handle = client_module._evicting_message_handler(cache, user)
    await handle(changed)
    await handle(failure)
    await client_module._evicting_message_handler(cache, None)(changed)
    assert seen == [("cache", changed.method), changed, failure, ("cache", changed.method)]


QUESTION = types.ElicitRequest(
    params=types.ElicitRequestFormParams(message="Name?", requested_schema={"type": "object", "properties": {}})
)
ASKS = types.InputRequiredResult(input_requests={"name": QUESTION}, request_state="first")


class Asked:
    """Answers every question, and keeps what it was asked."""

    def __init__(self, *results: types.CallToolResult | types.InputRequiredResult) -> None:
        self.results = list(results)
        self.log: list[object] = []

    async def dispatch(self, key: str, question: types.InputRequest) -> types.InputResponse | types.ErrorData:
        self.log.append((key, question.method))
        return types.ElicitResult(action="accept", content={})

    async def retry(
        self, responses: types.InputResponses | None, state: str | None
    ) -> types.CallToolResult | types.InputRequiredResult:
        self.log.append((responses and list(responses), state))
        return self.results.pop(0) if len(self.results) > 1 else self.results[0]


@pytest.mark.anyio
async def test_rounds_can_be_driven_without_a_session() -> None:
    done = types.CallToolResult(content=[])
    asked = Asked(types.InputRequiredResult(request_state="second"), done)
    assert await run_input_required_driver(ASKS, dispatch=asked.dispatch, retry=asked.retry) == done
    assert asked.log == [("name", "elicitation/create"), (["name"], "first"), (None, "second")]


@pytest.mark.anyio
async def test_driven_rounds_end_with_an_error_for_an_answer_or_with_their_number() -> None:
    async def refuse(key: str, question: types.InputRequest) -> types.ErrorData:
        return types.ErrorData(code=-1, message="no")

    asked = Asked(ASKS)
    with pytest.raises(MCPError, match=r"^no$"):
        await run_input_required_driver(ASKS, dispatch=refuse, retry=asked.retry)
    with anyio.fail_after(5), pytest.raises(InputRequiredRoundsExceededError) as caught:
        await run_input_required_driver(ASKS, dispatch=asked.dispatch, retry=asked.retry, max_rounds=2)
    assert caught.value.max_rounds == 2


def test_every_request_has_its_result_models() -> None:
    models = result_models()
    assert models["tools/list"] is types.ListToolsResult
    assert models["tools/call"] == types.CallToolResult | types.InputRequiredResult
    assert models["sampling/createMessage"] == types.CreateMessageResult | types.CreateMessageResultWithTools
    assert not [method for method in models if method.startswith(("tasks/", "notifications/"))]


@pytest.mark.parametrize(
    ("method", "version", "result"),
    [
        ("tools/list", "2025-11-25", {"tools": []}),
        ("tools/list", "2026-07-28", {"tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}),
        ("tools/call", "2025-11-25", {"content": []}),
        ("tools/call", "2026-07-28", {"resultType": "input_required", "inputRequests": {}}),
        ("resources/read", "2026-07-28", {"resultType": "input_required", "requestState": "s"}),
    ],
)
def test_a_result_that_is_valid_in_its_revision_passes(method: str, version: str, result: dict[str, Any]) -> None:
    validate_server_result(method, version, result)


@pytest.mark.parametrize(
    ("method", "version", "result", "error"),
    [
        ("tools/list", "2026-07-28", {"tools": []}, ValidationError),
        ("tools/list", "2025-11-25", {"tools": [{"name": 1}]}, ValidationError),
        ("tools/list", "2025-11-25", {"resultType": "input_required"}, ValidationError),
        ("initialize", "2026-07-28", {}, KeyError),
        ("nope", "2025-11-25", {}, KeyError),
        ("tasks/list", "2025-11-25", {"tasks": []}, KeyError),
        ("tools/list", "1999-01-01", {"tools": []}, ValueError),
    ],
)
def test_any_other_result_is_refused(method: str, version: str, result: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        validate_server_result(method, version, result)
