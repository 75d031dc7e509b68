"""Where version 1 had its server class: importing it says what it is called now."""

raise ModuleNotFoundError(
    f"No module named {__name__!r}: in version 2 FastMCP is MCPServer (from mcp.server import MCPServer, Context), and "
    "mcp.server.fastmcp.* is mcp.server.mcpserver.*. A program that must stay as it is needs the older release: "
    "pip install 'mcp<2'",
    name=__name__,
)
