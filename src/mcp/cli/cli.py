"""The commands, as typer reads them. What a command does not need is not imported: `mcp version` loads no server."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

import typer

from mcp.cli.failure import CommandError

if TYPE_CHECKING:
    from mcp.server import MCPServer

__all__ = ["app", "dev", "install", "run", "version"]

Transport = Literal["stdio", "sse", "streamable-http"]

FileSpec = Annotated[str, typer.Argument(help="The server's Python file, with :object behind it where that is needed")]
Editable = Annotated[
    Path | None,
    typer.Option(
        "--with-editable",
        "-e",
        help="A folder with a pyproject.toml, installed in editable mode",
        exists=True,
        file_okay=False,
        resolve_path=True,
    ),
]
Packages = Annotated[list[str] | None, typer.Option("--with", help="A package to install beside the server")]

app = typer.Typer(
    name="mcp",
    help="Run, try out and install MCP servers.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@contextmanager
def _messages() -> Generator[None]:
    """Shows a `CommandError` as its text, and ends with exit code 1."""
    try:
        yield
    except CommandError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


@app.command()
def version() -> None:
    """Print the installed version."""
    from importlib.metadata import version

    typer.echo(f"MCP version {version('mcp')}")


@app.command()
def run(
    file_spec: FileSpec,
    transport: Annotated[
        str | None, typer.Option("--transport", "-t", help="stdio (the default), streamable-http or sse")
    ] = None,
) -> None:
    """Serve the MCPServer of a file, in this environment.

    The server is a global of the file named mcp, server or app, or the one that is named behind a colon: server.py:shop
    """
    with _messages():
        if transport is not None and transport not in get_args(Transport):
            known = ", ".join(get_args(Transport))
            raise CommandError(f"There is no transport {transport!r}: choose one of {known}")
        server = _load(file_spec)
    try:
        if transport is None:
            server.run()
        else:
            server.run(transport=cast("Transport", transport))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


@app.command()
def dev(file_spec: FileSpec, with_editable: Editable = None, with_packages: Packages = None) -> None:
    """Try a server out in the MCP Inspector; needs Node.js, npx and uv."""
    from mcp.cli.launching import become, inspector_command, uv_arguments
    from mcp.cli.programs import inspect_server, parse_spec

    with _messages():
        spec = parse_spec(file_spec)
        packages = [*inspect_server(spec).dependencies, *(with_packages or ())]
        arguments = uv_arguments(str(spec), with_packages=packages, with_editable=with_editable)
        command = inspector_command(arguments)
    become(command)


@app.command()
def install(
    file_spec: FileSpec,
    server_name: Annotated[
        str | None, typer.Option("--name", "-n", help="The entry's name; else the server's, or that of the file")
    ] = None,
    with_editable: Editable = None,
    with_packages: Packages = None,
    env_vars: Annotated[
        list[str] | None, typer.Option("--env-var", "-v", help="An environment variable: KEY=VALUE")
    ] = None,
    env_file: Annotated[
        Path | None,
        typer.Option("--env-file", "-f", help="A .env file with environment variables", exists=True, dir_okay=False),
    ] = None,
) -> None:
    """Put a server into Claude Desktop's configuration.

    Environment variables that are there already stay, unless they are given anew.
    """
    from mcp.cli.claude import get_uv_path, update_claude_config
    from mcp.cli.programs import ProgramImportError, inspect_server, parse_spec

    with _messages():
        environment = _environment(env_vars or (), env_file)
        spec = parse_spec(file_spec)
        name, packages = server_name, list(with_packages or ())
        try:
            server = inspect_server(spec)
        except ProgramImportError as error:
            # What it imports may be installed nowhere but in the environment that uv will build.
            typer.echo(f"{error}\nIt is installed nevertheless, without what it says of itself.", err=True)
        else:
            name, packages = name or server.name, [*server.dependencies, *packages]
        name = name or spec.file.stem
        written = update_claude_config(
            str(spec), name, with_editable=with_editable, with_packages=packages, env_vars=environment
        )
    if get_uv_path() == "uv":
        typer.echo("uv is not on PATH here, and Claude Desktop needs it: https://docs.astral.sh/uv", err=True)
    typer.echo(f"{name!r} is in {written}. Quit Claude Desktop and open it again.")


def _load(file_spec: str) -> "MCPServer[Any]":
    from mcp.cli.programs import load_server, parse_spec

    return load_server(parse_spec(file_spec))


def _environment(pairs: "list[str] | tuple[str, ...]", file: Path | None) -> dict[str, str]:
    """The variables of a file and of the command line, of which the latter win."""
    environment: dict[str, str] = {}
    if file is not None:
        from dotenv import dotenv_values

        try:
            values = dotenv_values(file)
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read as a .env file, which is UTF-8 text: {error}") from error
        environment.update({key: value for key, value in values.items() if value is not None})
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise CommandError(f"{pair!r} is no environment variable: write KEY=VALUE")
        environment[key.strip()] = value
    return environment
