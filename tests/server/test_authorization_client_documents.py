"""Clients whose id is the URL of a document: what the server fetches, from where, and what it makes of it."""

import datetime
import json
import ssl
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import jwt
import pytest
from authorization_desk import CALLBACK, FORM, ISSUER, Desk, logged, refusal, sent_back
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from served_app import served
from sign_in import SignIn
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp.server.auth import client_documents
from mcp.server.auth.client_documents import ClientDocuments

pytestmark = pytest.mark.anyio


@dataclass
class Host:
    """Serves documents over TLS as `localhost`."""

    origin: str = ""
    documents: dict[str, ASGIApp] = field(default_factory=dict[str, ASGIApp])
    asked: list[str] = field(default_factory=list[str])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        self.asked.append(scope["path"])
        assert dict(scope["headers"])[b"host"] == self.origin.removeprefix("https://").encode()
        await self.documents[scope["path"]](scope, receive, send)

    def serve(self, path: str = "/shelf.json", headers: dict[str, str] | None = None, **changed: Any) -> str:
        """Serves a document that is in order, but for what is changed, or left out with None. Returns its URL."""
        url = f"{self.origin}{path}"
        document = {"client_id": url, "client_name": "Shelf", "redirect_uris": [CALLBACK], **changed}
        given = {name: value for name, value in document.items() if value is not None}
        self.documents[path] = JSONResponse(given, headers=headers)
        return url


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "localhost.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture(scope="module")
def serving(certificate: Path) -> Generator[Host, None, None]:
    host = Host()
    with served(host, ssl_certfile=certificate) as origin:
        host.origin = origin.replace("http://127.0.0.1", "https://localhost")
        yield host


@pytest.fixture
def host(serving: Host) -> Host:
    serving.documents.clear()
    serving.asked.clear()
    return serving


@pytest.fixture
def documents(certificate: Path) -> ClientDocuments:
    context = ssl.create_default_context(cafile=certificate)
    return ClientDocuments(["read", "write"], allow_private_addresses=True, ssl_context=context)


@pytest.fixture
def desk(documents: ClientDocuments) -> Desk:
    provider = SignIn(ISSUER, asks=False)
    provider.client_documents = documents
    return Desk(provider)


async def test_a_client_that_nobody_registered_gets_in_and_comes_back(desk: Desk, host: Host) -> None:
    client_id = host.serve()
    code = await desk.code(client_id=client_id)
    tokens = (await desk.exchange(code, client_id=client_id)).json()
    assert tokens["scope"] == ""
    form = {"grant_type": "refresh_token", "client_id": client_id, "refresh_token": tokens["refresh_token"]}
    assert (await desk.post("/token", form)).status_code == 200
    assert host.asked == ["/shelf.json"], "it is fetched once"
    assert desk.provider.clients == {}


async def test_the_server_says_that_it_reads_documents(desk: Desk) -> None:
    well_known = "/.well-known/oauth-authorization-server"
    assert (await desk.request("GET", well_known)).json()["client_id_metadata_document_supported"] is True
    assert "client_id_metadata_document_supported" not in (await Desk().request("GET", well_known)).json()


async def test_a_server_that_reads_no_documents_knows_no_such_client(host: Host) -> None:
    client_id = host.serve()
    assert refusal(await Desk().authorize(client_id=client_id))[2] == f"Client ID '{client_id}' not found"
    assert host.asked == []


@pytest.mark.parametrize(
    ("said", "asked", "granted"),
    [(None, "read write", "read write"), ("read admin", "read", "read"), (None, None, "")],
)
async def test_a_client_may_ask_for_what_the_server_offers_such_clients_and_it_says_itself(
    desk: Desk, host: Host, said: str | None, asked: str | None, granted: str
) -> None:
    client_id = host.serve(scope=said)
    code = await desk.code(client_id=client_id, scope=asked)
    assert (await desk.exchange(code, client_id=client_id)).json()["scope"] == granted
    for more in ("admin", "write" if said else "root"):
        assert sent_back(await desk.authorize(client_id=client_id, scope=more))["error"] == "invalid_scope"


