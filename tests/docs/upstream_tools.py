"""What docs/servers/tools.md, structured-output.md, media.md and handling-errors.md say about their programs."""

import asyncio
import base64
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from upstream_statements import (
    call,
    channels,
    error_of,
    in_both_eras,
    input_schema,
    listing,
    output_schema,
    refusal,
    resource,
    said,
    states,
    texts,
    wire,
)

from mcp import Client, MCPError
from mcp.server.mcpserver import Audio, Image
from mcp.types import INVALID_PARAMS, AudioContent, ImageContent, ResourceLink

QUERY = {"title": "Query", "type": "string"}

# docs/servers/tools.md


@states(
    "tools/tutorial001",
    "name and description come from the function",
    ["search_books", "Search the catalog by title or author."],
)
async def _(program: ModuleType) -> object:
    tool = (await listing(program)).tools[0]
    return [tool.name, tool.description]


@states(
    "tools/tutorial001",
    "the schema comes from the type hints",
    {
        "type": "object",
        "properties": {"query": QUERY, "limit": {"title": "Limit", "type": "integer"}},
        "required": ["query", "limit"],
        "title": "search_booksArguments",
    },
)
async def _(program: ModuleType) -> object:
    return await input_schema(program)


FOUND = "Found 3 books matching 'dune' (showing up to 5)."


@states("tools/tutorial001", "the result has two parts", [FOUND, {"result": FOUND}])
async def _(program: ModuleType) -> object:
    return await channels(program, "search_books", query="dune", limit=5)


@states("tools/tutorial001", "a limit of 'ten' is rejected before the function runs", [True, True])
async def _(program: ModuleType) -> object:
    result = await call(program, "search_books", query="dune", limit="ten")
    return [result.is_error, "valid integer" in texts(result)[0]]


@states(
    "tools/tutorial002",
    "a default leaves required",
    {
        "type": "object",
        "properties": {"query": QUERY, "limit": {"default": 10, "title": "Limit", "type": "integer"}},
        "required": ["query"],
        "title": "search_booksArguments",
    },
)
async def _(program: ModuleType) -> object:
    return await input_schema(program)


@states("tools/tutorial002", "a client that omits it gets 10", ["Found 3 books matching 'dune' (showing up to 10)."])
async def _(program: ModuleType) -> object:
    return await said(program, "search_books", query="dune")


@states(
    "tools/tutorial003",
    "descriptions, bounds and an enum land in the schema",
    ["Title or author to search for.", 1, 50, ["fiction", "non-fiction", "poetry"]],
)
async def _(program: ModuleType) -> object:
    schema: Any = await input_schema(program)
    properties = schema["properties"]
    limit = properties["limit"]
    [genre] = [arm for arm in properties["genre"]["anyOf"] if "enum" in arm]
    return [properties["query"]["description"], limit["minimum"], limit["maximum"], genre["enum"]]


@states("tools/tutorial003", "limit=999 is a tool error", [True, True])
async def _(program: ModuleType) -> object:
    result = await call(program, "search_books", query="dune", limit=999)
    return [result.is_error, "Input should be less than or equal to 50" in texts(result)[0]]


@states("tools/tutorial003", "the model can only pick one of the genres", [True, True])
async def _(program: ModuleType) -> object:
    result = await call(program, "search_books", query="dune", genre="cooking")
    return [result.is_error, "'fiction', 'non-fiction' or 'poetry'" in texts(result)[0]]


@states("tools/tutorial003", "a genre", ["Found 3 books matching 'dune' in fiction (showing up to 10)."])
async def _(program: ModuleType) -> object:
    return await said(program, "search_books", query="dune", genre="fiction")


@states("tools/tutorial004", "the model is nested as a reference", ["#/$defs/Book", 1450, ["title", "author", "year"]])
async def _(program: ModuleType) -> object:
    schema: Any = await input_schema(program)
    book = schema["$defs"]["Book"]
    return [schema["properties"]["book"]["$ref"], book["properties"]["year"]["minimum"], book["required"]]


@states("tools/tutorial004", "the function receives a real Book", ["Added 'Dune' by Frank Herbert (1965)."])
async def _(program: ModuleType) -> object:
    return await said(program, "add_book", book={"title": "Dune", "author": "Frank Herbert", "year": 1965})


@states(
    "tools/tutorial005", "title and annotations", ["Search the catalog", {"readOnlyHint": True, "openWorldHint": False}]
)
async def _(program: ModuleType) -> object:
    tool = (await listing(program)).tools[0]
    assert tool.annotations is not None
    return [tool.title, wire(tool.annotations)]


