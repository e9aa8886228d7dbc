"""A kubelet's server that listens, before and after it serves pods."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from podling.apiserver.auth.pki import KeyPair, Pki
from podling.client.requests import User
from podling.kubelet.config import KubeletConfig
from podling.kubelet.server.server import KubeletServer
from podling.kubelet.server.server_access import ServerAccess
from podling.testing import ControlPlane
from tests.unit.kubelet.server.served_kubelet import Client, Served, one_pod


@pytest.fixture
async def kubelet(tmp_path: Path, cluster: ControlPlane) -> AsyncIterator[Served]:
    pki = Pki(tmp_path / "pki")
    pair = pki.node_server("node", ("127.0.0.1",))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(pki.ca.certificate))
    context.load_cert_chain(pair.certificate, pair.key)
    context.verify_mode = ssl.CERT_OPTIONAL
    config = KubeletConfig()
    reviews = cluster.client_for(User("system:node:node", ("system:nodes", "system:authenticated")))
    logs = tmp_path / "log"
    logs.mkdir()
    access = ServerAccess(reviews, config, "node", "system:node:node")
    server = KubeletServer(context, access, config, log_directory=logs)
    port = await server.listen()
    certificates: Sequence[KeyPair | None] = (pki.kubelet_client(), pki.node("node"), None)
    clients = [Client(port, pki.ca.certificate, certificate) for certificate in certificates]
    yield Served(clients[0], clients[1], clients[2], await one_pod(), server, logs)
    for client in clients:
        await client.session.close()
    await server.close()


@pytest.fixture
async def served(kubelet: Served) -> Served:
    kubelet.server.serve(kubelet.source)
    return kubelet
