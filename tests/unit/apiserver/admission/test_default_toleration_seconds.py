"""DefaultTolerationSeconds: tolerations of unreachable nodes."""

from __future__ import annotations

from podling.machinery.encoding import codec
from podling.testing import ControlPlane
from tests.support.admitted_pods import create_pod


async def test_pods_tolerate_unreachable_nodes_for_five_minutes(full_cluster: ControlPlane) -> None:
    found = [codec.to_plain(each) for each in (await create_pod(full_cluster)).spec.tolerations]
    assert found == [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    ]


async def test_tolerations_of_the_pod_are_kept(full_cluster: ControlPlane) -> None:
    opinion = (
        "{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 5}"
    )
    pod = await create_pod(full_cluster, f"spec: {{tolerations: [{opinion}]}}")
    assert [(each.key, each.toleration_seconds) for each in pod.spec.tolerations] == [
        ("node.kubernetes.io/unreachable", 5),
        ("node.kubernetes.io/not-ready", 300),
    ]
