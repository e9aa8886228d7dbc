"""The Node object's status, labels and registration, as tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from msgspec import structs

from podling.api.core_v1 import Node, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo, Taint
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.config import KubeletConfig
from podling.kubelet.node.allocatable import allocatable
from podling.kubelet.node.machine import Machine
from podling.kubelet.node.node_status import (
    NodeHealth,
    capacity,
    equal_except_heartbeat,
    initial_node,
    node_addresses,
    node_images,
    node_status,
    reconcile_node,
)
from podling.kubelet.version import KUBERNETES_VERSION
from podling.runtime.base import RuntimeStatus
from podling.runtime.image_service import Image

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MACHINE = Machine(
    cpus=4,
    memory=8 << 30,
    ephemeral_storage=100 << 30,
    address="10.0.0.9",
    os_image="Debian GNU/Linux 12 (bookworm)",
    kernel_version="6.1.0",
    machine_id="m",
    system_uuid="s",
    boot_id="b",
)
GOOD = RuntimeStatus(name="sim", version="1")


def status(health: NodeHealth, before: NodeStatus | None = None, now: datetime = NOW) -> NodeStatus:
    return node_status(before or NodeStatus(), MACHINE, KubeletConfig(), "box", health, (), now)


def shown_conditions(found: NodeStatus) -> dict[str, str]:
    return {held.type: f"{held.status} {held.reason}" for held in found.conditions}


def test_healthy_node_reports_all_conditions() -> None:
    found = status(NodeHealth(runtime=GOOD))
    assert shown_conditions(found) == {
        "MemoryPressure": "False KubeletHasSufficientMemory",
        "DiskPressure": "False KubeletHasNoDiskPressure",
        "PIDPressure": "False KubeletHasSufficientPID",
        "Ready": "True KubeletReady",
    }
    assert found.capacity["memory"] == "8Gi"
    assert [(a.type, a.address) for a in found.addresses] == [("InternalIP", "10.0.0.9"), ("Hostname", "box")]
    assert found.node_info == NodeSystemInfo(
        architecture="amd64",
        boot_id="b",
        container_runtime_version="sim://1",
        kernel_version="6.1.0",
        kubelet_version=KUBERNETES_VERSION,
        machine_id="m",
        operating_system="linux",
        os_image="Debian GNU/Linux 12 (bookworm)",
        system_uuid="s",
    )
    assert found.daemon_endpoints.kubelet_endpoint.port == 10250


@pytest.mark.parametrize(
    ("health", "type_", "expected"),
    [
        (
            NodeHealth(runtime=GOOD, memory_pressure=True),
            "MemoryPressure",
            "True KubeletHasInsufficientMemory",
        ),
        (NodeHealth(runtime=GOOD, disk_pressure=True), "DiskPressure", "True KubeletHasDiskPressure"),
        (NodeHealth(runtime=GOOD, pid_pressure=True), "PIDPressure", "True KubeletHasInsufficientPID"),
        (NodeHealth(runtime_error="no answer"), "Ready", "False KubeletNotReady"),
        (NodeHealth(runtime=GOOD, shutting_down=True), "Ready", "False KubeletNotReady"),
        (
            NodeHealth(runtime=RuntimeStatus(name="x", version="1", network_ready=False)),
            "Ready",
            "False KubeletNotReady",
        ),
    ],
)
def test_unhealthy_node_reports_its_failures(health: NodeHealth, type_: str, expected: str) -> None:
    assert shown_conditions(status(health))[type_] == expected


def test_version_of_the_service_proxy_is_not_reported() -> None:
    """A kubelet does not know it, so Kubernetes leaves the field empty."""
    assert status(NodeHealth(runtime=GOOD)).node_info.kube_proxy_version == ""


def test_transition_times_move_with_the_status_only() -> None:
    first = status(NodeHealth(runtime=GOOD))
    later = NOW + timedelta(minutes=1)
    second = status(NodeHealth(runtime=GOOD), first, later)
    assert all(held.last_transition_time == NOW for held in second.conditions)
    assert all(held.last_heartbeat_time == later for held in second.conditions)
    assert equal_except_heartbeat(first, second)
    third = status(NodeHealth(runtime=GOOD, disk_pressure=True), second, later)
    moved = [held.type for held in third.conditions if held.last_transition_time == later]
    assert moved == ["DiskPressure"]
    assert not equal_except_heartbeat(second, third)


def test_conditions_of_other_components_are_kept() -> None:
    foreign = msgspec.convert({"conditions": [{"type": "NetworkUnavailable", "status": "False"}]}, NodeStatus)
    assert next(iter(shown_conditions(status(NodeHealth(runtime=GOOD), foreign)))) == "NetworkUnavailable"


def test_reserved_resources_are_not_for_pods() -> None:
    config = KubeletConfig(system_reserved={"cpu": "500m", "memory": "1Gi"}, kube_reserved={"cpu": "250m"})
    found = allocatable(capacity(MACHINE, config), config)
    assert (found["cpu"], found["memory"], found["pods"]) == ("3250m", "7068Mi", "110")


def test_huge_pages_are_not_allocatable_memory() -> None:
    machine = structs.replace(MACHINE, huge_pages={2 << 20: 3 << 30})
    config = KubeletConfig(system_reserved={"hugepages-2Mi": "1Gi"}, eviction_hard={})
    found = allocatable(capacity(machine, config), config)
    assert (found["hugepages-2Mi"], found["memory"]) == ("2Gi", "5Gi")


@pytest.mark.parametrize(
    ("hard", "memory", "disk"),
    [
        ({}, "8Gi", "100Gi"),
        ({"memory.available": "100Mi"}, "8092Mi", "100Gi"),
        ({"memory.available": "25%", "nodefs.available": "10Gi"}, "6Gi", "90Gi"),
        ({"imagefs.available": "10Gi", "pid.available": "10"}, "8Gi", "100Gi"),
        ({"memory.available": "9Gi"}, "0", "100Gi"),
    ],
)
def test_amounts_below_hard_thresholds_are_not_for_pods(hard: dict[str, str], memory: str, disk: str) -> None:
    config = KubeletConfig(eviction_hard=hard)
    found = allocatable(capacity(MACHINE, config), config)
    assert (found["memory"], found["ephemeral-storage"]) == (memory, disk)


def test_reserved_cpus_replace_reserved_amounts() -> None:
    config = KubeletConfig(
        system_reserved={"cpu": "500m"}, kube_reserved={"cpu": "250m"}, reserved_system_cpus="0,2"
    )
    assert allocatable(capacity(MACHINE, config), config)["cpu"] == "2"


def test_advertised_resources_are_kept_and_derive_allocatable() -> None:
    before = NodeStatus(
        capacity={"cpu": "1", "example.com/gpu": "4", "hugepages-64Ki": "1Gi", "kubernetes.io/x": "2"},
        allocatable={"cpu": "1", "example.com/gone": "3"},
    )
    found = status(NodeHealth(runtime=GOOD), before)
    others = {"example.com/gpu": "4", "kubernetes.io/x": "2"}
    assert found.capacity == {**capacity(MACHINE, KubeletConfig()), **others}
    assert found.allocatable == allocatable(found.capacity, KubeletConfig())
    assert found.allocatable["example.com/gpu"] == "4"


def test_conditions_stay_in_their_places() -> None:
    names = ["Ready", "Custom", "MemoryPressure"]
    before = NodeStatus(conditions=tuple(NodeCondition(type=name, status="Unknown") for name in names))
    found = status(NodeHealth(runtime=GOOD), before)
    assert [held.type for held in found.conditions] == [*names, "DiskPressure", "PIDPressure"]
    assert shown_conditions(found)["Custom"] == "Unknown "


def test_registration_reconciles_default_labels_and_the_annotation_only() -> None:
    config = KubeletConfig(
        node_labels={"disk": "ssd"}, register_with_taints=(Taint(key="a", effect="NoSchedule"),)
    )
    planned = initial_node("node-1", "box", MACHINE, config, NOW)
    metadata = ObjectMeta(
        name="node-1", labels={"kubernetes.io/os": "plan9", "team": "blue"}, annotations={"note": "mine"}
    )
    taints = (Taint(key="b", effect="NoExecute"),)
    found = reconcile_node(Node(metadata=metadata, spec=NodeSpec(taints=taints)), planned)
    labels = {key: value for key, value in planned.metadata.labels.items() if key != "disk"}
    assert found.metadata.labels == {**labels, "team": "blue"}
    assert found.metadata.annotations == {**planned.metadata.annotations, "note": "mine"}
    assert found.spec.taints == taints
    assert reconcile_node(found, planned) is found


def test_node_registers_with_its_labels_annotation_and_hostname() -> None:
    found = initial_node("node-1", "box", MACHINE, KubeletConfig(node_labels={"disk": "ssd"}), NOW)
    assert found.metadata.labels == {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "disk": "ssd",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "box",
        "kubernetes.io/os": "linux",
    }
    assert found.metadata.annotations == {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}


def test_addresses_outside_of_the_cluster_follow_the_nodes_own() -> None:
    config = KubeletConfig(node_addresses=("10.0.0.1",), external_addresses=("192.0.2.9",))
    found = node_addresses(MACHINE, config, "box")
    assert [(each.type, each.address) for each in found] == [
        ("InternalIP", "10.0.0.1"),
        ("ExternalIP", "192.0.2.9"),
        ("Hostname", "box"),
    ]


def test_the_largest_images_are_listed() -> None:
    images = [Image(id=f"i{n}", tags=(f"x:{n}",), size_bytes=n) for n in range(60)]
    found = node_images([*images, Image(id="nameless", size_bytes=10**9)], 50)
    assert len(found) == 50
    assert found[0].names == ("x:59",)


def node(**labels: str) -> Node:
    plain = {
        "metadata": {"name": "node-1", "labels": {"kubernetes.io/os": "linux", **labels}},
        "status": {"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "3", "example.com/gpu": "2"}},
    }
    return msgspec.convert(plain, Node)
