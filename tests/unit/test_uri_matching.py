"""A URI back into the values that a template was given."""

from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp import InvalidUriTemplate, UriTemplate
from mcp.shared.uri_template import DEFAULT_MAX_TEMPLATE_LENGTH, DEFAULT_MAX_URI_LENGTH

Values = dict[str, str | list[str]]


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        # A value ends at a delimiter.
        ("users://{user_id}/profile", "users://42/profile", {"user_id": "42"}),
        ("users://{user_id}/profile", "users://4/2/profile", None),
        ("books://{isbn}", "books://978", {"isbn": "978"}),
        ("books://{isbn}", "books://978/extra", None),
        ("books://{isbn}", "books://978?x=1", None),
        ("books://{isbn}", "books://978#x", None),
        ("books://{isbn}", "books://978&x", None),
        ("books://{isbn}", "books://978,x", None),
        ("books://{isbn}", "books://9;7=8:@!$'()*+x", {"isbn": "9;7=8:@!$'()*+x"}),
        ("{a,b}", "1,2", {"a": "1", "b": "2"}),
        ("{a,b}", "1", None),
        # It may be empty, as expansion makes it.
        ("tickets://{id}", "tickets://", {"id": ""}),
        ("tickets://{id}", "tickets:/", None),
        ("a{/p}", "a/", {"p": ""}),
        ("a{/p}", "a", None),
        ("a{.p}", "a.", {"p": ""}),
        # {+name} keeps slashes, {#name} keeps everything.
        ("manuals://{+path}", "manuals://returns.md", {"path": "returns.md"}),
        ("manuals://{+path}", "manuals://printing/setup.md", {"path": "printing/setup.md"}),
        ("manuals://{+path}", "manuals://a,b;c=d&e", {"path": "a,b;c=d&e"}),
        ("manuals://{+path}", "manuals://a?b", None),
        ("manuals://{+path}", "manuals://a#b", None),
        ("manuals://{+path}/{page}", "manuals://a/b/c", {"path": "a/b", "page": "c"}),
        ("manuals://{shelf}/{+path}", "manuals://a/b/c", {"shelf": "a", "path": "b/c"}),
        ("{a}-{+b}-{c}", "1-2-3-4", {"a": "1", "b": "2-3", "c": "4"}),
        ("{a}-{+b}-{c}", "1-2", None),
        ("{+path}{.ext}", "a/b.tar.gz", {"path": "a/b.tar", "ext": "gz"}),
        ("doc{#part}", "doc#a/b?c#d", {"part": "a/b?c#d"}),
        ("doc{#part}", "doc", None),
        # Labels and segments.
        ("file{.ext}", "file.json", {"ext": "json"}),
        ("file{.ext}", "file.tar.gz", None),
        ("file{.a,b}", "file.tar.gz", {"a": "tar", "b": "gz"}),
        ("api{/version}", "api/v2", {"version": "v2"}),
        ("api{/version}", "api/v2/x", None),
        # Exploded lists.
        ("shelves://browse{/path*}", "shelves://browse/fiction/sci-fi", {"path": ["fiction", "sci-fi"]}),
        ("shelves://browse{/path*}", "shelves://browse", {"path": []}),
        ("shelves://browse{/path*}", "shelves://browse/", {"path": [""]}),
        ("shelves://browse{/path*}", "shelves://browse//a", {"path": ["", "a"]}),
        ("shelves://browse{/path*}", "shelves://browsers", None),
        ("shelves://browse{/path*}", "shelves://browse/a?b", None),
        ("a{/path*}/{last}", "a/1/2/3", {"path": ["1", "2"], "last": "3"}),
        ("www{.dom*}", "www.example.com", {"dom": ["example", "com"]}),
        ("www{.dom*}", "www.example/com", None),
        # Path parameters.
        ("a{;p}", "a;p=1", {"p": "1"}),
        ("a{;p}", "a;p", {"p": ""}),
        ("a{;p}", "a;p=", {"p": ""}),
        ("a{;p}", "a;px", None),
        ("a{;p}", "a", None),
        ("a{;p}", "a;p=1;q=2", None),
        ("a{;p,q}", "a;p=1;q=2", {"p": "1", "q": "2"}),
        ("a{;p,q}", "a;q=2;p=1", None),
        ("a{;p*}", "a;p=1;p;p=3", {"p": ["1", "", "3"]}),
        ("a{;p*}", "a", {"p": []}),
        ("a{;p*}", "a;p=1;q=2", None),
        ("a{;p*}", "a;px=1", None),
        ("a{;p*}", "a;", None),
        # A query at the end is matched by name.
        ("reviews://{isbn}{?limit,sort}", "reviews://978", {"isbn": "978"}),
        ("reviews://{isbn}{?limit,sort}", "reviews://978?sort=top", {"isbn": "978", "sort": "top"}),
        ("r{?a,b}", "r?b=2&a=1", {"a": "1", "b": "2"}),
        ("r{?a,b}", "r?x=0&a=1&y", {"a": "1"}),
        ("r{?a}", "r?a=1&a=2", {"a": "1"}),
        ("r{?a}", "r?a", {"a": ""}),
        ("r{?a}", "r?a=", {"a": ""}),
        ("r{?a}", "r?&&a=b=c", {"a": "b=c"}),
        ("r{?a}", "r?a=/b?c;d", {"a": "/b?c;d"}),
        ("r{?a}", "r?A=1&%61=2", {}),
        ("r{?a}", "r?", {}),
        ("r{?a}", "r&a=1", None),
        ("r{?a}", "r?a=1#part", {"a": "1"}),
        ("r{?a}", "r#part?a=1", {}),
        ("r{?a}{&b}", "r?b=2", {"b": "2"}),
        ("r{+path}{?a}", "r/x/y?a=1", {"path": "/x/y", "a": "1"}),
        # Anywhere else it is matched as it stands.
        ("r?x=1{&a}", "r?x=1&a=2", {"a": "2"}),
        ("r?x=1{&a}", "r?a=2&x=1", None),
        ("r?x=1{&a}", "r?x=1", None),
        ("r?x=1{&a}", "r?x=1&a", None),
        ("r{?a}/s", "r?a=1/s", {"a": "1"}),
        ("r{?a}/s", "r/s", None),
        ("r{?a}{#b}", "r?a=1#2", {"a": "1", "b": "2"}),
        ("r{?a}{#b}", "r#2", None),
        # Literals match as they are.
        ("data://v1.0/{id}", "data://v1.0/42", {"id": "42"}),
        ("data://v1.0/{id}", "data://v1X0/42", None),
        ("data://v1.0/{id}", "DATA://v1.0/42", None),
        ("config://app", "config://app", {}),
        ("config://app", "config://app/", None),
        ("config://app", "config://app?x=1", None),
        ("x{a}x", "xxx", {"a": "x"}),
        ("x{a}x", "x", None),
        # Of several values that would do, the first variable takes the most.
        ("{a}-{b}", "1-2-3", {"a": "1-2", "b": "3"}),
        ("{a}.{b}.{c}", "1.2.3.4", {"a": "1.2", "b": "3", "c": "4"}),
    ],
)
def test_a_uri_matches_exactly_and_gives_its_values(template: str, uri: str, values: Values | None) -> None:
    matched = UriTemplate.parse(template).match(uri)
    assert matched == values
    assert matched is None or list(matched) == [
        name for name in UriTemplate.parse(template).variable_names if name in matched
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a%2Fb%3F%23%26%2C", "a/b?#&,"),
        ("a%2fb", "a/b"),
        ("%2E%2e", ".."),
        ("%2520", "%20"),
        ("a+b", "a+b"),
        ("a%00b", "a\0b"),
        ("caf%C3%A9", "caf\xe9"),
        ("caf\xe9", "caf\xe9"),
        ("%F0%9F%8D\xb5", "\ufffd\xb5"),
        ("%E9", "\ufffd"),
        ("%", "%"),
        ("%4", "%4"),
        ("100%zz", "100%zz"),
        ("a b\n{c}", "a b\n{c}"),
    ],
)
def test_a_value_is_decoded_once(text: str, value: str) -> None:
    assert UriTemplate.parse("a://{p}").match(f"a://{text}") == {"p": value}
    assert UriTemplate.parse("a://{+p}").match(f"a://{text}") == {"p": value}
    assert UriTemplate.parse("a://{?p}").match(f"a://?p={text}") == {"p": value}
    assert UriTemplate.parse("a:/{/p*}").match(f"a://{text}/{text}") == {"p": [value, value]}
    assert UriTemplate.parse("a://{;p*}").match(f"a://;p={text}") == {"p": [value]}