async def test_a_client_with_keys_signs(desk: Desk, host: Host) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    jwks = {"keys": [jwt.get_algorithm_by_name("ES256").to_jwk(key.public_key(), as_dict=True)]}
    client_id = host.serve(token_endpoint_auth_method="private_key_jwt", jwks=jwks)
    code = await desk.code(client_id=client_id)
    assert refusal(await desk.exchange(code, client_id=client_id))[:2] == (401, "invalid_client")
    claims = {"iss": client_id, "sub": client_id, "aud": ISSUER, "jti": "1", "exp": time.time() + 60}
    assertion = {
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": jwt.encode(claims, key, algorithm="ES256"),
    }
    assert (await desk.exchange(code, client_id=client_id, **assertion)).status_code == 200


async def test_a_redirect_uri_is_one_of_the_document(desk: Desk, host: Host) -> None:
    refused = await desk.authorize(client_id=host.serve(), redirect_uri="https://evil.example.com/")
    assert refusal(refused)[2] == "Redirect URI 'https://evil.example.com/' not registered for client"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"client_id": "https://localhost/other.json"}, "its document is about another client_id"),
        ({"client_id": None}, "its document is about another client_id"),
        ({"client_secret": "x"}, "its document must not hold a secret"),
        ({"client_secret_expires_at": 0}, "its document must not hold a secret"),
        ({"client_name": None}, "its document must have a client_name and redirect_uris"),
        ({"redirect_uris": []}, "its document must have a client_name and redirect_uris"),
        ({"redirect_uris": None}, "its document must have a client_name and redirect_uris"),
        (
            {"redirect_uris": ["javascript:alert(1)"]},
            "its redirect URI 'javascript:alert(1)' cannot be used: its scheme must not be javascript",
        ),
        (
            {"application_type": "web"},
            f"its redirect URI '{CALLBACK}' cannot be used: a web application's must be https; one on the user's "
            "machine registers as application_type 'native'",
        ),
        (
            {"token_endpoint_auth_method": "client_secret_post"},
            "its token_endpoint_auth_method must be none, or private_key_jwt with its keys as jwks",
        ),
        (
            {"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://localhost/jwks"},
            "its token_endpoint_auth_method must be none, or private_key_jwt with its keys as jwks",
        ),
        ({"client_name": 1}, "its document is not in order: client_name: Input should be a valid string"),
        ({"client_uri": "x" * 6000}, "its document is larger than 5120 bytes"),
    ],
)
async def test_a_document_is_refused_that_is_not_in_order(
    desk: Desk, host: Host, changed: dict[str, Any], reason: str
) -> None:
    client_id = host.serve(**changed)
    refused = await desk.authorize(client_id=client_id)
    assert refusal(refused) == (400, "invalid_request", f"client_id: {reason}")
    refused = await desk.post("/token", {"client_id": client_id, "grant_type": "refresh_token", "refresh_token": "x"})
    assert refusal(refused) == (401, "invalid_client", f"client_id: {reason}")
    assert host.asked == ["/shelf.json", "/shelf.json"], "a failure is not kept"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Response(b"{", media_type="application/json"), "its document is not JSON"),
        (Response(b"[]", media_type="application/json"), "its document is not a JSON object"),
        (Response(status_code=404), "its document was answered with status 404"),
        (RedirectResponse("/shelf.json", 301), "its document was answered with status 301"),
    ],
)
async def test_an_answer_is_refused_that_is_no_document(desk: Desk, host: Host, answer: Response, reason: str) -> None:
    host.serve()
    host.documents["/other.json"] = answer
    refused = await desk.authorize(client_id=f"{host.origin}/other.json")
    assert refusal(refused)[2] == f"client_id: {reason}"
    assert host.asked == ["/other.json"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "it must have a path, without dots as segments"),
        ("/", "it must have a path, without dots as segments"),
        ("/a/../shelf.json", "it must have a path, without dots as segments"),
        ("/a/%2e%2e/shelf.json", "it must have a path, without dots as segments"),
        ("/shelf.json#x", "it must have a host, and neither a user name nor a fragment"),
        ("/shelf.json\\x", "it must have a host, and neither a user name nor a fragment"),
        ("@localhost/shelf.json", "it must have a host, and neither a user name nor a fragment"),
        ("0/shelf.json" * 9, "it is not a URL"),
    ],
)
async def test_an_id_that_is_no_proper_url_is_not_gone_to(desk: Desk, host: Host, path: str, reason: str) -> None:
    host.serve()
    assert refusal(await desk.authorize(client_id=host.origin + path))[2] == f"client_id: {reason}"
    assert host.asked == []


