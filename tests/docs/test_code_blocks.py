"""Runs every python block of README.md and of the pages under docs/, and compares what it prints.

How a page is read, from top to bottom:

* Each page has an empty folder of its own, in which its programs run.
* Each ```python block is a whole program. It is run as a script, with warnings as errors and with an empty stdin. It
  has to succeed, and to write nothing to stderr.
* A block whose first line is a comment with a file name, such as `# server.py`, is saved under that name before
  anything is run, so that blocks can import it or start it. It may stand at the end of its page.
* A program that opens a browser opens one whose user agrees to everything: it goes where it is sent.
* A ```text block right behind a python block is, exactly, what that program prints. A program that prints has one. A
  program that prints nothing has an `assert`, or a name.
* A ```console block that starts with `$ uvicorn`, or with `$ python` and names port 8000, is a server that runs from
  there to the next one, or to the end of the page. Port 8000 stands for a free port, in the files of the server too.
* A ```console block that starts with `$ pytest` runs tests, which have to pass.
* Other console blocks are not run. `python`, `uvicorn` and `pytest` are those of the environment that runs the tests.

Blocks in other languages are for the eye: `json`, `http`, `toml`, and no language at all for diagrams. Any other
language is a mistake, so that no block is left out for a misspelt word.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest
from held_port import held_port

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = {"python", "text", "console", "json", "http", "toml", ""}
PORT = "8000"
SECONDS_PER_PROGRAM = 20
BROWSER = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1])"
# pytest-asyncio warns everybody who has not set its option.
WITHOUT_CONFIGURATION = ["-o", "asyncio_default_fixture_loop_scope=function"]

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>.*)\n(?P<body>(?:.*\n)*?)(?P=indent)``` *$", re.MULTILINE)
NAME = re.compile(r"# (?P<name>\w+\.py)\n")
LINK = re.compile(r"\]\((?P<target>[^)#:]+)(?:#[^)]*)?\)")


@dataclass
class Block:
    """One fenced block of a page."""

    language: str
    text: str
    line: int


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    return [
        Block(match["language"].strip(), dedent(match["body"]), page.count("\n", 0, match.start()) + 1)
        for match in FENCE.finditer(page)
    ]


def name_of(block: Block) -> str | None:
    """The file name that a block carries."""
    named = NAME.match(block.text)
    return named["name"] if named else None


def with_output(blocks: list[Block]) -> list[tuple[Block, str | None]]:
    """Every block that is not output, with the output that stands behind it."""
    paired: list[tuple[Block, str | None]] = []
    for block in blocks:
        if block.language != "text":
            paired.append((block, None))
            continue
        program, output = paired.pop()
        assert program.language == "python", f"the output at line {block.line} is not behind a program"
        assert output is None, f"the output at line {block.line} is the second one behind a program"
        paired.append((program, block.text))
    return paired


def environment() -> dict[str, str]:
    """This environment, with the programs of this interpreter first, and with a browser."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    browser = f"{shlex.join([sys.executable, '-c', BROWSER])} %s"
    return {**os.environ, "PATH": path, "BROWSER": browser, "PYTHONDONTWRITEBYTECODE": "1"}


