from mcp.types import *
