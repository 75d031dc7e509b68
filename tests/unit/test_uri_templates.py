"""What a URI template is, what it is not, and values put into one."""

import pickle
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import pytest

from mcp import InvalidUriTemplate, UriTemplate
from mcp.shared.uri_template import DEFAULT_MAX_TEMPLATE_LENGTH, DEFAULT_MAX_VARIABLES, Variable

# RFC 6570, section 3.2. What is undefined there is left out.
RFC_VALUES: dict[str, str | Sequence[str]] = {
    "count": ["one", "two", "three"],
    "dom": ["example", "com"],
    "dub": "me/too",
    "hello": "Hello World!",
    "half": "50%",
    "var": "value",
    "who": "fred",
    "base": "http://example.com/home/",
    "path": "/foo/bar",
    "list": ["red", "green", "blue"],
    "v": "6",
    "x": "1024",
    "y": "768",
    "empty": "",
    "empty_keys": [],
}

RFC_EXAMPLES = [
    # 3.2.1 Variable Expansion
    ("{count}", "one,two,three"),
    ("{/count}", "/one,two,three"),
    ("{/count*}", "/one/two/three"),
    ("{;count}", ";count=one,two,three"),
    ("{;count*}", ";count=one;count=two;count=three"),
    ("{?count}", "?count=one,two,three"),
    # 3.2.2 Simple String Expansion
    ("{var}", "value"),
    ("{hello}", "Hello%20World%21"),
    ("{half}", "50%25"),
    ("O{empty}X", "OX"),
    ("O{undef}X", "OX"),
    ("{x,y}", "1024,768"),
    ("{x,hello,y}", "1024,Hello%20World%21,768"),
    ("?{x,empty}", "?1024,"),
    ("?{x,undef}", "?1024"),
    ("?{undef,y}", "?768"),
    ("{list}", "red,green,blue"),
    # 3.2.3 Reserved Expansion
    ("{+var}", "value"),
    ("{+hello}", "Hello%20World!"),
    ("{+half}", "50%25"),
    ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
    ("{+base}index", "http://example.com/home/index"),
    ("O{+empty}X", "OX"),
    ("O{+undef}X", "OX"),
    ("{+path}/here", "/foo/bar/here"),
    ("here?ref={+path}", "here?ref=/foo/bar"),
    ("{+list}", "red,green,blue"),
    # 3.2.4 Fragment Expansion
    ("{#var}", "#value"),
    ("{#hello}", "#Hello%20World!"),
    ("{#half}", "#50%25"),
    ("foo{#empty}", "foo#"),
    ("foo{#undef}", "foo"),
    ("{#list}", "#red,green,blue"),
    # 3.2.5 Label Expansion with Dot-Prefix
    ("{.who}", ".fred"),
    ("{.half,who}", ".50%25.fred"),
    ("www{.dom*}", "www.example.com"),
    ("X{.var}", "X.value"),
    ("X{.empty}", "X."),
    ("X{.undef}", "X"),
    ("X{.list}", "X.red,green,blue"),
    ("X{.list*}", "X.red.green.blue"),
    ("X{.empty_keys}", "X"),
    ("X{.empty_keys*}", "X"),
    # 3.2.6 Path Segment Expansion
    ("{/who}", "/fred"),
    ("{/half,who}", "/50%25/fred"),
    ("{/who,dub}", "/fred/me%2Ftoo"),
    ("{/var}", "/value"),
    ("{/var,empty}", "/value/"),
    ("{/var,undef}", "/value"),
    ("{/var,x}/here", "/value/1024/here"),
    ("{/list}", "/red,green,blue"),
    ("{/list*}", "/red/green/blue"),
    # 3.2.7 Path-Style Parameter Expansion
    ("{;who}", ";who=fred"),
    ("{;half}", ";half=50%25"),
    ("{;empty}", ";empty"),
    ("{;v,empty,who}", ";v=6;empty;who=fred"),
    ("{;v,bar,who}", ";v=6;who=fred"),
    ("{;x,y}", ";x=1024;y=768"),
    ("{;x,y,empty}", ";x=1024;y=768;empty"),
    ("{;x,y,undef}", ";x=1024;y=768"),
    ("{;list}", ";list=red,green,blue"),
    ("{;list*}", ";list=red;list=green;list=blue"),
    # 3.2.8 Form-Style Query Expansion
    ("{?who}", "?who=fred"),
    ("{?half}", "?half=50%25"),
    ("{?x,y}", "?x=1024&y=768"),
    ("{?x,y,empty}", "?x=1024&y=768&empty="),
    ("{?x,y,undef}", "?x=1024&y=768"),
    ("{?list}", "?list=red,green,blue"),
    # 3.2.9 Form-Style Query Continuation
    ("{&who}", "&who=fred"),
    ("{&half}", "&half=50%25"),
    ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
    ("{&x,y,empty}", "&x=1024&y=768&empty="),
    ("{&x,y,undef}", "&x=1024&y=768"),
    ("{&list}", "&list=red,green,blue"),
]


