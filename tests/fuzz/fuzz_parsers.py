"""Mutation fuzzing of the parsers that face a peer.

    python tests/fuzz/fuzz_parsers.py --runs 100000 --seed 1 --target all

Valid inputs are damaged in a few places and given to a target, a function that checks what must hold for any input. To
add a parser, write such a function and register it with `@target(name, corpus)`. Every input follows from the seed, the
target's name and the number of the run, so that a failure is repeated by `--seed S --target T --first N --runs 1`.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from time import process_time
from typing import Final

from mcp.protocol.codec import (
    Batch,
    DecodeError,
    ErrorResponse,
    Message,
    Notification,
    Request,
    Response,
    decode,
    dumps,
    encode_error,
    encode_result,
    from_object,
    loads,
    to_object,
)
from mcp.protocol.sse import SSEEvent, SSEEventTooLarge, SSEParser, format_event

Check = Callable[[bytes, Random], None]
"""Takes an input and raises where something does not hold; the generator is for choices of its own."""

MOST_SECONDS: Final = 2.0
"""Of CPU for one input; the inputs are small, so more can only mean worse than linear time."""


@dataclass(frozen=True)
class Target:
    """A parser under test: valid inputs, fragments that matter to it, and what must hold for any input."""

    corpus: Sequence[bytes]
    fragments: Sequence[bytes]
    check: Check


TARGETS: dict[str, Target] = {}


def target(name: str, corpus: Sequence[bytes], fragments: Sequence[bytes] = ()) -> Callable[[Check], Check]:
    """Register a check under a name for the command line."""

    def register(check: Check) -> Check:
        TARGETS[name] = Target(corpus, fragments, check)
        return check

    return register


# Damage


def mutate(data: bytes, source: Target, random: Random) -> bytes:
    """An input with one to six mutations, most often few."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 6))):
        data = random.choice(MUTATIONS)(data, source, random)
    return data


def _some_slice(data: bytes, random: Random) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.choice((0, 1, 1, 2, 4, 8, 16, 64)))


def _flip_bit(data: bytes, _source: Target, random: Random) -> bytes:
    if not data:
        return data
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]


def _delete(data: bytes, _source: Target, random: Random) -> bytes:
    start, end = _some_slice(data, random)
    return data[:start] + data[end:]


def _truncate(data: bytes, _source: Target, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _insert_bytes(data: bytes, _source: Target, random: Random) -> bytes:
    start, end = _some_slice(data, random)
    return data[:start] + random.randbytes(end - start) + data[start:]


def _insert_fragment(data: bytes, source: Target, random: Random) -> bytes:
    place = random.randrange(len(data) + 1)
    return data[:place] + random.choice(source.fragments or (b"",)) + data[place:]


def _replace_by_fragment(data: bytes, source: Target, random: Random) -> bytes:
    start, end = _some_slice(data, random)
    return data[:start] + random.choice(source.fragments or (b"",)) + data[end:]


def _repeat(data: bytes, _source: Target, random: Random) -> bytes:
    start, end = _some_slice(data, random)
    return data[:end] + data[start:end] * random.choice((1, 2, 10, 300, 3000)) + data[end:]


def _move(data: bytes, _source: Target, random: Random) -> bytes:
    start, end = _some_slice(data, random)
    rest = data[:start] + data[end:]
    place = random.randrange(len(rest) + 1)
    return rest[:place] + data[start:end] + rest[place:]


def _cross(data: bytes, source: Target, random: Random) -> bytes:
    other = random.choice(source.corpus)
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


MUTATIONS: Final = (
    _flip_bit,
    _delete,
    _truncate,
    _insert_bytes,
    _insert_fragment,
    _insert_fragment,
    _replace_by_fragment,
    _repeat,
    _move,
    _cross,
)


# Targets

MESSAGES: Final = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"x","limit":10},'
    b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":7}}}',
    b'{"method":"tools/list","params":{},"jsonrpc":"2.0","id":"abc-1"}',
    b'{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":0.5,"total":1e2}}',
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"\\u017elu\\u0165 \xf0\x9f\x98\x80"}],"n":-1.5e-3}}',
    b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool","data":{"name":null,"x":[true,false]}}}',
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/cancelled"}]',
)

JSON_FRAGMENTS: Final = (
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b" ", b"\n", b"\x00", b"\xff", b"\xef\xbb\xbf"),
    *(b"null", b"true", b"NaN", b"-Infinity", b"0", b"-", b"-0", b"1.0", b"1e999", b"E+999", b"e0000308", b".5"),
    *(b"\\ud83d", b"\\ude00", b"\\u0000", b"\\u", b"\xed\xa0\x80", b"\xc0\x80", b"1" * 400, b"1" * 4301),
    *(b'"id":2,', b'"id":null,', b'"result":{},', b'"error":{"code":1,"message":""},', b'"method":"m",', b'"params":'),
    *(b"[" * 150, b'{"a":' * 150, b"[" * 5000, b"]" * 5000, b'"jsonrpc":"2.0",'),
)


