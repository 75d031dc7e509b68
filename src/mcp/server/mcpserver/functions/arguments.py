"""The model of what a caller may pass to a function."""

from collections.abc import Collection, Mapping
from inspect import Parameter
from operator import eq
from types import new_class
from typing import Annotated, Any, ClassVar, Final, Literal, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, create_model
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError
from typing_extensions import Unpack

from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.functions.checks import refuse_injected, refuse_no_type, refuse_shared_names
from mcp.server.mcpserver.functions.docstrings import parameter_descriptions
from mcp.server.mcpserver.functions.local_models import complete
from mcp.server.mcpserver.functions.schemas import InputJsonSchema
from mcp.server.mcpserver.functions.signature import MISSING, Signature
from mcp.server.mcpserver.functions.typed_dicts import portable
from mcp.server.mcpserver.utilities.logging import get_logger

__all__ = [
    "POLICIES",
    "ArgModelBase",
    "UnknownArguments",
    "argument_model",
    "no_json_for",
    "refuse_unknown",
    "safe_name",
]

logger = get_logger(__name__)

UnknownArguments = Literal["suggest", "refuse"]
"""What happens to an argument that no parameter has the name of; see `refuse_unknown`."""

POLICIES: Final[tuple[UnknownArguments, ...]] = get_args(UnknownArguments)

MOST_COMPARED: Final = 20
"""So many unknown names of a call are looked at more closely; a client can send any number."""

LONGEST_COMPARED: Final = 200
"""No longer name is taken for a slip."""

_LOGGED: Final = 3
_MODEL_NAMES: Final = frozenset(dir(BaseModel))
_GENERATOR_POSITION: Final = 3
"""Of `schema_generator` among the parameters of `model_json_schema`."""


class ArgModelBase(BaseModel):
    """Base of the model of a function's arguments."""

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    _parameters: ClassVar[Mapping[str, str] | None] = None
    """The parameter of each field; None in a class written by hand, whose parameters are named by alias."""

    def model_dump_one_level(self) -> dict[str, Any]:
        """The arguments by the names of their parameters, each as the function wants it: a model stays a model."""
        parameters = type(self)._parameters
        if parameters is None:
            fields = type(self).model_fields.items()
            parameters = {name: field.alias or name for name, field in fields}
        arguments: dict[str, Any] = dict(self.__pydantic_extra__ or ())
        for field, value in self.__dict__.items():
            arguments[parameters[field]] = value
        return arguments

    @classmethod
    def names_are_parameters(cls) -> bool:
        """Whether each attribute has the name of the parameter that it is for."""
        return cls._parameters is not None and all(map(eq, cls._parameters.keys(), cls._parameters.values()))

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The JSON Schema of the arguments; the options are pydantic's."""
        if len(args) < _GENERATOR_POSITION:
            kwargs.setdefault("schema_generator", InputJsonSchema)
        return super().model_json_schema(*args, **kwargs)


class _OpenArguments(ArgModelBase):
    model_config = ConfigDict(extra="allow")


def argument_model(signature: Signature) -> type[ArgModelBase]:
    """The model of a function's arguments, with a validator that is ready.

    Raises:
        InvalidSignature: The type of a parameter does not exist, or no JSON can become it.
    """
    fields = _fields(signature)
    parameters: dict[str, str] = {}
    for name in fields:
        parameters[safe_name(name, (*fields, *parameters))] = name
    definitions = {field: fields[name] for field, name in parameters.items()}
    try:
        model = create_model(
            f"{signature.name}Arguments",
            __base__=_base(signature),
            __module__=__name__,
            **cast("dict[str, Any]", definitions),
        )
        model._parameters = parameters
        complete(model, signature.scope)
    except InvalidSignature:
        raise
    except Exception as error:
        # Metadata and classes of users take part in this, so it may be any.
        raise no_json_for(signature, error) from error
    fields_of_model = model.model_fields.items()
    refuse_shared_names(
        signature, [(parameters[it], name) for it, info in fields_of_model for name in _names(it, info)]
    )
    return model


def _names(field: str, info: FieldInfo) -> list[str]:
    """The one name that callers have for a parameter; none if it has several."""
    name = info.validation_alias or info.alias or field
    return [name] if isinstance(name, str) else []


def _base(signature: Signature) -> type[ArgModelBase]:
    extras = signature.extras
    if extras is None:
        return ArgModelBase
    value = Any if extras.annotation is MISSING else signature.evaluate(extras.annotation, f"**{extras.name}")
    refuse_injected(signature, extras.name, value)
    if value is Any or get_origin(value) is Unpack:
        return _OpenArguments
    namespace = {"__annotations__": {"__pydantic_extra__": dict[str, value]}, "__module__": __name__}
    return new_class("TypedExtras", (_OpenArguments,), {}, lambda body: body.update(namespace))


