"""What a client and a server say they can do."""

from typing import Any

from mcp.types.base import MCPModel


class RootsCapability(MCPModel):
    """The client can list roots, and says so when they change if `list_changed`."""

    list_changed: bool | None = None


class SamplingContextCapability(MCPModel):
    """The client honours `include_context`."""


class SamplingToolsCapability(MCPModel):
    """The client honours `tools` and `tool_choice`."""


class SamplingCapability(MCPModel):
    """The client can sample from a model."""

    context: SamplingContextCapability | None = None
    tools: SamplingToolsCapability | None = None


class FormElicitationCapability(MCPModel):
    """The client can show a form."""


class UrlElicitationCapability(MCPModel):
    """The client can send its user to a URL."""


class ElicitationCapability(MCPModel):
    """The client can ask its user; with neither field set it shows forms."""

    form: FormElicitationCapability | None = None
    url: UrlElicitationCapability | None = None


class TasksListCapability(MCPModel):
    """Understands `tasks/list`."""


class TasksCancelCapability(MCPModel):
    """Understands `tasks/cancel`."""


class TasksCreateMessageCapability(MCPModel):
    """Runs `sampling/createMessage` as a task."""


class TasksSamplingCapability(MCPModel):
    """The sampling requests a client runs as tasks."""

    create_message: TasksCreateMessageCapability | None = None


class TasksCreateElicitationCapability(MCPModel):
    """Runs `elicitation/create` as a task."""


class TasksElicitationCapability(MCPModel):
    """The elicitation requests a client runs as tasks."""

    create: TasksCreateElicitationCapability | None = None


class ClientTasksRequestsCapability(MCPModel):
    """The requests a client runs as tasks."""

    sampling: TasksSamplingCapability | None = None
    elicitation: TasksElicitationCapability | None = None


class ClientTasksCapability(MCPModel):
    """The client runs requests as tasks (2025-11-25)."""

    list: TasksListCapability | None = None
    cancel: TasksCancelCapability | None = None
    requests: ClientTasksRequestsCapability | None = None


class ClientCapabilities(MCPModel):
    """What a client can do; an absent field means it cannot."""

    experimental: dict[str, dict[str, Any]] | None = None
    sampling: SamplingCapability | None = None
    elicitation: ElicitationCapability | None = None
    roots: RootsCapability | None = None
    extensions: dict[str, dict[str, Any]] | None = None
    tasks: ClientTasksCapability | None = None


class LoggingCapability(MCPModel):
    """The server sends log messages."""


class CompletionsCapability(MCPModel):
    """The server completes arguments."""


class PromptsCapability(MCPModel):
    """The server has prompts, and says so when they change if `list_changed`."""

    list_changed: bool | None = None


class ResourcesCapability(MCPModel):
    """The server has resources, and tells of changes to one (`subscribe`) or to the list."""

    subscribe: bool | None = None
    list_changed: bool | None = None


class ToolsCapability(MCPModel):
    """The server has tools, and says so when they change if `list_changed`."""

    list_changed: bool | None = None


class TasksCallCapability(MCPModel):
    """Runs `tools/call` as a task."""


class TasksToolsCapability(MCPModel):
    """The tool requests a server runs as tasks."""

    call: TasksCallCapability | None = None


class ServerTasksRequestsCapability(MCPModel):
    """The requests a server runs as tasks."""

    tools: TasksToolsCapability | None = None


class ServerTasksCapability(MCPModel):
    """The server runs requests as tasks (2025-11-25)."""

    list: TasksListCapability | None = None
    cancel: TasksCancelCapability | None = None
    requests: ServerTasksRequestsCapability | None = None


class ServerCapabilities(MCPModel):
    """What a server can do; an absent field means it cannot."""

    experimental: dict[str, dict[str, Any]] | None = None
    logging: LoggingCapability | None = None
    prompts: PromptsCapability | None = None
    resources: ResourcesCapability | None = None
    tools: ToolsCapability | None = None
    completions: CompletionsCapability | None = None
    extensions: dict[str, dict[str, Any]] | None = None
    tasks: ServerTasksCapability | None = None
