"""What a docstring says about each parameter, in the styles of Google, NumPy and Sphinx."""

import re
from collections.abc import Collection, Iterator
from textwrap import dedent
from typing import Final

__all__ = ["parameter_descriptions"]

_SECTION: Final = r"(?:(?:keyword|other)\s+)?(?:args|arguments|params|parameters)"
_GOOGLE_HEAD: Final = re.compile(rf"^{_SECTION}:[ \t]*$", re.IGNORECASE)
_NUMPY_HEAD: Final = re.compile(rf"^{_SECTION}[ \t]*$", re.IGNORECASE)
_UNDERLINE: Final = re.compile(r"^-{3,}[ \t]*$")
_GOOGLE_ITEM: Final = re.compile(r"^\*{0,2}(\w+)[ \t]*(?:\([^:]*\))?[ \t]*:(?!:)[ \t]*(.*)$")
_NUMPY_ITEM: Final = re.compile(r"^(\*{0,2}\w+(?:[ \t]*,[ \t]*\*{0,2}\w+)*)[ \t]*(?::.*)?$")
_SPHINX_ITEM: Final = re.compile(
    r"^:(?:param|parameter|arg|argument|key|keyword)[ \t]+(?:[^:]*?[ \t])?\*{0,2}(\w+):(.*)$"
)


def parameter_descriptions(docstring: str, names: Collection[str]) -> dict[str, str]:
    """The descriptions of parameters that a docstring holds.

    Args:
        docstring: As `inspect.getdoc` gives it, without the indentation of the function.
        names: The parameters that exist; what a docstring says of others is left out.

    Returns:
        A text of one line for each parameter that is described.
    """
    lines = docstring.splitlines()
    found: dict[str, str] = {}
    for read in (_sphinx, _numpy, _google):
        for name, text in read(lines):
            joined = " ".join(" ".join(text).split())
            if name in names and joined:
                found.setdefault(name, joined)
    return found


def _sphinx(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    for number, line in enumerate(lines):
        item = _SPHINX_ITEM.match(line)
        if item:
            yield item[1], [item[2], *_indented(lines[number + 1 :])]


def _indented(lines: list[str]) -> Iterator[str]:
    """The lines that continue a field: indented, up to the first blank one."""
    for line in lines:
        if not line[:1].isspace() or not line.strip():
            return
        yield line


def _google(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    for number, line in enumerate(lines):
        if _GOOGLE_HEAD.match(line):
            yield from _items(_block(lines[number + 1 :]), _GOOGLE_ITEM)


def _block(lines: list[str]) -> list[str]:
    """The indented lines under a head, without their indentation."""
    block: list[str] = []
    for line in lines:
        if line.strip() and not line[:1].isspace():
            break
        block.append(line)
    return dedent("\n".join(block)).splitlines()


def _numpy(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    for number, line in enumerate(lines[:-1]):
        if _NUMPY_HEAD.match(line) and _UNDERLINE.match(lines[number + 1]):
            for names, text in _items(_until_next_head(lines[number + 2 :]), _NUMPY_ITEM):
                for name in names.split(","):
                    yield name.strip(" \t*"), text


def _until_next_head(lines: list[str]) -> list[str]:
    for number in range(1, len(lines)):
        if _UNDERLINE.match(lines[number]):
            return lines[: number - 1]
    return lines


def _items(lines: list[str], head: re.Pattern[str]) -> Iterator[tuple[str, list[str]]]:
    """Each item of a list whose heads stand at the margin, and whose texts are indented."""
    name: str | None = None
    text: list[str] = []
    for line in lines:
        if not line.strip() or line[:1].isspace():
            text.append(line)
            continue
        if name is not None:
            yield name, text
        item = head.match(line)
        name = item[1] if item else None
        text = [item[2]] if item and item.re.groups > 1 else []
    if name is not None:
        yield name, text
