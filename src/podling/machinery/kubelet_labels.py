"""Labels in Kubernetes' domains that a kubelet may give its node (``k8s.io/kubelet/pkg/apis``). Pure."""

from __future__ import annotations

OWN_LABELS = frozenset(
    {
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
OWN_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
KUBERNETES_DOMAINS = ("kubernetes.io", "k8s.io")


def is_within(domain: str, domains: tuple[str, ...]) -> bool:
    """Return whether a domain is one of these, or below one."""
    return any(domain == each or domain.endswith(f".{each}") for each in domains)


def is_foreign(label: str) -> bool:
    """Return whether a label is in one of Kubernetes' domains and no kubelet may set it."""
    domain = label.partition("/")[0] if "/" in label else ""
    kubernetes_own = is_within(domain, KUBERNETES_DOMAINS)
    return kubernetes_own and label not in OWN_LABELS and not is_within(domain, OWN_DOMAINS)
