"""The roles and bindings of a fresh cluster."""

from __future__ import annotations

import pytest

from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding, RoleRef, Subject
from podling.apiserver.auth.rbac import Attributes
from podling.client.requests import User
from podling.testing import ControlPlane

CERTIFICATES = "system:certificates.k8s.io"
ROLES = {
    "admin", "cluster-admin", "edit", "view",
    "system:aggregate-to-admin", "system:aggregate-to-edit", "system:aggregate-to-view",
    "system:auth-delegator", "system:basic-user", "system:discovery", "system:heapster",
    f"{CERTIFICATES}:certificatesigningrequests:nodeclient",
    f"{CERTIFICATES}:certificatesigningrequests:selfnodeclient",
    f"{CERTIFICATES}:kube-apiserver-client-approver",
    f"{CERTIFICATES}:kube-apiserver-client-kubelet-approver",
    f"{CERTIFICATES}:kubelet-serving-approver", f"{CERTIFICATES}:legacy-unknown-approver",
    "system:kube-aggregator", "system:kube-controller-manager", "system:kube-dns", "system:kube-scheduler",
    "system:kubelet-api-admin", "system:monitoring", "system:node", "system:node-bootstrapper",
    "system:node-problem-detector", "system:node-proxier", "system:persistent-volume-provisioner",
    "system:public-info-viewer", "system:service-account-issuer-discovery", "system:volume-scheduler",
}  # fmt: skip
BINDINGS = {
    "cluster-admin", "system:basic-user", "system:discovery", "system:kube-controller-manager",
    "system:kube-dns", "system:kube-scheduler", "system:monitoring", "system:node", "system:node-proxier",
    "system:public-info-viewer", "system:service-account-issuer-discovery", "system:volume-scheduler",
}  # fmt: skip


async def test_every_default_role_of_kubernetes_exists(cluster: ControlPlane) -> None:
    roles = {each.metadata.name: each for each in (await cluster.client.list(ClusterRole)).items}
    assert set(roles) >= ROLES
    for name in ROLES:
        assert roles[name].metadata.labels["kubernetes.io/bootstrapping"] == "rbac-defaults"
    bindings = {each.metadata.name: each for each in (await cluster.client.list(ClusterRoleBinding)).items}
    assert set(bindings) >= BINDINGS
    assert all(bindings[name].role_ref.name == name for name in BINDINGS)


async def test_components_have_the_rights_for_their_work(cluster: ControlPlane) -> None:
    dns = User("system:serviceaccount:kube-system:kube-dns")
    authorizer = cluster.server.authorizer
    assert authorizer.decide(dns, Attributes("watch", resource="services")).allowed
    assert not authorizer.decide(dns, Attributes("get", resource="services")).allowed
    scheduler = User("system:kube-scheduler")
    assert authorizer.decide(scheduler, Attributes("update", resource="persistentvolumes")).allowed
    claims = Attributes("patch", "resource.k8s.io", "resourceclaims", "status")
    assert authorizer.decide(scheduler, claims).allowed


NAMESPACED = {
    "kube-system": {
        "extension-apiserver-authentication-reader", "podling:cluster-dns",
        "system::leader-locking-kube-controller-manager",
        "system::leader-locking-kube-scheduler", "system:controller:bootstrap-signer",
        "system:controller:cloud-provider", "system:controller:token-cleaner",
    },
    "kube-public": {"system:controller:bootstrap-signer"},
}  # fmt: skip


@pytest.mark.parametrize("namespace", NAMESPACED)
async def test_system_namespaces_have_their_roles(cluster: ControlPlane, namespace: str) -> None:
    roles = {each.metadata.name for each in (await cluster.client.list(Role, namespace)).items}
    assert roles == NAMESPACED[namespace]
    bindings = (await cluster.client.list(RoleBinding, namespace)).items
    assert {each.role_ref.name for each in bindings} == roles
    for each in bindings:
        assert each.metadata.labels["kubernetes.io/bootstrapping"] == "rbac-defaults"
        assert (each.role_ref.kind, each.metadata.name) in (
            ("Role", each.role_ref.name),
            ("Role", f"system::{each.role_ref.name}"),
        )
    scheduler = User("system:kube-scheduler")
    reads = Attributes(
        "get", resource="configmaps", namespace=namespace, name="extension-apiserver-authentication"
    )
    assert cluster.server.authorizer.decide(scheduler, reads).allowed == (namespace == "kube-system")


WRITES = ("create", "update", "patch", "delete", "deletecollection")


@pytest.mark.parametrize("name", ["view", "edit", "admin"])
@pytest.mark.parametrize("verb", WRITES)
async def test_no_role_of_a_namespace_may_write_endpoints(
    cluster: ControlPlane, name: str, verb: str
) -> None:
    """CVE-2021-25740: endpoints direct the proxy, and clients that trust it, to any address."""
    metadata = ObjectMeta(name="tenant", namespace="default")
    await cluster.client.create(
        RoleBinding(
            metadata=metadata,
            role_ref=RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=name),
            subjects=(Subject(api_group="rbac.authorization.k8s.io", kind="User", name="jane"),),
        )
    )
    decide, jane = cluster.server.authorizer.decide, User("jane")
    for group, resource in (("", "endpoints"), ("discovery.k8s.io", "endpointslices")):
        assert not decide(jane, Attributes(verb, group, resource, namespace="default")).allowed
        assert decide(jane, Attributes("get", group, resource, namespace="default")).allowed
    for subresource in ("resize", "ephemeralcontainers"):
        assert not decide(jane, Attributes(verb, "", "pods", subresource, namespace="default")).allowed
    own = Attributes(verb, "", "configmaps", namespace="default")
    assert decide(jane, own).allowed == (name != "view")
