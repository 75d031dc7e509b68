"""Typed functions as tools: what is listed, what is called, and what comes back agree, row by row of the tables."""

import json
from typing import Any, cast

import pytest
import schema_table_callables
import schema_table_content
import schema_table_formats
import schema_table_models
import schema_table_parameters
import schema_table_postponed
import schema_table_result_objects
import schema_table_results
from schema_table import Broken, Given, Taken, includes, validator

from mcp import Client, types

pytestmark = pytest.mark.anyio

both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])

TABLES = [
    schema_table_parameters.rows,
    schema_table_formats.rows,
    schema_table_models.rows,
    schema_table_callables.rows,
    schema_table_postponed.rows,
    schema_table_results.rows,
    schema_table_result_objects.rows,
    schema_table_content.rows,
]
TAKEN = [row for table in TABLES for row in table.taken]
GIVEN = [row for table in TABLES for row in table.given]
BROKEN = [row for table in TABLES for row in table.broken]


def test_the_tables_are_long() -> None:
    """Rows that were lost on the way would be missed by nothing else."""
    assert len(TAKEN) >= 60
    assert len(GIVEN) >= 50
    assert len(BROKEN) >= 8


async def listed(client: Client, name: str) -> types.Tool:
    return next(tool for tool in (await client.list_tools()).tools if tool.name == name)


def texts(result: types.CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, types.TextContent)]


def said(value: Any) -> list[Any]:
    """What the blocks of a value say, by the documented rule: items follow each other, and None is nothing."""
    if isinstance(value, list):
        return [part for item in cast("list[Any]", value) for part in said(item)]
    return [] if value is None else [value]


def read(text: str) -> Any:
    """What a block says: a string itself, anything else in JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@both_eras
@pytest.mark.parametrize("row", TAKEN, ids=lambda row: row.name)
async def test_the_listed_schema_judges_calls_as_the_tool_does(row: Taken, mode: str) -> None:
    """Nor does a schema say more or less than the signature."""
    async with Client(row.server, mode=mode) as client:
        schema = (await listed(client, row.name)).input_schema
        assert schema.get("properties", {}) == row.properties
        assert ("required" in schema) == (row.required is not None)
        assert includes(schema, row.listed), schema

        judge = validator(schema)
        for arguments, said in row.accepts:
            result = await client.call_tool(row.name, arguments)
            assert (judge.is_valid(arguments), result.is_error, texts(result)) == (True, False, [said]), arguments
        for arguments, said in row.lenient:
            result = await client.call_tool(row.name, arguments)
            assert (judge.is_valid(arguments), result.is_error, texts(result)) == (False, False, [said]), arguments
        for arguments in row.refuses:
            result = await client.call_tool(row.name, arguments)
            assert (judge.is_valid(arguments), result.is_error) == (False, True), arguments


@both_eras
@pytest.mark.parametrize("row", GIVEN, ids=lambda row: row.name)
async def test_structured_content_and_text_say_what_the_output_schema_says(row: Given, mode: str) -> None:
    """The client has checked the result against the schema too."""
    async with Client(row.server, mode=mode) as client:
        assert (await listed(client, row.name)).output_schema == row.schema

        result = await client.call_tool(row.name)

        assert not result.is_error, texts(result)
        assert result.structured_content == row.structured
        kinds = list(row.kinds) or ["text"] * len(row.text or ())
        assert [block.type for block in result.content] == kinds
        if row.text is not None:
            assert texts(result) == row.text
        if row.schema is not None:
            assert validator(row.schema).is_valid(result.structured_content)
            value = row.structured.get("result", row.structured)
            assert row.by_hand or [read(text) for text in texts(result)] in (said(value), [value])


@both_eras
@pytest.mark.parametrize("row", BROKEN, ids=lambda row: row.name)
async def test_a_result_that_breaks_its_promise_is_an_error(row: Broken, mode: str) -> None:
    """It never reaches a client as if it were good."""
    async with Client(row.server, mode=mode) as client:
        result = await client.call_tool(row.name)

        assert result.is_error
        assert result.structured_content is None
        assert row.says in " ".join(texts(result))


@both_eras
@pytest.mark.parametrize("row", GIVEN, ids=lambda row: row.name)
async def test_clients_get_what_the_server_gives_to_callers_in_its_own_process(row: Given, mode: str) -> None:
    """What is only sent may be written in another way than what somebody wants to look at."""
    async with Client(row.server, mode=mode) as client:
        sent = await client.call_tool(row.name)

    given = await row.server.call_tool(row.name, {})

    assert sent.model_dump(exclude={"meta"}) == given.model_dump(exclude={"meta"})
