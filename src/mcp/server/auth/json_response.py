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
        return content.model_dump_json(exclude_none=True).encode()
