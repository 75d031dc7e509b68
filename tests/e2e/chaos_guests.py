"""The guests of the chaos run: sessions whose client drops streams, cancels, resumes, dawdles and disappears."""

import itertools
import json
import random
import socket
import struct
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import httpx2
from anyio.abc import SocketAttribute, SocketStream

SECONDS_FOR_AN_ACTION = 30
SECONDS_TO_DAWDLE = 0.3
# Small enough that a guest that does not read holds up the server.
RECEIVE_BUFFER = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)]
NO_ANSWER = "neither an answer nor an error"

Message = dict[str, Any]


class Ledger:
    """What became of every call: each must be answered once or fail once."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.wrongs: list[str] = []

    def settle(self, call: "Call", expected: str) -> None:
        """Notes the outcome of a call that is over.

        Args:
            call: The call.
            expected: "answered", "failed", or "either" where it is a race.
        """
        if len(call.answers) > 1:
            self.wrongs.append(f"{call.tool} got {len(call.answers)} answers: {call.answers}")
        outcome = "answered" if call.answers and call.is_right else "failed"
        if call.answers and not call.is_right and "error" not in call.answers[0]:
            self.wrongs.append(f"{call.tool} got the answer to another call: {call.answers[0]}")
        if expected not in ("either", outcome):
            self.wrongs.append(f"{call.tool} {outcome}, and should have {expected}: {call.answers or NO_ANSWER}")
        self.outcomes[f"{call.tool} {outcome}"] += 1


class Call:
    """One call, and every answer that any stream brought for it."""

    words = itertools.count()

    def __init__(self, id: int, tool: str) -> None:
        self.id = id
        self.tool = tool
        self.word = f"word {next(self.words)}"
        self.answers: list[Message] = []
        self.last_event: str | None = None

    @property
    def message(self) -> Message:
        arguments = {"name": self.tool, "arguments": {"word": self.word}, "_meta": {"progressToken": self.id}}
        return {"jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params": arguments}

    @property
    def is_right(self) -> bool:
        return [block["text"] for block in self.answers[0].get("result", {}).get("content", [])] == [self.word]

    def take(self, event_id: str | None, message: Message | None) -> None:
        self.last_event = event_id or self.last_event
        if message is not None and message.get("id") == self.id and "method" not in message:
            self.answers.append(message)


async def events_of(response: httpx2.Response) -> AsyncGenerator[tuple[str | None, Message | None]]:
    """The events of a stream: the id of each, and its message unless it has none."""
    event_id, data = None, ""
    async for line in response.aiter_lines():
        field, _, value = line.partition(":")
        if field == "id":
            event_id = value.strip()
        elif field == "data":
            data = value.strip()
        elif not line:
            yield event_id, json.loads(data) if data else None
            event_id, data = None, ""


class Guest:
    """One client with one session at a time.

    Args:
        http: The connections.
        url: The endpoint.
        ledger: Where outcomes go.
        chance: What the guest does next.
    """

    def __init__(self, http: httpx2.AsyncClient, url: str, ledger: Ledger, chance: random.Random) -> None:
        self._http = http
        self._url = url
        self._ledger = ledger
        self._chance = chance
        self._ids = itertools.count(1)
        self._session: str | None = None
        self._left_open: SocketStream | None = None
        self._actions: list[Callable[[], Awaitable[None]]] = [
            self.call_echo,
            self.call_with_progress,
            self.answer_a_question,
            self.cancel,
            self.lose_the_stream_and_resume,
            self.lose_the_stream,
            self.leave_a_request_half_sent,
            self.reset_the_connection,
            self.read_slowly,
            self.poll,
            self.listen_for_a_while,
            self.delete_the_session_during_a_call,
            self.disappear,
        ]

    async def stay(self, until: float) -> None:
        """Does one thing after the other until the clock shows the given time."""
        while anyio.current_time() < until:
            action = self._chance.choice(self._actions)
            try:
                with anyio.fail_after(SECONDS_FOR_AN_ACTION):
                    if self._session is None:
                        await self.open_a_session()
                    await action()
            except TimeoutError:
                self._ledger.wrongs.append(f"{action.__name__} did not end")
            except (httpx2.HTTPError, OSError, AssertionError) as error:
                self._ledger.wrongs.append(f"{action.__name__}: {error!r}")
                self._session = None
        await self.leave()
        if self._session is not None and self._chance.random() < 0.5:
            await self.delete()

    async def flood_and_leave(self) -> None:
        """Lets the server send all that one call of `flood` sends."""
        await self.open_a_session()
        await self.complete("flood")
        await self.delete()

    async def open_a_session(self) -> None:
        params: Message = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "guest", "version": "1"},
        }
        hello: Message = {"jsonrpc": "2.0", "id": next(self._ids), "method": "initialize", "params": params}
        async with self.post(hello) as response:
            assert response.status_code == 200, response.status_code
            self._session = response.headers["mcp-session-id"]
            await response.aread()
        await self.tell({"method": "notifications/initialized"})

    def headers(self, **more: str) -> dict[str, str]:
        headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25", **more}
        return headers if self._session is None else {**headers, "mcp-session-id": self._session}

    @asynccontextmanager
    async def post(self, message: Message) -> AsyncGenerator[httpx2.Response]:
        async with self._http.stream("POST", self._url, json=message, headers=self.headers()) as response:
            yield response

    async def tell(self, message: Message) -> int:
        async with self.post({"jsonrpc": "2.0", **message}) as response:
            await response.aread()
            return response.status_code

    async def delete(self) -> None:
        answer = await self._http.delete(self._url, headers=self.headers())
        assert answer.status_code == 200, answer.status_code
        self._session = None

    @asynccontextmanager
    async def calling(self, tool: str) -> AsyncGenerator[tuple[Call, AsyncGenerator[Message | None]]]:
        """Starts a call; its stream is dropped on leaving, and its answers are in the call."""
        call = Call(next(self._ids), tool)
        async with self.post(call.message) as response, aclosing(self.messages(call, response)) as messages:
            yield call, messages

    async def messages(self, call: Call, response: httpx2.Response) -> AsyncGenerator[Message | None]:
        assert response.status_code == 200, response.status_code
        async with aclosing(events_of(response)) as events:
            async for event_id, message in events:
                call.take(event_id, message)
                yield message

    async def resume(self, call: Call) -> None:
        """Fetches the rest of a call's stream, however often the server closes it."""
        while not call.answers:
            assert call.last_event is not None
            headers = self.headers(**{"last-event-id": call.last_event})
            async with self._http.stream("GET", self._url, headers=headers) as response:
                async for _ in self.messages(call, response):
                    if call.answers:
                        break

    async def complete(self, tool: str) -> None:
        async with self.calling(tool) as (call, messages):
            async for _ in messages:
                pass
        self._ledger.settle(call, "answered")

    async def call_echo(self) -> None:
        await self.complete("echo")

    async def call_with_progress(self) -> None:
        await self.complete("steps")

    async def answer_a_question(self) -> None:
        async with self.calling("ask") as (call, messages):
            async for message in messages:
                if message is not None and message.get("method") == "elicitation/create":
                    status = await self.tell({"id": message["id"], "result": {"action": "accept", "content": {}}})
                    assert status == 202, status
        self._ledger.settle(call, "answered")

    async def cancel(self) -> None:
        async with self.calling("wait") as (call, messages):
            async for message in messages:
                if message is not None and message.get("method") == "notifications/progress":
                    await self.tell({"method": "notifications/cancelled", "params": {"requestId": call.id}})
        self._ledger.settle(call, "failed")

    async def lose_the_stream_and_resume(self) -> None:
        async with self.calling("steps") as (call, messages):
            async for message in messages:
                if message is not None and self._chance.random() < 0.3:
                    break
        await self.resume(call)
        self._ledger.settle(call, "answered")

    async def lose_the_stream(self) -> None:
        async with self.calling("steps") as (call, messages):
            async for _ in messages:
                break
        self._ledger.settle(call, "failed")

    async def poll(self) -> None:
        async with self.calling("hang_up") as (call, messages):
            async for _ in messages:
                pass
        await self.resume(call)
        self._ledger.settle(call, "answered")

    async def read_slowly(self) -> None:
        async with self.calling("flood") as (call, messages):
            pauses = self._chance.sample(range(100), k=5)
            async for message in messages:
                if message is not None and message.get("params", {}).get("progress") in pauses:
                    await anyio.sleep(SECONDS_TO_DAWDLE)
        self._ledger.settle(call, "either")

    async def listen_for_a_while(self) -> None:
        async with self._http.stream("GET", self._url, headers=self.headers()) as response:
            # The server takes one listener a session, and may not have seen yet that the last one left.
            assert response.status_code in (200, 409), response.status_code
            await self.complete("announce")
            if response.status_code == 200:
                async with aclosing(events_of(response)) as events:
                    async for _, message in events:
                        if message is not None:
                            break

    async def delete_the_session_during_a_call(self) -> None:
        async with self.calling("wait") as (call, messages):
            async for message in messages:
                if message is not None and self._session is not None:
                    ended = self._session
                    await self.delete()
                    self._session = ended
                    assert await self.tell({"id": next(self._ids), "method": "ping"}) == 404
                    self._session = None
        self._ledger.settle(call, "failed")

    async def disappear(self) -> None:
        self._session = None

    async def leave_a_request_half_sent(self) -> None:
        """Sends half a request, and leaves the connection open until the next time or the end."""
        request = self.raw_request()
        await self.leave()
        self._left_open = await anyio.connect_tcp("127.0.0.1", httpx2.URL(self._url).port or 80)
        await self._left_open.send(request[: -len(request) // 10])

    async def leave(self) -> None:
        if self._left_open is not None:
            await self._left_open.aclose()
            self._left_open = None

    async def reset_the_connection(self) -> None:
        """Sends a request, and resets the connection without reading."""
        async with await anyio.connect_tcp("127.0.0.1", httpx2.URL(self._url).port or 80) as stream:
            await stream.send(self.raw_request())
            await anyio.sleep(self._chance.random() * SECONDS_TO_DAWDLE)
            raw = stream.extra(SocketAttribute.raw_socket)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def raw_request(self) -> bytes:
        body = json.dumps(Call(next(self._ids), "steps").message).encode()
        headers = self.headers(**{"content-length": str(len(body)), "content-type": "application/json"})
        target = httpx2.URL(self._url)
        lines = [f"POST {target.path} HTTP/1.1", f"Host: {target.netloc.decode()}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + body