@pytest.mark.parametrize(
    ("template", "literal"),
    [
        ("docs://caf\xe9 bar/{p}", "docs://caf\xe9 bar/"),
        ("docs://caf\xe9 bar/{p}", "docs://caf%C3%A9%20bar/"),
        ("docs://caf\xe9 bar/{p}", "docs://caf%c3%a9 bar/"),
        ("docs://caf%C3%a9%20bar/{p}", "docs://caf\xe9 bar/"),
        ("100%/{p}", "100%25/"),
        ("100%25/{p}", "100%/"),
        ("a}b/{p}", "a%7Db/"),
    ],
)
def test_a_literal_matches_in_either_spelling(template: str, literal: str) -> None:
    assert UriTemplate.parse(template).match(f"{literal}1") == {"p": "1"}


@pytest.mark.parametrize("uri", ["a%2F1", "%61/1", "a/1%2F2/3", "a+/1"])
def test_a_delimiter_or_a_letter_that_is_encoded_is_not_the_one_of_a_literal(uri: str) -> None:
    assert UriTemplate.parse("a/{p}").match(uri) is None


def test_the_digits_of_an_encoded_character_are_not_taken_for_a_literal() -> None:
    template = UriTemplate.parse("{a}2{b}")
    assert template.match(template.expand({"a": "x", "b": "/"})) == {"a": "x", "b": "/"}
    assert template.match("x%2F") is None
    assert UriTemplate.parse("x{a}ab").match("x%ab") is None


