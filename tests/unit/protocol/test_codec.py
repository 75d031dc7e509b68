"""The codec: which bytes are messages, what is said of those that are not, and that nothing is lost on the way."""

import math
from types import MappingProxyType
from typing import Annotated, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from mcp.protocol.codec import (
    Batch,
    DecodeError,
    EncodeError,
    ErrorResponse,
    Message,
    Notification,
    Request,
    Response,
    decode,
    dumps,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    from_object,
    loads,
    to_object,
)
from mcp.types.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR

BOM = b"\xef\xbb\xbf"


def refused(data: bytes, *, allow_batch: bool = False) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        decode(data, allow_batch=allow_batch)
    return caught.value


# ------------------------------------------------------------------ messages that are read


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', Request(1, "ping")),
        (b'{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":[1]}}', Request("a", "m", {"x": [1]})),
        (b'{"jsonrpc":"2.0","id":-7,"method":"m","params":{}}', Request(-7, "m", {})),
        (b'{"jsonrpc":"2.0","id":"","method":""}', Request("", "")),
        (b'{"method":"m","params":{"x":1},"id":5,"jsonrpc":"2.0"}', Request(5, "m", {"x": 1})),
        (b'{"jsonrpc":"2.0","method":"n"}', Notification("n")),
        (b'{"jsonrpc":"2.0","method":"n","params":{"x":null}}', Notification("n", {"x": None})),
        (b'{"jsonrpc":"2.0","id":1,"result":{"x":1}}', Response(1, {"x": 1})),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}', ErrorResponse(1, -1, "m")),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m","data":[2]}}', ErrorResponse(1, -1, "m", [2])),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}', ErrorResponse(None, -1, "m")),
        (b'{"jsonrpc":"2.0","error":{"code":-1,"message":"m"}}', ErrorResponse(None, -1, "m")),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","extra":true}', Request(1, "m")),
    ],
)
def test_each_kind_of_message_is_read(data: bytes, message: Message) -> None:
    assert decode(data) == message
    assert decode(bytearray(data)) == message
    assert decode(memoryview(data)) == message
    assert decode(b" \r\n\t" + data + b"\n") == message
    assert decode(BOM + data) == message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":null}', Request(1, "m")),
        (b'{"jsonrpc":"2.0","method":"m","params":null}', Notification("m")),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":null}', Response(1, {})),
        (b'{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":""}}', ErrorResponse(1, 1, "")),
    ],
)
def test_a_null_that_can_only_mean_nothing_counts_as_absent(data: bytes, message: Message) -> None:
    assert decode(data) == message


def test_of_a_repeated_key_the_last_value_counts() -> None:
    data = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b","params":{"x":1},"params":{"x":2,"x":3}}'
    assert decode(data) == Request(2, "b", {"x": 3})


# ------------------------------------------------------------------ text that is no JSON


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "the message is empty"),
        (b" \r\n", "the message is empty"),
        (BOM, "EOF while parsing"),
        (b"hello", "expected value at line 1 column 1"),
        (b'{"jsonrpc":"2.0","id":5,"method":', "EOF while parsing"),
        (b'{"jsonrpc":"2.0",}', "trailing comma"),
        (b'{"jsonrpc":"2.0"} {}', "trailing characters"),
        (b"{'jsonrpc':'2.0'}", "key must be a string"),
        (b'{"x":01}', "invalid number"),
        (b'{"x":NaN}', "expected value"),
        (b'{"x":Infinity}', "expected value"),
        (b'{"x":-Infinity}', "invalid number"),
        (b'{"x":"\xff"}', "invalid unicode code point"),
        (b'{"x":"\xed\xa0\x80"}', "invalid unicode code point"),
        (b'{"x":"a\\ud83d"}', "surrogates in pairs only"),
        (b'{"x":"\\ude00\\ud83d"}', "surrogates in pairs only"),
        (b'{"x":"\n"}', "control character"),
        (b"\xff\xfe{\x00}\x00", "expected value"),
        (b"[" * 100_000, "recursion limit exceeded at line 1 column 202, expected at most 200 levels"),
        (b"[" * 100_000 + b"]" * 100_000, "recursion limit exceeded"),
        (b'{"x":' * 100_000, "recursion limit exceeded"),
        (b"1" * 5000, "number out of range"),
        (b"-" + b"1" * 5000, "number out of range"),
        (BOM + BOM + b"{}", "expected value"),
    ],
)
def test_text_that_is_no_json_is_a_parse_error_that_says_why(data: bytes, complaint: str) -> None:
    error = refused(data)
    assert error.code == PARSE_ERROR
    assert error.message.startswith("Parse error: ")
    assert complaint in error.message
    assert str(error) == error.message
    with pytest.raises(DecodeError):
        loads(data)