@pytest.mark.parametrize(
    "host_name",
    [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "10.0.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "2130706433",
        "[fd00::1]",
    ],
)
async def test_no_document_is_fetched_from_this_machine_or_a_private_network(host_name: str) -> None:
    refused = await _refused_by(ClientDocuments(["read"]), f"https://{host_name}/shelf.json")
    assert refused == "client_id: its host is not on the public network"


async def _refused_by(documents: ClientDocuments, client_id: str) -> str:
    provider = SignIn(ISSUER)
    provider.client_documents = documents
    return refusal(await Desk(provider).authorize(client_id=client_id))[2]


async def test_a_host_that_is_not_trusted_is_not_looked_up() -> None:
    documents = ClientDocuments(["read"], trusted_hosts=["shelf.example.com"])
    refused = await _refused_by(documents, "https://localhost/shelf.json")
    assert refused == "client_id: its host is not one that this server trusts"


async def test_a_certificate_that_is_not_good_is_refused(host: Host) -> None:
    documents = ClientDocuments(["read"], allow_private_addresses=True)
    refused = await _refused_by(documents, host.serve())
    assert refused == "client_id: its document cannot be fetched (ConnectError)"


async def test_a_name_that_leads_nowhere_is_refused(documents: ClientDocuments) -> None:
    refused = await _refused_by(documents, "https://shelf.invalid/shelf.json")
    assert refused == "client_id: its document cannot be fetched (gaierror)"


async def test_a_host_that_does_not_answer_is_not_waited_for(
    documents: ClientDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_documents, "_SECONDS", 0.2)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        with anyio.fail_after(10):
            refused = await _refused_by(documents, f"https://localhost:{port}/shelf.json")
    assert refused.startswith("client_id: its document cannot be fetched (")


async def test_an_address_that_cannot_be_reached_is_not_the_last_one(documents: ClientDocuments, host: Host) -> None:
    client_id = host.serve()
    body, seconds = await documents._read_from_any(client_id, urlsplit(client_id), ["127.0.0.2", "127.0.0.1"])
    assert json.loads(body)["client_id"] == client_id
    assert seconds == 300


async def test_no_more_than_so_many_are_fetched_at_once(
    documents: ClientDocuments, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_documents, "_MOST_AT_ONCE", 0)
    refused = await _refused_by(documents, host.serve())
    assert refused == "client_id: too many documents are being fetched; try again later"


class Held:
    """A document that its host holds back until it is let go."""

    def __init__(self, document: ASGIApp) -> None:
        self.document = document
        self.let_go = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await anyio.to_thread.run_sync(self.let_go.wait, 10)
        await self.document(scope, receive, send)


async def test_a_name_that_cannot_be_one_is_refused(documents: ClientDocuments) -> None:
    refused = await _refused_by(documents, "https://xn--\u00df/shelf.json")
    assert refused.startswith("client_id: its document cannot be fetched (")


async def test_who_asks_for_a_document_that_is_being_fetched_shares_it(documents: ClientDocuments, host: Host) -> None:
    client_id = host.serve(headers={"cache-control": "no-store"})
    held = host.documents["/shelf.json"] = Held(host.documents["/shelf.json"])
    found: list[Any] = []

    async def find() -> None:
        found.append(await documents.client(client_id))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for _ in range(150):
                tasks.start_soon(find)
            await anyio.wait_all_tasks_blocked()
            held.let_go.set()
    assert [client.client_id for client in found] == [client_id] * 150
    assert host.asked == ["/shelf.json"]
    await find()
    assert host.asked == ["/shelf.json"] * 2, "whoever comes later begins anew"


async def test_who_waits_for_a_document_that_is_not_in_order_shares_that_too(
    documents: ClientDocuments, host: Host
) -> None:
    client_id = host.serve(client_name=None)
    held = host.documents["/shelf.json"] = Held(host.documents["/shelf.json"])
    refused: list[str] = []

    async def find() -> None:
        refused.append(await _refused_by(documents, client_id))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(find)
            await anyio.wait_all_tasks_blocked()
            held.let_go.set()
    assert refused == ["client_id: its document must have a client_name and redirect_uris"] * 20
    assert host.asked == ["/shelf.json"]
    host.serve()
    assert await documents.client(client_id) is not None


