"""Media that a function returns: bytes or a file, made into content when the result is built."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp.types import AudioContent, ImageContent

__all__ = ["Audio", "Image"]

_UNKNOWN: Final = "application/octet-stream"
_IMAGES: Final[Mapping[str, str]] = {
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}
_SOUNDS: Final[Mapping[str, str]] = {
    ".aac": "audio/aac",
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".wav": "audio/wav",
}


class _Media:
    _kind: str
    _suffixes: Mapping[str, str]
    _default: str

    def __init__(self, path: str | Path | None = None, data: bytes | None = None, format: str | None = None) -> None:
        if (path is None) == (data is None):
            got = "neither" if path is None else "both"
            raise ValueError(f"{type(self).__name__} takes either path= or data=, got {got}")
        self.path = None if path is None else Path(path)
        self.data = data
        self._format = format

    @property
    def _mime_type(self) -> str:
        if self._format:
            return f"{self._kind}/{self._format.lower()}"
        if self.path is None:
            return self._default
        return self._suffixes.get(self.path.suffix.lower(), _UNKNOWN)

    def _base64(self) -> str:
        data = self.data if self.path is None else self.path.read_bytes()
        return b64encode(data or b"").decode()


class Image(_Media):
    """An image that a tool returns.

    Args:
        path: A file, read when the result is built. Its suffix says what it is: .png, .jpg, .jpeg, .gif or .webp.
        data: The bytes themselves, instead of a file.
        format: What the image is, such as "png"; without it, bytes are taken for a PNG.

    Raises:
        ValueError: There is neither a path nor data, or both.
    """

    _kind = "image"
    _suffixes = _IMAGES
    _default = "image/png"

    def to_image_content(self) -> ImageContent:
        """The image as a content block.

        Raises:
            OSError: The file cannot be read.
        """
        from mcp.types import ImageContent

        return ImageContent(data=self._base64(), mime_type=self._mime_type)


class Audio(_Media):
    """A sound that a tool returns.

    Args:
        path: A file, read when the result is built. Its suffix says what it is: .wav, .mp3, .ogg, .flac, .aac or .m4a.
        data: The bytes themselves, instead of a file.
        format: What the sound is, such as "mp3"; without it, bytes are taken for a WAV.

    Raises:
        ValueError: There is neither a path nor data, or both.
    """

    _kind = "audio"
    _suffixes = _SOUNDS
    _default = "audio/wav"

    def to_audio_content(self) -> AudioContent:
        """The sound as a content block.

        Raises:
            OSError: The file cannot be read.
        """
        from mcp.types import AudioContent

        return AudioContent(data=self._base64(), mime_type=self._mime_type)