@pytest.mark.parametrize(
    "number",
    ["1e999", "-1e999", "1E400", "1e+309", "1.8e308", "0.01e0000311", "1" + "0" * 309 + ".0", "1" * 250 + "e99"],
)
def test_numbers_beyond_a_double_are_refused_with_their_place(number: str) -> None:
    error = refused(b'{"jsonrpc":"2.0","id":9,"method":"m","params":{"a":[1,{"b c":%b}]}}' % number.encode())
    assert (error.code, error.id) == (PARSE_ERROR, 9)
    assert error.message == "Parse error: number out of range at $.params.a[1].b c, expected less than 1.8e308"


@pytest.mark.parametrize("padding", ['"' + "x" * 100_000 + '"', "[" + "0," * 50_000 + "0]"], ids=["long", "many"])
def test_numbers_beyond_a_double_are_refused_in_large_messages(padding: str) -> None:
    data = '{"jsonrpc":"2.0","method":"m","params":{"a":%s,"b":%s}}'
    assert isinstance(decode((data % (padding, "1e308")).encode()), Notification)
    assert "number out of range at $.params.b" in refused((data % (padding, "1e309")).encode()).message


@pytest.mark.parametrize("number", ["1e308", "1.7976931348623157e+308", "1e-999", "0e999", "12345678901234567890e1"])
def test_numbers_that_only_look_suspicious_pass(number: str) -> None:
    assert loads(number.encode()) == float(number)


def test_text_that_only_looks_like_a_large_number_passes() -> None:
    text = "id e123 and 1e999 and " + "7" * 400
    assert loads(dumps([text])) == [text]


def test_huge_integers_that_are_taken_can_be_sent_again() -> None:
    digits = b"9" * 4299
    request = decode(b'{"jsonrpc":"2.0","id":-%b,"method":"m","params":{"x":%b}}' % (digits, digits))
    assert isinstance(request, Request)
    assert decode(encode_request(request.id, "m", request.params)) == request
    assert decode(encode_result(request.id, b"{}")) == Response(request.id, {})
    assert decode(encode_error(request.id, -1, "m")) == ErrorResponse(request.id, -1, "m")


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"x":', b"}")])
def test_the_deepest_value_that_is_taken_can_be_sent_again(opening: bytes, closing: bytes) -> None:
    # `params` is one level down, so this is the parser's limit.
    data = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":%b0%b}}' % (opening * 198, closing * 198)
    request = decode(data)
    assert isinstance(request, Request)
    assert encode_request(1, "m", request.params) == data
    wrapped = dumps({"structuredContent": {"result": request.params}})
    assert encode_result(1, wrapped).endswith(closing * 198 + b"}}}}")


# ------------------------------------------------------------------ JSON that is no message


