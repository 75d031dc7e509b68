"""What docstrings say about parameters."""

import inspect
from typing import Annotated, Any

import pytest
from pydantic import Field

from mcp.server.mcpserver.functions.docstrings import parameter_descriptions
from mcp.server.mcpserver.utilities.func_metadata import func_metadata


def google(city: str, days: int = 1, **more: str) -> str:
    """The forecast.

    A longer text: with a colon, and a list:

    Args:
        city: Where: a name,
            in any language.
        days (int, optional): How many days.
            Today is the first.

            Seven at most.
        nobody: No parameter has this name.
        **more: What is passed on.

    Returns:
        city: This is no parameter.
    """
    return city


def numpy(city: str, days: int = 1, unit: str = "C") -> str:
    """The forecast.

    Parameters
    ----------
    city : str
        Where: a name,
        in any language.
    days, unit : int, optional
        How many days.
        Today is the first.

        Seven at most.
    nobody
        No parameter has this name.

    Returns
    -------
    city : str
        This is no parameter.
    """
    return city


def sphinx(city: str, days: int = 1) -> str:
    """The forecast.

    :param city: Where: a name,
        in any language.
    :type city: str
    :param int days: How many days.
        Today is the first. Seven at most.
    :param nobody: No parameter has this name.
    :returns: city
    """
    return city


CITY = "Where: a name, in any language."
DAYS = "How many days. Today is the first. Seven at most."


@pytest.mark.parametrize("function", [google, numpy, sphinx])
def test_each_style_describes_the_parameters(function: Any) -> None:
    properties = func_metadata(function).arg_model.model_json_schema()["properties"]

    assert properties["city"] == {"description": CITY, "title": "City", "type": "string"}
    assert properties["days"] == {"default": 1, "description": DAYS, "title": "Days", "type": "integer"}
    if function is numpy:
        assert properties["unit"]["description"] == DAYS


def test_an_explicit_description_wins() -> None:
    def f(
        a: Annotated[int, Field(description="Explicit.")],
        b: int = Field(1, description="Explicit."),
        c: Annotated[int, Field(ge=1)] = 1,
        json: str = "",
    ) -> None:
        """Does it.

        Args:
            a: Of the docstring.
            b: Of the docstring.
            c: Of the docstring.
            json: Of the docstring.
        """

    properties = func_metadata(f).arg_model.model_json_schema()["properties"]

    assert {name: value["description"] for name, value in properties.items()} == {
        "a": "Explicit.", "b": "Explicit.", "c": "Of the docstring.", "json": "Of the docstring.",
    }  # fmt: skip
    assert properties["c"]["minimum"] == 1


@pytest.mark.parametrize(
    "docstring",
    [
        "",
        "Just a line.",
        "a: not in a section",
        "Args:",
        "Args:\n\nand nothing indented",
        "Args:\n    a",
        "Args:\n    a:",
        "Parameters\n----------",
        "Parameters\n----------\n",
        "Parameters\n----------\na\n",
        "----",
        ":param a:",
        ":param: a",
        ":param",
        "The args: are\n    a: described elsewhere",
        "Example:\n    Args: a\n",
        "Args:\n    b: Another one.",
        "Args:\n    some words before a colon: and after",
    ],
)
def test_a_docstring_that_describes_nothing_is_no_problem(docstring: str) -> None:
    assert parameter_descriptions(docstring, ["a"]) == {}


@pytest.mark.parametrize("head", ["Args", "Arguments", "Params", "Parameters", "Keyword Args", "Other Parameters"])
def test_sections_have_several_names(head: str) -> None:
    docstring = f"Does it.\n\n{head}:\n  a: One.\n  *b: Two.\n"

    assert parameter_descriptions(docstring, ["a", "b"]) == {"a": "One.", "b": "Two."}


def test_two_sections_add_up_and_the_first_text_of_a_parameter_counts() -> None:
    docstring = "Args:\n    a: One.\n\nKeyword Args:\n    a: Again.\n    b: Two."

    assert parameter_descriptions(docstring, ["a", "b"]) == {"a": "One.", "b": "Two."}


def test_a_second_section_of_numpy_ends_the_first() -> None:
    docstring = inspect.cleandoc("""
        Parameters
        ----------
        a
            One.
        Other Parameters
        ----------------
        b : int
            Two.
    """)

    assert parameter_descriptions(docstring, ["a", "b"]) == {"a": "One.", "b": "Two."}


def test_a_long_docstring_is_read_in_linear_time() -> None:
    docstring = "Args:\n" + "".join(f"    a{number}: {'x' * 50}\n" for number in range(5_000)) + "(" * 10_000

    assert len(parameter_descriptions(docstring, [f"a{number}" for number in range(5_000)])) == 5_000
