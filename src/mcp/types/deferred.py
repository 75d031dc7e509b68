"""Fields whose type is imported and compiled when their first value arrives, not before."""

from functools import cached_property
from importlib import import_module
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema


class Deferred:
    """Annotation metadata: validate as the type called `name` in `module`, whatever the annotation says.

    Most programs never see the rare part of a common message. To name its type instead of importing it
    keeps the rare area unloaded, and breaks import cycles between areas.
    """

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(getattr(import_module(self.module), self.name))

    def validate(self, value: object) -> Any:
        return self.adapter.validate_python(value)

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validate, serialization=core_schema.any_schema())

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(self.adapter.core_schema)