@pytest.mark.parametrize(
    ("data", "complaint", "id", "response_id"),
    [
        (b"7", "a message must be a JSON object, got an integer", None, None),
        (b"null", "got null", None, None),
        (b'"x"', "got a string", None, None),
        (b"1.5", "got a floating-point number", None, None),
        (b"[]", "JSON-RPC batches are not supported in this protocol revision", None, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"m"}]', "batches are not supported", None, None),
        (b"{}", 'jsonrpc must be "2.0", got nothing', None, None),
        (b'{"id":1,"method":"m"}', 'jsonrpc must be "2.0", got nothing', 1, None),
        (b'{"jsonrpc":"1.0","id":1,"method":"m"}', "got the string '1.0'", 1, None),
        (b'{"jsonrpc":2.0,"id":1,"method":"m"}', "got a floating-point number", 1, None),
        (b'{"jsonrpc":"1.0","id":1,"result":{}}', "got the string '1.0'", None, 1),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', "id must be a string or an integer, got null", None, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', "integer, got a boolean", None, None),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"m"}', "integer, got a floating-point number", None, None),
        (b'{"jsonrpc":"2.0","id":[],"method":"m"}', "integer, got an array", None, None),
        (b'{"jsonrpc":"2.0","id":{},"method":"m"}', "integer, got an object", None, None),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', "method must be a string, got null", 1, None),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', "method must be a string, got an integer", 1, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","result":{}}', "never two of them", 1, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","error":{}}', "never two of them", 1, None),
        (b'{"jsonrpc":"2.0"}', "needs a method, a result or an error", None, None),
        (b'{"jsonrpc":"2.0","id":1}', "needs a method, a result or an error", 1, None),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', "a result or an error, but never both", None, 1),
        (b'{"jsonrpc":"2.0","id":1,"result":[]}', "result must be an object, got an array", None, 1),
        (b'{"jsonrpc":"2.0","id":1,"result":null}', "result must be an object, got null", None, 1),
        (b'{"jsonrpc":"2.0","result":{}}', "id must be a string or an integer, got nothing", None, None),
        (b'{"jsonrpc":"2.0","id":null,"result":{}}', "id must be a string or an integer, got null", None, None),
        (b'{"jsonrpc":"2.0","id":1,"error":null}', "error must be an object, got null", None, 1),
        (b'{"jsonrpc":"2.0","id":1,"error":"x"}', "error must be an object, got the string 'x'", None, 1),
        (b'{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}', "error.code must be an integer, got nothing", None, 1),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1.0,"message":"m"}}', "error.code must be an integer", None, 1),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":true,"message":"m"}}', "error.code must be an integer", None, 1),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}', "error.message must be a string, got nothing", None, 1),
        (b'{"jsonrpc":"2.0","id":1.5,"error":{"code":1,"message":"m"}}', "id must be a string", None, None),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request_that_says_why(
    data: bytes, complaint: str, id: int | None, response_id: int | None
) -> None:
    error = refused(data)
    assert error.code == INVALID_REQUEST
    assert complaint in error.message
    assert (error.id, error.response_id) == (id, response_id)


@pytest.mark.parametrize(
    ("params", "kind"), [("[]", "an array"), ('"{}"', "the string '{}'"), ("1", "an integer"), ("false", "a boolean")]
)
def test_params_that_are_no_object_are_invalid_params(params: str, kind: str) -> None:
    error = refused(b'{"jsonrpc":"2.0","id":3,"method":"m","params":%b}' % params.encode())
    assert (error.code, error.id) == (INVALID_PARAMS, 3)
    assert error.message == f"params must be an object, got {kind}"


def test_a_parsed_value_is_held_to_the_same_rules() -> None:
    assert from_object({"jsonrpc": "2.0", "id": 1, "method": "m"}) == Request(1, "m")
    with pytest.raises(DecodeError, match="id must be a string or an integer, got a floating-point number"):
        from_object({"jsonrpc": "2.0", "id": 1.0, "method": "m"})
    with pytest.raises(DecodeError, match="a message must be a JSON object, got bytes"):
        from_object(b"{}")


# ------------------------------------------------------------------ ids out of broken text


