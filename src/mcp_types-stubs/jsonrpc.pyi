from mcp.types.jsonrpc import *
