"""Tokens in files: private, whole at any moment, and shared by processes."""

import json
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from pydantic import AnyUrl

from mcp.client.auth.exceptions import OAuthFlowError
from mcp.client.auth.file_storage import FileTokenStorage
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

SERVER = "https://mcp.example.com/mcp"
TOKENS = OAuthToken(
    access_token="access-1",
    refresh_token="refresh-1",
    expires_in=3600,
    expires_at=1_800_000_000.5,
    issuer="https://auth.example.com",
    token_endpoint="https://auth.example.com/token",
)
CLIENT = OAuthClientInformationFull(
    client_id="c", client_secret="s", issuer="https://auth.example.com", redirect_uris=[AnyUrl("http://127.0.0.1:1/c")]
)

posix = pytest.mark.skipif(os.name != "posix", reason="file modes")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "of" / "tokens"


def another_process(directory: Path, body: str) -> "subprocess.Popen[str]":
    """Runs `body` in a coroutine of a process of its own, where `storage` is the storage."""
    program = (
        "import anyio, sys\n"
        "from mcp.client.auth.file_storage import FileTokenStorage\n"
        "from mcp.shared.auth import OAuthToken\n"
        "async def main():\n"
        f"    storage = FileTokenStorage({str(directory)!r}, {SERVER!r})\n" + body + "\nanyio.run(main)\n"
    )
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.anyio
async def test_what_was_kept_is_there_in_the_next_run(directory: Path) -> None:
    first = FileTokenStorage(directory, SERVER)
    assert (await first.get_tokens(), await first.get_client_info(), await first.get_dpop_key()) == (None, None, None)
    await first.set_tokens(TOKENS)
    await first.set_client_info(CLIENT)
    await first.set_dpop_key({"kty": "EC", "d": "k"})
    second = FileTokenStorage(directory, SERVER)
    assert await second.get_tokens() == TOKENS
    assert await second.get_client_info() == CLIENT
    assert await second.get_dpop_key() == {"kty": "EC", "d": "k"}
    await second.clear()
    assert await first.get_tokens() is None


@pytest.mark.anyio
async def test_servers_share_a_directory_but_nothing_in_it(directory: Path) -> None:
    await FileTokenStorage(directory, SERVER).set_tokens(TOKENS)
    for other in ("https://mcp.example.com/other", "https://mcp.example.com:8443/mcp", "http://mcp.example.com/mcp"):
        assert await FileTokenStorage(directory, other).get_tokens() is None
    for same in ("HTTPS://MCP.example.com/mcp", "https://mcp.example.com/mcp#part"):
        assert await FileTokenStorage(directory, same).get_tokens() == TOKENS
    name = FileTokenStorage(directory, "https://user:secret@../../etc/passwd?x").path.name
    assert "secret" not in name
    assert "/" not in name


