"""All resources of a server: which one a URI names, and what happens to the list of them."""

import logging
import sys
import threading
from typing import Any

import pytest
from pydantic import AnyUrl

from mcp.server.mcpserver.duplicates import DuplicatePolicy
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.resources import Resource, ResourceManager, ResourceSecurity, TextResource
from mcp.server.mcpserver.resources.index import TemplateIndex
from mcp.shared.exceptions import MCPError
from mcp.types import InputRequiredResult

pytestmark = pytest.mark.anyio

LOG = "mcp.server.mcpserver.resources.resource_manager"
CONTEXT: Any = None


def text(uri: str, text: str = "") -> TextResource:
    return TextResource(uri=uri, text=text)


async def read(manager: ResourceManager, uri: Any) -> Any:
    resource = await manager.get_resource(uri, CONTEXT)
    assert isinstance(resource, Resource)
    return await resource.read()


def saying(manager: ResourceManager, *uri_templates: str) -> ResourceManager:
    """Adds templates whose resources say which template they are of."""
    for uri_template in uri_templates:
        manager.add_template(saying_it(uri_template), uri_template)
    return manager


def saying_it(text: str) -> Any:
    def say(it: str) -> str:
        return text

    return say


async def test_resources_are_found_by_their_uris() -> None:
    first, second = text("a://1", "first"), text("a://2", "second")
    manager = ResourceManager(resources=[first, second])
    assert manager.list_resources() == [first, second]
    assert await manager.get_resource("a://2", CONTEXT) is second


async def test_a_uri_may_be_an_object_of_pydantic() -> None:
    assert (
        await read(ResourceManager(resources=[text("https://a.example/", "here")]), AnyUrl("https://a.example"))
        == "here"
    )


@pytest.mark.parametrize("uri", ["docs://caf\xe9 bar", "docs://caf%C3%A9%20bar", "docs://caf%c3%a9 bar"])
async def test_a_uri_is_found_in_either_spelling(uri: str) -> None:
    manager = ResourceManager(resources=[text("docs://caf\xe9 bar", "coffee")])
    assert await read(manager, uri) == "coffee"
    manager.remove_resource("docs://caf\xe9 bar")
    with pytest.raises(ResourceNotFoundError):
        await manager.get_resource(uri, CONTEXT)


async def test_the_exact_spelling_goes_first() -> None:
    manager = ResourceManager(resources=[text("a://x y", "plain"), text("a://x%20y", "encoded")])
    assert await read(manager, "a://x y") == "plain"
    assert await read(manager, "a://x%20y") == "encoded"
    manager.remove_resource("a://x y")
    assert await read(manager, "a://x y") == "encoded"


async def test_what_is_encoded_without_need_is_another_uri() -> None:
    manager = ResourceManager(resources=[text("a://b/c")])
    with pytest.raises(ResourceNotFoundError):
        await manager.get_resource("a://b%2Fc", CONTEXT)


@pytest.mark.parametrize("uri", ["", "a://3", "no uri at all", "a://\udcff", "a://" + "x" * 100_000])
async def test_a_uri_that_nothing_has_is_unknown(uri: str) -> None:
    manager = saying(ResourceManager(resources=[text("a://1")]), "a://{it}/end", "b://{+it}")
    with pytest.raises(ResourceNotFoundError) as caught:
        await manager.get_resource(uri, CONTEXT)
    assert str(caught.value) == f"Unknown resource: {uri}"


async def test_resources_go_before_templates() -> None:
    manager = saying(ResourceManager(), "a://{it}")
    manager.add_resource(text("a://1", "the resource"))
    assert await read(manager, "a://1") == "the resource"
    assert await read(manager, "a://2") == "a://{it}"


async def test_of_the_templates_that_fit_the_first_one_answers() -> None:
    manager = saying(ResourceManager(), "ab://long/{+it}", "{+it}", "ab://{it}/b", "ab://{+it}")
    assert [template.uri_template for template in manager.list_templates()] == [
        "ab://long/{+it}",
        "{+it}",
        "ab://{it}/b",
        "ab://{+it}",
    ]
    assert await read(manager, "ab://long/x/y") == "ab://long/{+it}"
    assert await read(manager, "ab://long") == "{+it}"
    manager.remove_template("{+it}")
    assert await read(manager, "ab://x/b") == "ab://{it}/b"
    assert await read(manager, "ab://x/c") == "ab://{+it}"


async def test_a_template_is_found_in_either_spelling() -> None:
    manager = saying(ResourceManager(), "docs://caf\xe9 bar/{it}")
    for uri in ("docs://caf\xe9 bar/1", "docs://caf%C3%A9%20bar/1"):
        assert await read(manager, uri) == "docs://caf\xe9 bar/{it}"


def test_only_templates_that_begin_like_the_uri_are_tried() -> None:
    index = TemplateIndex()
    for template in saying(
        ResourceManager(), *(f"api://part{number}{{+it}}" for number in range(1000))
    ).list_templates():
        index.put(template)
    assert [template.uri_template for template in index.candidates("api://part77/x")] == [
        "api://part7{+it}",
        "api://part77{+it}",
    ]
    assert index.candidates("api://other/x") == []


