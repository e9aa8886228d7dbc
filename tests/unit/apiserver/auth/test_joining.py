"""The public information for new nodes, and the rights to join."""

from __future__ import annotations

import pytest

from podling.api.certificates_v1 import CertificateSigningRequest
from podling.api.core_v1 import ConfigMap, Node, Pod, Secret
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRoleBinding
from podling.apiserver.auth import joining
from podling.apiserver.auth.authn import ANONYMOUS
from podling.client.requests import User
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane

TOKEN_USER = User(
    "system:bootstrap:abcdef",
    ("system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token", "system:authenticated"),
)
OTHER_TOKEN = User("system:bootstrap:bcdefg", ("system:bootstrappers", "system:authenticated"))


async def code(
    cluster: ControlPlane, user: User, verb: str, kind: type, name: str = "x", where: str = ""
) -> int:
    """Return the code of the answer to a user's request: 0 for success, 404 where only the object lacks."""
    client = cluster.client_for(user)
    try:
        if verb == "get":
            await client.get(kind, name, where or None)
        elif verb == "list":
            await client.list(kind, where or None)
        else:
            await client.create(kind(metadata=ObjectMeta(name=name, namespace=where)))
    except ApiError as error:
        return error.code
    return 0


@pytest.mark.parametrize(
    ("user", "verb", "kind", "name", "where", "expected"),
    [
        (ANONYMOUS, "get", ConfigMap, "cluster-info", "kube-public", 0),
        (ANONYMOUS, "get", ConfigMap, "other", "kube-public", 403),
        (ANONYMOUS, "list", ConfigMap, "", "kube-public", 403),
        (ANONYMOUS, "get", Node, "x", "", 403),
        (ANONYMOUS, "create", CertificateSigningRequest, "x", "", 403),
        (TOKEN_USER, "get", Node, "x", "", 404),
        (TOKEN_USER, "list", Node, "", "", 403),
        (TOKEN_USER, "create", Node, "x", "", 403),
        (TOKEN_USER, "create", CertificateSigningRequest, "x", "", 422),
        (TOKEN_USER, "get", Secret, "bootstrap-token-abcdef", "kube-system", 403),
        (TOKEN_USER, "list", Secret, "", "kube-system", 403),
        (TOKEN_USER, "list", Pod, "", "", 403),
        (OTHER_TOKEN, "get", Node, "x", "", 403),
        (OTHER_TOKEN, "create", CertificateSigningRequest, "x", "", 403),
    ],
)
async def test_rights_to_join(
    cluster: ControlPlane, user: User, verb: str, kind: type, name: str, where: str, expected: int
) -> None:
    await joining.publish(cluster.client, "text")
    assert await code(cluster, user, verb, kind, name, where) == expected


async def test_nothing_is_public_before_and_after(cluster: ControlPlane) -> None:
    asked = (ANONYMOUS, "get", ConfigMap, "cluster-info", "kube-public")
    assert await code(cluster, *asked) == 403
    await joining.publish(cluster.client, "text")
    assert await code(cluster, *asked) == 0
    await joining.withdraw(cluster.client)
    assert await code(cluster, *asked) == 403
    assert await code(cluster, TOKEN_USER, "create", CertificateSigningRequest) == 403
    left = [each.metadata.name or "" for each in (await cluster.client.list(ClusterRoleBinding)).items]
    kept = "kubeadm:node-autoapprove-certificate-rotation"
    assert [each for each in left if each.startswith("kubeadm:")] == [kept]


async def test_publishing_again_keeps_signatures_and_the_rights_of_users(cluster: ControlPlane) -> None:
    await joining.publish(cluster.client, "one")
    signature = {"data": {"jws-kubeconfig-abcdef": "signature"}}
    await cluster.client.patch(ConfigMap, "cluster-info", signature, "kube-public")
    await cluster.client.patch(ClusterRoleBinding, "kubeadm:kubelet-bootstrap", {"subjects": None})
    await joining.publish(cluster.client, "two")
    held = await cluster.client.get(ConfigMap, "cluster-info", "kube-public")
    assert held.data == {"kubeconfig": "two", "jws-kubeconfig-abcdef": "signature"}
    assert await code(cluster, TOKEN_USER, "create", CertificateSigningRequest) == 403
