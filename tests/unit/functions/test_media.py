"""`Image` and `Audio`."""

from pathlib import Path
from typing import Any

import pytest

from mcp.server.mcpserver import Audio, Image
from mcp.types import AudioContent, ImageContent

IMAGES = [
    ("a.png", "image/png"), ("a.jpg", "image/jpeg"), ("a.JPEG", "image/jpeg"), ("a.gif", "image/gif"),
    ("a.webp", "image/webp"), ("a.bmp", "application/octet-stream"), ("a", "application/octet-stream"),
]  # fmt: skip
SOUNDS = [
    ("a.wav", "audio/wav"), ("a.mp3", "audio/mpeg"), ("a.ogg", "audio/ogg"), ("a.FLAC", "audio/flac"),
    ("a.aac", "audio/aac"), ("a.m4a", "audio/mp4"), ("a.opus", "application/octet-stream"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "mime_type"), IMAGES)
def test_the_suffix_of_an_image_says_what_it_is(name: str, mime_type: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"picture")

    for path in (tmp_path / name, str(tmp_path / name)):
        assert Image(path=path).to_image_content() == ImageContent(data="cGljdHVyZQ==", mime_type=mime_type)


@pytest.mark.parametrize(("name", "mime_type"), SOUNDS)
def test_the_suffix_of_a_sound_says_what_it_is(name: str, mime_type: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"sound")

    assert Audio(path=tmp_path / name).to_audio_content() == AudioContent(data="c291bmQ=", mime_type=mime_type)


def test_bytes_are_taken_for_the_usual_format_unless_told() -> None:
    assert Image(data=b"").to_image_content() == ImageContent(data="", mime_type="image/png")
    assert Audio(data=b"\xff").to_audio_content() == AudioContent(data="/w==", mime_type="audio/wav")
    assert Image(data=b"", format="GIF").to_image_content().mime_type == "image/gif"
    assert Audio(data=b"", format="mp3").to_audio_content().mime_type == "audio/mp3"
    assert Image("a.png", format="webp")._mime_type == "image/webp"


def test_a_file_is_read_when_the_content_is_made(tmp_path: Path) -> None:
    image = Image(path=tmp_path / "later.png")

    with pytest.raises(FileNotFoundError):
        image.to_image_content()
    (tmp_path / "later.png").write_bytes(b"x")
    assert image.to_image_content().data == "eA=="
    assert image.path == tmp_path / "later.png"
    assert image.data is None


@pytest.mark.parametrize("kind", [Image, Audio])
def test_there_is_a_path_or_data(kind: Any) -> None:
    with pytest.raises(ValueError, match=f"{kind.__name__} takes either path= or data=, got neither"):
        kind()
    with pytest.raises(ValueError, match=f"{kind.__name__} takes either path= or data=, got both"):
        kind(path="a.png", data=b"x")