@pytest.mark.parametrize(
    "data",
    [
        b'{"jsonrpc":"2.0","id":5,"method":',
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"x":"cut he',
        b'{"jsonrpc":"2.0","id":5,"method":"m","params":{"x":[1,{"y":tru}]}}',
        b'{"jsonrpc":"2.0","id":5,"method":"m",}',
        b'{"jsonrpc":"2.0","id":5, garbage',
        b'{"jsonrpc":"2.0","id":5,"method":"m"} trailing',
        b'{"jsonrpc":"2.0","id":5,"method":"m","params":' + b"[" * 100_000,
        b'{"jsonrpc":"2.0",\n"id":5,\n"method":"m",\n"params":{]}',
        b'{"jsonrpc":"2.0","id":5,' + b"\n" * 2000 + b'"method":',
        # The id after the fault, as peers write it that put their envelope last.
        b'{"method":"m","params":{"x":"a\\ud83d"},"jsonrpc":"2.0","id":5}',
        b'{"method":"m","params":{"x":NaN},"jsonrpc":"2.0","id":5}',
        b'{"method":"m","params":{"x":1e999},"jsonrpc":"2.0","id":5}',
        b'{"method":"m","params":{"x":"\xff"},"jsonrpc":"2.0","id":5}',
        b'{"method":"m","params":{"x":' + b"1" * 5000 + b'},"jsonrpc":"2.0","id":5}',
        b'{"method":"m","params":{"x":"\n"},"jsonrpc":"2.0","id":5}',
        BOM + b'{"jsonrpc":"2.0","id":5, garbage',
    ],
)
def test_the_id_of_a_broken_request_is_recovered(data: bytes) -> None:
    error = refused(data)
    assert (error.code, error.id, error.response_id) == (PARSE_ERROR, 5, None)


@pytest.mark.parametrize(
    "data",
    [
        b'{"jsonrpc":"2.0","id":5,"result":{"x":"cut he',
        b'{"jsonrpc":"2.0","id":5,"result":',
        b'{"jsonrpc":"2.0","id":5,"error":{"code":',
        b'{"jsonrpc":"2.0","id":5,"result":{"method":"m","x":NaN}}',
        b'{"result":{"x":"a\\ud83d"},"jsonrpc":"2.0","id":5}',
        b'{"result":{"x":' + b"1" * 5000 + b'},"jsonrpc":"2.0","id":5}',
    ],
)
def test_the_id_of_a_broken_answer_is_not_one_to_answer(data: bytes) -> None:
    error = refused(data)
    assert (error.code, error.id, error.response_id) == (PARSE_ERROR, None, 5)


@pytest.mark.parametrize(
    "data",
    [
        b"hello",
        b'{"jsonrpc":"2.0","method":"m","params":{"id":5,"x":',
        b'["jsonrpc","2.0","id",5',
        b'[{"jsonrpc":"2.0","id":5,"method":"m"},',
        b'"id":5',
        b'{"jsonrpc":"2.0","id":null,"method":',
        b'{"jsonrpc":"2.0","id":true,"method":',
        b'{"jsonrpc":"2.0","id":5.5,"method":',
        b'{"jsonrpc":"2.0","id":[5],"method":',
        # Ids that may be another's, for want of their end or of a character.
        b'{"jsonrpc":"2.0","method":"m","id":5',
        b'{"jsonrpc":"2.0","method":"m","id":5.',
        b'{"jsonrpc":"2.0","method":"m","id":"abc',
        b'{"jsonrpc":"2.0","id":"\xff","method":"m"}',
        b'{"jsonrpc":"2.0","id":"\\ud83d","method":"m"}',
        b'{"jsonrpc":"2.0","id":' + b"1" * 5000 + b',"method":"m"}',
        # A fault so far down that looking for its line is not worth the time.
        b'{"jsonrpc":"2.0","id":5,' + b"\n" * 2000 + b"garbage",
    ],
)
def test_no_id_is_made_up(data: bytes) -> None:
    error = refused(data)
    assert (error.id, error.response_id) == (None, None)


# ------------------------------------------------------------------ batches


