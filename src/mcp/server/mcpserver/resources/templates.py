"""Templates: one function for all resources whose URIs look alike."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict, Field, InstanceOf, PrivateAttr
from pydantic_core import ValidationError
from typing_extensions import Self

from mcp.engine.isolation import contained
from mcp.server.mcpserver.edits import Edits
from mcp.server.mcpserver.exceptions import ResourceError, UnexpectedResourceError
from mcp.server.mcpserver.functions.failures import argument_problems
from mcp.server.mcpserver.functions.signature import MISSING, Signature, is_async_callable
from mcp.server.mcpserver.late import LateModel
from mcp.server.mcpserver.naming import name_for
from mcp.server.mcpserver.resources.base import Resource, failure_of
from mcp.server.mcpserver.resources.functions import FunctionResource
from mcp.server.mcpserver.resources.security import DEFAULT_RESOURCE_SECURITY, ResourceSecurity, ResourceSecurityError
from mcp.server.mcpserver.utilities.context_injection import find_context_parameter, inject_context
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata, func_metadata
from mcp.shared.exceptions import MCPError
from mcp.shared.path_security import contains_path_traversal, is_absolute_path
from mcp.shared.uri_template import UriTemplate
from mcp.types.base import Icon
from mcp.types.content import Annotations
from mcp.types.input_required import InputRequiredResult
from mcp.types.jsonrpc import INVALID_PARAMS

if TYPE_CHECKING:
    from mcp.server.mcpserver.context import Context

__all__ = [
    "DEFAULT_RESOURCE_SECURITY",
    "Annotations",
    "FunctionResource",
    "Icon",
    "InputRequiredResult",
    "MCPError",
    "Resource",
    "ResourceError",
    "ResourceSecurity",
    "ResourceSecurityError",
    "ResourceTemplate",
    "UnexpectedResourceError",
    "UriTemplate",
    "contains_path_traversal",
    "find_context_parameter",
    "func_metadata",
    "inject_context",
    "is_absolute_path",
    "is_async_callable",
]


class ResourceTemplate(LateModel):
    """Resources that one function makes, by what their URIs say.

    Attributes:
        uri_template: What the URIs look like, as an RFC 6570 template.
        name: What it is called.
        title: A name for people.
        description: What its resources are.
        mime_type: What their contents are.
        icons: Images that stand for it.
        annotations: Hints for whoever uses its resources.
        meta: Its `_meta`.
        fn: The function.
        parameters: The JSON Schema of the function's parameters.
        context_kwarg: The parameter of the function that receives the context; None without.
        parsed_template: The template, parsed.
        security: Which values reach the function.
    """

    model_config = ConfigDict(defer_build=True)

    uri_template: str
    name: str
    title: str | None = None
    description: str | None
    mime_type: str = "text/plain"
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None
    fn: Callable[..., Any] = Field(exclude=True)
    parameters: dict[str, Any]
    context_kwarg: str | None = None
    parsed_template: InstanceOf[UriTemplate] = Field(exclude=True)
    security: InstanceOf[ResourceSecurity] = Field(exclude=True)

    late_field = "parameters"
    edits: ClassVar[Edits] = Edits()
    _metadata: FuncMetadata = PrivateAttr()
    _is_async: bool = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Reads the function.

        Raises:
            InvalidSignature: It cannot be called by the names of variables.
        """
        skipped = [] if self.context_kwarg is None else [self.context_kwarg]
        self._metadata = func_metadata(self.fn, skipped, structured_output=False)
        self._is_async = is_async_callable(self.fn)

    def _worked_out(self) -> dict[str, Any]:
        return self._metadata.arg_model.model_json_schema()

    def complete(self) -> None:
        """Works out what was left for later; see `LateModel.complete`."""
        self._metadata.complete()
        self.peek()

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., Any],
        uri_template: str,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: list[Icon] | None = None,
        annotations: Annotations | None = None,
        meta: dict[str, Any] | None = None,
        context_kwarg: str | None = None,
        security: ResourceSecurity = DEFAULT_RESOURCE_SECURITY,
    ) -> Self:
        """The template of a function, whose parameters are the variables of the template.

        Args:
            fn: The function. Besides the variables it may take a `Context`. One that is not asynchronous runs in a
                worker thread.
            uri_template: What the URIs look like.
            name: What it is called; the name of the function if nothing is given.
            title: A name for people.
            description: What its resources are; the docstring of the function if nothing is given.
            mime_type: What their contents are; `text/plain` if nothing is given.
            icons: Images that stand for it.
            annotations: Hints for whoever uses its resources.
            meta: Its `_meta`.
            context_kwarg: The parameter that receives the context; found by its annotation if nothing is given.
            security: Which values reach the function.

        Raises:
            InvalidUriTemplate: The template cannot be read, or is ambiguous.
            ValueError: Variables and parameters differ, a variable that a URI may leave out has no default, or a lambda
                is given no name.
            InvalidSignature: The function cannot be called by the names of variables.
        """
        parsed = UriTemplate.parse(uri_template)
        if context_kwarg is None:
            context_kwarg = find_context_parameter(fn)
        signature = Signature(fn, () if context_kwarg is None else (context_kwarg,))
        signature.check()
        _compare(signature, parsed)
        template = cls(
            uri_template=uri_template,
            name=name_for(fn, name),
            title=title,
            description=signature.docstring if description is None else description,
            mime_type=mime_type or "text/plain",
            icons=icons,
            annotations=annotations,
            meta=meta,
            fn=fn,
            parameters={},
            context_kwarg=context_kwarg,
            parsed_template=parsed,
            security=security,
        )
        template._leave_for_later()
        return template

    def matches(self, uri: str) -> dict[str, str | list[str]] | None:
        """What a URI gives to the variables.

        Args:
            uri: The URI, percent-encoded or not.

        Returns:
            The values, decoded; None if the URI is not of this template.

        Raises:
            ResourceSecurityError: It is, and gives a value that `security` refuses.
        """
        values = self.parsed_template.match(uri)
        if values is not None:
            refused = self.security.validate(values)
            if refused is not None:
                raise ResourceSecurityError(self.uri_template, refused)
        return values

    async def create_resource(
        self, uri: str, params: dict[str, Any], context: "Context[Any, Any]"
    ) -> Resource | InputRequiredResult:
        """Calls the function.

        Args:
            uri: The URI that was asked for.
            params: The values of the variables.
            context: The context of the request.

        Returns:
            A resource whose contents are what the function returned; or its questions, if it asks for input.

        Raises:
            MCPError: A value is not what the parameter takes (-32602); or the function raised it.
            ResourceError: The function raised it, or, as `UnexpectedResourceError`, an exception of another kind.
        """
        try:
            result = await contained(self._call, uri, params, context)
        except Exception as error:
            failure = failure_of(error, f"Error creating resource from template {uri}")
            raise failure from (failure.__cause__ if failure is error else error)
        if isinstance(result, InputRequiredResult):
            return result

        async def returned() -> Any:
            return result

        return FunctionResource(
            uri=uri,
            name=self.name,
            title=self.title,
            description=self.description,
            mime_type=self.mime_type,
            icons=self.icons,
            annotations=self.annotations,
            meta=self.meta,
            fn=returned,
        )

    async def _call(self, uri: str, params: dict[str, Any], context: "Context[Any, Any]") -> Any:
        arguments = self._arguments(uri, params)
        injected = inject_context(self.fn, {}, context, self.context_kwarg)
        return await self._metadata.call_fn(self.fn, self._is_async, arguments, injected)

    def _arguments(self, uri: str, params: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._metadata.validate_arguments(params)
        except ValidationError as error:
            message = f"Invalid URI for resource template {self.uri_template!r}: {argument_problems(error)}"
            raise MCPError(INVALID_PARAMS, message, {"uri": uri}) from error


def _compare(signature: Signature, template: UriTemplate) -> None:
    variables, parameters = set(template.variable_names), set(signature.parameters)
    too_many = set[str]() if signature.extras is not None else variables - parameters
    if too_many or parameters - variables:
        raise ValueError(
            f"Mismatch between URI parameters {_shown(variables)} and function parameters {_shown(parameters)}"
        )
    for name in template.variable_names:
        parameter = signature.parameters.get(name)
        if name in template.query_variable_names and parameter is not None and parameter.default is MISSING:
            raise ValueError(
                f"Resource {template.template!r}: a URI may leave out the query parameter {name!r}, so the parameter "
                f"of function {signature.name} needs a default"
            )


def _shown(names: set[str]) -> str:
    return f"{{{', '.join(map(repr, sorted(names)))}}}" if names else "set()"
