"""Which messages the endpoint takes: bodies, versions, the headers that repeat what a body says."""

import base64
import json
import logging
from typing import Any

import pytest
from asgi_driver import META, Context, ask, headers, message, post, serving

from mcp import types
from mcp.server import Server
from mcp.server.context import CallNext

pytestmark = pytest.mark.anyio

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[], structured_content=params.arguments)


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[])


async def get_prompt(ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[])


def server(**options: Any) -> Server[Any]:
    return Server("srv", on_call_tool=call_tool, on_read_resource=read_resource, on_get_prompt=get_prompt, **options)


# Bodies.


@pytest.mark.parametrize(
    ("body", "code", "id"),
    [
        (b"{", -32700, None),
        (b"", -32700, None),
        (b"  ", -32700, None),
        (b'{"jsonrpc":"2.0","id":5,"method":', -32700, 5),
        (b"\xff\xfe", -32700, None),
        (b"[" * 5000 + b"]" * 5000, -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":NaN}}', -32700, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1e999}}', -32700, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":"\\ud800"}}', -32700, 1),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"a"}]', -32600, None),
        (b"5", -32600, None),
        (b'"text"', -32600, None),
        (b"null", -32600, None),
        (b"{}", -32600, None),
        (b'{"jsonrpc":"1.0","id":1,"method":"a"}', -32600, 1),
        (b'{"id":1,"method":"a"}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":null,"method":"a"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"a"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"a"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"a"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":[]}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":"x"}', -32602, 1),
        (b'{"jsonrpc":"2.0","method":"a","params":[]}', -32602, None),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}', -32600, None),
    ],
)
async def test_what_is_no_request_and_no_notification_is_a_bad_request(body: bytes, code: int, id: object) -> None:
    async with serving(server()) as app:
        answer = await ask(app, headers("a"), body)
    assert (answer.status, answer.json["error"]["code"], answer.json["id"]) == (400, code, id)
    assert answer.json["jsonrpc"] == "2.0"


async def test_a_response_is_told_what_a_body_may_be() -> None:
    async with serving(server()) as app:
        answer = await ask(app, headers("a"), b'{"jsonrpc":"2.0","id":1,"result":{}}')
    assert answer.error == (400, -32600, "Body must be a single JSON-RPC request or notification object")


@pytest.mark.parametrize("id", [1, 0, -7, 10**30, "", "abc", "é"])
async def test_an_answer_has_the_id_of_its_request(id: Any) -> None:
    async with serving(server()) as app:
        answer = await ask(app, headers("server/discover"), message("server/discover", id=id))
    assert (answer.status, answer.json["id"]) == (200, id)


async def test_a_byte_order_mark_and_unknown_members_do_not_matter() -> None:
    body = b"\xef\xbb\xbf" + message("server/discover").replace(b'{"jsonrpc"', b'{"acme":1,"jsonrpc"')
    async with serving(server()) as app:
        assert (await ask(app, headers("server/discover"), body)).status == 200


# Versions.


async def refused(meta: object, **changed: str | None) -> tuple[int, int, str]:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "a", "params": {"_meta": meta}}).encode()
    async with serving(server()) as app:
        return (await ask(app, headers("a", **changed), body)).error


@pytest.mark.parametrize("meta", [None, [], "x"])
async def test_the_header_promises_an_envelope(meta: object) -> None:
    status, code, text = await refused(meta)
    assert (status, code) == (400, -32602)
    assert text.startswith("params._meta must be an object carrying the required 'io.modelcontextprotocol/")


async def test_params_are_needed_for_the_envelope() -> None:
    async with serving(server()) as app:
        for params in (b"", b',"params":null', b',"params":{}'):
            answer = await ask(app, headers("a"), b'{"jsonrpc":"2.0","id":1,"method":"a"%b}' % params)
            assert answer.error[:2] == (400, -32602)


@pytest.mark.parametrize(
    ("meta", "missing"),
    [({}, f"{VERSION}, {CAPABILITIES}"), ({VERSION: "2026-07-28"}, CAPABILITIES), ({CAPABILITIES: {}}, VERSION)],
)
async def test_an_envelope_needs_version_and_capabilities(meta: dict[str, Any], missing: str) -> None:
    assert await refused(meta) == (400, -32602, f"params._meta is missing the required envelope key(s): {missing}")


