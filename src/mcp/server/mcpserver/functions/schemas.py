"""Making JSON Schemas that are JSON, and that say what is sent."""

from typing import Any

from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import PydanticSerializationError, core_schema, from_json, to_json

__all__ = ["InputJsonSchema", "OutputJsonSchema", "StrictJsonSchema"]


class InputJsonSchema(GenerateJsonSchema):
    """Leaves out a default that JSON cannot express, such as infinity; what has it stays optional."""

    def generate(self, schema: core_schema.CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        """The JSON Schema of a core schema.

        Raises:
            PydanticInvalidForJsonSchema: It refers to what is not part of it.
        """
        try:
            return super().generate(schema, mode)
        except KeyError as error:
            message = f"its schema refers to {error.args[0]!r}, which is not part of it, and schemas are never fetched"
            raise PydanticInvalidForJsonSchema(message) from error

    def encode_default(self, dft: Any) -> Any:
        """The default in JSON.

        Raises:
            PydanticSerializationError: JSON has no such value.
        """
        default = super().encode_default(dft)
        try:
            from_json(to_json(dft, inf_nan_mode="constants", fallback=str), allow_inf_nan=False)
        except ValueError as error:
            raise PydanticSerializationError(str(error)) from error
        return default

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Keeps quiet about defaults that are left out, and warns of everything else."""
        if kind != "non-serializable-default":
            super().emit_warning(kind, detail)


class StrictJsonSchema(GenerateJsonSchema):
    """Raises where a schema would say less than the type does."""

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Raises what would be a warning.

        Raises:
            ValueError: Always, with the detail.
        """
        raise ValueError(f"JSON schema warning: {kind} - {detail}")


class OutputJsonSchema(InputJsonSchema, StrictJsonSchema):
    """Describes values as they are sent: by their aliases for output, with computed fields, without excluded ones."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        """A number, or a string of digits: readers should take either."""
        return {"anyOf": [{"type": "number"}, super().decimal_schema(schema)]}
