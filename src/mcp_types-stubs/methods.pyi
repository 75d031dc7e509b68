from mcp.types.methods import *
