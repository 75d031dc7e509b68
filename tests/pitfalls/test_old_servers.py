"""Reports about servers that do not speak what the client hoped for."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from connections import SECONDS_OF_PATIENCE, exists, python
from scripted_handshake_server import Script
from scripted_http_server import Posted, Reply, serve

from mcp import Client, StdioServerParameters
from mcp.client.negotiation import PROBE_SECONDS

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="asks for processes by their ids"),
]

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])

# Answers the methods it knows, and all others with an error of a given code, or not at all.
OLD_SERVER = """
import json, os, sys
pid_file, code, answers = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
open(pid_file, "w").write(str(os.getpid()))
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] in answers:
        answer = {"result": answers[message["method"]]}
    elif code:
        answer = {"error": {"code": code, "message": "Unknown method"}}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""
INITIALIZED = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}


def old_server(pid_file: Path, code: int, **answers: Any) -> StdioServerParameters:
    answers = {"initialize": INITIALIZED, "ping": {}, **answers}
    return python(OLD_SERVER, str(pid_file), str(code), json.dumps(answers))


# B18


async def test_b18_a_server_that_is_silent_about_what_it_does_not_know_is_reached(tmp_path: Path) -> None:
    """It ignored the question of a newer client, which waited for ever, or for ten seconds."""
    with anyio.fail_after(PROBE_SECONDS + 6):
        async with Client(old_server(tmp_path / "pid", 0)) as client:
            assert client.protocol_version == "2025-06-18"
            await client.session.send_ping()


@asyncio_only
async def test_b18_how_long_it_may_be_silent_can_be_said(tmp_path: Path) -> None:
    """The same where even that is too long, or too short."""
    with anyio.fail_after(PROBE_SECONDS + 6):
        async with Client(old_server(tmp_path / "pid", 0), probe_seconds=0) as client:
            assert client.protocol_version == "2025-06-18"
    with anyio.move_on_after(PROBE_SECONDS + 1) as scope:
        async with Client(old_server(tmp_path / "pid", 0), probe_seconds=600):
            pytest.fail("no handshake is due yet")
    assert scope.cancelled_caught
    assert not exists(int((tmp_path / "pid").read_text()))


@asyncio_only
@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32000])
async def test_b18_one_that_refuses_what_it_does_not_know_is_reached_at_once(code: int, tmp_path: Path) -> None:
    """An answer, if only an error, leaves nothing to wait for."""
    with anyio.fail_after(SECONDS_OF_PATIENCE):
        async with Client(old_server(tmp_path / "pid", code), probe_seconds=600) as client:
            assert client.protocol_version == "2025-06-18"
            await client.session.send_ping()


# B46

UNKNOWN = {**INITIALIZED, "protocolVersion": "1999-01-01"}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_b46_a_server_of_an_unknown_version_is_named_and_ended(mode: str, tmp_path: Path) -> None:
    """The process of a server that answered the handshake with an unknown version was left running."""
    server = old_server(tmp_path / "pid", -32601, initialize=UNKNOWN)

    with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(RuntimeError) as caught:
        async with Client(server, mode=mode):
            pytest.fail("there is no common version")

    assert "'1999-01-01'" in str(caught.value)
    assert "'2025-11-25'" in str(caught.value)
    assert not exists(int((tmp_path / "pid").read_text()))


async def test_b46_so_is_one_that_knows_the_question_and_no_version_of_ours(tmp_path: Path) -> None:
    """The same with `server/discover`."""
    discovered: dict[str, Any] = {"resultType": "complete", "supportedVersions": ["1999-01-01"], "capabilities": {}}
    server = old_server(tmp_path / "pid", -32601, initialize=UNKNOWN, **{"server/discover": discovered})

    with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(RuntimeError, match="1999-01-01"):
        async with Client(server):
            pytest.fail("there is no common version")

    assert not exists(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_b46_over_http_its_session_is_ended(mode: str) -> None:
    """The same over HTTP, where the server was left with a session that nobody used."""
    script = Script("1999-01-01")

    @script.on("server/discover")
    async def discover(request: Posted, reply: Reply) -> None:
        await reply.send("400 Bad Request", b"no session", "text/plain")

    with anyio.fail_after(SECONDS_OF_PATIENCE):
        async with serve(script) as script.server:
            with pytest.raises(RuntimeError) as caught:
                async with Client(script.server.url, mode=mode):
                    pytest.fail("there is no common version")

    assert "'1999-01-01'" in str(caught.value)
    assert "'2025-11-25'" in str(caught.value)
    [ended] = script.received("DELETE")
    assert ended.headers["mcp-session-id"] == "session-1"
    assert script.asked["notifications/initialized"] == script.asked["GET"] == 0
