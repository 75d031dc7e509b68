from collections.abc import Mapping
from types import UnionType

from mcp.types import Result
from mcp.types.method_results import validate_server_result as validate_server_result
from mcp.types.methods import *

MONOLITH_RESULTS: Mapping[str, type[Result] | UnionType]