def test_a_batch_is_read_where_the_revision_has_them_with_an_error_for_each_item_that_is_no_message() -> None:
    data = b'[{"jsonrpc":"2.0","id":1,"method":"m"},7,{"jsonrpc":"2.0","method":"n"},[],{"jsonrpc":"2.0","id":2}]'
    batch = decode(data, allow_batch=True)
    assert isinstance(batch, Batch)
    request, number, notification, nested, nothing = batch.items
    assert (request, notification) == (Request(1, "m"), Notification("n"))
    assert isinstance(number, DecodeError)
    assert number.message == "a message must be a JSON object, got an integer"
    assert isinstance(nested, DecodeError)
    assert nested.message == "a JSON-RPC batch must not hold another batch"
    assert isinstance(nothing, DecodeError)
    assert nothing.id == 2


def test_a_single_message_is_read_where_batches_are_allowed() -> None:
    assert decode(b'{"jsonrpc":"2.0","method":"n"}', allow_batch=True) == Notification("n")


def test_an_empty_batch_is_an_invalid_request() -> None:
    error = refused(b"[]", allow_batch=True)
    assert error.code == INVALID_REQUEST
    assert "at least one message" in error.message


# ------------------------------------------------------------------ writing


class Shelf(BaseModel):
    model_config = ConfigDict(validate_by_name=True)

    shelf_name: Annotated[str, Field(alias="shelfName")]
    note: str | None = None


@pytest.mark.parametrize(
    ("written", "wire"),
    [
        (encode_request(1, "m", None), b'{"jsonrpc":"2.0","id":1,"method":"m"}'),
        (encode_request("é", "m", {}), '{"jsonrpc":"2.0","id":"é","method":"m","params":{}}'.encode()),
        (encode_request(1, "m", MappingProxyType({"x": 1})), b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":1}}'),
        (encode_notification("n", None), b'{"jsonrpc":"2.0","method":"n"}'),
        (encode_notification("n", {"x": None}), b'{"jsonrpc":"2.0","method":"n","params":{"x":null}}'),
        (encode_result(1, b'{"x":1}'), b'{"jsonrpc":"2.0","id":1,"result":{"x":1}}'),
        (encode_result('a"b', b"{}"), b'{"jsonrpc":"2.0","id":"a\\"b","result":{}}'),
        (encode_error(1, -2, "m"), b'{"jsonrpc":"2.0","id":1,"error":{"code":-2,"message":"m"}}'),
        (encode_error(None, -2, "m", [1]), b'{"jsonrpc":"2.0","id":null,"error":{"code":-2,"message":"m","data":[1]}}'),
        (dumps({"x": math.nan, "y": [math.inf, -math.inf]}), b'{"x":null,"y":[null,null]}'),
        (dumps({"m": Shelf(shelf_name="a")}), b'{"m":{"shelfName":"a","note":null}}'),
    ],
)
def test_messages_are_written_compactly_in_a_fixed_order(written: bytes, wire: bytes) -> None:
    assert written == wire


def test_a_lone_surrogate_is_refused_with_its_place() -> None:
    with pytest.raises(EncodeError, match=r"udcff.*a lone surrogate at \$\.content\[0\]\.text"):
        dumps({"content": [{"text": "file-\udcff"}]})
    with pytest.raises(EncodeError, match=r"a lone surrogate at a key of \$\.params\.arguments"):
        encode_request(1, "m", {"arguments": {"a\ud83d": 1}})
    with pytest.raises(EncodeError, match=r"a lone surrogate at \$\.m\.shelf_name"):
        dumps({"m": Shelf(shelf_name="\ud83d")})


def test_a_lone_surrogate_is_found_among_parts_that_occur_more_than_once() -> None:
    shared = {"x": ["y"]}
    with pytest.raises(EncodeError, match=r"a lone surrogate at \$\.items\[2\]\[0\]"):
        dumps({"items": [shared, shared, ("\udcff",)]})


def test_what_encode_error_says_can_itself_be_sent() -> None:
    with pytest.raises(EncodeError) as caught:
        dumps({"\udcff": {"\ud83d": "\udcff"}})
    assert str(caught.value).isascii()


def cycle() -> list[object]:
    items: list[object] = []
    items.append({"again": items})
    return items


def nested(levels: int) -> list[object]:
    items: list[object] = []
    for _ in range(levels):
        items = [items]
    return items


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (object(), "unknown type: <class 'object'>"),
        ({"x": [len]}, "unknown type: <class 'builtin_function_or_method'>"),
        (b"\xff", "invalid utf-8"),
        (cycle(), "Circular reference"),
        (nested(100_000), "depth"),
        (iter(["\udcff"]), "surrogates not allowed"),
    ],
)
def test_what_has_no_json_form_is_refused_with_a_reason(value: object, complaint: str) -> None:
    with pytest.raises(EncodeError, match="cannot be written as JSON") as caught:
        dumps(value)
    assert complaint in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_the_message_of_an_error_can_always_be_sent() -> None:
    assert decode(encode_error(1, -1, "no such file: ž-\udcff")) == ErrorResponse(1, -1, "no such file: ž-?")


