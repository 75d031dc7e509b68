"""An import path that programs use; the home of the names is `mcp.client.input_rounds`."""

from mcp.client.input_rounds import MOST_ROUNDS as DEFAULT_INPUT_REQUIRED_MAX_ROUNDS
from mcp.client.input_rounds import InputRequiredRoundsExceededError
from mcp.client.input_rounds import driven_rounds as run_input_required_driver

__all__ = ["DEFAULT_INPUT_REQUIRED_MAX_ROUNDS", "InputRequiredRoundsExceededError", "run_input_required_driver"]
