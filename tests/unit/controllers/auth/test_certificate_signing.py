"""Requests for certificates: who approves them, what is signed and for how long, and when they are gone."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from podling import clock
from podling.api.certificates_v1 import CertificateSigningRequest
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRoleBinding, RoleRef, Subject
from podling.apiserver.auth.pki import Pki
from podling.apiserver.auth.signing import RequestSigner, period
from podling.client.local import LocalClient
from podling.client.requests import User
from podling.controllers.auth.certificate_approving import CertificateApprovingController
from podling.controllers.auth.certificate_cleaner import PASS, CertificateCleanerController
from podling.controllers.auth.certificate_signing import CertificateSigningController
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError, forbidden
from podling.sim.connection import Connection, RequestFault
from podling.sim.loop import EPOCH
from podling.testing import ControlPlane
from tests.support.certificate_requests import (
    KUBELET_CLIENT,
    KUBELET_SERVING,
    manifest,
    request_pem,
)
from tests.support.control_loops import running
from tests.support.one_pass import following

CSR = CertificateSigningRequest


NODE = ("system:node:n1", ["system:nodes"])


CLIENT_USAGES = ["digital signature", "client auth"]


SERVING_USAGES = ["digital signature", "server auth"]


@pytest.fixture
async def at_work(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[ControlPlane]:
    """A control plane whose three controllers of certificates run."""
    signing = partial(CertificateSigningController, signer=RequestSigner(Pki(tmp_path / "pki")))
    loops = (CertificateApprovingController, signing, CertificateCleanerController)
    async with running(cluster.client, *loops):
        yield cluster


async def ask(cluster: ControlPlane, plain: dict[str, Any], user: User | None = None) -> None:
    client = cluster.client if user is None else cluster.client_for(user)
    await client.create(codec.from_plain(plain, CSR))


async def decide(cluster: ControlPlane, name: str, type_: str) -> None:
    """Add a condition like ``kubectl certificate approve`` and ``deny``."""
    condition = {"type": type_, "status": "True", "reason": f"Kubectl{type_}", "message": "fine"}
    await cluster.client.patch(CSR, name, {"status": {"conditions": [condition]}}, subresource="approval")
    await cluster.advance(seconds=1)


async def signed(cluster: ControlPlane, name: str) -> x509.Certificate:
    held = await cluster.client.get(CSR, name)
    return x509.load_pem_x509_certificate(base64.b64decode(held.status.certificate or ""))


async def told(cluster: ControlPlane, name: str) -> list[str]:
    held = await cluster.client.get(CSR, name)
    return [f"{each.type} {each.reason}: {each.message}" for each in held.status.conditions]


async def exists(cluster: ControlPlane, name: str) -> bool:
    return name in [each.metadata.name for each in (await cluster.client.list(CSR)).items]


async def test_an_approved_request_gets_its_certificate(at_work: ControlPlane) -> None:
    pem = request_pem("jane", ["dev", "ops"])
    await ask(at_work, manifest("jane", pem, CLIENT_USAGES, expirationSeconds=3600))
    await at_work.advance(seconds=5)
    assert (await at_work.client.get(CSR, "jane")).status.certificate == ""
    now = clock.now().replace(microsecond=0)
    await decide(at_work, "jane", "Approved")
    made = await signed(at_work, "jane")
    assert made.subject == x509.load_pem_x509_csr(pem).subject
    assert made.not_valid_before_utc == now - timedelta(minutes=5)
    assert made.not_valid_after_utc == now + timedelta(hours=1)
    usage = made.extensions.get_extension_for_class(x509.KeyUsage)
    assert (usage.critical, usage.value.digital_signature, usage.value.key_encipherment) == (
        True,
        True,
        False,
    )
    extended = made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert [each.dotted_string for each in extended] == ["1.3.6.1.5.5.7.3.2"]
    assert not made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


@pytest.mark.parametrize(
    ("seconds", "lasts"),
    [
        (None, timedelta(days=365, minutes=-5)),
        (100 * 365 * 86400 // 50, timedelta(days=365, minutes=-5)),
        (8 * 3600, timedelta(hours=8, minutes=-5)),
        (8 * 3600 - 1, timedelta(hours=8, seconds=-1)),
        (600, timedelta(minutes=10)),
    ],
)
async def test_expiration_seconds_bound_certificate_lifetime(
    at_work: ControlPlane, seconds: int | None, lasts: timedelta
) -> None:
    await ask(at_work, manifest("x", request_pem("x"), CLIENT_USAGES, expirationSeconds=seconds))
    now = clock.now().replace(microsecond=0)
    await decide(at_work, "x", "Approved")
    assert (await signed(at_work, "x")).not_valid_after_utc == now + lasts


def test_no_certificate_outlives_the_authority() -> None:
    day, minute = timedelta(days=1), timedelta(minutes=1)
    assert period(day, EPOCH, EPOCH + day / 2) == (EPOCH - 5 * minute, EPOCH + day / 2)
    with pytest.raises(
        ValueError, match="refusing to sign a certificate that expired in the past: NotAfter="
    ):
        period(day, EPOCH, EPOCH - minute)
    with pytest.raises(ValueError, match="the signer has expired: NotAfter="):
        period(day, EPOCH, EPOCH - 5 * minute)


async def test_a_denied_request_stays_unsigned_and_goes(at_work: ControlPlane) -> None:
    await ask(at_work, manifest("jane", request_pem("jane"), CLIENT_USAGES))
    await decide(at_work, "jane", "Denied")
    await at_work.advance(minutes=50)
    assert (await at_work.client.get(CSR, "jane")).status.certificate == ""
    await at_work.advance(hours=2)
    assert not await exists(at_work, "jane")


async def test_requests_are_swept_up(at_work: ControlPlane) -> None:
    await ask(at_work, manifest("waiting", request_pem("jane"), CLIENT_USAGES))
    await ask(at_work, manifest("short", request_pem("jane"), CLIENT_USAGES, expirationSeconds=600))
    await ask(at_work, manifest("elsewhere", request_pem("jane"), CLIENT_USAGES, "example.com/own"))
    await decide(at_work, "short", "Approved")
    await decide(at_work, "elsewhere", "Approved")
    await at_work.advance(minutes=61)
    assert not await exists(at_work, "short")
    await at_work.advance(hours=22)
    assert await exists(at_work, "waiting")
    assert await exists(at_work, "elsewhere")
    await at_work.advance(hours=3)
    assert not await exists(at_work, "waiting")
    assert not await exists(at_work, "elsewhere")


async def test_usage_the_signer_does_not_allow_fails(at_work: ControlPlane) -> None:
    await ask(at_work, manifest("x", request_pem("x"), ["client auth", "server auth"]))
    await decide(at_work, "x", "Approved")
    assert (await told(at_work, "x"))[1:] == [
        "Failed SignerValidationFailure: invalid usage for client certificate: server auth"
    ]
    assert (await at_work.client.get(CSR, "x")).status.certificate == ""


N, G = NODE


async def test_a_serving_certificate_has_its_names(at_work: ControlPlane) -> None:
    names = ["dns:n1", "ip:10.0.0.1"]
    await ask(at_work, manifest("n1", request_pem(N, G, names), SERVING_USAGES, KUBELET_SERVING))
    await at_work.advance(minutes=5)
    assert await told(at_work, "n1") == []  # serving certificates wait for a person
    await decide(at_work, "n1", "Approved")
    found = (await signed(at_work, "n1")).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert [str(each.value) for each in found.value] == ["n1", "10.0.0.1"]


async def bind(cluster: ControlPlane, role: str, group: str) -> None:
    group_subject = Subject(api_group="rbac.authorization.k8s.io", kind="Group", name=group)
    name = f"system:certificates.k8s.io:certificatesigningrequests:{role}"
    await cluster.client.create(
        ClusterRoleBinding(
            metadata=ObjectMeta(name=role),
            role_ref=RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=name),
            subjects=(group_subject,),
        )
    )


async def may_ask(cluster: ControlPlane, *groups: str) -> None:
    """Let members of ``groups`` make requests, as the kubeadm of a cluster does."""
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": each} for each in groups]
    plain = {
        "metadata": {"name": "bootstrappers"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "system:node-bootstrapper",
        },
        "subjects": subjects,
    }
    await cluster.client.create(codec.from_plain(plain, ClusterRoleBinding))


async def test_a_node_joins_by_itself_once_it_may(at_work: ControlPlane) -> None:
    await may_ask(at_work, "system:bootstrappers")
    joining = User("system:bootstrap:abc", ("system:bootstrappers", "system:authenticated"))
    await ask(at_work, manifest("n1", request_pem(N, G), CLIENT_USAGES, KUBELET_CLIENT), joining)
    await at_work.advance(minutes=1)
    assert await told(at_work, "n1") == []
    await bind(at_work, "nodeclient", "system:bootstrappers")
    await at_work.advance(minutes=3)
    assert await told(at_work, "n1") == [
        "Approved AutoApproved: Auto approving kubelet client certificate after SubjectAccessReview."
    ]
    assert (await signed(at_work, "n1")).subject.rfc4514_string() == "CN=system:node:n1,O=system:nodes"


async def test_a_node_renews_its_certificate(at_work: ControlPlane) -> None:
    await bind(at_work, "selfnodeclient", "system:nodes")
    node = User(N, ("system:nodes", "system:authenticated"))
    await ask(at_work, manifest("n1", request_pem(N, G), CLIENT_USAGES, KUBELET_CLIENT), node)
    await at_work.advance(seconds=1)
    assert await told(at_work, "n1") == [
        "Approved AutoApproved: Auto approving self kubelet client certificate after SubjectAccessReview."
    ]
    with pytest.raises(ApiError, match=r"can only create a node CSR with CN=system:node:n1"):
        other = request_pem("system:node:n2", G)
        await ask(at_work, manifest("n2", other, CLIENT_USAGES, KUBELET_CLIENT), node)


async def test_old_request_that_cannot_be_deleted_does_not_keep_the_others(cluster: ControlPlane) -> None:
    for name in ("a", "b", "c"):
        await ask(cluster, manifest(name, request_pem("x"), CLIENT_USAGES))
    await cluster.advance(hours=25)
    connection = Connection(lambda: cluster.backend, "controller")
    refusal = RequestFault(
        verb="delete", error=lambda: forbidden("certificatesigningrequests", "", "a", "no"), times=1
    )
    connection.faults.append(refusal)
    async with following(LocalClient(connection), CertificateCleanerController) as cleaner:
        with pytest.raises(ApiError, match="forbidden"):
            await cleaner.reconcile(PASS)
    assert [each.metadata.name for each in (await cluster.client.list(CSR)).items] == ["a"]
