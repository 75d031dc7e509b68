"""The authorization server under test: that of examples/sign_in.py, whose user agrees to everything.

It prints its issuer and ends with its standard input. The suite is the client `conformance`, which has no secret.
"""

import socket
import sys
import threading

import uvicorn
from pydantic import AnyUrl
from sign_in import SignIn, authorization_server

from mcp.shared.auth import OAuthClientInformationFull

CLIENT_ID = "conformance"


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    provider = SignIn(f"http://127.0.0.1:{listener.getsockname()[1]}/", asks=False)
    provider.clients[CLIENT_ID] = OAuthClientInformationFull(
        client_id=CLIENT_ID,
        redirect_uris=[AnyUrl("http://127.0.0.1/callback")],
        token_endpoint_auth_method="none",
        scope="books:read",
    )
    config = uvicorn.Config(authorization_server(provider, ["books:read"]), log_level="warning")
    server = uvicorn.Server(config)
    threading.Thread(target=server.run, kwargs={"sockets": [listener]}).start()
    print(provider.issuer, flush=True)
    sys.stdin.read()
    server.should_exit = True


if __name__ == "__main__":
    main()
