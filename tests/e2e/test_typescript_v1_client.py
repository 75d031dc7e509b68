"""The client of the TypeScript SDK 1.x, which most hosts are built on, against our server."""

import json
from typing import Any

import pytest
from peer_programs import PEERS, node, output_of, stdio_workshop, workshop_url

pytestmark = pytest.mark.e2e

NO_CHANNEL = "this transport context has no back-channel for server-initiated requests."


def seen_by(parts: str, *arguments: str) -> dict[str, Any]:
    """What the client saw while it went through the parts of its program."""
    return json.loads(output_of([node(), str(PEERS / "client_v1.mjs"), parts, *arguments]))


def assert_saw_the_workshop(seen: dict[str, Any]) -> None:
    assert seen["server"] == {"name": "workshop", "version": "4.5.6"}
    assert seen["instructions"] == "Mind the glue"
    assert {"add", "ask_model", "count"} <= set(seen["tools"])
    assert seen["sum"] == "5"
    assert seen["unknown"] == {"code": -32602, "message": "MCP error -32602: Unknown tool: burn"}
    assert seen["resource"] == [{"uri": "workshop://board", "mimeType": "text/plain", "text": "Grüße, 世界"}]
    assert seen["prompt"] == [{"role": "user", "content": {"type": "text", "text": "Greet Ada"}}]
    assert seen["pong"] == {}


def assert_answered_the_requests(seen: dict[str, Any]) -> None:
    assert seen["model"] == "oracle said yes to why"
    assert seen["user"] == "accept {'name': 'asked: Who are you?'}"
    assert seen["folders"] == "file:///a/folder"


def assert_was_refused(call: Any, method: str) -> None:
    assert call == {"code": -32600, "message": f"MCP error -32600: Cannot send '{method}': {NO_CHANNEL}"}


def assert_logged_from_info_up(seen: dict[str, Any]) -> None:
    assert [message["level"] for message in seen["logged"]] == ["info", "error"]
    assert seen["logged"][0] == {"level": "info", "logger": "workshop", "data": "a message of level info"}


def assert_counted(seen: dict[str, Any], reports: int = 3) -> None:
    assert seen["counted"] == "counted 3"
    steps = [{"progress": step, "total": 3, "message": f"step {step}"} for step in (1, 2, 3)]
    assert seen["progress"] == steps[:reports]


def assert_cancelled(seen: dict[str, Any]) -> None:
    assert seen["aborted"]["message"] == "MCP error -32001: enough"
    assert seen["cancelled"] == "one"


def test_a_stateful_session_carries_requests_and_notifications_both_ways() -> None:
    with workshop_url() as url:
        seen = seen_by("requests,logging,progress,cancellation,changes,termination", "http", url)
    assert_saw_the_workshop(seen)
    assert seen["version"] == "2025-11-25"
    assert_answered_the_requests(seen)
    assert_logged_from_info_up(seen)
    assert_counted(seen)
    assert_cancelled(seen)
    assert {"tools", "workshop://board"} <= set(seen["changes"])
    assert seen["statusAfterTermination"] == 404


def test_the_client_comes_back_for_the_result_of_a_closed_stream() -> None:
    with workshop_url() as url:
        seen = seen_by("polling", "http", url)
    assert seen["polled"] == "resumed"


def test_a_second_client_resumes_the_call_that_the_first_one_lost() -> None:
    with workshop_url() as url:
        seen = seen_by("resumption", "http", url)
    assert seen["resumed"] == "released"


def test_a_stateful_session_with_json_answers_asks_nothing() -> None:
    with workshop_url("json") as url:
        seen = seen_by("requests,progress,changes,termination", "http", url)
    assert_saw_the_workshop(seen)
    assert_was_refused(seen["model"], "sampling/createMessage")
    assert_was_refused(seen["user"], "elicitation/create")
    assert_was_refused(seen["folders"], "roots/list")
    assert_counted(seen, reports=0)
    assert {"tools", "workshop://board"} <= set(seen["changes"])
    assert seen["statusAfterTermination"] == 404


@pytest.mark.parametrize(("options", "reports"), [(("stateless",), 3), (("stateless", "json"), 0)])
def test_a_stateless_server_has_no_session_and_asks_nothing(options: tuple[str, ...], reports: int) -> None:
    with workshop_url(*options) as url:
        seen = seen_by("requests,progress", "http", url)
    assert_saw_the_workshop(seen)
    assert "session" not in seen
    assert_was_refused(seen["model"], "sampling/createMessage")
    assert_was_refused(seen["user"], "elicitation/create")
    assert_was_refused(seen["folders"], "roots/list")
    assert_counted(seen, reports)


def test_the_http_and_sse_transport_carries_requests_and_notifications_both_ways() -> None:
    with workshop_url("sse") as url:
        seen = seen_by("requests,logging,progress,cancellation,changes", "sse", url)
    assert_saw_the_workshop(seen)
    assert_answered_the_requests(seen)
    assert_logged_from_info_up(seen)
    assert_counted(seen)
    assert_cancelled(seen)
    assert {"tools", "workshop://board"} <= set(seen["changes"])


def test_stdio_carries_requests_and_notifications_both_ways() -> None:
    seen = seen_by("requests,logging,progress,cancellation,changes", "stdio", *stdio_workshop())
    assert_saw_the_workshop(seen)
    assert_answered_the_requests(seen)
    assert_logged_from_info_up(seen)
    assert_counted(seen)
    assert_cancelled(seen)
    assert {"tools", "workshop://board"} <= set(seen["changes"])
