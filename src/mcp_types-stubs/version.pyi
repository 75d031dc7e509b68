from mcp.types.version import *
