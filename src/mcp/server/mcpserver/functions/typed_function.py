"""A function that is registered: what is read of it at once, and what is worked out of that later."""

from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.functions.arguments import ArgModelBase, UnknownArguments, argument_model, no_json_for
from mcp.server.mcpserver.functions.plain_types import is_plain
from mcp.server.mcpserver.functions.reader import ArgumentReader
from mcp.server.mcpserver.functions.returns import NoSchemaError, refuse_mixed_results, result_shape
from mcp.server.mcpserver.functions.signature import MISSING, Signature
from mcp.server.mcpserver.functions.structured import Output, output_of

__all__ = ["TypedFunction"]


class TypedFunction:
    """A function that serves as a tool.

    Args:
        function: Any callable.
        skip: Parameters that the library fills in.
        structured: Whether there is structured content; None leaves that to the return type.
        unknown: What happens to arguments that no parameter has the name of.

    Raises:
        InvalidSignature: The function cannot be a tool as it is.
    """

    def __init__(
        self, function: Callable[..., Any], skip: Collection[str], structured: bool | None, unknown: UnknownArguments
    ) -> None:
        self._signature = Signature(function, skip)
        self._signature.check()
        self._structured = structured
        self._unknown: UnknownArguments = unknown
        self._check_arguments()
        self._check_result()

    def _check_arguments(self) -> None:
        """Builds their model at once if there could be anything wrong with it, so that the program does not start."""
        taken = [*self._signature.parameters.values(), self._signature.extras]
        written = [it.annotation for it in taken if it is not None and it.annotation is not MISSING]
        if all(is_plain(annotation) for annotation in written):
            return
        if all(self._signature.resolves(annotation) for annotation in written):
            _ = self.input_schema
        else:
            self._signature.is_late = True

    def _check_result(self) -> None:
        name, returns = self._signature.name, self._signature.returns
        if self._structured and returns is MISSING:
            raise InvalidSignature(f"Function {name}: return annotation required for structured output")
        if self._structured is False or returns is MISSING or not self._signature.resolves(returns):
            return
        refuse_mixed_results(name, self._returned)
        if self._structured:
            self.complete()

    @property
    def _returned(self) -> Any:
        return self._signature.evaluate(self._signature.returns, "what it returns")

    @cached_property
    def arg_model(self) -> type[ArgModelBase]:
        """The model of the arguments.

        Raises:
            InvalidSignature: The type of a parameter does not exist, or no JSON can become it.
        """
        model = argument_model(self._signature)
        self._forget_locals(unless_needed_for="output")
        return model

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments.

        Raises:
            InvalidSignature: As for `arg_model`.
        """
        model = self.arg_model
        try:
            return model.model_json_schema(by_alias=True)
        except Exception as error:
            # Classes of users take part in this, so it may be any.
            raise no_json_for(self._signature, error) from error

    @cached_property
    def reader(self) -> ArgumentReader:
        """Validates arguments.

        Raises:
            InvalidSignature: As for `arg_model`.
        """
        signature = self._signature
        return ArgumentReader(self.arg_model, signature.positional_only, signature.skipped, self._unknown)

    @cached_property
    def output(self) -> Output | None:
        """The structured output; None without any.

        Raises:
            InvalidSignature: There has to be structured output, and the return type has none; or it does not exist.
        """
        if self._structured is False or self._signature.returns is MISSING:
            return None
        returned = self._returned
        try:
            shape = result_shape(self._signature.name, returned, readable_too=bool(self._structured))
            output = None if shape is None else output_of(self._signature, shape)
        except NoSchemaError as error:
            if self._structured:
                raise InvalidSignature(
                    f"Function {self._signature.name}: return type {returned} is not serializable for structured output"
                ) from error
            output = None
        self._forget_locals(unless_needed_for="arg_model")
        return output

    def _forget_locals(self, unless_needed_for: str) -> None:
        """Lets go of what the functions around this one had in their variables, once every annotation is read."""
        if unless_needed_for in self.__dict__:
            self._signature.scope.locals = {}

    def complete(self) -> None:
        """Works out everything.

        Raises:
            InvalidSignature: As for `arg_model` and `output`.
        """
        _ = self.reader, self.output
