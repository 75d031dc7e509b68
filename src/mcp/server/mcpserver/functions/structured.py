"""The structured content of results: its schema, and how a returned value becomes it."""

from dataclasses import KW_ONLY, InitVar
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, cast, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError, from_json, to_json
from typing_extensions import is_typeddict

from mcp.protocol.results import EncodedResult
from mcp.server.mcpserver.functions.arguments import safe_name
from mcp.server.mcpserver.functions.content import CONTENT_TYPES, REPLACEMENT, json_text, text_block
from mcp.server.mcpserver.functions.local_models import complete
from mcp.server.mcpserver.functions.returns import NoSchemaError, ResultShape
from mcp.server.mcpserver.functions.schemas import OutputJsonSchema
from mcp.server.mcpserver.functions.signature import Signature
from mcp.server.mcpserver.functions.typed_dicts import portable
from mcp.types.content import ContentBlock, TextContent
from mcp.types.tools import CallToolResult

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["Output", "output_of"]

_MODULE: Final = "mcp.server.mcpserver.utilities.func_metadata"
_CONFIG: Final = ConfigDict(ser_json_bytes="base64", revalidate_instances="always")


class Output:
    """How the values that a function returns become structured content.

    Args:
        model: The type of the structured content, as pydantic knows it.
        schema: Its JSON Schema, which is listed.
        wrapped: The value stands under "result" in the structured content.
        adapter: Of the model, if there is one.
        returned: The class of the returned values, where the model is made from it.

    Attributes:
        is_text: Its values are strings, without any rules of their own.
    """

    def __init__(
        self,
        model: Any,
        schema: dict[str, Any],
        wrapped: bool,
        adapter: "TypeAdapter[Any] | None" = None,
        returned: type | None = None,
    ) -> None:
        self.model = model
        self.schema = schema
        self.wrapped = wrapped
        adapter = adapter or TypeAdapter(model)
        self._validate = adapter.validator.validate_python
        self._serializer = adapter.serializer
        self._plain_types = (dict, model if returned is None else returned)
        # The most common return type, of which nothing has to be checked or worked out.
        result = model.model_fields.get("result") if wrapped else None
        self.is_text = result is not None and result.annotation is str and not result.metadata
        self._checker: jsonschema_rs.Validator | None = None

    def text_result(self, value: str) -> CallToolResult:
        """The result of a returned string, where `is_text`.

        Raises:
            UnicodeEncodeError: It holds half a surrogate pair, which no message can carry.
        """
        return CallToolResult(content=[text_block(value)], structured_content={"result": value})

    def encoded(self, value: Any) -> EncodedResult | None:
        """The result that `result` would make, written at once; None where only `result` does it right.

        Raises:
            ValidationError: The value is not what the return type promises.
            UnicodeEncodeError: It is a text that holds half a surrogate pair.
        """
        if self.is_text and type(value) is str:
            text = to_json(value if value.isascii() else value.encode().decode())
            return _encoded(text, b'{"result":%b}' % text)
        if self.wrapped or type(value) not in self._plain_types:
            return None
        valid = self._validate(value)
        serializer = self._serializer if type(valid) is dict else valid.__pydantic_serializer__
        try:
            readable = serializer.to_json(valid, indent=2, by_alias=True, warnings="error")
        except PydanticSerializationError:
            return None
        if b"null" in readable or b"NaN" in readable or b"Infinity" in readable or REPLACEMENT in readable:
            # It may stand for a number that is not finite, or for what cannot be encoded.
            return None
        # In strings line breaks are escaped, so all of these stand between the parts.
        nested = b"\n    " in readable
        compact = serializer.to_json(valid, by_alias=True) if nested else readable.replace(b"\n  ", b"")
        return _encoded(to_json(readable.decode()), compact.replace(b"\n", b""))

    def check(self, content: Any) -> None:
        """Checks structured content that a function made itself.

        Raises:
            ValidationError: It is not what the return type promises.
        """
        self._validate(content)

    def result(self, value: Any) -> CallToolResult:
        """The result that a returned value makes, with its structured content and the text of it.

        Raises:
            ValidationError: The value is not what the return type promises.
            ValueError: It is, but in JSON it would not fit the schema, as NaN would not fit a number.
        """
        valid = self._validate({"result": value} if self.wrapped else value)
        serializer = valid.__pydantic_serializer__ if isinstance(valid, BaseModel) else self._serializer
        try:
            content = serializer.to_python(valid, mode="json", by_alias=True, warnings="error")
            readable = self._readable(content, valid)
            doubtful = any(map(_is_doubtful, readable))
        except PydanticSerializationError:
            # An object changed since it was validated. Whether it still fits is for the schema to say.
            content = serializer.to_python(valid, mode="json", by_alias=True, warnings="none")
            readable, doubtful = [], True
        if doubtful:
            content = from_json(json_text(content))
            self._compare(content)
            readable = self._readable(content, valid)
        return CallToolResult(content=readable, structured_content=content)

    def _readable(self, content: Any, valid: Any) -> list[ContentBlock]:
        return _blocks(content["result"], valid.result) if self.wrapped else _blocks(content, valid)

    def _compare(self, content: Any) -> None:
        """Holds structured content against the very schema that clients hold it against."""
        if self._checker is None:
            import jsonschema_rs

            self._checker = jsonschema_rs.validator_for(self.schema, retriever=_refuse_remote)
        error = next(iter(self._checker.iter_errors(content)), None)
        if error is not None:
            where = "".join(f"[{part!r}]" for part in error.instance_path) or "the root"
            hint = "; JSON has no NaN and no infinity, which become null" if error.instance is None else ""
            raise ValueError(f"the result does not fit the output schema: {error.message:.1000} at {where}{hint}")