@pytest.mark.parametrize(("template", "uri"), RFC_EXAMPLES)
def test_the_examples_of_the_rfc_expand_as_it_says(template: str, uri: str) -> None:
    assert UriTemplate.parse(template).expand(RFC_VALUES) == uri


RFC_EXAMPLES_REFUSED = {
    "cannot be matched": "{count*} {?count*} {&count*} {list*} {+list*} {#list*} {keys*} {?list*} {?keys*} {&list*}",
    "Prefix in": "{var:3} {var:30} {/list*,path:4} {+path:6}/here {#path:6}here {/var:1,var} {;hello:5}",
    "Second 'who'": "{.who,who} {/who,who}",
    "may span segments": "{+x,hello,y} {+path,x}/here {#x,hello,y} {#path,x}/here",
    "Nothing between": "up{+path}{var}/here",
}


@pytest.mark.parametrize(
    ("template", "reason"),
    [(template, reason) for reason, templates in RFC_EXAMPLES_REFUSED.items() for template in templates.split()],
)
def test_what_cannot_be_matched_with_certainty_is_refused_even_if_the_rfc_can_expand_it(
    template: str, reason: str
) -> None:
    with pytest.raises(InvalidUriTemplate, match=reason):
        UriTemplate.parse(template)


@pytest.mark.parametrize(
    ("template", "position", "text"),
    [
        ("a/{", 2, "Unclosed expression at position 2: expected a } behind it"),
        ("{a}/{b", 4, "Unclosed expression at position 4: expected a } behind it"),
        ("{a}/{}", 4, "Empty expression at position 4: expected a name between the braces"),
        ("{+}", 0, "Invalid name '' at position 0: expected letters, digits and _, with . between them"),
        ("{{a}}", 0, "Invalid name '{a' at position 0: expected letters, digits and _, with . between them"),
        ("a{b c}", 1, "Invalid name 'b c' at position 1: expected letters, digits and _, with . between them"),
        ("a{b,}", 1, "Invalid name '' at position 1: expected letters, digits and _, with . between them"),
        ("a{b..c}", 1, "Invalid name 'b..c' at position 1: expected letters, digits and _, with . between them"),
        ("a{b.}", 1, "Invalid name 'b.' at position 1: expected letters, digits and _, with . between them"),
        ("a{b\n}", 1, "Invalid name 'b\\n' at position 1: expected letters, digits and _, with . between them"),
        ("a{caf\xe9}", 1, "Invalid name 'caf\xe9' at position 1: expected letters, digits and _, with . between them"),
        ("a{%41}", 1, "Invalid name '%41' at position 1: expected letters, digits and _, with . between them"),
        ("a{b**}", 1, "Invalid name 'b*' at position 1: expected letters, digits and _, with . between them"),
        ("{=a}", 0, "Unknown operator '=' at position 0: expected a name or one of + # . / ; ? &"),
        ("x{|a}", 1, "Unknown operator '|' at position 1: expected a name or one of + # . / ; ? &"),
        ("{a:3}", 0, "Prefix in 'a:3' at position 0: expected a name alone; {name:N} is not supported"),
        (
            "x{?a,b*}",
            1,
            "Exploded list {?b*} at position 1: expected * with . / or ; only, since others cannot be matched",
        ),
        ("{a}/{a}", 4, "Second 'a' at position 4: expected each variable once"),
        ("{a}{?b}{?c}", 7, "Second {?...} at position 7: expected one; write {?a,b}, or {?a} and then {&b}"),
        ("x{a}{b}", 4, "Nothing between 'a' and 'b' at position 4: expected a literal, to tell where the first ends"),
        (
            "x{+a}/{/b*}",
            6,
            "'b' may span segments as 'a' does at position 6: expected one of {+name}, {#name} and {/name*} at most",
        ),
        ("a/\ud800/{b}", 2, "Lone surrogate at position 2: expected text that a URI can carry"),
    ],
)
def test_a_refusal_says_what_is_wrong_where_and_what_was_expected(template: str, position: int, text: str) -> None:
    with pytest.raises(InvalidUriTemplate) as caught:
        UriTemplate.parse(template)
    assert (str(caught.value), caught.value.template, caught.value.position) == (text, template, position)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("piece", ["{", "a:", "b*", "b c"])
