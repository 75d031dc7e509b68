"""The names of `mcp.types.methods`, and two of `mcp.types.method_results` that programs import from here."""

from typing import TYPE_CHECKING, Any

from mcp.types import methods
from mcp.types.methods import *  # noqa: F403

if TYPE_CHECKING:
    from mcp.types.method_results import validate_server_result as validate_server_result

__all__: list[str] = []
__all__ += methods.__all__


def __getattr__(name: str) -> Any:
    # Late, since they load models.
    from mcp.types import method_results

    match name:
        case "MONOLITH_RESULTS":
            return method_results.result_models()
        case "validate_server_result":
            return method_results.validate_server_result
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