def safe_name(name: str, taken: Collection[str]) -> str:
    """A name that pydantic lets a field have: the name itself, if it does.

    Args:
        name: Of a parameter or an attribute.
        taken: Names that its fellows have.
    """
    field = name
    while field in _MODEL_NAMES or field.startswith(("_", "model_")) or (field != name and field in taken):
        field = f"field_{field.lstrip('_')}"
    return field


def _fields(signature: Signature) -> dict[str, tuple[Any, Any]]:
    """The type and the default of each parameter, as pydantic takes them."""
    described = parameter_descriptions(signature.docstring, signature.parameters)
    fields: dict[str, tuple[Any, Any]] = {}
    for name, parameter in signature.parameters.items():
        default = ... if parameter.default is MISSING else parameter.default
        annotation = _annotation(signature, parameter)
        explicit = [*_metadata(annotation), *([default] if isinstance(default, FieldInfo) else [])]
        extra: list[Any] = []
        if name in described and not any(field.description for field in explicit):
            extra.append(Field(description=described[name]))
        if safe_name(name, ()) != name and not any(field.alias for field in explicit):
            extra.append(Field(alias=name))
        for item in extra:
            annotation = Annotated[annotation, item]
        if default is ... and any(not field.is_required() for field in explicit):
            default = Field()  # keeps the default that the annotation gives
        fields[name] = (annotation, default)
    return fields


def _annotation(signature: Signature, parameter: Parameter) -> Any:
    if parameter.annotation is MISSING:
        return Annotated[Any, WithJsonSchema({"title": parameter.name, "type": "string"})]
    annotation = signature.evaluate(parameter.annotation, f"parameter {parameter.name!r}")
    refuse_no_type(signature, parameter.name, annotation)
    refuse_injected(signature, parameter.name, annotation)
    try:
        return portable(annotation, signature.scope)
    except NameError as error:
        raise InvalidSignature(
            f"Function {signature.name}: the type of parameter {parameter.name!r} names {error.name!r}, "
            "which is not defined where that type is"
        ) from error


def _metadata(annotation: Any) -> list[FieldInfo]:
    if get_origin(annotation) is not Annotated:
        return []
    return [item for item in get_args(annotation)[1:] if isinstance(item, FieldInfo)]


def no_json_for(signature: Signature, error: Exception) -> InvalidSignature:
    """The error that names the parameter which pydantic could not take."""
    blamed = ", ".join(signature.parameters)
    for name, (annotation, _) in _fields(signature).items():
        try:
            create_model(name, __base__=ArgModelBase, it=(annotation, ...)).model_json_schema()
        except Exception as its_error:
            blamed, error = name, its_error
            break
    problem = getattr(error, "message", None) or str(error)
    return InvalidSignature(f"Function {signature.name}: no JSON can become the parameter {blamed!r}: {problem}")


def refuse_unknown(
    model: type[ArgModelBase], given: Mapping[str, Any], known: Collection[str], policy: UnknownArguments
) -> None:
    """Looks at the arguments whose names are not known.

    One that is close to a parameter which was not given is a slip: the function would run on its default. Any other is
    ignored with a log line for all of them, because clients send more than they are asked for.

    Args:
        model: The model of the arguments.
        given: The arguments.
        known: The names that there are.
        policy: "refuse" takes no unknown name at all.

    Raises:
        ValidationError: There is a slip, or an unknown name that is refused.
    """
    # Most programs end without having needed it.
    from difflib import get_close_matches

    missing = [name for name in sorted(known) if name not in given]
    unknown = [name for name in given if name not in known]
    problems: list[InitErrorDetails] = []
    for name in unknown[:MOST_COMPARED]:
        meant = get_close_matches(name, missing, n=1) if len(name) <= LONGEST_COMPARED else []
        if meant:
            hint = f"did you mean {meant[0]!r}?"
        elif policy == "refuse":
            hint = f"expected {', '.join(map(repr, sorted(known))) or 'none'}"
        else:
            continue
        problem = PydanticCustomError("unknown_argument", "Unknown argument; {hint}", {"hint": hint})
        problems.append({"type": problem, "loc": (name,), "input": given[name]})
    if problems:
        raise ValidationError.from_exception_data(model.__name__, problems)
    _log_ignored(model, unknown)


def _log_ignored(model: type[ArgModelBase], names: list[str]) -> None:
    function = model.__name__.removesuffix("Arguments")
    if len(names) == 1:
        logger.info("%s: ignored the unknown argument %.100r", function, names[0])
        return
    shown = ", ".join(f"{name[:100]!r}" for name in names[:_LOGGED])
    more = f" and {len(names) - _LOGGED} more" if len(names) > _LOGGED else ""
    logger.info("%s: ignored the unknown arguments %s%s", function, shown, more)
