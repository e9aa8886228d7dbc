"""The roles and bindings that every cluster starts with.

The names, and what each role may do, are those of Kubernetes
(``plugin/pkg/auth/authorizer/rbac/bootstrappolicy``), for the resources that this server serves. ``admin``,
``edit`` and ``view`` are aggregated from ``system:aggregate-to-*``, so that extensions can add to them.

Nodes are bound to no role: an authoriser of their own (``node_authorizer``) knows which pods they run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.api.rbac_v1 import (
    AggregationRule,
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    RoleRef,
    Subject,
)
from podling.apiserver.auth.component_roles import COMPONENT_ROLES, GATED_ROLES, gated_rules
from podling.apiserver.auth.role_rules import READ, WRITE, paths, rule
from podling.machinery.feature_gates import NO_GATES, is_enabled

LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
ANNOTATIONS = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
RBAC = "rbac.authorization.k8s.io"

_WORKLOADS = (
    "daemonsets deployments deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale"
)
_WORKLOAD_STATUS = (
    "controllerrevisions daemonsets/status deployments/status replicasets/status statefulsets/status"
)
_CORE_OBJECTS = (
    "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale serviceaccounts "
    "services"
)
_DEVICE_CLAIMS = "resourceclaims resourceclaimtemplates"
_NETWORKING = "ingresses networkpolicies"

_VIEW = (
    rule(
        READ,
        "core",
        f"{_CORE_OBJECTS} endpoints persistentvolumeclaims/status pods pods/log pods/status "
        "replicationcontrollers/status services/status bindings events limitranges namespaces "
        "namespaces/status resourcequotas resourcequotas/status",
    ),
    rule(READ, "apps", f"{_WORKLOADS} {_WORKLOAD_STATUS}"),
    rule(READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
    rule(READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
    rule(READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
    rule(READ, "networking.k8s.io", f"{_NETWORKING} ingresses/status"),
    rule(READ, "discovery.k8s.io", "endpointslices"),
    rule(READ, "resource.k8s.io", f"{_DEVICE_CLAIMS} resourceclaims/status"),
)
_EDIT = (
    rule(READ, "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
    rule(("impersonate",), "core", "serviceaccounts"),
    rule(WRITE, "core", "pods pods/attach pods/exec pods/portforward pods/proxy"),
    rule(("create",), "core", "pods/eviction"),
    rule(WRITE, "core", f"{_CORE_OBJECTS} events secrets services/proxy"),
    rule(("create",), "core", "serviceaccounts/token"),
    rule(WRITE, "apps", _WORKLOADS),
    rule(WRITE, "autoscaling", "horizontalpodautoscalers"),
    rule(WRITE, "batch", "cronjobs jobs"),
    rule(WRITE, "policy", "poddisruptionbudgets"),
    rule(WRITE, "networking.k8s.io", _NETWORKING),
    rule((*READ, *WRITE), "coordination.k8s.io", "leases"),
    rule(WRITE, "resource.k8s.io", _DEVICE_CLAIMS),
)
# Endpoints may not be written: through them one namespace could reach the services of another, or of the
# node (CVE-2021-25740). Resizing and debugging pods needs a role of its own, as in Kubernetes.
_ADMIN = (
    rule(("create",), "authorization.k8s.io", "localsubjectaccessreviews"),
    rule((*READ, *WRITE), RBAC, "roles rolebindings"),
)
_METRICS = (rule(READ, "metrics.k8s.io", "pods nodes"),)
"""Upstream, metrics-server's manifest has this role: those who may view may use ``kubectl top``."""
_HEALTH = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERY = ("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*")

_CERTIFICATES = "certificates.k8s.io"
_SIGNERS = ("kube-apiserver-client", "kube-apiserver-client-kubelet", "kubelet-serving", "legacy-unknown")