@states("tools/tutorial005", "name= and description= are accepted too", ["find", "Finds."])
async def _(program: ModuleType) -> object:
    @program.mcp.tool(name="find", description="Finds.")
    def search() -> str: ...

    tool = (await listing(program)).tools[1]
    return [tool.name, tool.description]


@states("tools/tutorial001", "a plain def runs in a thread, an async def is awaited", [True, False])
async def _(program: ModuleType) -> object:
    here = threading.get_ident()

    @program.mcp.tool()
    def plain() -> bool:
        return threading.get_ident() != here

    @program.mcp.tool()
    async def awaited() -> bool:
        await asyncio.sleep(0)
        return threading.get_ident() != here

    return [(await call(program, name)).structured_content["result"] for name in ("plain", "awaited")]


# docs/servers/structured-output.md

WEATHER = {"temperature": 16.2, "humidity": 0.83, "conditions": "Overcast"}
WEATHER_SCHEMA: dict[str, Any] = {
    "properties": {
        "temperature": {"title": "Temperature", "type": "number"},
        "humidity": {"title": "Humidity", "type": "number"},
        "conditions": {"title": "Conditions", "type": "string"},
    },
    "required": ["temperature", "humidity", "conditions"],
    "title": "WeatherData",
    "type": "object",
}
WEATHER_TEXT = '{\n  "temperature": 16.2,\n  "humidity": 0.83,\n  "conditions": "Overcast"\n}'


@states(
    "structured_output/tutorial001",
    "an int is wrapped",
    {
        "properties": {"result": {"title": "Result", "type": "integer"}},
        "required": ["result"],
        "title": "get_temperatureOutput",
        "type": "object",
    },
)
async def _(program: ModuleType) -> object:
    return await output_schema(program)


@states("structured_output/tutorial001", "both channels are filled", ["17", {"result": 17}])
async def _(program: ModuleType) -> object:
    return await channels(program, "get_temperature", city="London")


@states("structured_output/tutorial001", "every scalar gets the same wrapper", [["result"]] * 6)
async def _(program: ModuleType) -> object:
    for kind in (str, int, float, bool, bytes, None):

        def scalar() -> Any: ...

        scalar.__annotations__["return"] = kind
        program.mcp.tool(name=f"give_{kind}")(scalar)
    return [tool.output_schema and tool.output_schema["required"] for tool in (await listing(program)).tools[1:]]


@states(
    "structured_output/tutorial002",
    "the model is the schema, with its descriptions",
    {
        **WEATHER_SCHEMA,
        "properties": {
            "temperature": {"description": "Degrees Celsius.", "title": "Temperature", "type": "number"},
            "humidity": {"description": "Relative humidity, 0 to 1.", "title": "Humidity", "type": "number"},
            "conditions": {"title": "Conditions", "type": "string"},
        },
    },
)
async def _(program: ModuleType) -> object:
    return await output_schema(program)


for number, kind in (("2", "a model"), ("3", "a TypedDict"), ("4", "a dataclass")):

    @states(f"structured_output/tutorial00{number}", f"{kind}: text and object", [WEATHER_TEXT, WEATHER])
    async def _(program: ModuleType) -> object:
        return await channels(program, "get_weather", city="London")


for number in "34":

    @states(f"structured_output/tutorial00{number}", "three spellings, one schema", WEATHER_SCHEMA)
    async def _(program: ModuleType) -> object:
        return await output_schema(program)


@states(
    "structured_output/tutorial005",
    "a list is wrapped, its items a reference",
    {
        "$defs": {"WeatherData": WEATHER_SCHEMA},
        "properties": {"result": {"items": {"$ref": "#/$defs/WeatherData"}, "title": "Result", "type": "array"}},
        "required": ["result"],
        "title": "get_forecastOutput",
        "type": "object",
    },
)
async def _(program: ModuleType) -> object:
    return await output_schema(program)


@states(
    "structured_output/tutorial005",
    "two blocks, one per item",
    [WEATHER_TEXT, WEATHER_TEXT.replace("16.2", "17.2"), {"result": [WEATHER, {**WEATHER, "temperature": 17.2}]}],
)
async def _(program: ModuleType) -> object:
    return await channels(program, "get_forecast", city="London", days=2)


@states(
    "structured_output/tutorial006",
    "dict[str, ...] is not wrapped",
    {"additionalProperties": {"type": "number"}, "title": "get_temperaturesDictOutput", "type": "object"},
)
async def _(program: ModuleType) -> object:
    return await output_schema(program)