def test_a_refusal_of_something_long_is_short(piece: str) -> None:
    with pytest.raises(InvalidUriTemplate, match=r"\.\.\.") as caught:
        UriTemplate.parse("{?" + piece * 2000 + "}")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "template",
    # What delimits a variable may come with it, and the ones of a query at the end are told apart by their names.
    ["{+a}{.b}", "{+a}{/b}", "{a}{.b}", "{a}{;b}{;c}", "{/a*}{/b}", "{+a}{?b}{&c}", "{a}{#b}", "{a,b}", "{a}-{+b}-{c}"],
)
def test_neighbours_are_allowed_where_an_operator_stands_between_them(template: str) -> None:
    assert str(UriTemplate.parse(template)) == template


@pytest.mark.parametrize(
    "template", ["{a}{/b*}", "{a}{.b*}", "{;a}{;b*}", "{/a*}{b}", "{?a}{b}", "{/a,b*}", "{+a}{/b*}"]
)
def test_an_exploded_list_may_be_empty_and_so_delimits_nothing(template: str) -> None:
    with pytest.raises(InvalidUriTemplate, match="Nothing between 'a' and 'b'"):
        UriTemplate.parse(template)


def test_a_template_has_a_largest_size() -> None:
    assert UriTemplate.parse("a" * DEFAULT_MAX_TEMPLATE_LENGTH).variables == []
    with pytest.raises(InvalidUriTemplate, match="too long at position 8192: expected at most 8192 characters"):
        UriTemplate.parse("a" * (DEFAULT_MAX_TEMPLATE_LENGTH + 1))
    assert UriTemplate.parse("{abc}", max_length=5).variable_names == ["abc"]
    with pytest.raises(InvalidUriTemplate, match="expected at most 4"):
        UriTemplate.parse("{abc}", max_length=4)


def test_a_template_has_a_most_number_of_variables() -> None:
    names = [f"v{number}" for number in range(DEFAULT_MAX_VARIABLES)]
    assert UriTemplate.parse("{" + "}/{".join(names) + "}").variable_names == names
    with pytest.raises(InvalidUriTemplate, match="Too many variables at position 0: expected at most 256"):
        UriTemplate.parse("{" + ",".join(names) + ",one_more}")
    assert UriTemplate.parse("{a}/{b}", max_variables=2).variable_names == ["a", "b"]
    with pytest.raises(InvalidUriTemplate, match="Too many variables at position 4: expected at most 1"):
        UriTemplate.parse("{a}/{b}", max_variables=1)


def test_a_template_tells_of_its_variables() -> None:
    template = UriTemplate.parse("x://{+path}{.ext}{;v,w}{?limit,sort.by}{&_page}")
    assert template.variables == [
        Variable("path", "+"),
        Variable("ext", "."),
        Variable("v", ";"),
        Variable("w", ";"),
        Variable("limit", "?"),
        Variable("sort.by", "?"),
        Variable("_page", "&"),
    ]
    assert template.variable_names == ["path", "ext", "v", "w", "limit", "sort.by", "_page"]
    assert template.query_variable_names == {"limit", "sort.by", "_page"}
    assert UriTemplate.parse("x{/1st*}").variables == [Variable("1st", "/", explode=True)]


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("x{?a}", {"a"}),
        ("{?a,b}{&c}{&d}", {"a", "b", "c", "d"}),
        ("{&a}/{?b}", {"b"}),
        # Not at the end, not certain where the query begins, or no query at all.
        ("x{?a}/y", set[str]()),
        ("x{?a}{#b}", set[str]()),
        ("x{&a}", set[str]()),
        ("{&a}{?b}", set[str]()),
        ("x?a=1{&b}", set[str]()),
        ("x?a=1{?b}", set[str]()),
        ("x#a{?b}", set[str]()),
        ("{#a}{?b}", set[str]()),
        ("x?{a}", set[str]()),
        ("x", set[str]()),
    ],
)
def test_only_a_query_at_the_end_may_be_left_out(template: str, names: set[str]) -> None:
    assert UriTemplate.parse(template).query_variable_names == names