async def test_a_value_that_is_refused_ends_the_search(caplog: pytest.LogCaptureFixture) -> None:
    manager = ResourceManager()
    manager.add_template(saying_it("strict"), "files://{+it}", name="strict")
    manager.add_template(
        saying_it("loose"), "files://../{+it}", name="loose", security=ResourceSecurity(exempt_params={"it"})
    )
    with (
        caplog.at_level(logging.INFO, LOG),
        pytest.raises(ResourceNotFoundError, match=r"^Unknown resource: files://\.\./x$"),
    ):
        await manager.get_resource("files://../x", CONTEXT)
    assert [record.getMessage() for record in caplog.records] == [
        "Parameter 'it' of template 'files://{+it}' failed security validation"
    ]


async def test_questions_and_errors_of_a_template_pass_through() -> None:
    questions = InputRequiredResult(request_state="s")

    def order(number: int) -> InputRequiredResult:
        return questions

    manager = ResourceManager()
    manager.add_template(order, "orders://{number}")
    assert await manager.get_resource("orders://1", CONTEXT) is questions
    with pytest.raises(MCPError, match="'number'"):
        await manager.get_resource("orders://x", CONTEXT)


def add_twice(manager: ResourceManager) -> tuple[Any, Any]:
    manager.add_resource(text("a://1", "first"))
    manager.add_template(saying_it("first"), "b://{it}", name="first")
    return manager.add_resource(text("a://1", "second")), manager.add_template(saying_it(""), "b://{it}", name="second")


@pytest.mark.parametrize("warn", [True, False])
def test_the_first_of_two_stays_and_the_second_is_warned_about(warn: bool, caplog: pytest.LogCaptureFixture) -> None:
    resource, template = add_twice(ResourceManager(warn))
    assert (resource.text, template.name) == ("first", "first")
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == (
        ["Resource already exists: a://1", "Resource template already exists: b://{it}"] if warn else []
    )


@pytest.mark.parametrize(("policy", "stays"), [("warn", "first"), ("ignore", "first"), ("replace", "second")])
def test_what_happens_to_a_second_one_can_be_chosen(policy: DuplicatePolicy, stays: str) -> None:
    manager = ResourceManager(on_duplicate=policy)
    manager.add_template(saying_it(""), "z://{it}", name="z")
    resource, template = add_twice(manager)
    assert (resource.text, template.name) == (stays, stays)
    assert manager.list_resources() == [resource]
    assert [entry.name for entry in manager.list_templates()] == ["z", stays]


def test_a_second_one_can_be_an_error() -> None:
    with pytest.raises(ValueError, match=r"^Resource already exists: a://1$"):
        ResourceManager(on_duplicate="error", resources=[text("a://1"), text("a://1")])
    manager = saying(ResourceManager(on_duplicate="error"), "a://{it}")
    with pytest.raises(ValueError, match=r"^Resource template already exists: a://{it}$"):
        saying(manager, "a://{it}")


def test_whoever_wants_to_know_is_told_of_each_change() -> None:
    told: list[str] = []
    manager = ResourceManager()
    manager.changed = lambda: told.append("changed")
    add_twice(manager)
    assert len(told) == 2
    manager.remove_resource("a://1")
    manager.remove_template("b://{it}")
    assert len(told) == 4
    assert manager.list_resources() == manager.list_templates() == []


def test_what_is_not_there_cannot_be_removed() -> None:
    manager = ResourceManager()
    with pytest.raises(ResourceNotFoundError, match=r"^Unknown resource: a://1$"):
        manager.remove_resource("a://1")
    with pytest.raises(ResourceNotFoundError, match=r"^Unknown resource template: a://{it}$"):
        manager.remove_template("a://{it}")


async def test_a_replaced_template_keeps_its_place() -> None:
    manager = saying(ResourceManager(on_duplicate="replace"), "a://{it}", "a://{+it}")
    manager.add_template(saying_it("new"), "a://{it}", name="new")
    assert await read(manager, "a://1") == "new"
    manager.remove_template("a://{it}")
    assert await read(manager, "a://1") == "a://{+it}"


def test_templates_come_and_go_while_others_are_looked_up() -> None:
    manager = saying(ResourceManager(on_duplicate="ignore"), "stay://{it}")
    index = manager._templates
    problems: list[BaseException] = []
    ended = threading.Event()

    def come_and_go(thread: int) -> None:
        try:
            for length in range(1, 300):
                saying(manager, f"{'x' * length}{thread}://{{it}}")
                manager.remove_template(f"{'x' * length}{thread}://{{it}}")
        except Exception as problem:
            problems.append(problem)

    def look_up() -> None:
        try:
            while not ended.is_set():
                assert [template.uri_template for template in index.candidates("stay://1")] == ["stay://{it}"]
                assert manager.list_templates()[0].uri_template == "stay://{it}"
        except BaseException as problem:
            problems.append(problem)

    writers = [threading.Thread(target=come_and_go, args=(number,)) for number in range(2)]
    reader = threading.Thread(target=look_up)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in (*writers, reader):
            thread.start()
        for thread in writers:
            thread.join()
        ended.set()
        reader.join()
    finally:
        sys.setswitchinterval(interval)
    assert problems == []
    assert [template.uri_template for template in manager.list_templates()] == ["stay://{it}"]
