"""Preemption by critical pods: as a table, and on a simulated node."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Node, Pod
from podling.client.base import PatchType
from podling.kubelet.pods.admission import occupant
from podling.kubelet.pods.preemption import Candidate, victims
from tests.support.kubelet_node import SimNode, condition, pod

CRITICAL = 2_000_000_000
NODE = msgspec.convert({"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "5"}}}, Node)


def asking(name: str, cpu: str = "", priority: int = 0, *, limited: bool = False) -> Pod:
    amounts = {"cpu": cpu, "memory": "1Mi"} if cpu else {}
    resources: dict[str, Any] = {"requests": amounts}
    if limited:
        resources["limits"] = amounts
    containers = [{"name": "app", "resources": resources}]
    plain = {"metadata": {"name": name}, "spec": {"priority": priority, "containers": containers}}
    return msgspec.convert(plain, Pod)


@pytest.mark.parametrize(
    ("cpu", "others", "gone"),
    [
        ("1", [asking("a", "3")], []),
        ("2", [asking("a", "3")], ["a"]),
        ("2", [asking("a", "2"), asking("b", "1", 5)], ["a"]),
        ("2", [asking("a", "1"), asking("b", "2", 5)], ["a"]),
        ("3", [asking("a", "1"), asking("b", "2", 5)], ["b"]),
        ("2", [asking("promised", "2", limited=True), asking("loose", "2")], ["loose"]),
        ("2", [asking("a", "3", CRITICAL)], []),
        ("9", [asking("a", "3")], []),
        ("", [asking(f"p{n}") for n in range(5)], ["p0"]),
    ],
)
def test_least_important_sufficient_pods_are_preempted(cpu: str, others: list[Pod], gone: list[str]) -> None:
    candidates = [Candidate(other, occupant(other)) for other in others]
    chosen = victims(occupant(asking("critical", cpu)), NODE, candidates)
    assert [victim.metadata.name for victim in chosen] == gone


def sized(cpu: str) -> list[dict[str, Any]]:
    return [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}]


async def test_critical_pod_preempts_on_a_full_node(node: SimNode) -> None:
    await node.create(pod("plain", containers=sized("3"), script={"ignoresSignals": True}))
    await node.pass_time(2)
    critical = pod("vital", containers=sized("2"), priorityClassName="system-node-critical")
    metadata = msgspec.structs.replace(critical.metadata, namespace="kube-system")
    await node.create(msgspec.structs.replace(critical, metadata=metadata))
    await node.pass_time(5)
    gone = await node.get("plain")
    assert (gone.status.phase, gone.status.reason) == ("Failed", "Preempting")
    assert condition(gone, "DisruptionTarget") == "True TerminationByKubelet"
    assert "Preempting: Preempted in order to admit critical pod" in await node.events("plain")
    vital = await node.client.get(Pod, "vital", "kube-system")
    assert vital.status.phase == "Running"


async def test_resize_of_a_critical_pod_preempts(node: SimNode) -> None:
    """``HandleAdmissionFailure`` is called for resizes too; the pod grows when the others have ended."""
    vital = pod("vital", containers=sized("1"), priorityClassName="system-node-critical")
    metadata = msgspec.structs.replace(vital.metadata, namespace="kube-system")
    await node.create(msgspec.structs.replace(vital, metadata=metadata))
    await node.create(pod("plain", containers=sized("2"), script={"ignoresSignals": True}))
    await node.create(pod("small", containers=sized("500m")))
    await node.pass_time(2)
    kind = PatchType.STRATEGIC
    change = {"spec": {"containers": sized("3")}}
    await node.client.patch(Pod, "vital", change, "kube-system", patch_type=kind, subresource="resize")
    await node.pass_time(5)
    gone = await node.get("plain")
    assert (gone.status.phase, gone.status.reason) == ("Failed", "Preempting")
    assert (await node.get("small")).status.phase == "Running"
    found = await node.client.get(Pod, "vital", "kube-system")
    assert condition(found, "PodResizePending") == "absent"
    assert found.status.container_statuses[0].allocated_resources == {"cpu": "3"}
    assert found.status.container_statuses[0].restart_count == 0
