"""Values that become paths."""

from pathlib import Path

import pytest

from mcp.shared.path_security import PathEscapeError, contains_path_traversal, is_absolute_path, safe_join

CLIMBING = [
    *("..", "../", "../a", "./..", "/..", "a/../..", "a/../../b", "a//../..", "a/./../..", "a/b/../../../c"),
    *("..\\a", "a\\..\\..\\b", "a/..\\..", "C:/../.."),
]
STAYING = [
    *("", ".", "a", "a/b", "a/..", "a/../b", "a/b/../..", "/a/.."),
    *("v1.0..v2.0", "HEAD~3..HEAD", "..a", "a..", "...", "a/.../..", "....//", ".. /a"),
    # These would climb if somebody decoded them again.
    *("..%2f", "%2e%2e/a"),
]
ABSOLUTE = [
    *("/", "/etc/passwd", "//host/share", "\\", "\\\\host\\share", "\\Windows", "\\\\?\\C:\\a"),
    *("C:", "C:a", "c:/a", "Z:\\a", "x:y"),
]
RELATIVE = ["", "a", "a/b", "./a", "../a", " /a", "~", "~root", "1:a", "\xe9:a", ":a", "ab:c", "file:///a", "%2Fa"]


@pytest.mark.parametrize("value", CLIMBING)
def test_a_path_that_climbs_above_its_start_is_traversal(value: str) -> None:
    assert contains_path_traversal(value)


@pytest.mark.parametrize("value", STAYING)
def test_a_path_that_does_not_is_none(value: str) -> None:
    assert not contains_path_traversal(value)


@pytest.mark.parametrize("value", ABSOLUTE)
def test_a_path_that_starts_elsewhere_is_absolute_on_any_system(value: str) -> None:
    assert is_absolute_path(value)


@pytest.mark.parametrize("value", RELATIVE)
def test_a_path_that_starts_where_it_is_joined_is_not(value: str) -> None:
    assert not is_absolute_path(value)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A directory with a file, beside others that are none of its business."""
    base = tmp_path / "base"
    (base / "in").mkdir(parents=True)
    (base / "in" / "file").write_text("inside", encoding="utf-8")
    for name in ("out", "base2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("outside", encoding="utf-8")
    return base


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ([], ""),
        (["."], ""),
        (["in/file"], "in/file"),
        (["in", "file"], "in/file"),
        (["in", "..", "in", "./file"], "in/file"),
        (["../base/in"], "in"),
        (["nothing/here/yet"], "nothing/here/yet"),
        # Encoded twice: what is left after decoding once is a name like any other.
        (["..%2fout"], "..%2fout"),
        (["%2e%2e", "out"], "%2e%2e/out"),
        (["~"], "~"),
        (["HEAD~3..HEAD"], "HEAD~3..HEAD"),
    ],
)
def test_what_stays_inside_is_joined(base: Path, parts: list[str], path: str) -> None:
    assert safe_join(base, *parts) == base.resolve() / path
    assert safe_join(str(base), *parts) == base.resolve() / path


@pytest.mark.parametrize("parts", [[".."], ["../out/file"], ["../base2/file"], ["in", "..", ".."], ["in/../../out"]])
def test_what_climbs_out_is_refused(base: Path, parts: list[str]) -> None:
    with pytest.raises(PathEscapeError, match=r"leads out of its directory, by \.\. or by a symbolic link") as caught:
        safe_join(base, *parts)
    assert repr("/".join(parts)) in str(caught.value)
    assert str(base.parent) not in str(caught.value)


@pytest.mark.parametrize("part", ["/etc/passwd", "//host/share", "\\\\host\\share", "\\Windows", "C:\\Windows", "C:a"])
def test_an_absolute_part_is_refused_wherever_it_stands(base: Path, part: str) -> None:
    for parts in ([part], ["in", part], [part, "in"]):
        with pytest.raises(PathEscapeError, match="is absolute: expected a relative path"):
            safe_join(base, *parts)


def test_even_one_that_leads_inside_is_refused(base: Path) -> None:
    with pytest.raises(PathEscapeError, match="is absolute"):
        safe_join(base, str(base / "in"))


def test_a_null_byte_is_refused(base: Path) -> None:
    with pytest.raises(PathEscapeError, match=r"^'in/file\\x00.txt' holds a null byte: expected a relative path$"):
        safe_join(base, "in/file\0.txt")


def test_a_symbolic_link_is_followed_before_it_is_judged(base: Path) -> None:
    (base / "link").symlink_to(base.parent / "out")
    (base / "inner").symlink_to(base / "in")
    (base / "dangling").symlink_to(base.parent / "nowhere")
    for path in ("link", "link/file", "link/../in/file", "dangling"):
        with pytest.raises(PathEscapeError, match="leads out of its directory"):
            safe_join(base, path)
    assert safe_join(base, "inner/file").read_text(encoding="utf-8") == "inside"


def test_a_directory_that_is_itself_a_link_is_followed_as_well(base: Path) -> None:
    (base / "link").symlink_to(base.parent / "out")
    assert safe_join(base / "link", "file").read_text(encoding="utf-8") == "outside"


def test_a_loop_of_links_opens_nothing(base: Path) -> None:
    (base / "loop").symlink_to(base / "loop")
    # Before Python 3.13 it cannot be resolved; from then on it is left as it is, and no system opens it.
    with pytest.raises((PathEscapeError, OSError)):
        safe_join(base, "loop").read_text(encoding="utf-8")


def test_a_name_that_no_file_can_have_is_refused(base: Path) -> None:
    with pytest.raises(PathEscapeError, match="cannot be resolved: UnicodeEncodeError"):
        safe_join(base, "file\ud800")


@pytest.mark.parametrize("part", ["../" * 5000, "/" + "a" * 5000, "a" * 5000 + "\0"])
def test_a_refusal_of_something_long_is_short(base: Path, part: str) -> None:
    with pytest.raises(PathEscapeError) as caught:
        safe_join(base, part)
    assert len(str(caught.value)) < 200


def test_a_refusal_is_a_value_error() -> None:
    assert issubclass(PathEscapeError, ValueError)
