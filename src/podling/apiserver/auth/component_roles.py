"""Roles of a cluster's components, and the default roles for common add-ons.

Upstream: ``plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go``, for the resources that this server
serves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podling.api.rbac_v1 import PolicyRule
from podling.apiserver.auth.role_rules import (
    ASK_ABOUT_RIGHTS,
    EVENTS,
    READ,
    RECORD_EVENTS,
    UPDATE,
    WRITE,
    paths,
    rule,
)
from podling.machinery.feature_gates import is_enabled
from podling.machinery.tokens.legacy_tokens import TRACKING

NODE_RULES = (
    *ASK_ABOUT_RIGHTS,
    rule(("create",), "authorization.k8s.io", "localsubjectaccessreviews"),
    rule(READ, "core", "services"),
    rule(("create", *READ), "core", "nodes"),
    rule(UPDATE, "core", "nodes/status nodes"),
    rule(EVENTS, "core", "events"),
    rule(READ, "core", "pods"),
    rule(("create", "delete"), "core", "pods"),
    rule(UPDATE, "core", "pods/status"),
    rule(("create",), "core", "pods/eviction"),
    rule(READ, "core", "configmaps secrets"),
    rule(("get",), "core", "persistentvolumeclaims persistentvolumes endpoints"),
    rule(("create", *READ), "certificates.k8s.io", "certificatesigningrequests"),
    rule(("get", "create", "delete", *UPDATE), "coordination.k8s.io", "leases"),
    rule(("get",), "storage.k8s.io", "volumeattachments"),
    rule(("create",), "core", "serviceaccounts/token"),
    rule(("get", *UPDATE), "core", "persistentvolumeclaims/status"),
    rule(READ, "storage.k8s.io", "csidrivers"),
    rule(("create", "delete", "get", *UPDATE), "storage.k8s.io", "csinodes"),
    rule(READ, "node.k8s.io", "runtimeclasses"),
    rule(("get",), "resource.k8s.io", "resourceclaims"),
    rule(("deletecollection", *READ, "create", "delete", *UPDATE), "resource.k8s.io", "resourceslices"),
)
_SCHEDULER = (
    RECORD_EVENTS,
    rule(("create",), "coordination.k8s.io", "leases"),
    rule((*READ, "update"), "coordination.k8s.io", "leases", "kube-scheduler"),
    rule((*READ, *WRITE), "coordination.k8s.io", "leasecandidates"),
    rule(READ, "core", "nodes namespaces replicationcontrollers services"),
    rule(("delete", *READ), "core", "pods"),
    rule(("create",), "core", "bindings pods/binding"),
    rule(UPDATE, "core", "pods/status"),
    rule(READ, "apps", "replicasets statefulsets"),
    rule(READ, "policy", "poddisruptionbudgets"),
    rule(READ, "core", "persistentvolumeclaims persistentvolumes"),
    *ASK_ABOUT_RIGHTS,
    rule(READ, "storage.k8s.io", "csinodes csidrivers csistoragecapacities volumeattachments"),
    rule(READ, "resource.k8s.io", "deviceclasses resourceslices"),
    rule((*READ, *UPDATE), "resource.k8s.io", "resourceclaims resourceclaims/status"),
    rule((*READ, *UPDATE), "core", "pods/finalizers"),
)
GATED_RULES: dict[str, tuple[tuple[str, PolicyRule], ...]] = {
    "ClusterTrustBundleProjection": (
        ("system:node", rule(READ, "certificates.k8s.io", "clustertrustbundles")),
    ),
    "ComponentFlagz": (("system:monitoring", paths("/flagz")),),
    "ComponentStatusz": (("system:monitoring", paths("/statusz")),),
    "GenericWorkload": (
        ("system:kube-scheduler", rule(READ, "scheduling.k8s.io", "podgroups")),
        ("system:kube-scheduler", rule(UPDATE, "scheduling.k8s.io", "podgroups/status")),
    ),
}
"""Rules that roles have in addition while a feature gate is on, by gate."""


def gated_rules(role: str, gates: Mapping[str, bool]) -> Iterator[PolicyRule]:
    """Yield the rules that a role has because of feature gates."""
    for gate, rules in GATED_RULES.items():
        if is_enabled(gate, gates):
            yield from (added for name, added in rules if name == role)


GATED_ROLES: dict[str, tuple[str, PolicyRule, str]] = {
    "ClusterTrustBundle": (
        "system:cluster-trust-bundle-discovery",
        rule(READ, "certificates.k8s.io", "clustertrustbundles"),
        "system:serviceaccounts",
    ),
}
"""Roles that exist while a feature gate is on, by gate: name, rule, and the group that has the role."""
_CONTROLLER_MANAGER = (
    RECORD_EVENTS,
    rule(("create",), "coordination.k8s.io", "leases"),
    rule(("get", "update"), "coordination.k8s.io", "leases", "kube-controller-manager"),
    rule(("create",), "core", "secrets serviceaccounts serviceaccounts/token"),
    rule(("delete", "get", "update"), "core", "secrets"),
    rule(("get",), "core", "configmaps namespaces serviceaccounts"),
    rule(("update",), "core", "serviceaccounts"),
    *ASK_ABOUT_RIGHTS,
    rule(("list", "watch"), "*", "*"),
)
_PROXIER = (
    rule(("list", "watch"), "core", "services endpoints"),
    rule(READ, "core", "nodes"),
    RECORD_EVENTS,
    rule(("list", "watch"), "discovery.k8s.io", "endpointslices"),
    rule(("list", "watch"), "networking.k8s.io", "servicecidrs"),
)
_NODE_NETWORK = (
    rule(("list", "watch"), "core", "namespaces nodes pods services"),
    rule(("list", "watch"), "discovery.k8s.io", "endpointslices"),
    rule(("list", "watch"), "networking.k8s.io", "networkpolicies servicecidrs"),
)
"""Reading the objects from which a node makes the network of its pods. Upstream, the agents of a network
(kube-proxy, network plugins) bring users and roles of their own."""
_VOLUME_SCHEDULER = (
    rule((*READ, *UPDATE), "core", "persistentvolumes"),
    rule(READ, "storage.k8s.io", "storageclasses"),
    rule((*READ, *UPDATE), "core", "persistentvolumeclaims"),
)
_VOLUME_PROVISIONER = (
    rule(("create", "delete", *READ), "core", "persistentvolumes"),
    rule((*READ, "update"), "core", "persistentvolumeclaims"),
    rule(READ, "storage.k8s.io", "storageclasses"),
    rule(("watch",), "core", "events"),
    RECORD_EVENTS,
)
_NODE_PROBLEM_DETECTOR = (
    rule(("get",), "core", "nodes"),
    rule(("patch",), "core", "nodes/status"),
    RECORD_EVENTS,
)

COMPONENT_ROLES: dict[str, tuple[PolicyRule, ...]] = {
    "podling:node-network": _NODE_NETWORK,
    "system:auth-delegator": ASK_ABOUT_RIGHTS,
    "system:controller:legacy-service-account-token-cleaner": (
        rule(("get",), "core", "configmaps", TRACKING),
        rule(("delete", "patch"), "core", "secrets"),
    ),
    "system:heapster": (rule(READ, "core", "events namespaces nodes pods"),),
    "system:kube-aggregator": (rule(READ, "core", "endpoints services"),),
    "system:kube-controller-manager": _CONTROLLER_MANAGER,
    "system:kube-dns": (rule(("list", "watch"), "core", "endpoints services"),),
    "system:kube-scheduler": _SCHEDULER,
    "system:node": NODE_RULES,
    "system:node-problem-detector": _NODE_PROBLEM_DETECTOR,
    "system:node-proxier": _PROXIER,
    "system:persistent-volume-provisioner": _VOLUME_PROVISIONER,
    "system:volume-scheduler": _VOLUME_SCHEDULER,
}