def run(program: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Runs a program to its end."""
    return subprocess.run(
        [sys.executable, "-W", "error", program.name],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_PER_PROGRAM,
        check=False,
    )


def save_named(blocks: list[Block], folder: Path) -> None:
    """Saves the blocks that carry a file name. Of two with the same name, the first one is there to begin with."""
    for block in reversed(blocks):
        if name := name_of(block):
            (folder / name).write_text(block.text, encoding="utf-8")


@contextmanager
def port_for(folder: Path) -> Generator[str, None, None]:
    """The port to serve on: any, unless programs must know it beforehand. They are told then."""
    told = [program for program in folder.glob("*.py") if PORT in program.read_text(encoding="utf-8")]
    if not told:
        yield "0"
        return
    with held_port(for_server=True) as port:
        for program in told:
            program.write_text(program.read_text(encoding="utf-8").replace(PORT, str(port)), encoding="utf-8")
        yield str(port)


@contextmanager
def served(command: str, folder: Path) -> Generator[str, None, None]:
    """Runs a command line that serves on a free port, and yields that port once it does."""
    with port_for(folder) as port:
        process = subprocess.Popen(
            command.replace(PORT, port).split(),
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stderr is not None
            seen: list[str] = []
            for line in process.stderr:
                seen.append(line)
                if running := re.search(r"running on http://127.0.0.1:(\d+)", line):
                    yield running[1]
                    return
            pytest.fail(f"`{command}` ended:\n{''.join(seen)}")
        finally:
            process.terminate()
            process.communicate()


def check(block: Block, output: str | None, folder: Path) -> None:
    """Runs a python block and compares what it does with what its page says."""
    name = name_of(block)
    program = folder / (name or f"line{block.line}.py")
    program.write_text(block.text, encoding="utf-8")
    result = run(program, folder)
    where = f"the block at line {block.line}"
    assert result.returncode == 0, f"{where} failed:\n{result.stdout}{result.stderr}"
    assert result.stderr == "", f"{where} wrote to stderr"
    assert result.stdout == (output or ""), f"{where} prints something else than its page shows"
    assert output is not None or name is not None or "assert " in block.text, f"{where} checks nothing"


def is_server(block: Block) -> bool:
    """Whether a console block starts a server."""
    return block.text.startswith("$ uvicorn ") or (block.text.startswith("$ python ") and PORT in block.text)


def check_tests(block: Block, folder: Path) -> None:
    """Runs the tests that a console block runs."""
    _, *arguments = block.text[2:].split()
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", *WITHOUT_CONFIGURATION, *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_PER_PROGRAM,
        check=False,
    )
    assert result.returncode == 0, f"the tests at line {block.line} do not pass:\n{result.stdout}{result.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_program_of_a_page_does_what_the_page_says(page: Path, tmp_path: Path) -> None:
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    save_named(blocks, tmp_path)
    port = PORT
    with ExitStack() as server:
        for block, output in with_output(blocks):
            if block.language == "python":
                program = Block(block.language, block.text.replace(PORT, port), block.line)
                check(program, output and output.replace(PORT, port), tmp_path)
            elif block.language == "console" and is_server(block):
                server.close()
                port = server.enter_context(served(block.text[2:], tmp_path))
            elif block.language == "console" and block.text.startswith("$ pytest "):
                check_tests(block, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_a_page_is_in_a_language_that_is_known_here(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = blocks_of(text)
    assert {block.language for block in blocks} <= LANGUAGES
    assert len(re.findall(r"^ *(?:```|~~~)", text, re.MULTILINE)) == 2 * len(blocks), "a fence is not closed"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_between_pages_leads_to_a_file(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = {match["target"] for match in LINK.finditer(text)}
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize(
    ("program", "output", "complaint"),
    [
        ("print(1)\n", "2\n", "prints something else"),
        ("print(1)\n", None, "prints something else"),
        ("1 / 0\n", None, "ZeroDivisionError"),
        ("import sys\nsys.stderr.write('x')\nassert True\n", None, "wrote to stderr"),
        ("import warnings\nwarnings.warn('old')\nassert True\n", None, "UserWarning: old"),
        ("x = 1\n", None, "checks nothing"),
    ],
)
def test_a_program_that_does_not_keep_to_its_page_is_reported(
    program: str, output: str | None, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check(Block("python", program, 1), output, tmp_path)


def test_blocks_are_found_with_their_language_their_line_and_the_output_behind_them() -> None:
    page = "A page\n\n```python\n# a.py\nprint(1)\n```\n\nprints\n\n```text\n1\n```\n\n- x\n\n  ```json\n  {}\n  ```\n"
    program, output, data = blocks_of(page)
    assert program == Block("python", "# a.py\nprint(1)\n", 3)
    assert name_of(program) == "a.py"
    assert data == Block("json", "{}\n", 16)
    assert with_output([program, output, data]) == [(program, "1\n"), (data, None)]


def test_files_of_a_page_are_there_before_anything_runs(tmp_path: Path) -> None:
    page = "```python\nimport cast\n```\n\n```python\n# cast.py\nprint(1)\n```\n\n```python\n# cast.py\nprint(2)\n```\n"
    blocks = blocks_of(page)
    save_named(blocks, tmp_path)
    check(blocks[0], "1\n", tmp_path)


def test_a_browser_that_a_program_opens_goes_where_it_is_sent(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("Agreed.", encoding="utf-8")
    program = f"import webbrowser\nprint(webbrowser.open({page.as_uri()!r}))\n"
    check(Block("python", program, 1), "True\n", tmp_path)
    page.unlink()
    with pytest.raises(AssertionError, match="FileNotFoundError"):
        check(Block("python", program, 1), "True\n", tmp_path)


def test_output_that_no_program_prints_is_reported() -> None:
    with pytest.raises(AssertionError, match="line 3 is not behind a program"):
        with_output([Block("json", "{}\n", 1), Block("text", "1\n", 3)])


def test_tests_of_a_page_that_do_not_pass_are_reported(tmp_path: Path) -> None:
    (tmp_path / "test_wrong.py").write_text("def test_wrong():\n    assert 1 == 2\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"the tests at line 3 do not pass:\n[^$]*1 == 2"):
        check_tests(Block("console", "$ pytest test_wrong.py\n", 3), tmp_path)


def test_a_server_that_does_not_start_is_reported(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="nowhere"), served("uvicorn nowhere:app --port 8000", tmp_path):
        pass
