"""Where version 1 had its sessions: importing it says where they are now."""

raise ModuleNotFoundError(
    f"No module named {__name__!r}: version 2 has no base class of sessions. Import ClientSession from "
    "mcp.client.session, ServerSession from mcp.server.session, ProgressFnT from mcp.shared.dispatcher and "
    "RequestId from mcp.types; a message_handler takes mcp.client.IncomingMessage, and is given no RequestResponder",
    name=__name__,
)
