"""Parameters of tools that functions of the server fill in: what `mcp.server.mcpserver.resolve` is made of."""
