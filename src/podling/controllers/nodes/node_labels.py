"""Labels of nodes that follow others. Pure.

Upstream: ``reconcileNodeLabels`` of ``pkg/controller/nodelifecycle/node_lifecycle_controller.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

FOLLOWERS = {
    "kubernetes.io/os": "beta.kubernetes.io/os",
    "kubernetes.io/arch": "beta.kubernetes.io/arch",
}
"""Labels of before Kubernetes 1.14, by the label whose value they must have."""


def labels_to_set(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that a node lacks or has with a wrong value."""
    return {
        follower: labels[leader]
        for leader, follower in FOLLOWERS.items()
        if leader in labels and labels.get(follower) != labels[leader]
    }