def test_a_template_is_a_value() -> None:
    template = UriTemplate.parse("x://{a}")
    assert template == UriTemplate.parse("x://{a}") != UriTemplate.parse("x://{b}")
    assert len({template, UriTemplate.parse("x://{a}")}) == 1
    assert repr(template) == "UriTemplate(template='x://{a}')"
    assert str(template) == template.template == "x://{a}"
    copy = pickle.loads(pickle.dumps(template))
    assert copy == template
    assert copy.match("x://1") == {"a": "1"}


def test_a_refusal_can_be_passed_between_processes() -> None:
    error = InvalidUriTemplate("Bad at position 3", template="x://{", position=3)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.template, copy.position) == ("Bad at position 3", "x://{", 3)
    assert InvalidUriTemplate("Bad", template="x").position is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [("{a}", True), ("x://{a}/y", True), ("{}", True), ("", False), ("x", False), ("{", False), ("a}b{", False)],
)
def test_a_text_is_a_template_if_something_stands_between_braces(text: str, answer: bool) -> None:
    assert UriTemplate.is_template(text) is answer


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("docs://caf\xe9 bar/{p}", "docs://caf%C3%A9%20bar/1"),
        ("a%2fb/{p}", "a%2fb/1"),
        ("100%/{p}", "100%25/1"),
        ('a<b>"^`|}\\/{p}', "a%3Cb%3E%22%5E%60%7C%7D%5C/1"),
        ("a!$&'()*+,;=:@?#[]/{p}", "a!$&'()*+,;=:@?#[]/1"),
    ],
)
def test_a_literal_is_encoded_where_a_uri_cannot_hold_it_as_it_is(template: str, uri: str) -> None:
    assert UriTemplate.parse(template).expand({"p": "1"}) == uri


def test_reserved_values_keep_what_is_encoded_in_them_and_others_encode_it_again() -> None:
    value = "a/b%2Fc%C3%A9 \xe9%zz"
    assert UriTemplate.parse("{+p}").expand({"p": value}) == "a/b%2Fc%C3%A9%20%C3%A9%25zz"
    assert UriTemplate.parse("{p}").expand({"p": value}) == "a%2Fb%252Fc%25C3%25A9%20%C3%A9%25zz"


def test_any_mapping_and_any_sequence_will_do_and_what_is_not_asked_for_is_ignored() -> None:
    template = UriTemplate.parse("x{/a*}{?b}")
    assert template.expand(MappingProxyType({"a": ("1", "2"), "b": "3", "c": "4"})) == "x/1/2?b=3"
    assert template.expand({}) == "x"
    assert template.expand({"a": "1"}) == "x/1"
    assert template.expand({"a": ["", ""]}) == "x//"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "NoneType"),
        (5, "int"),
        (b"x", "bytes with int in it"),
        ({"k": "v"}, "dict"),
        (["a", 5], "list with int in it"),
    ],
)
def test_a_value_that_is_no_text_is_refused_by_name(value: Any, kind: str) -> None:
    with pytest.raises(TypeError, match=f"Variable 'page' must be a str or a sequence of str, got {kind}$"):
        UriTemplate.parse("x{?page}").expand({"page": value})


def test_a_lone_surrogate_in_a_value_is_refused_by_name() -> None:
    for template in ("{+page}", "{page}"):
        with pytest.raises(ValueError, match="Variable 'page' holds a lone surrogate"):
            UriTemplate.parse(template).expand({"page": "a\ud83d"})
