"""Responses made of models."""

from typing import Any

from starlette.responses import JSONResponse

__all__ = ["PydanticJSONResponse"]


class PydanticJSONResponse(JSONResponse):
    """A response whose content is a model; what the model leaves at None is left out."""

    def render(self, content: Any) -> bytes:
        """The body.

        Args:
            content: The model.
        """
        # Without warnings, since a provider may refuse with a code that is registered elsewhere, and no model has it.
        return content.model_dump_json(exclude_none=True, warnings=False).encode()
