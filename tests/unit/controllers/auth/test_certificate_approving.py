"""Approval of the certificates with which nodes join by a bootstrap token."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from podling.api.core_v1 import Node
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth import joining
from podling.apiserver.auth.pki import Pki
from podling.apiserver.auth.signing import RequestSigner
from podling.client.requests import User
from podling.controllers.auth.certificate_approving import CertificateApprovingController
from podling.controllers.auth.certificate_signing import CertificateSigningController
from podling.machinery import cluster_info
from podling.testing import ControlPlane
from tests.support.certificate_requests import KUBELET_CLIENT, KUBELET_SERVING, manifest, request_pem
from tests.support.control_loops import running
from tests.unit.controllers.auth.test_certificate_signing import (
    CLIENT_USAGES,
    SERVING_USAGES,
    ask,
    signed,
    told,
)

TOKEN_USER = User(
    "system:bootstrap:abcdef",
    ("system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token", "system:authenticated"),
)


@pytest.fixture
async def joinable(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[ControlPlane]:
    """A control plane that approves and signs, which bootstrap tokens may join."""
    signing = partial(CertificateSigningController, signer=RequestSigner(Pki(tmp_path / "pki")))
    await joining.publish(cluster.client, cluster_info.content("https://192.0.2.1:6443", b"x"))
    async with running(cluster.client, CertificateApprovingController, signing):
        yield cluster


async def ask_for_node(cluster: ControlPlane, request: str, node: str) -> list[str]:
    pem = request_pem(f"system:node:{node}", ["system:nodes"])
    await ask(cluster, manifest(request, pem, CLIENT_USAGES, KUBELET_CLIENT), TOKEN_USER)
    await cluster.advance(seconds=1)
    return await told(cluster, request)


async def test_token_gets_a_certificate_for_a_new_node(joinable: ControlPlane) -> None:
    text = "Approved AutoApproved: Auto approving kubelet client certificate after SubjectAccessReview."
    assert await ask_for_node(joinable, "r", "n1") == [text]
    assert (await signed(joinable, "r")).subject.rfc4514_string() == "CN=system:node:n1,O=system:nodes"


async def test_token_gets_no_certificate_of_a_node_that_exists(joinable: ControlPlane) -> None:
    await joinable.client.create(Node(metadata=ObjectMeta(name="n1")))
    found = await ask_for_node(joinable, "r", "n1")
    assert found[0].startswith('Denied NodeExists: a node named "n1" exists in the cluster: delete it first')


async def test_second_request_for_a_name_waits_for_the_first_node(joinable: ControlPlane) -> None:
    assert len(await ask_for_node(joinable, "first", "n1")) == 1
    assert await ask_for_node(joinable, "second", "n1") == []
    assert len(await ask_for_node(joinable, "third", "n2")) == 1
    await joinable.client.create(Node(metadata=ObjectMeta(name="n1")))
    await joinable.advance(seconds=30)
    assert (await told(joinable, "second"))[0].startswith("Denied NodeExists")


async def test_second_request_is_approved_if_no_node_appears(joinable: ControlPlane) -> None:
    await ask_for_node(joinable, "first", "n1")
    assert await ask_for_node(joinable, "second", "n1") == []
    await joinable.advance(seconds=30)
    assert (await told(joinable, "second"))[0].startswith("Approved")


async def test_token_gets_no_serving_certificate(joinable: ControlPlane) -> None:
    pem = request_pem("system:node:n1", ["system:nodes"], ["ip:192.0.2.7"])
    await ask(joinable, manifest("r", pem, SERVING_USAGES, KUBELET_SERVING), TOKEN_USER)
    await joinable.advance(seconds=5)
    assert await told(joinable, "r") == []