def test_a_uri_that_is_no_text_matches_nothing() -> None:
    assert UriTemplate.parse("{a}").match("\ud800") is None
    assert UriTemplate.parse("x{?a}").match("x?a=\udfff") is None


def test_a_uri_has_a_largest_size() -> None:
    template = UriTemplate.parse("x{a}")
    assert template.match("x" * DEFAULT_MAX_URI_LENGTH) is not None
    assert template.match("x" * (DEFAULT_MAX_URI_LENGTH + 1)) is None
    assert template.match("xyz", max_uri_length=3) == {"a": "yz"}
    assert template.match("xyz", max_uri_length=2) is None


# Values come back


LITERALS = st.sampled_from(["/", "//", "/x/", "/\xe9/", "/a b/", "/%20/", ":/", "=/2/", "/~/"])
NAMES = "abcdefgh"
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.text("/.;?&#=,%2F a~\xe9", max_size=8)
WITHOUT_DOTS = ANY_TEXT.map(lambda text: text.replace(".", ""))
# What stays as it is in {+name}, a triplet is decoded, and a delimiter above the path ends it.
RESERVED = ANY_TEXT.map(lambda text: "".join(character for character in text if character not in "%?#"))


@st.composite
def templates_and_values(draw: st.DrawFn) -> tuple[str, Values]:
    """A template with slashes between its variables, and values that it can tell apart."""
    names = iter(NAMES)
    template, values = "x:", Values()
    operators = draw(st.lists(st.sampled_from(["", "", ".", "/", ";"]), max_size=3))
    spanning = draw(st.sampled_from(["", "+", "/*", ".*", ";*"]))
    for operator in [*operators, *([spanning] if spanning else [])]:
        name = next(names)
        template += draw(LITERALS)
        if operator.endswith("*"):
            template += f"{{{operator[0]}{name}*}}/end"
            values[name] = draw(st.lists(WITHOUT_DOTS if operator == ".*" else ANY_TEXT, max_size=3))
        else:
            template += f"{{{operator}{name}}}/end"
            values[name] = draw({"+": RESERVED, ".": WITHOUT_DOTS}.get(operator, ANY_TEXT))
    query = [next(names) for _ in range(draw(st.integers(0, 2)))]
    if query:
        template += "{?" + ",".join(query) + "}"
        values.update({name: draw(ANY_TEXT) for name in query if draw(st.booleans())})
    return template, values