@states("structured_output/tutorial006", "structured content is the dict", {"London": 16.2, "Reykjavik": 4.4})
async def _(program: ModuleType) -> object:
    return (await call(program, "get_temperatures", cities=["London", "Reykjavik"])).structured_content


@states("structured_output/tutorial006", "dict[int, float] falls back to the wrapper", ["result"])
async def _(program: ModuleType) -> object:
    @program.mcp.tool()
    def by_hour() -> dict[int, float]: ...

    return ((await listing(program)).tools[1].output_schema or {})["required"]


@states(
    "structured_output/tutorial007",
    "a mismatch is a tool error that names the field",
    [
        "Error executing tool get_weather: 1 validation error for WeatherData",
        "humidity",
        "  Field required [type=missing, input_value={'temperature': 16.2, 'conditions': 'Overcast'}, input_type=dict]",
    ],
)
async def _(program: ModuleType) -> object:
    [_, text] = await said(program, "get_weather", city="London")
    return text.splitlines()[:3]


@states("structured_output/tutorial007", "a plain dict from a -> WeatherData tool is fine", WEATHER)
async def _(program: ModuleType) -> object:
    program.UPSTREAM["London"] = WEATHER_TEXT
    return (await call(program, "get_weather", city="London")).structured_content


REPORT = "London: 17 degrees, overcast, light rain easing by evening."


@states("structured_output/tutorial008", "text only, no schema", [None, REPORT, None])
async def _(program: ModuleType) -> object:
    return [await output_schema(program), *await channels(program, "weather_report", city="London")]


@states("structured_output/tutorial009", "a class without hints: its repr, no schema", [None, True, None])
async def _(program: ModuleType) -> object:
    result = await call(program, "get_station", name="Kew")
    is_repr = texts(result)[0].startswith(f'"<{program.__name__}.Station object at 0x')
    return [await output_schema(program), is_repr or texts(result), result.structured_content]


@states(
    "structured_output/tutorial009",
    "structured_output=True makes it a hard error",
    [True, "is not serializable for structured output"],
)
async def _(program: ModuleType) -> object:
    error = refusal(lambda: program.mcp.tool(structured_output=True)(program.get_station))
    beginning, _, end = error.partition(f"Function get_station: return type {program.Station} ")
    return [not beginning.rstrip(": ").endswith("no error") or error, end]


# docs/servers/media.md

PNG = b"\x89PNG\r\n\x1a\n"
WAV = b"RIFF\x00\x00\x00\x00WAVE"


def put(program: ModuleType, **files: bytes) -> None:
    """Makes files a program reads; the folder of the programs stays as it is."""
    import tempfile

    folder = Path(tempfile.mkdtemp())
    for name, content in files.items():
        path: Path = getattr(program, name)
        setattr(program, name, folder / path.name)
        (folder / path.name).write_bytes(content)


async def block_of(program: ModuleType, tool: str) -> object:
    """The only content block of a tool's result, its bytes decoded, and the structured content."""

    async def ask(client: Client) -> object:
        result = await client.call_tool(tool)
        [block] = result.content
        assert isinstance(block, (ImageContent, AudioContent))
        return [block.type, base64.b64decode(block.data), block.mime_type, result.structured_content]

    return await in_both_eras(program, ask)


for number, tool in (("1", "logo"), ("2", "logo"), ("3", "logo_from_bytes")):

    @states(f"media/tutorial00{number}", "an image block, nothing structured", ["image", PNG, "image/png", None])
    async def _(program: ModuleType, tool: str = tool) -> object:
        put(program, LOGO_FILE=PNG)
        return await block_of(program, tool)


@states("media/tutorial002", "an audio block", ["audio", WAV, "audio/wav", None])
async def _(program: ModuleType) -> object:
    put(program, LOGO_FILE=PNG, CHIME_FILE=WAV)
    return await block_of(program, "chime")


@states("media/tutorial001", "no output schema", None)
async def _(program: ModuleType) -> object:
    return await output_schema(program)


@states(
    "media/tutorial001",
    "the type is guessed from the suffix",
    ["png", "jpeg", "jpeg", "gif", "webp", "wav", "mpeg", "ogg", "flac", "aac", "mp4", "octet-stream", "octet-stream"],
)
async def _(program: ModuleType) -> object:
    folder = Path(program.__file__ or "").parent
    images = [Image(path=folder / f"a{suffix}") for suffix in (".png", ".jpg", ".jpeg", ".gif", ".webp")]
    audios = [Audio(path=folder / f"a{suffix}") for suffix in (".wav", ".mp3", ".ogg", ".flac", ".aac", ".m4a")]
    kinds = [*images, *audios, Image(path="a.xyz"), Audio(path="a.xyz")]
    return [kind._mime_type.partition("/")[2] for kind in kinds]