@posix
@pytest.mark.anyio
async def test_nobody_else_may_read_the_file_or_list_its_directory(directory: Path) -> None:
    storage = FileTokenStorage(directory, SERVER)
    before = os.umask(0)
    try:
        await storage.set_tokens(TOKENS)
    finally:
        os.umask(before)
    assert stat.S_IMODE(storage.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


@posix
@pytest.mark.anyio
async def test_a_file_that_others_could_read_is_private_after_the_next_write(directory: Path) -> None:
    storage = FileTokenStorage(directory, SERVER)
    await storage.set_tokens(TOKENS)
    storage.path.chmod(0o644)
    await storage.set_tokens(TOKENS)
    assert stat.S_IMODE(storage.path.stat().st_mode) == 0o600


@posix
@pytest.mark.anyio
async def test_a_file_that_others_could_read_is_private_after_it_was_read(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    storage = FileTokenStorage(directory, SERVER)
    await storage.set_tokens(TOKENS)
    storage.path.chmod(0o644)
    assert await storage.get_tokens() == TOKENS
    assert stat.S_IMODE(storage.path.stat().st_mode) == 0o600
    assert f"Others could read {storage.path}" in caplog.text


@pytest.mark.anyio
async def test_what_a_process_left_that_was_killed_while_it_wrote_is_removed(directory: Path) -> None:
    storage = FileTokenStorage(directory, SERVER)
    other = FileTokenStorage(directory, f"{SERVER}/other")
    left, of_another = (one.path.with_name(f".{one.path.name}.0123456789abcdef") for one in (storage, other))
    left.write_text("secret")
    of_another.write_text("secret")
    await storage.set_tokens(TOKENS)
    assert not left.exists()
    assert of_another.exists()
    left.write_text("secret")
    await storage.clear()
    assert not left.exists()


@pytest.mark.anyio
async def test_what_was_set_aside_is_forgotten_with_the_rest(directory: Path) -> None:
    storage = FileTokenStorage(directory, SERVER)
    await storage.set_tokens(TOKENS)
    storage.path.write_text(storage.path.read_text().replace("Bearer", "mac"))
    assert await storage.get_tokens() is None
    assert list(directory.glob("*.corrupt"))
    await storage.clear()
    assert not any("access-1" in path.read_text() for path in directory.iterdir())


@posix
def test_a_directory_that_others_may_write_to_is_refused(directory: Path) -> None:
    directory.mkdir(parents=True)
    directory.chmod(0o770)
    with pytest.raises(PermissionError, match=f"Others may write to {directory}.*chmod go-w"):
        FileTokenStorage(directory, SERVER)


@posix
@pytest.mark.anyio
async def test_a_link_in_place_of_the_file_is_replaced_and_not_followed(directory: Path, tmp_path: Path) -> None:
    storage = FileTokenStorage(directory, SERVER)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine", encoding="utf-8")
    storage.path.symlink_to(elsewhere)
    await storage.set_tokens(TOKENS)
    assert elsewhere.read_text(encoding="utf-8") == "mine"
    assert not storage.path.is_symlink()


@pytest.mark.anyio
@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b" " * (1024 * 1024 + 1), b'{"server_url": "https://other/"}'],
    ids=["empty", "half", "list", "binary", "deep", "huge", "foreign"],
)
async def test_a_broken_file_is_set_aside_and_said_so(
    directory: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    storage = FileTokenStorage(directory, SERVER)
    storage.path.touch(mode=0o600)
    storage.path.write_bytes(content)
    assert await storage.get_tokens() is None
    aside = storage.path.with_suffix(".corrupt")
    assert aside.read_bytes() == content
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(storage.path) in caplog.text
    assert str(aside) in caplog.text
    await storage.set_tokens(TOKENS)
    assert await storage.get_tokens() == TOKENS


@pytest.mark.anyio
async def test_a_part_that_is_no_token_is_named_without_what_it_holds(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    storage = FileTokenStorage(directory, SERVER)
    await storage.set_tokens(TOKENS)
    document = json.loads(storage.path.read_text(encoding="utf-8"))
    document["tokens"]["access_token"] = ["very-secret"]
    storage.path.write_text(json.dumps(document), encoding="utf-8")
    assert await storage.get_tokens() is None
    assert "tokens: access_token" in caplog.text
    assert "very-secret" not in caplog.text
    assert not storage.path.exists()


@pytest.mark.anyio
async def test_nothing_secret_is_logged(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    storage = FileTokenStorage(directory, SERVER)
    await storage.set_tokens(TOKENS)
    await storage.get_tokens()
    assert "access-1" not in caplog.text + repr(storage)
    assert "refresh-1" not in caplog.text + repr(storage)


@pytest.mark.anyio
async def test_a_write_that_fails_leaves_what_was_there_and_no_litter(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = FileTokenStorage(directory, SERVER)
    await storage.set_tokens(TOKENS)

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        await storage.set_tokens(TOKENS.model_copy(update={"access_token": "access-2"}))
    assert await storage.get_tokens() == TOKENS
    assert sorted(path.suffix for path in directory.iterdir()) == [".json", ".lock"]


@pytest.mark.anyio
async def test_parts_that_are_written_at_once_are_all_kept(directory: Path) -> None:
    storages = [FileTokenStorage(directory, SERVER) for _ in range(3)]
    for _ in range(10):
        await storages[0].clear()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(storages[0].set_tokens, TOKENS)
            tasks.start_soon(storages[1].set_client_info, CLIENT)
            tasks.start_soon(storages[2].set_dpop_key, {"kty": "EC"})
        assert (await storages[0].get_tokens(), await storages[1].get_client_info()) == (TOKENS, CLIENT)
        assert await storages[2].get_dpop_key() == {"kty": "EC"}


@pytest.mark.anyio
async def test_a_reader_never_sees_half_a_file(directory: Path) -> None:
    body = (
        "    print('ready', flush=True)\n"
        "    for number in range(100):\n"
        "        await storage.set_tokens(OAuthToken(access_token=str(number) * 5000))\n"
    )
    storage = FileTokenStorage(directory, SERVER)
    await storage.set_tokens(TOKENS)
    with another_process(directory, body) as writer:
        while writer.poll() is None:
            tokens = await storage.get_tokens()
            assert tokens is not None
    assert writer.returncode == 0
    assert not storage.path.with_suffix(".corrupt").exists()
    assert await storage.get_tokens() == OAuthToken(access_token="99" * 5000)


@pytest.mark.anyio
async def test_one_process_refreshes_while_the_other_waits(directory: Path) -> None:
    body = (
        "    async with storage.exclusive():\n"
        "        print('holding', flush=True)\n"
        "        await anyio.to_thread.run_sync(sys.stdin.readline)\n"
        "        await storage.set_tokens(OAuthToken(access_token='new'))\n"
    )
    storage = FileTokenStorage(directory, SERVER)
    await storage.set_tokens(TOKENS)
    with another_process(directory, body) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "holding\n"
        with pytest.raises(OAuthFlowError, match=r"Another process has been refreshing the tokens in .* for 0 s"):
            async with FileTokenStorage(directory, SERVER, exclusive_timeout=0).exclusive():
                pytest.fail("two at once")
        assert await storage.get_tokens() == TOKENS
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(see_the_new_tokens, storage)
            await anyio.lowlevel.checkpoint()
            other.stdin.write("go\n")
            other.stdin.flush()


async def see_the_new_tokens(storage: FileTokenStorage) -> None:
    async with storage.exclusive():
        assert await storage.get_tokens() == OAuthToken(access_token="new")


@pytest.mark.anyio
async def test_a_process_that_dies_leaves_no_lock_behind(directory: Path) -> None:
    body = "    async with storage.exclusive():\n        print('holding', flush=True)\n        sys.stdin.readline()\n"
    with another_process(directory, body) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "holding\n"
        other.kill()
        other.wait(20)
    async with FileTokenStorage(directory, SERVER, exclusive_timeout=5).exclusive():
        pass


@pytest.mark.anyio
async def test_whoever_gives_up_waiting_leaves_no_lock_behind(directory: Path) -> None:
    storage = FileTokenStorage(directory, SERVER)
    async with storage.exclusive():
        with anyio.move_on_after(0.01):
            async with storage.exclusive():
                pytest.fail("two at once")
    async with storage.exclusive():
        await storage.set_tokens(TOKENS)
    assert await storage.get_tokens() == TOKENS