# ------------------------------------------------------------------ properties

texts = st.text(st.characters(exclude_categories=["Cs"]))
floats = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**40), 10**40) | floats | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(texts, values, max_size=4)
ids = st.integers() | texts
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(Request, ids, texts, st.none() | objects),
    st.builds(Notification, texts, st.none() | objects),
    st.builds(Response, ids, objects),
    st.builds(ErrorResponse, st.none() | ids, st.integers(), texts, values),
)


def encoded(message: Message) -> bytes:
    if isinstance(message, Request):
        return encode_request(message.id, message.method, message.params)
    if isinstance(message, Notification):
        return encode_notification(message.method, message.params)
    if isinstance(message, Response):
        return encode_result(message.id, dumps(message.result))
    return encode_error(message.id, message.code, message.message, message.data)


@given(messages)
@settings(deadline=None)
@example(Notification("n", {"x": "e999", "y": 1e308, "z": "9" * 400}))
def test_every_message_survives_the_wire(message: Message) -> None:
    data = encoded(message)
    assert b"\n" not in data
    assert decode(data) == message
    assert from_object(loads(data)) == message
    assert data == dumps(to_object(message))


@given(st.lists(messages, min_size=1, max_size=4))
@settings(deadline=None)
def test_every_batch_survives_the_wire(items: list[Message]) -> None:
    data = b"[" + b",".join(map(encoded, items)) + b"]"
    assert decode(data, allow_batch=True) == Batch(list(items))


def assert_answerable(error: DecodeError) -> None:
    assert error.code in (PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS)
    assert decode(encode_error(error.id, error.code, error.message)) == ErrorResponse(
        error.id, error.code, error.message
    )
    assert error.id is None or error.response_id is None


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_any_bytes_make_a_message_or_an_error_that_can_be_sent(data: bytes) -> None:
    try:
        decode(data)
    except DecodeError as error:
        assert_answerable(error)


members = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "code", "message", "x"])
odd: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(["2.0", "", 1, 1.0, None, True, -32600]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(members, inner, max_size=6),
    max_leaves=10,
)


@given(odd)
@settings(deadline=None)
def test_any_json_makes_a_message_that_can_be_sent_again_or_an_error_that_can_be_sent(value: object) -> None:
    try:
        message = decode(dumps(value), allow_batch=True)
    except DecodeError as error:
        assert_answerable(error)
        return
    for item in message.items if isinstance(message, Batch) else [message]:
        if isinstance(item, DecodeError):
            assert_answerable(item)
        else:
            assert decode(encoded(item)) == item


@given(messages, st.data())
@settings(deadline=None)
def test_a_text_that_was_cut_off_never_yields_another_id(message: Message, data: st.DataObject) -> None:
    text = encoded(message)
    error = refused(text[: data.draw(st.integers(0, len(text) - 1))])
    assert error.code == PARSE_ERROR
    own = None if isinstance(message, Notification) else message.id
    assert error.id in (None, own)
    assert error.response_id in (None, own)
    if isinstance(message, Request | Notification):
        assert error.response_id is None
