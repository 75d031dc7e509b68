"""Templates: which functions fit them, which URIs, and what a URI gives to the function."""

import copy
import threading
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import InvalidSignature, ResourceError, UnexpectedResourceError
from mcp.server.mcpserver.resources import (
    DEFAULT_RESOURCE_SECURITY,
    FunctionResource,
    Resource,
    ResourceSecurity,
    ResourceSecurityError,
    ResourceTemplate,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate
from mcp.types import INVALID_PARAMS, Annotations, Icon, InputRequiredResult

pytestmark = pytest.mark.anyio

CONTEXT = Context[Any, Any]()


async def read(template: ResourceTemplate, uri: str) -> str | bytes:
    values = template.matches(uri)
    assert values is not None
    resource = await template.create_resource(uri, values, CONTEXT)
    assert isinstance(resource, Resource)
    return await resource.read()


def echo(value: str) -> str:
    """Says it again."""
    return value


def test_the_function_says_what_it_is() -> None:
    template = ResourceTemplate.from_function(echo, "echo://{value}")
    assert (template.name, template.description, template.mime_type) == ("echo", "Says it again.", "text/plain")
    assert template.parsed_template == UriTemplate.parse("echo://{value}")
    assert template.security is DEFAULT_RESOURCE_SECURITY
    assert template.parameters == {
        "properties": {"value": {"title": "Value", "type": "string"}},
        "required": ["value"],
        "title": "echoArguments",
        "type": "object",
    }


def test_what_is_worked_out_late_is_there_wherever_somebody_looks() -> None:
    assert "'value'" in repr(ResourceTemplate.from_function(echo, "echo://{value}"))
    dumped = ResourceTemplate.from_function(echo, "echo://{value}").model_dump()
    assert dumped["parameters"]["required"] == ["value"]
    assert "fn" not in dumped
    assert copy.copy(ResourceTemplate.from_function(echo, "echo://{value}")).parameters["required"] == ["value"]
    template: Any = ResourceTemplate.from_function(echo, "echo://{value}")
    with pytest.raises(AttributeError, match="nonsense"):
        _ = template.nonsense


async def test_what_is_given_reaches_the_resources() -> None:
    given: dict[str, Any] = {
        "name": "again",
        "title": "Again",
        "description": "",
        "mime_type": "text/markdown",
        "icons": [Icon(src="https://example.com/i.png")],
        "annotations": Annotations(priority=1.0),
        "meta": {"k": 1},
    }
    template = ResourceTemplate.from_function(echo, "echo://{value}", **given)
    resource = await template.create_resource("echo://a", {"value": "a"}, CONTEXT)
    assert isinstance(resource, FunctionResource)
    assert resource.uri == "echo://a"
    assert {name: getattr(resource, name) for name in given} == given


def test_a_template_made_by_hand_works_too() -> None:
    template = ResourceTemplate(
        uri_template="echo://{value}",
        name="echo",
        description=None,
        fn=echo,
        parameters={"type": "object"},
        parsed_template=UriTemplate.parse("echo://{value}"),
        security=DEFAULT_RESOURCE_SECURITY,
    )
    assert template.matches("echo://a") == {"value": "a"}
    assert template.parameters == {"type": "object"}


@pytest.mark.parametrize(
    ("uri_template", "variables", "parameters"),
    [
        ("users://{user_id}", "{'user_id'}", "{'value'}"),
        ("users://{value}/{more}", "{'more', 'value'}", "{'value'}"),
        ("users://all", r"set\(\)", "{'value'}"),
    ],
)
def test_variables_and_parameters_have_to_agree(uri_template: str, variables: str, parameters: str) -> None:
    text = f"^Mismatch between URI parameters {variables} and function parameters {parameters}$"
    with pytest.raises(ValueError, match=text):
        ResourceTemplate.from_function(echo, uri_template)


def test_a_parameter_that_no_variable_fills_is_refused_even_with_a_default() -> None:
    def page(number: int, size: int = 10) -> str:
        return ""

    with pytest.raises(ValueError, match="Mismatch"):
        ResourceTemplate.from_function(page, "pages://{number}")


async def test_keyword_arguments_take_all_other_variables() -> None:
    def page(number: int, **options: str) -> str:
        return f"{number} {options}"

    template = ResourceTemplate.from_function(page, "pages://{number}/{size}{?sort}")
    assert await read(template, "pages://1/20?sort=up") == "1 {'size': '20', 'sort': 'up'}"


def test_a_variable_that_a_uri_may_leave_out_needs_a_default() -> None:
    def reviews(isbn: str, limit: int) -> str:
        return ""

    with pytest.raises(ValueError, match=r"'reviews://{isbn}{\?limit}'.* 'limit', .* reviews needs a default"):
        ResourceTemplate.from_function(reviews, "reviews://{isbn}{?limit}")


def test_a_parameter_within_a_strict_query_needs_none() -> None:
    def search(q: str) -> str:
        return q

    template = ResourceTemplate.from_function(search, "search://all?fixed=1{&q}")
    assert template.matches("search://all?fixed=1&q=a") == {"q": "a"}


def test_what_cannot_be_a_template_is_refused_at_once() -> None:
    with pytest.raises(InvalidUriTemplate, match="Unclosed"):
        ResourceTemplate.from_function(echo, "echo://{value")
    with pytest.raises(InvalidSignature, match=r"\*values"):
        ResourceTemplate.from_function(lambda *values: "", "echo://{values}", name="it")
    with pytest.raises(ValueError, match="name for lambda functions"):
        ResourceTemplate.from_function(lambda: "", "echo://all")


async def test_values_become_what_the_parameters_take() -> None:
    def order(number: int, paid: bool, kind: Literal["book", "map"], tags: list[str]) -> dict[str, Any]:
        return {"number": number, "paid": paid, "kind": kind, "tags": tags}

    template = ResourceTemplate.from_function(order, "orders://{number}/{paid}/{kind}/tags{/tags*}")
    assert await read(template, "orders://5/true/map/tags/a/b%2Fc") == (
        '{\n  "number": 5,\n  "paid": true,\n  "kind": "map",\n  "tags": [\n    "a",\n    "b/c"\n  ]\n}'
    )


async def test_defaults_stand_in_for_what_a_uri_leaves_out() -> None:
    def reviews(isbn: str, limit: int = 10, sort: str = "newest") -> str:
        return f"{limit} {sort} of {isbn}"

    template = ResourceTemplate.from_function(reviews, "reviews://{isbn}{?limit,sort}")
    assert await read(template, "reviews://1") == "10 newest of 1"
    assert await read(template, "reviews://1?x=1&sort=top") == "10 top of 1"


async def test_a_value_that_does_not_fit_is_told_by_the_name_of_its_parameter() -> None:
    def order(number: int, size: Annotated[int, Field(le=9)] = 1) -> str:
        raise AssertionError("not reached")

    template = ResourceTemplate.from_function(order, "orders://{number}{?size}")
    with pytest.raises(MCPError) as caught:
        await read(template, "orders://five?size=10")
    assert (caught.value.code, caught.value.data) == (INVALID_PARAMS, {"uri": "orders://five?size=10"})
    assert caught.value.message == (
        "Invalid URI for resource template 'orders://{number}{?size}': argument 'number': Input should be a valid "
        "integer, unable to parse string as an integer; argument 'size': Input should be less than or equal to 9"
    )


async def test_a_wrong_item_of_a_list_is_told_by_its_place() -> None:
    def shelf(path: list[int]) -> str:
        raise AssertionError("not reached")

    template = ResourceTemplate.from_function(shelf, "shelves://all{/path*}")
    with pytest.raises(MCPError, match=r"argument 'path'\[1\]: Input should be a valid integer"):
        await read(template, "shelves://all/1/b")


async def test_a_value_that_is_left_out_by_hand_is_told() -> None:
    template = ResourceTemplate.from_function(echo, "echo://{value}")
    with pytest.raises(MCPError, match="missing required argument 'value'"):
        await template.create_resource("echo://a", {}, CONTEXT)


@pytest.mark.parametrize("kind", [Context, Context[int], "Context[int]", "Context[int] | None"])
async def test_the_context_is_handed_through_as_it_is(kind: Any) -> None:
    def told(value: str, ctx: Any) -> str:
        return str(ctx is CONTEXT)

    told.__annotations__["ctx"] = kind
    template = ResourceTemplate.from_function(told, "told://{value}")
    assert template.context_kwarg == "ctx"
    assert list(template.parameters["properties"]) == ["value"]
    assert await read(template, "told://a") == "True"


async def test_the_parameter_of_the_context_can_be_named() -> None:
    def told(value: str, it: Any) -> str:
        return str(it is CONTEXT)

    template = ResourceTemplate.from_function(told, "told://{value}", context_kwarg="it")
    assert await read(template, "told://a") == "True"


async def test_synchronous_functions_run_in_a_worker_thread() -> None:
    here = threading.get_ident()

    def where(value: str) -> str:
        return str(threading.get_ident() == here)

    async def there(value: str) -> str:
        return where(value)

    assert await read(ResourceTemplate.from_function(where, "where://{value}"), "where://a") == "False"
    assert await read(ResourceTemplate.from_function(there, "where://{value}"), "where://a") == "True"


async def test_the_questions_of_a_function_pass_through() -> None:
    questions = InputRequiredResult(request_state="s")

    def ask(value: str) -> InputRequiredResult:
        return questions

    template = ResourceTemplate.from_function(ask, "ask://{value}")
    assert await template.create_resource("ask://a", {"value": "a"}, CONTEXT) is questions


@pytest.mark.parametrize("error", [ResourceError("locked"), MCPError(-32001, "no", {"a": 1})])
async def test_errors_that_are_meant_for_the_client_pass_as_they_are(error: Exception) -> None:
    def fail(value: str) -> str:
        raise error

    template = ResourceTemplate.from_function(fail, "fail://{value}")
    with pytest.raises(type(error)) as caught:
        await read(template, "fail://a")
    assert caught.value is error


class Strict(BaseModel):
    number: int


async def test_other_errors_of_the_function_keep_their_reason_to_themselves() -> None:
    def fail(value: str) -> str:
        return str(Strict.model_validate({"number": value}))

    template = ResourceTemplate.from_function(fail, "fail://{value}")
    with pytest.raises(UnexpectedResourceError, match=r"^Error creating resource from template fail://a$") as caught:
        await read(template, "fail://a")
    assert "number" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    "value", ["../etc/passwd", "..%2Fetc", "%2E%2E/etc", "..%5Cetc", "/etc/passwd", "C:%5CWindows", "x:y", "a%00b"]
)
def test_values_that_could_lead_out_of_a_directory_are_refused(value: str) -> None:
    template = ResourceTemplate.from_function(echo, "files://{+value}")
    with pytest.raises(ResourceSecurityError) as caught:
        template.matches(f"files://{value}")
    assert (caught.value.template, caught.value.param) == ("files://{+value}", "value")
    assert str(caught.value) == "Parameter 'value' of template 'files://{+value}' failed security validation"
    assert copy.copy(caught.value).param == "value"


@pytest.mark.parametrize("value", ["v1.0..v2.0", "HEAD~3..HEAD", "a/../b", ""])
def test_values_that_only_look_like_it_pass(value: str) -> None:
    assert ResourceTemplate.from_function(echo, "files://{+value}").matches(f"files://{value}") == {"value": value}


@pytest.mark.parametrize(
    ("security", "value"),
    [
        (ResourceSecurity(reject_path_traversal=False), "../a"),
        (ResourceSecurity(reject_absolute_paths=False), "/a"),
        (ResourceSecurity(reject_null_bytes=False), "a\0"),
        (ResourceSecurity(exempt_params={"p"}), "/../\0"),
    ],
)
def test_each_check_can_be_left_out(security: ResourceSecurity, value: str) -> None:
    assert DEFAULT_RESOURCE_SECURITY.validate({"p": value}) == "p"
    assert DEFAULT_RESOURCE_SECURITY.validate({"ok": "a", "p": ["a", value]}) == "p"
    assert security.validate({"p": value}) is None