@pytest.mark.parametrize(
    ("header", "claimed"),
    [
        ("2026-07-28", "2025-11-25"),
        ("2025-11-25", "2026-07-28"),
        ("2099-01-01", "2026-07-28"),
        ("2026-07-28", "2099-01-01"),
        ("", "2026-07-28"),
        ("2026-07-28", 5),
        (None, "2026-07-28"),
    ],
)
async def test_header_and_envelope_must_name_one_version(header: str | None, claimed: object) -> None:
    status, code, text = await refused({VERSION: claimed, CAPABILITIES: {}}, mcp_protocol_version=header)
    assert (status, code, text.startswith("mcp-protocol-version header ")) == (400, -32020, True)


@pytest.mark.parametrize("version", ["2099-01-01", "banana"])
async def test_an_unknown_version_is_told_the_known_ones(version: str) -> None:
    async with serving(server()) as app:
        body = message("server/discover", meta={VERSION: version})
        answer = await ask(app, headers("server/discover", mcp_protocol_version=version), body)
    assert answer.status == 400
    assert answer.json["error"] == {
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {"supported": ["2026-07-28"], "requested": version},
    }


async def test_initialize_under_a_modern_header_is_not_found() -> None:
    async with serving(server()) as app:
        answer = await post(app, "initialize", {"protocolVersion": "2026-07-28"})
    assert answer.error == (404, -32601, "Method not found")


@pytest.mark.parametrize("ignored", ["mcp-session-id", "last-event-id"])
async def test_headers_of_other_revisions_are_ignored(ignored: str) -> None:
    async with serving(server()) as app:
        pairs = [*headers("server/discover"), (ignored.encode(), b"x")]
        answer = await ask(app, pairs, message("server/discover"))
    assert answer.status == 200
    assert "mcp-session-id" not in answer.headers


# Headers that repeat the body.


async def call(**changed: str | None) -> tuple[int, int, str] | int:
    async with serving(server()) as app:
        answer = await ask(app, headers("tools/call", **changed), message("tools/call", {"name": "add"}))
    return 200 if answer.status == 200 else answer.error


async def test_a_header_that_is_not_there_is_called_missing() -> None:
    assert await call(mcp_method=None, mcp_name="add") == (400, -32020, "mcp-method header is missing")
    assert await call(mcp_name=None) == (400, -32020, "mcp-name header is missing")


@pytest.mark.parametrize("method", ["", "tools/list", "TOOLS/CALL", "tools/call "])
async def test_the_method_header_must_repeat_the_method(method: str | None) -> None:
    expected = (400, -32020, "mcp-method header does not match the request body's method")
    assert await call(mcp_method=method, mcp_name="add") == expected


def encoded(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


@pytest.mark.parametrize("name", ["", "sub", "ADD", "=?base64?!!?=", "=?base64?YWRk", encoded("sub"), "=?base64??="])
async def test_the_name_header_must_repeat_the_name(name: str | None) -> None:
    expected = (400, -32020, "mcp-name header does not match the request body's 'name' parameter")
    assert await call(mcp_name=name) == expected


@pytest.mark.parametrize("name", ["add", encoded("add")])
async def test_the_name_may_be_encoded(name: str) -> None:
    assert await call(mcp_name=name) == 200


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [("prompts/get", {"name": "p"}, "name"), ("resources/read", {"uri": "test://r"}, "uri")],
)
async def test_prompts_and_resources_are_named_too(method: str, params: dict[str, str], field: str) -> None:
    async with serving(server()) as app:
        assert (await ask(app, headers(method, params[field]), message(method, params))).status == 200
        refusal = await ask(app, headers(method, "other"), message(method, params))
    expected = (400, -32020, f"mcp-name header does not match the request body's {field!r} parameter")
    assert refusal.error == expected


async def test_a_name_beyond_ascii_must_be_encoded() -> None:
    body = message("tools/call", {"name": "é"})
    async with serving(server()) as app:
        assert (await ask(app, headers("tools/call", encoded("é")), body)).status == 200
        raw = [*headers("tools/call"), (b"mcp-name", "é".encode("latin-1"))]
        assert (await ask(app, raw, body)).error[:2] == (400, -32020)


