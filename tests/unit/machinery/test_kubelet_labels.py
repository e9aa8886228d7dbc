"""Labels in Kubernetes' domains: those of kubelets, and the others."""

from __future__ import annotations

import pytest

from podling.machinery.kubelet_labels import is_foreign


@pytest.mark.parametrize(
    ("label", "foreign"),
    [
        ("disk", False),
        ("example.com/disk", False),
        ("notkubernetes.io/disk", False),
        ("kubernetes.io/arch", False),
        ("kubernetes.io/role", True),
        ("k8s.io/x", True),
        ("a.k8s.io/x", True),
        ("node-role.kubernetes.io/web", True),
        ("node.kubernetes.io/web", False),
        ("a.kubelet.kubernetes.io/web", False),
    ],
)
def test_label_belongs_to_kubernetes_or_to_the_node(label: str, foreign: bool) -> None:
    assert is_foreign(label) is foreign
