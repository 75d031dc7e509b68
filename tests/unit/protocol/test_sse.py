"""The SSE parser and writer, against the WHATWG rules for interpreting an event stream."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp.protocol.sse import COMMENT, SSEEvent, SSEEventTooLarge, SSEParser, format_event


def parse(*chunks: bytes) -> list[SSEEvent]:
    parser = SSEParser(None)
    return [event for chunk in chunks for event in parser.feed(chunk)]


def data_of(*chunks: bytes) -> list[str]:
    return [event.data for event in parse(*chunks)]


def one_by_one(stream: bytes) -> list[bytes]:
    return [stream[index : index + 1] for index in range(len(stream))]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_end_is_understood(end: bytes) -> None:
    stream = b"event: note" + end + b"data: one" + end + b"data: two" + end + end
    assert parse(stream) == [SSEEvent("note", b"one\ntwo")]
    assert parse(*one_by_one(stream)) == [SSEEvent("note", b"one\ntwo")]


def test_line_ends_may_be_mixed() -> None:
    assert data_of(b"data: a\rdata: b\ndata: c\r\n\r\ndata: d\n\r") == ["a\nb\nc", "d"]


def test_a_cr_ends_the_event_without_waiting_for_an_lf() -> None:
    parser = SSEParser(None)
    assert [event.data for event in parser.feed(b"data: now\r\r")] == ["now"]
    assert parser.feed(b"\n") == []
    assert [event.data for event in parser.feed(b"data: next\r\n\r\n")] == ["next"]


def test_a_crlf_cut_in_two_is_one_line_end() -> None:
    assert data_of(b"data: a\r", b"\ndata: b\r", b"", b"\n\r", b"\n") == ["a\nb"]


def test_the_default_event_type_is_message_also_where_the_field_is_empty() -> None:
    assert [event.event for event in parse(b"data: a\n\nevent:\ndata: b\n\n")] == ["message", "message"]


def test_the_event_type_does_not_outlive_its_event() -> None:
    assert [event.event for event in parse(b"event: x\n\ndata: a\n\n")] == ["message"]


def test_exactly_one_leading_space_is_dropped_from_a_value() -> None:
    assert data_of(b"data:a\n\ndata: b\n\ndata:  c \n\ndata:\td\n\n") == ["a", "b", " c ", "\td"]


def test_a_value_may_hold_colons() -> None:
    assert data_of(b"data: a: b:c\n\n") == ["a: b:c"]


def test_fields_without_a_colon_and_empty_data_lines_make_events() -> None:
    # The example of the standard: two events, and a third that no blank line completes.
    assert data_of(b"data\n\ndata\ndata\n\ndata:") == ["", "\n"]


def test_comments_and_unknown_fields_are_ignored() -> None:
    assert data_of(b": hello\n:\nfoo: bar\nDATA: x\n data: y\ndata: z\n\n") == ["z"]


def test_blocks_without_data_make_no_event() -> None:
    assert parse(b": only a comment\n\nevent: x\n\nid: 1\n\n\n\n") == []


def test_an_unfinished_event_is_dropped() -> None:
    assert parse(b"data: a\n", b"data: b") == []


@pytest.mark.parametrize("first", [b"data: a\n\n", b": hi\ndata: a\n\n", b"\ndata: a\n\n"])
def test_a_byte_order_mark_at_the_start_is_skipped(first: bytes) -> None:
    stream = b"\xef\xbb\xbf" + first
    assert data_of(stream) == ["a"]
    assert data_of(*one_by_one(stream)) == ["a"]


def test_a_byte_order_mark_anywhere_else_belongs_to_the_field_name() -> None:
    assert data_of(b"\n\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\ndata: c\n\n") == ["c"]


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    events = parse(b"event: \xff\nid: \xff\ndata: a\xffb\xe2\x82\n\n")
    assert [(event.event, event.id, event.data) for event in events] == [("\ufffd", "\ufffd", "a\ufffdb\ufffd")]


def test_characters_cut_by_chunks_stay_whole() -> None:
    assert data_of(*one_by_one("data: žluť 中文 😀\n\n".encode())) == ["žluť 中文 😀"]


def test_other_unicode_line_separators_do_not_end_a_line() -> None:
    text = "a\x0bb\x0cc\x1cd\x85e\u2028f"
    assert data_of(f"data: {text}\n\n".encode()) == [text]


def test_an_id_holds_for_later_events_until_it_is_changed_or_taken_back() -> None:
    events = parse(b"id: 1\ndata: a\n\ndata: b\n\nid: 2\ndata: c\n\nid\ndata: d\n\n")
    assert [event.id for event in events] == ["1", "1", "2", None]


def test_an_id_with_a_nul_is_ignored() -> None:
    assert [event.id for event in parse(b"id: 1\ndata: a\n\nid: 2\x003\ndata: b\n\n")] == ["1", "1"]


def test_a_priming_event_without_data_still_sets_id_and_retry() -> None:
    parser = SSEParser(None)
    assert parser.feed(b"id: event-7\nretry: 500\n\n") == []
    assert (parser.last_event_id, parser.retry) == ("event-7", 500)


def test_a_priming_event_with_empty_data_is_an_event() -> None:
    assert parse(format_event(b"", id="event-7", retry=500)) == [SSEEvent("message", b"", "event-7", 500)]


def test_an_id_counts_only_once_its_event_is_complete() -> None:
    parser = SSEParser(None)
    parser.feed(b"id: 1\ndata: a\n\nid: 2\ndata: b\n")
    assert parser.last_event_id == "1"
    parser.feed(b"\n")
    assert parser.last_event_id == "2"


@pytest.mark.parametrize("value", [b"", b"-1", b"1.5", b"1 ", b"x", b"\xd9\xa1", b"9" * 5000])
def test_a_retry_that_is_not_all_digits_is_ignored(value: bytes) -> None:
    parser = SSEParser(None)
    assert [event.retry for event in parser.feed(b"retry: " + value + b"\ndata: a\n\n")] == [None]
    assert parser.retry is None


def test_a_retry_belongs_to_its_event_and_stays_on_the_parser() -> None:
    parser = SSEParser(None)
    events = parser.feed(b"retry: 0010\ndata: a\n\ndata: b\n\n")
    assert [event.retry for event in events] == [10, None]
    assert parser.retry == 10


def test_raw_holds_the_bytes_of_the_data_as_they_came() -> None:
    assert [event.raw for event in parse(b"data: \xff\ndata: b\n\n")] == [b"\xff\nb"]


# ------------------------------------------------------------------ the size limit


def test_an_event_at_the_limit_passes_and_one_byte_more_is_refused() -> None:
    assert len(SSEParser(10).feed(b"data: 1234\n\n")) == 1
    with pytest.raises(SSEEventTooLarge, match="limit of 10 bytes"):
        SSEParser(10).feed(b"data: 12345\n\n")


def test_the_lines_of_one_event_count_together_and_those_of_the_next_anew() -> None:
    assert len(SSEParser(14).feed(b"data: a\ndata: b\n\ndata: c\ndata: d\n\n")) == 2
    with pytest.raises(SSEEventTooLarge):
        SSEParser(13).feed(b"data: a\ndata: b\n\n")


def test_a_line_that_does_not_end_is_refused_before_it_fills_the_memory() -> None:
    parser = SSEParser(100)
    for _ in range(10):
        parser.feed(b"x" * 10)
    with pytest.raises(SSEEventTooLarge) as caught:
        parser.feed(b"x")
    assert caught.value.limit == 100


def test_comments_do_not_add_up() -> None:
    parser = SSEParser(20)
    for _ in range(100):
        assert parser.feed(b": keep-alive\n") == []


def test_the_events_before_one_that_is_too_large_are_not_lost() -> None:
    with pytest.raises(SSEEventTooLarge) as caught:
        SSEParser(10).feed(b"data: a\n\ndata: b\n\ndata: 12345678\n\n")
    assert [event.data for event in caught.value.events] == ["a", "b"]


def test_the_limit_is_a_value_error_for_those_who_do_not_know_it() -> None:
    with pytest.raises(ValueError, match="larger than the limit"):
        SSEParser(0).feed(b"data: a")


def test_a_large_event_in_tiny_chunks_comes_out_whole() -> None:
    # Looking again at what has come with every chunk would take hours here, and run into the test's time limit.
    (event,) = parse(*one_by_one(b"data: " + b"x" * 1_000_000 + b"\n\n"))
    assert len(event.data) == 1_000_000


# ------------------------------------------------------------------ the writer


def test_an_event_is_written_with_its_fields_before_its_data() -> None:
    written = format_event(b'{"a":1}', event="message", id="7", retry=100)
    assert written == b'event: message\r\nid: 7\r\nretry: 100\r\ndata: {"a":1}\r\n\r\n'


def test_each_line_of_the_data_gets_a_data_field() -> None:
    written = format_event(b"a\nb\r\nc\rd\n")
    assert written == b"data: a\r\ndata: b\r\ndata: c\r\ndata: d\r\ndata: \r\n\r\n"
    assert data_of(written) == ["a\nb\nc\nd\n"]


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "\n", "x\r\ndata: injected"])
def test_line_breaks_in_event_and_id_are_refused(value: str) -> None:
    with pytest.raises(ValueError, match="event of an event must not hold a line break"):
        format_event(b"", event=value)
    with pytest.raises(ValueError, match="id of an event must not hold a line break"):
        format_event(b"", id=value)


def test_an_id_that_parsers_ignore_and_a_negative_retry_are_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        format_event(b"", id="a\0b")
    with pytest.raises(ValueError, match="negative"):
        format_event(b"", retry=-1)


def test_a_comment_is_no_event_and_breaks_none() -> None:
    assert parse(COMMENT + format_event(b"a") + COMMENT + format_event(b"b")) == parse(
        format_event(b"a") + format_event(b"b")
    )


# ------------------------------------------------------------------ properties


def reference_parse(stream: str) -> list[tuple[str, str, str]]:
    """The standard's algorithm, word by word, over the whole text: event type, data and last event id."""
    stream = stream.removeprefix("\ufeff")
    *lines, _unfinished = re.split(r"\r\n|\r|\n", stream)
    events: list[tuple[str, str, str]] = []
    data = event_type = id_buffer = ""
    for line in lines:
        if not line:
            if data:
                events.append((event_type or "message", data[:-1], id_buffer))
            data = event_type = ""
            continue
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            event_type = value
        elif field == "data":
            data += value + "\n"
        elif field == "id" and "\0" not in value:
            id_buffer = value
    return events


