"""First certificates with a token, on virtual time, with the cluster's own approver and signer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from podling import clock
from podling.api.certificates_v1 import CertificateSigningRequest
from podling.api.core_v1 import Node
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth import joining
from podling.apiserver.auth.pki import Pki
from podling.apiserver.auth.signing import RequestSigner
from podling.client.requests import User
from podling.controllers.auth.certificate_approving import CertificateApprovingController
from podling.controllers.auth.certificate_signing import CertificateSigningController
from podling.node.joining.key_pairs import new_key, period
from podling.node.joining.refusals import JoinRefused
from podling.node.joining.tls_bootstrap import check_name, first_certificate
from podling.testing import ControlPlane
from tests.support.control_loops import running

TOKEN_USER = User(
    "system:bootstrap:abcdef",
    ("system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token", "system:authenticated"),
)


@pytest.fixture
async def joinable(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[ControlPlane]:
    """A control plane that nodes may join."""
    signing = partial(CertificateSigningController, signer=RequestSigner(Pki(tmp_path / "pki")))
    await joining.publish(cluster.client, "text")
    async with running(cluster.client, CertificateApprovingController, signing):
        yield cluster


async def test_token_gets_the_first_certificate(joinable: ControlPlane) -> None:
    key, client = new_key(), joinable.client_for(TOKEN_USER)
    await check_name(client, "n1")
    started = clock.now()
    found = period(await first_certificate(client, "n1", key, 30))
    assert found.user == "system:node:n1"
    assert clock.now() - started < timedelta(seconds=1)


async def test_interrupted_request_is_found_again(joinable: ControlPlane) -> None:
    key, client = new_key(), joinable.client_for(TOKEN_USER)
    first = await first_certificate(client, "n1", key, 30)
    assert await first_certificate(client, "n1", key, 30) == first
    assert len((await joinable.client.list(CertificateSigningRequest)).items) == 1


async def test_name_of_another_node_is_refused(joinable: ControlPlane) -> None:
    client = joinable.client_for(TOKEN_USER)
    await joinable.client.create(Node(metadata=ObjectMeta(name="n1")))
    with pytest.raises(JoinRefused, match='a node named "n1" exists in the cluster: delete it first'):
        await check_name(client, "n1")
    with pytest.raises(JoinRefused, match='a node named "n1" exists in the cluster: delete it first'):
        await first_certificate(client, "n1", new_key(), 30)


async def test_user_without_rights_is_refused(joinable: ControlPlane) -> None:
    client = joinable.client_for(User("system:bootstrap:aaaaaa", ("system:bootstrappers",)))
    with pytest.raises(JoinRefused, match='the token may not look up nodes: nodes "n1" is forbidden'):
        await check_name(client, "n1")
    with pytest.raises(JoinRefused, match="the token may not request certificates"):
        await first_certificate(client, "n1", new_key(), 30)


async def test_request_without_approval_is_refused_in_time(cluster: ControlPlane) -> None:
    await joining.publish(cluster.client, "text")
    started = clock.now()
    with pytest.raises(JoinRefused, match=r"not approved within 30 s; .* kubectl certificate approve"):
        await first_certificate(cluster.client_for(TOKEN_USER), "n1", new_key(), 30)
    assert clock.now() - started == timedelta(seconds=30)
