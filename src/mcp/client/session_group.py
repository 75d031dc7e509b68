"""Many servers seen as one: their tools, resources and prompts in one place, under names that are unique."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, overload

import anyio
from typing_extensions import Self

from mcp import types
from mcp.client._offers import offers_of
from mcp.client.callbacks import ProgressFnT
from mcp.client.server_parameters import (
    ClientSessionParameters,
    ServerParameters,
    SseServerParameters,
    StreamableHttpParameters,
    open_session,
)
from mcp.client.session import ClientSession
from mcp.engine.backend import Spawner, asyncio_task, open_spawner
from mcp.engine.nursery import HeldInNursery
from mcp.engine.supervisor import Held
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import INVALID_PARAMS

__all__ = [
    "ClientSessionGroup",
    "ClientSessionParameters",
    "ServerParameters",
    "SseServerParameters",
    "StreamableHttpParameters",
]


_Connected: TypeAlias = tuple[types.Implementation, ClientSession]
_Component = TypeVar("_Component", types.Tool, types.Resource, types.Prompt)


class _Holder(Protocol):
    async def open(self) -> _Connected: ...

    async def close(self) -> None: ...


@dataclass
class _Member:
    """What one session has brought into the group."""

    holder: _Holder | None
    tools: dict[str, types.Tool]
    resources: dict[str, types.Resource]
    prompts: dict[str, types.Prompt]


class ClientSessionGroup:
    """Connections to many servers, with everything that the servers offer in one dictionary of each kind.

        async with ClientSessionGroup() as group:
            await group.connect_to_server(StdioServerParameters(command="library"))
            await group.connect_to_server(StreamableHttpParameters(url="http://localhost:8000/mcp"))
            result = await group.call_tool("search", {"query": "owls"})

    Leaving the block closes every connection that the group has opened, and leaves the group empty. On asyncio,
    connections may be opened and closed in any task.

    Args:
        exit_stack: Closes the connections that the group opens, in place of the group, which need not be entered then.
        component_name_hook: `(name, server_info) -> name`: under which name the group knows a tool, a resource or a
            prompt. It is asked about each of them; without it they keep their names.
    """

    def __init__(
        self,
        exit_stack: AsyncExitStack | None = None,
        component_name_hook: Callable[[str, types.Implementation], str] | None = None,
    ) -> None:
        self._exit_stack = exit_stack
        self._name_hook = component_name_hook
        self._members: dict[ClientSession, _Member] = {}
        self._tools: dict[str, types.Tool] = {}
        self._callers: dict[str, ClientSession] = {}
        self._resources: dict[str, types.Resource] = {}
        self._prompts: dict[str, types.Prompt] = {}
        self._own_tasks = AsyncExitStack()
        self._nursery: Spawner | None = None
        self._is_entered = False

    async def __aenter__(self) -> Self:
        self._is_entered = True
        if self._exit_stack is None and asyncio_task() is None:
            self._nursery = await self._own_tasks.enter_async_context(open_spawner())
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        self._is_entered = False
        try:
            if self._exit_stack is None:
                await self._close_all()
        finally:
            if self._exit_stack is None:
                self._nursery = None
            await self._own_tasks.aclose()
        return None

    @property
    def sessions(self) -> list[ClientSession]:
        """The sessions in the group."""
        return list(self._members)

    @property
    def tools(self) -> dict[str, types.Tool]:
        """The tools of all servers, by their names in the group."""
        return self._tools

    @property
    def resources(self) -> dict[str, types.Resource]:
        """The resources of all servers, by their names in the group."""
        return self._resources

    @property
    def prompts(self) -> dict[str, types.Prompt]:
        """The prompts of all servers, by their names in the group."""
        return self._prompts

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        allow_input_required: Literal[False] = False,
    ) -> types.CallToolResult: ...
    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        allow_input_required: bool,
    ) -> types.CallToolResult | types.InputRequiredResult: ...
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        allow_input_required: bool = False,
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Calls a tool on the server that has it.

        Args:
            name: The tool's name in the group.
            arguments: Its arguments.
            read_timeout_seconds: How long it may take, in seconds; the session's limit when left out.
            progress_callback: Takes progress reports, in order, before the call returns.
            input_responses: Answers to what an earlier try asked for.
            request_state: The state that the earlier try returned.
            meta: The request's `_meta`.
            allow_input_required: Return a request for input, instead of raising.

        Raises:
            KeyError: The group has no such tool.
            MCPError: The server answered with an error.
        """
        if name not in self._tools:
            raise KeyError(f"no tool {name!r} in the group, which has {sorted(self._tools)}")
        return await self._callers[name].call_tool(
            self._tools[name].name,
            arguments,
            read_timeout_seconds,
            progress_callback,
            input_responses=input_responses,
            request_state=request_state,
            meta=meta,
            allow_input_required=allow_input_required,
        )

    async def connect_to_server(
        self, server_params: ServerParameters, session_params: ClientSessionParameters | None = None
    ) -> ClientSession:
        """Connects to a server, opens a session with a handshake, and takes what it offers into the group.

        Args:
            server_params: How to reach the server.
            session_params: What to make the session with.

        Returns:
            The session, for `disconnect_from_server`.

        Raises:
            MCPError: The connection failed, or the server offers something under a name that the group has already.
                Then the connection is closed, and the group is as it was.
            TypeError: `server_params` is of none of the known types.
            RuntimeError: The group is not entered, or was left, and has no `exit_stack`.
        """
        self._check_closer()
        if self._exit_stack is not None and self._nursery is None and asyncio_task() is None:
            self._nursery = await self._exit_stack.enter_async_context(open_spawner())
        manager = open_session(server_params, session_params or ClientSessionParameters())
        holder: _Holder = Held(manager) if self._nursery is None else HeldInNursery(manager, self._nursery)
        server_info, session = await holder.open()
        try:
            member = await self._add(server_info, session, holder)
        except BaseException:
            with anyio.CancelScope(shield=True), suppress(Exception):
                await holder.close()
            raise
        if self._exit_stack is not None:
            self._exit_stack.push_async_callback(self._dismiss, session, member)
        return session

    def _check_closer(self) -> None:
        """Raises where nobody would close a connection."""
        if self._exit_stack is None and not self._is_entered:
            raise RuntimeError(
                "ClientSessionGroup must be used within an async context manager, `async with ClientSessionGroup() as"
                " group`, or with an exit_stack: that is what closes its connections"
            )

    async def connect_with_session(self, server_info: types.Implementation, session: ClientSession) -> ClientSession:
        """Takes what the server of an open session offers into the group. The group never closes this session.

        Args:
            server_info: Who the server is, for `component_name_hook`.
            session: The session.

        Raises:
            MCPError: The server offers something under a name that the group has already.
        """
        await self._add(server_info, session, None)
        return session

    async def disconnect_from_server(self, session: ClientSession) -> None:
        """Takes what a session has brought out of the group, and closes it if the group has opened it.

        Args:
            session: The session.

        Raises:
            MCPError: It is not in the group.
        """
        member = self._members.get(session)
        if member is None:
            raise MCPError(INVALID_PARAMS, "Provided session is not managed or already disconnected.")
        await self._dismiss(session, member)

    async def _dismiss(self, session: ClientSession, member: _Member) -> None:
        self._forget(session, member)
        await _close(member)

    def _forget(self, session: ClientSession, member: _Member) -> None:
        if self._members.get(session) is not member:
            return
        del self._members[session]
        known: tuple[dict[str, Any], ...] = (self._tools, self._callers, self._resources, self._prompts)
        for names, own in zip(known, (member.tools, member.tools, member.resources, member.prompts), strict=True):
            for name in own:
                names.pop(name, None)

    async def _add(self, server_info: types.Implementation, session: ClientSession, holder: _Holder | None) -> _Member:
        offers = await offers_of(session)
        member = _Member(
            holder,
            self._named(offers.tools, server_info),
            self._named(offers.resources, server_info),
            self._named(offers.prompts, server_info),
        )
        # Nothing awaits from here on, so two servers that connect at once cannot both have a name.
        if holder is not None:
            self._check_closer()
        _refuse_known(member.prompts, self._prompts, "prompts")
        _refuse_known(member.resources, self._resources, "resources")
        _refuse_known(member.tools, self._tools, "tools")
        self._prompts |= member.prompts
        self._resources |= member.resources
        self._tools |= member.tools
        self._callers |= dict.fromkeys(member.tools, session)
        self._members[session] = member
        return member

    def _named(self, components: list[_Component], server_info: types.Implementation) -> dict[str, _Component]:
        hook = self._name_hook
        return {one.name if hook is None else hook(one.name, server_info): one for one in components}

    async def _close_all(self) -> None:
        failures: list[Exception] = []
        members = self._members.copy()
        for session, member in members.items():
            self._forget(session, member)

        async def close(member: _Member) -> None:
            try:
                await _close(member)
            except Exception as failure:
                failures.append(failure)

        async with anyio.create_task_group() as group:
            for member in members.values():
                group.start_soon(close, member)
        if failures:
            raise failures[0]


async def _close(member: _Member) -> None:
    holder, member.holder = member.holder, None
    if holder is not None:
        await holder.close()


def _refuse_known(names: Iterable[str], known: dict[str, Any], kind: str) -> None:
    if clash := sorted(known.keys() & set(names)):
        shown = ", ".join(map(repr, clash))
        raise MCPError(INVALID_PARAMS, f"{{{shown}}} already exist in group {kind}.")