pieces = st.sampled_from(
    ["data", "event", "id", "retry", ":", ": ", " ", "\n", "\r", "\r\n", "\n\n", "\ufeff", "x", "7", "\0", "é", "\x85"]
)
streams = st.lists(pieces, max_size=40).map("".join)
cuts = st.lists(st.integers(0, 80), max_size=8)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(places), len(stream)]
    return [stream[start:end] for start, end in pairwise(bounds)]


@given(streams, cuts)
@settings(deadline=None)
def test_any_stream_in_any_chunks_reads_as_the_standard_says(stream: str, places: list[int]) -> None:
    events = parse(*cut(stream.encode(), places))
    assert [(event.event, event.data, event.id or "") for event in events] == reference_parse(stream)


@given(st.binary(max_size=60), cuts, st.integers(0, 30))
@settings(deadline=None)
def test_the_limit_strikes_at_the_same_event_in_any_chunks(stream: bytes, places: list[int], limit: int) -> None:
    def outcome(chunks: list[bytes]) -> tuple[list[SSEEvent], bool]:
        parser = SSEParser(limit)
        events: list[SSEEvent] = []
        try:
            for chunk in chunks:
                events += parser.feed(chunk)
        except SSEEventTooLarge as error:
            return events + error.events, True
        return events, False

    assert outcome(cut(stream, places)) == outcome([stream]) == outcome(one_by_one(stream))


field_texts = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]))


@given(st.text(st.characters(exclude_categories=["Cs"])), field_texts, field_texts, st.integers(0, 10**9), cuts)
@settings(deadline=None)
def test_what_is_written_is_read_again(data: str, event: str, id: str, retry: int, places: list[int]) -> None:
    written = format_event(data.encode(), event=event, id=id, retry=retry)
    expected = SSEEvent(event or "message", re.sub("\r\n|\r", "\n", data).encode(), id or None, retry)
    assert parse(*cut(written, places)) == [expected]
