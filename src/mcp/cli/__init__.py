"""The `mcp` command: `run`, `dev`, `install`, `version`. It needs the extra `cli`, and nothing else imports it."""

try:
    from mcp.cli.cli import app
except ModuleNotFoundError as error:
    if error.name != "typer":
        raise
    raise SystemExit("The mcp command needs typer, which is not installed: pip install 'mcp[cli]'") from None

__all__ = ["app"]
