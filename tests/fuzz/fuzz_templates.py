"""The `uri-template` target: any text as a template, any other as a URI, and values that must come back."""

from random import Random
from typing import Final

from fuzz_parsers import target

from mcp.shared.uri_template import DEFAULT_MAX_URI_LENGTH, InvalidUriTemplate, UriTemplate, Variable

# A template, and on the next line a URI.
PAIRS: Final = (
    b"users://{user_id}/profile\nusers://42/profile",
    b"manuals://{+path}{.ext}{?page,mode}{&x}\nmanuals://printing/setup.md?page=2&mode=text&x#top",
    b"shelves://browse{/path*}/{last}\nshelves://browse/fiction/sci-fi/dune",
    b"a://{b,c}-{d}x{;e,f}{#g}\na://1,2-3x;e;f=5#6/7",
    b"www{.dom*}{;v*}\nwww.example.com;v=1;v",
    b"docs://caf\xc3\xa9 bar%2f/{p}?x=1{&q}\ndocs://caf%C3%A9%20bar%2F/%2e%2E?x=1&q=%25",
)
FRAGMENTS: Final = (
    *(
        b"{",
        b"}",
        b"{a}",
        b"{+z}",
        b"{/y*}",
        b"{;w*}",
        b"{?u,t}",
        b"{&s}",
        b"{#r}",
        b"{q.p_1}",
        b":3",
        b"*",
        b",",
        b"\n",
    ),
    *(b"/", b"?", b"#", b"&", b"=", b";", b".", b"%", b"%2F", b"%2f", b"%zz", b"%C3%A9", b"\xc3\xa9", b"\xff", b"\x00"),
    *(b" ", b"{a}/" * 300, b"a" * 3000, b"/" * 3000, b"%" * 3000, b"%2F" * 3000, b"&a=" * 3000, b"{" * 3000),
)
TEXT: Final = "ab2F/?#&=;,:%~ \xe9\n{}+"


@target("uri-template", PAIRS, FRAGMENTS)
def check_uri_template(data: bytes, random: Random) -> None:
    """A template is refused with a reason and a place, or is one that matches what it expands to."""
    text, _, uri = data.decode("utf-8", "surrogateescape").partition("\n")
    try:
        template = UriTemplate.parse(text)
    except InvalidUriTemplate as error:
        _check_refusal(error, text)
        return
    assert str(template) == text
    _check_values(template, uri)
    _check_way_back(template, random)


def _check_refusal(error: InvalidUriTemplate, text: str) -> None:
    assert error.template == text
    assert error.position is not None
    assert 0 <= error.position < len(text)
    assert f" at position {error.position}: expected " in str(error)


def _check_values(template: UriTemplate, uri: str) -> None:
    values = template.match(uri)
    if values is not None:
        needed = set(template.variable_names) - template.query_variable_names
        assert needed <= values.keys() <= set(template.variable_names)
        for variable in template.variables:
            assert isinstance(values.get(variable.name, [] if variable.explode else ""), list) is variable.explode
        assert template.expand(values).isascii()


def _check_way_back(template: UriTemplate, random: Random) -> None:
    values = {variable.name: _some_value(variable, random) for variable in template.variables}
    uri = template.expand(values)
    assert uri.isascii()
    assert not set(uri) & set(' "<>\\^`{|}')
    if len(uri) > DEFAULT_MAX_URI_LENGTH:
        return
    matched = template.match(uri)
    if matched is None:
        # A list begins with its separator, and a neighbour that took a part of it is not asked to give it back.
        assert any(variable.explode for variable in template.variables)
        return
    # A value that holds what delimits it may come back as a part of its neighbour's, but all of it comes back.
    assert matched.keys() == values.keys()
    assert template.expand(matched) == uri


def _some_value(variable: Variable, random: Random) -> str | list[str]:
    """A value that its operator can carry, not empty where the character behind it could be taken for a part of it."""
    alphabet = [character for character in TEXT if variable.operator not in ("+", "#") or character not in "?#%"]
    fewest = 1 if variable.operator == ";" else 0

    def some_text() -> str:
        return "".join(random.choices(alphabet, k=random.randint(fewest, 4)))

    return [some_text() for _ in range(random.randint(1, 3))] if variable.explode else some_text()