async def test_a_method_without_a_name_needs_no_header_and_minds_none() -> None:
    async with serving(server()) as app:
        assert (await ask(app, headers("server/discover", "any"), message("server/discover"))).status == 200


@pytest.mark.parametrize("params", [{}, {"name": 5}])
async def test_a_name_that_is_none_is_left_to_the_params(params: dict[str, Any]) -> None:
    async with serving(server()) as app:
        status, code, text = (await ask(app, headers("tools/call"), message("tools/call", params))).error
    assert (status, code, text.startswith("Invalid request parameters: name: ")) == (400, -32602, True)


@pytest.mark.parametrize("name", ["mcp-protocol-version", "mcp-method", "mcp-name"])
async def test_a_header_that_is_given_twice_is_refused(name: str) -> None:
    pairs = headers("tools/call", "add")
    async with serving(server()) as app:
        repeated = [*pairs, *(pair for pair in pairs if pair[0].decode() == name)]
        answer = await ask(app, repeated, message("tools/call", {"name": "add"}))
    assert answer.error == (400, -32020, f"{name} header appears more than once")


async def test_other_headers_may_be_given_twice() -> None:
    pairs = [*headers("server/discover"), (b"x-forwarded-for", b"a"), (b"x-forwarded-for", b"b")]
    async with serving(server()) as app:
        assert (await ask(app, pairs, message("server/discover"))).status == 200


# What is looked at first.


async def test_the_envelope_is_looked_at_before_the_headers_that_repeat_the_body() -> None:
    assert (await refused(None, mcp_method=None))[1] == -32602
    assert (await refused({VERSION: "2026-07-28"}, mcp_method=None))[1] == -32602
    assert (await refused({**META, VERSION: "2099-01-01"}, mcp_method=None))[1] == -32020
    unknown = {**META, VERSION: "2099-01-01"}
    assert (await refused(unknown, mcp_protocol_version="2099-01-01", mcp_method=None))[1] == -32022


async def test_headers_are_looked_at_before_the_method_and_its_params() -> None:
    async with serving(server()) as app:
        unknown = await post(app, "acme/unknown", {}, mcp_method="other")
        assert unknown.error[:2] == (400, -32020)
        bad = await ask(app, headers("tools/call", "other"), message("tools/call", {"name": "add", "arguments": 5}))
        assert bad.error[:2] == (400, -32020)


# Notifications.


async def note(app: Any, body: dict[str, Any], **changed: str | None) -> Any:
    return await ask(app, headers("x", **changed), json.dumps({"jsonrpc": "2.0", **body}).encode())


@pytest.mark.parametrize(
    "body",
    [
        {"method": "acme/note"},
        {"method": "notifications/initialized"},
        {"method": "notifications/cancelled", "params": {"requestId": 1}},
        {"method": "tools/list", "params": {"_meta": META}},
    ],
)
async def test_a_notification_is_acknowledged_and_goes_nowhere(
    body: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mcp.server")

    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        raise AssertionError("middleware does not see it")

    async def handler(ctx: Context, params: types.NotificationParams) -> None:
        raise AssertionError("nobody sees it")

    quiet = server()
    quiet.middleware.append(middleware)
    quiet.add_notification_handler("acme/note", types.NotificationParams, handler)
    async with serving(quiet) as app:
        answer = await note(app, body, mcp_method=None)
    assert (answer.status, answer.headers, answer.body) == (202, {"content-length": "0"}, b"")
    assert f"acknowledged and dropped {body['method']}" in caplog.text


async def test_a_notification_needs_a_version_that_is_known_and_agreed_on() -> None:
    async with serving(server()) as app:
        unknown = await note(app, {"method": "x"}, mcp_protocol_version="2099-01-01")
        assert unknown.error[:2] == (400, -32022)
        assert unknown.json["id"] is None
        other = {"method": "x", "params": {"_meta": {VERSION: "2099-01-01"}}}
        assert (await note(app, other)).error[:2] == (400, -32020)
        modern = {"method": "x", "params": {"_meta": META}}
        assert (await note(app, modern, mcp_protocol_version=None)).error[:2] == (400, -32020)
