"""Newline framing: which frames a stream of bytes holds, however it is cut into chunks."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp.engine.lines import LineFraming
from mcp.engine.link import Frame
from mcp.protocol.codec import DecodeError
from mcp.types.jsonrpc import INVALID_REQUEST


def frames_of(chunks: list[bytes], max_line_size: int = 1000) -> list[Frame]:
    framing = LineFraming(max_line_size)
    return [frame for chunk in chunks for frame in framing.feed(chunk)] + framing.flush()


def is_refusal(frame: Frame) -> bool:
    return isinstance(frame, DecodeError) and frame.code == INVALID_REQUEST


def test_each_line_is_a_frame() -> None:
    assert frames_of([b"one\ntwo\n"]) == [b"one", b"two"]


def test_a_carriage_return_before_the_newline_belongs_to_it() -> None:
    assert frames_of([b"one\r\ntwo\r", b"\nth\rree\n"]) == [b"one", b"two", b"th\rree"]


def test_blank_lines_are_no_frames() -> None:
    assert frames_of([b"\n\r\n \t\none\n\n", b"\n"]) == [b"one"]


def test_a_frame_is_delivered_as_soon_as_its_newline_arrives() -> None:
    framing = LineFraming()

    assert framing.feed(b"on") == []
    assert framing.feed(b"e\ntw") == [b"one"]
    assert framing.feed(b"o\n") == [b"two"]


def test_the_end_of_the_stream_completes_the_last_line() -> None:
    framing = LineFraming()

    assert framing.feed(b"one\ntwo") == [b"one"]
    assert framing.flush() == [b"two"]
    assert framing.flush() == []


@given(st.lists(st.binary(max_size=20)))
def test_the_cut_into_chunks_does_not_matter(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)

    assert frames_of(chunks) == frames_of([whole]) == frames_of([whole[i : i + 1] for i in range(len(whole))])


@given(st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line and line.strip() and line[-1:] != b"\r")))
def test_what_is_packed_is_what_arrives(frames: list[bytes]) -> None:
    packed = b"".join(chain.from_iterable(map(LineFraming().pack, frames)))

    assert frames_of([packed], max_line_size=1_000_000) == frames


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_line_over_the_limit_is_refused_once_and_the_next_one_is_taken(size: int) -> None:
    stream = b"short\n" + b"x" * 25 + b"\nnext\n"

    before, refusal, after = frames_of([stream[i : i + size] for i in range(0, len(stream), size)], max_line_size=10)

    assert (before, after) == (b"short", b"next")
    assert is_refusal(refusal)
    assert "limit of 10 bytes" in str(refusal)


def test_a_line_at_the_limit_is_taken() -> None:
    assert frames_of([b"x" * 10 + b"\n"], max_line_size=10) == [b"x" * 10]
    assert frames_of([b"x" * 5, b"x" * 5, b"\n"], max_line_size=10) == [b"x" * 10]


def test_a_line_over_the_limit_is_refused_before_its_newline_arrives() -> None:
    (refusal,) = LineFraming(10).feed(b"x" * 11)

    assert is_refusal(refusal)


@pytest.mark.parametrize("cut", [200, 5000])
def test_the_refusal_of_a_request_over_the_limit_names_its_id(cut: int) -> None:
    line = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"text":"' + b"x" * 1000 + b'"}}\n'

    (refusal,) = frames_of([line[:cut], line[cut:]], max_line_size=100)

    assert isinstance(refusal, DecodeError)
    assert (refusal.id, refusal.response_id) == (7, None)


def test_the_refusal_of_an_answer_over_the_limit_names_what_it_answers() -> None:
    (refusal,) = frames_of([b'{"jsonrpc":"2.0","id":7,"result":{"text":"' + b"x" * 1000], max_line_size=100)

    assert isinstance(refusal, DecodeError)
    assert (refusal.id, refusal.response_id) == (None, 7)


def test_a_long_line_in_small_chunks_comes_out_whole() -> None:
    # Looking again at what has come with every chunk would take hours here, and run into the test's time limit.
    framing = LineFraming()
    chunk = b"x" * 64
    for _ in range(500_000):
        assert framing.feed(chunk) == []

    assert framing.feed(b"\n") == [chunk * 500_000]
