"""What a server of a handshake revision sends besides answers, on its way to the client's callbacks, and back."""

from mcp.client._http_calls import Calls
from mcp.client._http_renewal import ListenersRenewal
from mcp.client._http_requester import HTTPConnection
from mcp.client._http_session import HTTPSession, Receiver
from mcp.client.inbound import Inbound
from mcp.client.link_requester import ClientSide
from mcp.engine.backend import Spawner
from mcp.engine.duplex import Duplex
from mcp.engine.exchange import Exchange
from mcp.protocol.codec import Notification, RequestId

__all__ = ["handshake_session"]


def handshake_session(connection: HTTPConnection, inbound: Inbound, spawner: Spawner, calls: Calls) -> HTTPSession:
    """A session whose questions and notifications go to a client's callbacks.

    Args:
        connection: The endpoint.
        inbound: Takes the notifications, and answers the questions.
        spawner: Owns the session's tasks.
        calls: What is under way on the connection.
    """

    def receiver(session: HTTPSession) -> Receiver:
        # Nothing is asked through it: a client's requests have answers of their own, each in its response.
        return Duplex(_PostOutlet(session, spawner), spawner, _HTTPSide(session, inbound)).take

    session = HTTPSession(connection, calls, spawner, receiver)
    if inbound.renewal is not None:
        session.on_lost = ListenersRenewal(calls, spawner, inbound.renewal).start
    return session


class _HTTPSide(ClientSide):
    def __init__(self, session: HTTPSession, inbound: Inbound) -> None:
        super().__init__(inbound)
        self._session = session

    async def notified(self, notification: Notification, exchange: Exchange) -> None:
        params = notification.params or {}
        if notification.method == "notifications/progress":
            # It came on another stream than that of its request, where it would have been seen.
            token = params.get("progressToken")
            report = self._session.progress.get(token) if type(token) in (str, int) else None
            if report is not None:
                await report(params)
                return
        await super().notified(notification, exchange)


class _PostOutlet:
    """Posts the answers to the server's questions, each in a task of its own."""

    def __init__(self, session: HTTPSession, spawner: Spawner) -> None:
        self._session = session
        self._spawner = spawner

    def send(self, frame: bytes, related: RequestId | None = None, *, final: bool = False) -> None:
        self._spawner.spawn(self._session.post_quietly, frame)

    def abandoned(self, related: RequestId) -> None:
        """Nothing is held for it."""

    def behind(self) -> bool:
        """Nothing is queued."""
        return False

    async def drain(self, related: RequestId | None = None) -> None:
        """Nothing is queued."""
