"""An HTTP proxy behind which there are HTTPS servers that a test has made up."""

import datetime
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.tls import TLSStream
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from scripted_http_server import Handler, Reply, read_request


@dataclass
class Proxy:
    """A running proxy.

    Attributes:
        url: What to set `HTTPS_PROXY` to.
        authority: The certificate file that a client must trust.
        reached: The host and port of each tunnel.
    """

    url: str
    authority: Path
    reached: list[str] = field(default_factory=list[str])


@asynccontextmanager
async def https_proxy(hosts: Mapping[str, Handler], folder: Path) -> AsyncGenerator[Proxy, None]:
    """Takes tunnels to some hosts and answers what comes through them. Nothing goes out on a network.

    Args:
        hosts: What answers for each host.
        folder: Takes the certificate and its key.
    """
    certificate = _certificate(list(hosts), folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    proxy = Proxy(f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}", certificate)

    async def tunnel(stream: SocketStream) -> None:
        async with stream:
            opening = await read_request(BufferedByteReceiveStream(stream))
            if opening is None:
                return
            assert opening.method == "CONNECT"
            proxy.reached.append(opening.target)
            await stream.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            secured = await TLSStream.wrap(stream, server_side=True, ssl_context=context, standard_compatible=False)
            received = BufferedByteReceiveStream(secured)
            while (request := await read_request(received)) is not None:
                await hosts[request.headers["host"]](request, Reply(secured, received))

    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, tunnel)
        yield proxy
        group.cancel_scope.cancel()


def _certificate(hosts: list[str], folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, hosts[0])])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "certificate.pem"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
    return file
