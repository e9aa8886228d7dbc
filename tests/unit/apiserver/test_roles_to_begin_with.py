"""The roles and bindings of a fresh cluster."""

from __future__ import annotations

from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from podling.apiserver.rbac import Attributes
from podling.client.local import User
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


async def test_every_role_of_kubernetes_is_there(cluster: ControlPlane) -> None:
    roles = {each.metadata.name: each for each in (await cluster.client.list(ClusterRole)).items}
    assert set(roles) >= ROLES
    for name in ROLES:
        assert roles[name].metadata.labels["kubernetes.io/bootstrapping"] == "rbac-defaults"
    bindings = {each.metadata.name: each for each in (await cluster.client.list(ClusterRoleBinding)).items}
    assert set(bindings) >= BINDINGS
    assert all(bindings[name].role_ref.name == name for name in BINDINGS)


async def test_components_may_do_what_they_are_there_for(cluster: ControlPlane) -> None:
    dns = User("system:serviceaccount:kube-system:kube-dns")
    authorizer = cluster.server.authorizer
    assert authorizer.decide(dns, Attributes("watch", resource="services")).allowed
    assert not authorizer.decide(dns, Attributes("get", resource="services")).allowed
    scheduler = User("system:kube-scheduler")
    assert authorizer.decide(scheduler, Attributes("update", resource="persistentvolumes")).allowed
    claims = Attributes("patch", "resource.k8s.io", "resourceclaims", "status")
    assert authorizer.decide(scheduler, claims).allowed