@given(templates_and_values())
@example(("x:/{a}/end/2/{b}/end", {"a": "/", "b": "/2/"}))
@example(("x:/{+a}/end", {"a": "/end/end"}))
def test_what_was_expanded_matches_and_gives_the_values_back(case: tuple[str, Values]) -> None:
    text, values = case
    template = UriTemplate.parse(text)
    uri = template.expand(values)
    assert uri.isascii()
    assert template.match(uri) == values


def template_of(text: str) -> UriTemplate | None:
    try:
        return UriTemplate.parse(text)
    except InvalidUriTemplate:
        return None


@given(
    st.text(max_size=40) | st.text("{}+#./;?&*,:ab%2F\xe9", max_size=40),
    st.text(max_size=40) | st.text("ab/.;?&#=,%2F\xe9", max_size=40),
)
def test_any_text_is_a_template_or_refused_and_any_other_matches_it_or_not(text: str, uri: str) -> None:
    template = template_of(text)
    if template is not None:
        values = template.match(uri)
        assert str(template) == text
        assert values is None or set(template.variable_names) - template.query_variable_names <= values.keys()


# Hostile sizes

LARGEST = DEFAULT_MAX_URI_LENGTH
MANY = [f"{{v{number}}}" for number in range(256)]

HOSTILE = {
    "a delimiter between each two of many": ("/".join(MANY), "/" * LARGEST),
    "a letter between each two of many": ("a".join(MANY), "a" * LARGEST),
    "and the end does not fit": ("a".join(MANY) + "b", "a" * LARGEST),
    "and the start does not fit": ("b" + "a".join(MANY), "a" * LARGEST),
    "a long literal that nearly fits, from the left": ("{a}/{+b}" + "a" * 4000 + "ba{c}", "/" + "a" * (LARGEST - 1)),
    "a long literal that nearly fits, from the right": ("{a}ab" + "a" * 4000 + "{b}", "a" * LARGEST),
    "a long literal of many periods": ("{+a}" + "ab" * 2000 + "c{c}", "ab" * (LARGEST // 2)),
    "segments": ("x{/p*}", "x" + "/" * (LARGEST - 1)),
    "path parameters": ("x{;p*}", "x" + ";p" * (LARGEST // 2 - 1)),
    "empty query parameters": ("x{?a,b}", "x?" + "&" * (LARGEST - 2)),
    "query parameters": ("x{?a,b}", "x?" + "a=&" * (LARGEST // 3 - 1)),
    "encoded slashes": ("{+a}", "%2F" * (LARGEST // 3)),
    "percent signs": ("{+a}", "%" * LARGEST),
    "what must be encoded": ("{+a}", "\xe9 " * (LARGEST // 2)),
    "what is encoded in part": ("{+a}", "%ff%" * (LARGEST // 4)),
}


@pytest.mark.parametrize(("template", "uri"), HOSTILE.values(), ids=HOSTILE.keys())
def test_no_uri_takes_long(template: str, uri: str) -> None:
    parsed = UriTemplate.parse(template)
    started = process_time()
    parsed.match(uri)
    assert process_time() - started < 0.5


@pytest.mark.parametrize("piece", ["{", "{a", "}", "{a}}", "{a}{b}", "{" + "," * 500, "%", "{a.", "{a*:"])
def test_no_template_takes_long(piece: str) -> None:
    started = process_time()
    template_of(piece * (DEFAULT_MAX_TEMPLATE_LENGTH // len(piece)))
    assert process_time() - started < 0.5
