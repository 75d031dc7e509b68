"""What an extension may be called: `vendor-prefix/name`."""

from typing import Any

import pytest

from mcp.shared.extension import validate_extension_identifier

GOOD = (
    "com.example/labels",
    "io.modelcontextprotocol/ui",
    "a/b",
    "a-b/c",
    "COM.Example/X",
    "com.x1/1",
    "com.example/x.y_z-1",
    "com.example/x--y",
)

BAD: tuple[Any, ...] = (
    "",
    "labels",
    "/labels",
    "com.example/",
    "com..example/x",
    ".com/x",
    "com.1example/x",
    "com.example-/x",
    "com.exa_mple/x",
    "com.example/-x",
    "com.example/x-",
    "com.example/.x",
    "com.example/x y",
    "com.example/x/y",
    "com.example/x\n",
    "com.éxample/x",
    "com.example/é",
    None,
    7,
    b"com.example/x",
)


@pytest.mark.parametrize("identifier", GOOD)
def test_a_domain_and_a_name_make_an_identifier(identifier: str) -> None:
    validate_extension_identifier(identifier, owner="Labels")


@pytest.mark.parametrize("identifier", BAD, ids=repr)
def test_anything_else_is_refused_with_the_form_it_should_have(identifier: Any) -> None:
    with pytest.raises(TypeError) as raised:
        validate_extension_identifier(identifier, owner="Labels")
    assert str(raised.value) == (
        f"Labels.identifier must be a `vendor-prefix/name` string (reverse-DNS prefix required), got {identifier!r}"
    )