def _encoded(text: bytes, structured: bytes) -> EncodedResult:
    body = b'{"content":[{"type":"text","text":%b}],"structuredContent":%b,"isError":false}' % (text, structured)
    return EncodedResult(body)


def _refuse_remote(uri: str) -> Any:
    raise ValueError(f"the output schema refers to {uri!r}; schemas are never fetched")


def _blocks(content: Any, value: Any) -> list[ContentBlock]:
    """The blocks of a value whose JSON is known: a list is flattened, and a string is its own text."""
    if content is None:
        return []
    if isinstance(value, CONTENT_TYPES):
        return [value]
    if isinstance(content, list) and isinstance(value, (list, tuple)):
        items, values = cast("list[Any]", content), cast("list[Any]", value)
        if len(values) != len(items):
            values = items
        return [block for item, its_value in zip(items, values, strict=True) for block in _blocks(item, its_value)]
    if isinstance(content, str) and isinstance(value, str):
        return [text_block(content)]
    return [TextContent(text=json_text(content, not_finite="constants", source=value))]


def _is_doubtful(block: ContentBlock) -> bool:
    """Whether the JSON text of a block holds numbers that are not finite, which JSON does not have."""
    if not isinstance(block, TextContent) or not ("NaN" in block.text or "Infinity" in block.text):
        return False
    try:
        from_json(block.text, allow_inf_nan=False)
    except ValueError:
        return True
    return False


def output_of(signature: Signature, shape: ResultShape) -> Output:
    """The structured output of a function.

    Args:
        signature: Names the function, and knows the names that its types use.
        shape: What its return type means.

    Raises:
        NoSchemaError: JSON Schema cannot describe the type, or JSON cannot express its values.
    """
    try:
        model = _model(signature, shape)
        returned = shape.annotation if shape.kind == "attributes" else None
        output = _described(model, signature, wrapped=shape.kind == "value", returned=returned)
        if output.schema.get("type") == "object":
            return output
        # A root model of something else than an object.
        wrapper = _wrapper(signature, shape.annotation)
        return _described(wrapper, signature, wrapped=True)
    except (PydanticUserError, NameError, TypeError, ValueError) as error:
        raise NoSchemaError(str(error)) from error


def _described(model: Any, signature: Signature, wrapped: bool, returned: type | None = None) -> Output:
    adapter = _adapter(model, signature)
    schema = adapter.json_schema(schema_generator=OutputJsonSchema, mode="serialization")
    return Output(model, _inlined(schema), wrapped, adapter, returned)


def _adapter(kind: Any, signature: Signature) -> "TypeAdapter[Any]":
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        complete(kind, signature.scope)
        return TypeAdapter(kind)
    adapter = TypeAdapter[Any](cast("Any", kind), config=_config_for(kind))
    adapter.rebuild(raise_errors=True, _types_namespace=signature.scope.names)
    return adapter


def _config_for(kind: Any) -> ConfigDict | None:
    """None for a typed dict, which has a configuration of its own."""
    return None if is_typeddict(kind) else _CONFIG | {"defer_build": True}


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema whose root is no reference, because clients look at the root for the type of the whole."""
    reference = schema.get("$ref")
    if reference is None:
        return schema
    target = schema["$defs"][reference.rpartition("/")[2]]
    return {**target, "$defs": schema["$defs"]}


def _model(signature: Signature, shape: ResultShape) -> Any:
    match shape.kind:
        case "value":
            return _wrapper(signature, portable(shape.annotation, signature.scope))
        case "dict":
            return Annotated[portable(shape.annotation, signature.scope), Field(title=f"{signature.name}DictOutput")]
        case "typed dict":
            return portable(shape.annotation, signature.scope)
        case "attributes":
            return _attribute_model(shape.annotation, signature)
        case "model":
            return shape.annotation


def _wrapper(signature: Signature, annotation: Any) -> type[BaseModel]:
    return create_model(f"{signature.name}Output", __config__=_CONFIG, __module__=_MODULE, result=(annotation, ...))


def _attribute_model(cls: type, signature: Signature) -> type[BaseModel]:
    """A model of the attributes that a class declares."""
    fields: dict[str, Any] = {}
    hints = {name: hint for name, hint in signature.scope.hints_of(cls).items() if _is_attribute(name, hint)}
    for name, hint in hints.items():
        field = safe_name(name, (*hints, *fields))
        default: Any = getattr(cls, name, ...)
        if hasattr(default, "__get__"):
            default = ...  # a slot or a property
        hint = portable(hint, signature.scope)
        fields[field] = (hint if field == name else Annotated[hint, Field(alias=name)], default)
    return create_model(cls.__name__, __config__=_CONFIG | {"from_attributes": True}, __module__=_MODULE, **fields)


def _is_attribute(name: str, hint: Any) -> bool:
    return not (
        name.startswith("_") or get_origin(hint) is ClassVar or hint in (ClassVar, KW_ONLY) or isinstance(hint, InitVar)
    )