@states("media/tutorial003", "bytes without format= get a default", ["image/png", "audio/wav"])
async def _(program: ModuleType) -> object:
    return [Image(data=b"").to_image_content().mime_type, Audio(data=b"").to_audio_content().mime_type]


@states(
    "media/tutorial004",
    "icons travel with the server, the tool and the resource",
    [
        ["https://example.com/brand-kit.png", "image/png", ["48x48"]],
        ["https://example.com/palette.svg"],
        ["https://example.com/brand-kit.png"],
    ],
)
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        assert client.server_info is not None
        [icon] = client.server_info.icons or []
        tool = (await client.list_tools()).tools[0]
        listed = (await client.list_resources()).resources[0]
        icons = [[icon.src for icon in thing.icons or []] for thing in (tool, listed)]
        return [[icon.src, icon.mime_type, icon.sizes], *icons]

    return await in_both_eras(program, ask)


GUIDELINES = "# Brand guidelines\n\nUse the primary colour for calls to action.\n"


@states(
    "media/tutorial005",
    "the document is embedded as it is, nothing structured",
    [
        {
            "type": "resource",
            "resource": {"uri": "brand://guidelines", "mimeType": "text/markdown", "text": GUIDELINES},
        },
        None,
        None,
    ],
)
async def _(program: ModuleType) -> object:
    result = await call(program, "brand_guidelines")
    return [wire(result.content[0]), result.structured_content, await output_schema(program)]


@states("media/tutorial005", "the resource serves the same document", GUIDELINES)
async def _(program: ModuleType) -> object:
    return await resource(program, "brand://guidelines")


@states("media/tutorial005", "a ResourceLink is a content block too", ["resource_link"])
async def _(program: ModuleType) -> object:
    @program.mcp.tool()
    def link() -> ResourceLink:
        return ResourceLink(name="guidelines", uri="brand://guidelines")

    return texts(await call(program, "link"))


# docs/servers/handling-errors.md

MISS = "No book titled 'Nothing' in the catalog."


@states(
    "handling_errors/tutorial001",
    "an exception is a result",
    [True, [f"Error executing tool get_author: {MISS}"], None],
)
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        result = await client.call_tool("get_author", {"title": "Nothing"})
        return [result.is_error, texts(result), result.structured_content]

    return await in_both_eras(program, ask)


@states("handling_errors/tutorial001", "raise_exceptions does not turn it back", True)
async def _(program: ModuleType) -> object:
    async with Client(program.mcp, raise_exceptions=True) as client:
        return (await client.call_tool("get_author", {"title": "Nothing"})).is_error


@states("handling_errors/tutorial001", "a title that is no string never reaches the function", [True, True])
async def _(program: ModuleType) -> object:
    result = await call(program, "get_author", title=7)
    return [result.is_error, "valid string" in texts(result)[0]]


@states("handling_errors/tutorial001", "found", ["Frank Herbert"])
async def _(program: ModuleType) -> object:
    return await said(program, "get_author", title="Dune")


@states("handling_errors/tutorial002", "an MCPError is the answer itself", (INVALID_PARAMS, MISS))
async def _(program: ModuleType) -> object:
    return await in_both_eras(program, lambda client: error_of(client.call_tool("get_author", {"title": "Nothing"})))


@states("handling_errors/tutorial002", "data survives too", {"shelf": 3})
async def _(program: ModuleType) -> object:
    @program.mcp.tool()
    def refuse() -> str:
        raise MCPError(-32050, "no", {"shelf": 3})

    async def ask(client: Client) -> object:
        try:
            return await client.call_tool("refuse")
        except MCPError as error:
            return error.data

    return await in_both_eras(program, ask)


@states("handling_errors/tutorial003", "a missing resource names its URI", [-32602, MISS, {"uri": "books://Nothing"}])
async def _(program: ModuleType) -> object:
    async def ask(client: Client) -> object:
        try:
            return await client.read_resource("books://Nothing")
        except MCPError as error:
            return [error.code, error.message, error.data]

    return await in_both_eras(program, ask)


@states("handling_errors/tutorial003", "found", "Dune by Frank Herbert")
async def _(program: ModuleType) -> object:
    return await resource(program, "books://Dune")
