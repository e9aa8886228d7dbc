"""Approval of the certificates of kubelets' servers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from podling.api.certificates_v1 import CertificateSigningRequest
from podling.api.core_v1 import (
    EndpointAddress,
    EndpointPort,
    Endpoints,
    EndpointSubset,
    Node,
)
from podling.api.meta_v1 import ObjectMeta
from podling.client.requests import User
from podling.controllers.auth.serving_certificate_approving import ServingCertificateApprovingController
from podling.machinery.encoding import codec
from podling.testing import ControlPlane
from tests.support.certificate_requests import KUBELET_CLIENT, KUBELET_SERVING, manifest, request_pem
from tests.support.control_loops import running

CSR = CertificateSigningRequest
USAGES = ["digital signature", "server auth"]
N1 = User("system:node:n1", ("system:nodes", "system:authenticated"))
OWN = ["dns:n1", "ip:192.0.2.1"]


async def conditions(cluster: ControlPlane, names: Sequence[str], user: User = N1, **spec: str) -> list[str]:
    """Return what becomes of a request of node ``n1`` (or ``user``) for these names."""
    node = Node(metadata=ObjectMeta(name="n2"))
    await cluster.client.create(node)
    addresses = [{"type": "InternalIP", "address": "192.0.2.2"}, {"type": "InternalIP", "address": "FD00::2"}]
    await cluster.client.patch(Node, "n2", {"status": {"addresses": addresses}}, subresource="status")
    subset = EndpointSubset(
        addresses=(EndpointAddress(ip="192.0.2.9"),), ports=(EndpointPort(name="https", port=6443),)
    )
    await cluster.client.create(
        Endpoints(metadata=ObjectMeta(name="kubernetes", namespace="default"), subsets=(subset,))
    )
    pem = request_pem(spec.pop("name", "system:node:n1"), ["system:nodes"], names)
    plain = manifest("r", pem, USAGES, spec.pop("signer", KUBELET_SERVING))
    async with running(cluster.client, ServingCertificateApprovingController):
        await cluster.client_for(user).create(codec.from_plain(plain, CSR))
        await cluster.advance(seconds=5)
    held = await cluster.client.get(CSR, "r")
    return [f"{each.type}: {each.message}" for each in held.status.conditions]


@pytest.mark.parametrize("names", [OWN, ["ip:192.0.2.1"], ["ip:192.0.2.1", "ip:fd00::1"]])
async def test_own_name_and_addresses_are_approved(cluster: ControlPlane, names: list[str]) -> None:
    text = "Auto approving kubelet serving certificate for the node's own name and addresses."
    assert await conditions(cluster, names) == [f"Approved: {text}"]


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["ip:192.0.2.2"], "192.0.2.2 is the address of node n2"),
        (["ip:fd00::2"], "fd00::2 is the address of node n2"),
        ([*OWN, "ip:192.0.2.9"], "192.0.2.9 is the address of the API server"),
        ([*OWN, "ip:10.96.0.1"], "10.96.0.1 is the address of the API server"),
        (["ip:127.0.0.1"], "127.0.0.1 is no address of one machine alone"),
        (
            ["ip:192.0.2.1", "dns:kubernetes.default.svc"],
            "kubernetes.default.svc is a name of the API server",
        ),
        (["ip:192.0.2.1", "dns:localhost"], "localhost is a name of the API server"),
    ],
)
async def test_names_and_addresses_of_others_are_denied(
    cluster: ControlPlane, names: list[str], why: str
) -> None:
    assert await conditions(cluster, names) == [f"Denied: {why}"]


@pytest.mark.parametrize("names", [["ip:192.0.2.1", "dns:n1.example.org"], ["dns:n1"]])
async def test_other_requests_wait_for_a_person(cluster: ControlPlane, names: list[str]) -> None:
    assert await conditions(cluster, names) == []


async def test_requests_of_others_and_for_others_wait(cluster: ControlPlane) -> None:
    admin = User("admin", ("system:masters",))
    assert await conditions(cluster, OWN, admin) == []


async def test_requests_of_other_signers_are_left_alone(cluster: ControlPlane) -> None:
    assert await conditions(cluster, OWN, signer=KUBELET_CLIENT) == []