async def test_who_waits_takes_over_where_the_first_one_gives_up(documents: ClientDocuments, host: Host) -> None:
    client_id = host.serve()
    document = host.documents["/shelf.json"]
    held = host.documents["/shelf.json"] = Held(document)
    found: list[Any] = []

    async def find() -> None:
        found.append(await documents.client(client_id))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks, anyio.create_task_group() as first:
            first.start_soon(find)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(find)
            await anyio.wait_all_tasks_blocked()
            host.documents["/shelf.json"] = document
            first.cancel_scope.cancel()
    held.let_go.set()
    assert [client.client_id for client in found] == [client_id]


async def test_a_network_of_slow_hosts_is_left_alone_and_known_clients_get_in(
    documents: ClientDocuments, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_documents, "_MOST_IN_ONE_NETWORK", 1)
    known = host.serve("/known.json", headers={"cache-control": "no-store"})
    assert await documents.client(known) is not None
    slow = host.serve("/slow.json")
    held = host.documents["/slow.json"] = Held(host.documents["/slow.json"])
    with anyio.fail_after(40):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(documents.client, slow)
            await anyio.wait_all_tasks_blocked()
            while "/slow.json" not in host.asked:
                await anyio.sleep(0.01)
            refused = await _refused_by(documents, host.serve("/new.json"))
            assert refused == "client_id: too many documents are being fetched; try again later"
            assert await documents.client(known) is not None
            held.let_go.set()
    assert await documents.client(host.serve("/new.json")) is not None


@pytest.mark.parametrize(
    ("control", "fetched"),
    [(None, 1), ("max-age=60", 1), ("max-age=0", 2), ("no-store", 2), ("no-cache, max-age=60", 2), ("public", 1)],
)
async def test_a_document_is_kept_as_long_as_its_host_says(
    desk: Desk, host: Host, control: str | None, fetched: int
) -> None:
    client_id = host.serve(headers={} if control is None else {"cache-control": control})
    for _ in range(2):
        await desk.code(client_id=client_id)
    assert len(host.asked) == fetched


async def test_a_host_that_is_down_for_a_moment_throws_no_user_out(
    desk: Desk, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    client_id = host.serve(headers={"cache-control": "no-store"})
    await desk.code(client_id=client_id)
    host.documents["/shelf.json"] = Response(status_code=503)
    code = await desk.code(client_id=client_id)
    assert (await desk.exchange(code, client_id=client_id)).status_code == 200
    monkeypatch.setattr(client_documents, "_LONGEST_OUTAGE", -1)
    refused = await desk.authorize(client_id=client_id)
    assert refusal(refused)[2] == "client_id: its document was answered with status 503"
    monkeypatch.undo()
    host.documents["/shelf.json"] = Response(status_code=404)
    refused = await desk.authorize(client_id=client_id)
    assert refusal(refused)[2] == "client_id: its document was answered with status 404"


async def test_what_is_kept_is_bounded(desk: Desk, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_documents, "_MOST_KEPT", 2)
    ids = [host.serve(f"/{n}.json") for n in range(3)]
    for client_id in (*ids, ids[2], ids[1], ids[0]):
        await desk.code(client_id=client_id)
    assert host.asked == ["/0.json", "/1.json", "/2.json", "/0.json"]


async def test_a_registered_client_is_not_looked_for_elsewhere(desk: Desk, host: Host) -> None:
    client_id = host.serve()
    desk.client(client_id=client_id)
    await desk.code(client_id=client_id)
    assert host.asked == []
    answer = await desk.post("/revoke", f"client_id={httpx2.URL(client_id)}&token=x", content_type=FORM)
    assert answer.status_code == 200


async def test_an_id_that_is_no_url_is_not_gone_to(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    for client_id in ("nobody", "http://localhost/shelf.json", "file:///etc/passwd"):
        assert refusal(await desk.authorize(client_id=client_id))[2] == f"Client ID '{client_id}' not found"
    assert logged(caplog) == ""