_PLAIN_ROLES: dict[str, tuple[PolicyRule, ...]] = {
    "cluster-admin": (rule("*", "*", "*"), PolicyRule(verbs=("*",), non_resource_urls=("*",))),
    "system:discovery": (paths(*_DISCOVERY, *_HEALTH),),
    "system:public-info-viewer": (paths(*_HEALTH),),
    "system:service-account-issuer-discovery": (
        paths(
            "/.well-known/openid-configuration",
            "/.well-known/openid-configuration/",
            "/openid/v1/jwks",
            "/openid/v1/jwks/",
        ),
    ),
    "system:monitoring": (
        paths(
            "/healthz",
            "/healthz/*",
            "/livez",
            "/livez/*",
            "/metrics",
            "/metrics/slis",
            "/readyz",
            "/readyz/*",
        ),
    ),
    "system:basic-user": (
        rule(("create",), "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
        rule(("create",), "authentication.k8s.io", "selfsubjectreviews"),
    ),
    **COMPONENT_ROLES,
    "system:node-bootstrapper": (rule(("create", *READ), _CERTIFICATES, "certificatesigningrequests"),),
    **{
        f"system:{_CERTIFICATES}:certificatesigningrequests:{kind}": (
            rule(("create",), _CERTIFICATES, f"certificatesigningrequests/{kind}"),
        )
        for kind in ("nodeclient", "selfnodeclient")
    },
    **{
        f"system:{_CERTIFICATES}:{signer}-approver": (
            rule(("approve",), _CERTIFICATES, "signers", f"kubernetes.io/{signer}"),
        )
        for signer in _SIGNERS
    },
    "system:kubelet-api-admin": (
        rule(READ, "core", "nodes"),
        rule(("proxy",), "core", "nodes"),
        rule(
            "*",
            "core",
            "nodes/log nodes/metrics nodes/proxy nodes/stats nodes/configz nodes/healthz nodes/pods",
        ),
    ),
}
_AGGREGATED = {"view": _VIEW, "edit": _EDIT, "admin": _ADMIN}

_BINDINGS = (
    ("cluster-admin", "cluster-admin", (("Group", "system:masters"),)),
    ("system:discovery", "system:discovery", (("Group", "system:authenticated"),)),
    ("system:basic-user", "system:basic-user", (("Group", "system:authenticated"),)),
    (
        "system:public-info-viewer",
        "system:public-info-viewer",
        (("Group", "system:authenticated"), ("Group", "system:unauthenticated")),
    ),
    (
        "system:service-account-issuer-discovery",
        "system:service-account-issuer-discovery",
        (("Group", "system:serviceaccounts"),),
    ),
    ("system:monitoring", "system:monitoring", (("Group", "system:monitoring"),)),
    ("podling:node-network", "podling:node-network", (("Group", "system:nodes"),)),
    ("system:node", "system:node", ()),
    ("system:node-proxier", "system:node-proxier", (("User", "system:kube-proxy"),)),
    ("system:kube-dns", "system:kube-dns", (("ServiceAccount", "kube-dns"),)),
    ("system:kube-scheduler", "system:kube-scheduler", (("User", "system:kube-scheduler"),)),
    (
        "system:controller:legacy-service-account-token-cleaner",
        "system:controller:legacy-service-account-token-cleaner",
        (("ServiceAccount", "legacy-service-account-token-cleaner"),),
    ),
    ("system:volume-scheduler", "system:volume-scheduler", (("User", "system:kube-scheduler"),)),
    (
        "system:kube-controller-manager",
        "system:kube-controller-manager",
        (("User", "system:kube-controller-manager"),),
    ),
)


def bootstrap_roles(gates: Mapping[str, bool] = NO_GATES) -> Iterator[ClusterRole]:
    """Yield every cluster role to begin with."""
    for name, rules in _PLAIN_ROLES.items():
        yield ClusterRole(metadata=metadata(name), rules=(*rules, *gated_rules(name, gates)))
    for name, own, _ in _gated_roles(gates):
        yield ClusterRole(metadata=metadata(name), rules=(own,))
    for name, rules in _AGGREGATED.items():
        label = {f"rbac.authorization.k8s.io/aggregate-to-{name}": "true"}
        yield ClusterRole(metadata=metadata(f"system:aggregate-to-{name}", label), rules=rules)
    # view is part of edit, and edit is part of admin: by labels, as upstream.
    rules = ()
    for name, above in (("view", "edit"), ("edit", "admin"), ("admin", "")):
        rules = (*_AGGREGATED[name], *rules)
        label = {f"rbac.authorization.k8s.io/aggregate-to-{above}": "true"} if above else {}
        chosen = LabelSelector(match_labels={f"rbac.authorization.k8s.io/aggregate-to-{name}": "true"})
        aggregation = AggregationRule(cluster_role_selectors=(chosen,))
        yield ClusterRole(metadata=metadata(name, label), aggregation_rule=aggregation, rules=rules)
    labels = {f"rbac.authorization.k8s.io/aggregate-to-{name}": "true" for name in _AGGREGATED}
    yield ClusterRole(metadata=metadata("system:aggregated-metrics-reader", labels), rules=_METRICS)


def _gated_roles(gates: Mapping[str, bool]) -> list[tuple[str, PolicyRule, str]]:
    return [role for gate, role in GATED_ROLES.items() if is_enabled(gate, gates)]


def bootstrap_bindings(gates: Mapping[str, bool] = NO_GATES) -> Iterator[ClusterRoleBinding]:
    """Yield every cluster role binding to begin with."""
    gated = ((name, name, (("Group", group),)) for name, _, group in _gated_roles(gates))
    for name, role, subjects in (*_BINDINGS, *gated):
        yield ClusterRoleBinding(
            metadata=metadata(name),
            role_ref=RoleRef(api_group=RBAC, kind="ClusterRole", name=role),
            subjects=tuple(subject(kind, who) for kind, who in subjects),
        )


def subject(kind: str, name: str) -> Subject:
    if kind == "ServiceAccount":
        return Subject(kind=kind, name=name, namespace="kube-system")
    return Subject(api_group=RBAC, kind=kind, name=name)


def metadata(name: str, labels: dict[str, str] | None = None, namespace: str = "") -> ObjectMeta:
    labels = {**LABELS, **(labels or {})}
    return ObjectMeta(name=name, namespace=namespace, labels=labels, annotations=ANNOTATIONS)
