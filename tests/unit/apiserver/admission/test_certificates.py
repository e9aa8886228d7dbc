"""CertificateSigningRequests: the right that approving and signing need, and refused groups."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.certificates_v1 import CertificateSigningRequest
from podling.api.certificates_v1beta1 import ClusterTrustBundle
from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from podling.client.requests import User
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from podling.testing.control_plane import memory_cluster
from tests.support.certificate_requests import CLIENT, manifest, request_pem
from tests.support.trust_bundles import bundle

CSR = CertificateSigningRequest
JANE = User("jane", ("system:authenticated",))
REFUSED = 'certificatesigningrequests.certificates.k8s.io "x" is forbidden: '


async def allow(cluster: ControlPlane, *rules: tuple[str, str, str]) -> None:
    """Rights for Jane: (verbs, resources, names), each separated by spaces."""
    plain = [
        {
            "apiGroups": ["certificates.k8s.io"],
            "verbs": verbs.split(),
            "resources": resources.split(),
            "resourceNames": names.split(),
        }
        for verbs, resources, names in rules
    ]
    role = {"metadata": {"name": "jane"}, "rules": plain}
    await cluster.client.create(codec.from_plain(role, ClusterRole))
    binding = {
        "metadata": {"name": "jane"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "jane"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
    }
    await cluster.client.create(codec.from_plain(binding, ClusterRoleBinding))


async def change(cluster: ControlPlane, subresource: str, type_: str) -> None:
    body = {"status": {"conditions": [{"type": type_, "status": "True", "reason": "r", "message": "m"}]}}
    await cluster.client_for(JANE).patch(CSR, "x", body, subresource=subresource)


def request(signer: str = CLIENT, groups: tuple[str, ...] = ()) -> Any:
    return codec.from_plain(manifest("x", request_pem("x", groups), ["client auth"], signer), CSR)


PARTS = "certificatesigningrequests/approval certificatesigningrequests/status"


@pytest.mark.parametrize("name", ["example.com/a", "example.com/*"])
@pytest.mark.parametrize(
    ("verb", "subresource", "type_"), [("approve", "approval", "Approved"), ("sign", "status", "Failed")]
)
async def test_the_right_is_about_a_signer_or_its_domain(
    cluster: ControlPlane, name: str, verb: str, subresource: str, type_: str
) -> None:
    await allow(cluster, ("patch", PARTS, ""), (verb, "signers", name))
    await cluster.client.create(request("example.com/a"))
    await change(cluster, subresource, type_)
    assert [each.type for each in (await cluster.client.get(CSR, "x")).status.conditions] == [type_]


@pytest.mark.parametrize(
    ("verb", "subresource", "type_"), [("approve", "approval", "Approved"), ("sign", "status", "Failed")]
)
async def test_approving_and_signing_need_the_right_for_the_signer(
    cluster: ControlPlane, verb: str, subresource: str, type_: str
) -> None:
    await allow(cluster, ("patch", PARTS, ""), ("approve sign", "signers", "example.com/b other.example/*"))
    await cluster.client.create(request("example.com/a"))
    with pytest.raises(ApiError) as refused:
        await change(cluster, subresource, type_)
    why = f'user not permitted to {verb} requests with signerName "example.com/a"'
    assert str(refused.value) == f"{REFUSED}{why}"


async def test_labels_need_no_right_to_sign(cluster: ControlPlane) -> None:
    await allow(cluster, ("patch", PARTS, ""))
    await cluster.client.create(request())
    body = {"metadata": {"labels": {"a": "b"}}}
    await cluster.client_for(JANE).patch(CSR, "x", body, subresource="status")


BUNDLE_RIGHTS = ("create update patch", "clustertrustbundles", "")


@pytest.mark.parametrize(
    ("signer", "right", "allowed"),
    [
        ("", "abc.com/xyz", True),
        ("abc.com/xyz", "abc.com/xyz", True),
        ("abc.com/xyz", "abc.com/*", True),
        ("abc.com/xyz", "notabc.com/xyz", False),
    ],
    ids=["no signer", "right for the signer", "right for the domain", "right for another signer"],
)
async def test_bundle_of_a_signer_needs_the_right_to_attest(signer: str, right: str, allowed: bool) -> None:
    """The cases of ``ctbattest``: creation, and an update that changes more than owners and finalizers."""
    name = "abc.com:xyz:a" if signer else "a"
    async with memory_cluster(feature_gates={"ClusterTrustBundle": True}) as cluster:
        await allow(cluster, BUNDLE_RIGHTS, ("attest", "signers", right))
        jane, why = cluster.client_for(JANE), f'user not permitted to attest for signerName "{signer}"'
        labelled = {"metadata": {"labels": {"a": "b"}}}
        if allowed:
            await jane.create(bundle(name, signer))
            await jane.patch(ClusterTrustBundle, name, labelled)
            return
        with pytest.raises(ApiError) as refused:
            await jane.create(bundle(name, signer))
        assert str(refused.value).endswith(why)
        await cluster.client.create(bundle(name, signer))
        with pytest.raises(ApiError) as refused:
            await jane.patch(ClusterTrustBundle, name, labelled)
        assert str(refused.value).endswith(why)
        for unchanged in ({}, {"metadata": {"finalizers": ["a.b/c"]}}):
            await jane.patch(ClusterTrustBundle, name, unchanged)


async def test_client_certificate_for_system_masters_is_refused(cluster: ControlPlane) -> None:
    with pytest.raises(ApiError) as refused:
        await cluster.client.create(request(groups=("dev", "system:masters")))
    why = f"use of {CLIENT} signer with system:masters group is not allowed"
    assert str(refused.value) == f"{REFUSED}{why}"
    await cluster.client.create(request("example.com/a", ("system:masters",)))