@target("codec", MESSAGES, JSON_FRAGMENTS)
def check_codec(data: bytes, random: Random) -> None:
    """Any bytes are a message that can be sent again unchanged, or an error that can be sent."""
    for allow_batch in (False, True):
        try:
            message = decode(data, allow_batch=allow_batch)
        except DecodeError as error:
            _check_refusal(error)
            continue
        assert allow_batch or not isinstance(message, Batch)
        for item in message.items if isinstance(message, Batch) else [message]:
            if isinstance(item, DecodeError):
                _check_refusal(item)
            else:
                _check_message(item)
        # A reader that is given less of it must not read another message into it.
        if not isinstance(message, Batch):
            _check_part(data.rstrip(), message, random)


def _check_refusal(error: DecodeError) -> None:
    assert error.code in (-32700, -32600, -32602)
    assert error.message
    assert error.id is None or error.response_id is None
    sent = decode(encode_error(error.id, error.code, error.message))
    assert sent == ErrorResponse(error.id, error.code, error.message)


def _check_message(message: Message) -> None:
    wire = dumps(to_object(message))
    assert decode(wire) == message
    assert from_object(loads(wire)) == message
    if isinstance(message, Request | Response):
        assert decode(encode_result(message.id, b"{}")) == Response(message.id, {})


def _check_part(whole: bytes, message: Message, random: Random) -> None:
    try:
        decode(whole[: random.randrange(len(whole))])
    except DecodeError as error:
        found = {error.id, error.response_id} - {None}
    else:
        raise AssertionError("a part of a message was taken for a message")
    # Of a repeated id, a part may hold only the first.
    if whole.count(b"id") == 1 and b"\\" not in whole:
        assert not found or (not isinstance(message, Notification) and found == {message.id})


STREAMS: Final = (
    format_event(MESSAGES[0]) + format_event(MESSAGES[3], event="message", id="1_7", retry=500),
    format_event(b"", id="0", retry=3000) + b":\r\n\r\n" + format_event(MESSAGES[5], id="1"),
    b"\xef\xbb\xbfevent: endpoint\ndata: /messages?session_id=1\n\ndata\n\ndata\ndata\n\n: comment\nid\ndata:x\n\n",
    b"data: one\rdata: two\r\rid: a\rretry: 10\revent: e\rdata: \xc5\xbe\r\r",
)
SSE_FRAGMENTS: Final = (
    *(b"\r", b"\n", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n", b":", b": ", b" ", b"\x00", b"\xff", b"\xef\xbb\xbf"),
    *(
        b"data",
        b"data: ",
        b"\ndata:x\n\n",
        b"event: ",
        b"\nid: ",
        b"\nid\n",
        b"\nretry: ",
        b"retry: 9999999999999999\n",
    ),
    *(b"\xe2\x82", b"\x0b", b"\x0c", b"\x1c", b"\xc2\x85", b"\xe2\x80\xa8", b"x" * 2000),
)


@target("sse", STREAMS, SSE_FRAGMENTS)
def check_sse(data: bytes, random: Random) -> None:
    """A stream reads the same in any chunks, within any limit, and what it holds can be written again."""
    limit = random.choice((None, None, 10, 200, 2000))
    whole = _read([data], limit)
    places = sorted(random.randrange(len(data) + 1) for _ in range(random.choice((1, 2, 5, 50))))
    assert _read([data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)], limit) == whole
    assert _read([data[place : place + 1] for place in range(len(data))], limit) == whole
    for event in whole[0]:
        again, _, too_large, *_ = _read([format_event(event.raw, event=event.event, id=event.id)], None)
        assert not too_large
        assert [(e.event, e.raw, e.id) for e in again] == [(event.event, event.raw, event.id)]
        assert limit is None or len(event.raw) <= limit


Reading = tuple[list[SSEEvent], str | None, bool, int | None]


def _read(chunks: list[bytes], limit: int | None) -> Reading:
    parser = SSEParser(limit)
    events: list[SSEEvent] = []
    try:
        for chunk in chunks:
            events += parser.feed(chunk)
    except SSEEventTooLarge as error:
        return events + error.events, parser.last_event_id, True, parser.retry
    return events, parser.last_event_id, False, parser.retry


# The command


def run(name: str, first: int, runs: int, seed: int) -> None:
    """Give one target its inputs.

    Raises:
        SystemExit: An input broke the target; what it was is printed.
    """
    source = TARGETS[name]
    for number in range(first, first + runs):
        random = Random(f"{seed}/{name}/{number}")
        data = mutate(random.choice(source.corpus), source, random)
        started = process_time()
        try:
            source.check(data, random)
            assert process_time() - started < MOST_SECONDS, "the input took too long"
        except Exception:
            print(f"--seed {seed} --target {name} --first {number} --runs 1 fails on {len(data)} bytes:\n{data!r}")
            raise
    print(f"{name}: {runs} inputs, seed {seed}: nothing found")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="Mutation fuzzing of the parsers that face a peer.")
    parser.add_argument("--runs", type=int, default=10_000, help="inputs per target (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="what the inputs follow from (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first run, to repeat a failure")
    parser.add_argument("--target", choices=[*TARGETS, "all"], default="all")
    options = parser.parse_args(arguments)
    for name in TARGETS if options.target == "all" else [options.target]:
        run(name, options.first, options.runs, options.seed)


if __name__ == "__main__":
    main(sys.argv[1:])
