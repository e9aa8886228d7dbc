"""Decisions about a resize, as tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Node, NodeStatus, Pod, ResourceRequirements
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.config import KubeletConfig
from podling.kubelet.node.machine import Machine
from podling.kubelet.observation import PodObservation
from podling.kubelet.pods.admission import Occupant, admit
from podling.kubelet.pods.resize import (
    DEFERRED,
    INFEASIBLE,
    Pending,
    desired_resources,
    plan_resize,
    resize_operations,
    resize_refusal,
    retry_order,
)
from podling.kubelet.resources import container_resources
from podling.kubelet.swap import NodeMemory
from podling.machinery.quantity import parse
from podling.runtime.base import Container, ContainerState
from tests.support.kubelet_node import pod
from tests.unit.kubelet.instances import NOON


def sized(cpu: str = "1", memory: str = "1Gi", **container: Any) -> list[dict[str, Any]]:
    amounts = {"cpu": cpu, "memory": memory}
    resources = {"requests": amounts, "limits": amounts}
    return [{"name": "app", "image": "app:1", "resources": resources, **container}]


NODE = Node(status=NodeStatus(allocatable={"cpu": "4", "memory": "8Gi"}))
PLAIN = KubeletConfig()
STATIC = KubeletConfig(cpu_manager_policy="static", memory_manager_policy="Static")
SWAP = KubeletConfig(memory_swap_swap_behavior="LimitedSwap")
RESTARTS = {"resizePolicy": [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]}


def refusal(
    before: list[dict[str, Any]], after: list[dict[str, Any]], config: KubeletConfig = PLAIN
) -> Pending | None:
    allocation = desired_resources(pod(containers=before).spec)
    return resize_refusal(pod(containers=after), allocation, NODE, config, None)


def test_resize_beyond_the_node_is_infeasible() -> None:
    """The API server refuses it first; the kubelet does if the node has become smaller meanwhile."""
    text = "Node didn't have enough capacity: "
    found = refusal(sized(), sized("5"))
    detail = "insufficient_node_allocatable"
    assert found == Pending("Infeasible", f"{text}cpu, requested: 5000, capacity: 4000", detail)
    found = refusal(sized(), sized("5", "9Gi"))
    assert found == Pending("Infeasible", f"{text}memory, requested: {9 << 30}, capacity: {8 << 30}", detail)
    assert refusal(sized(), sized("4")) is None


FULL = Node(metadata=ObjectMeta(name="node-1"), status=NodeStatus(allocatable={"cpu": "4", "memory": "4Gi"}))
OTHERS = (Occupant({"cpu": parse("1"), "memory": parse("1Gi")}, ()),) * 2
SHORT = "Node didn't have enough resource: "


@pytest.mark.parametrize("sidecar", [False, True])
@pytest.mark.parametrize(
    ("before", "after", "reason", "message"),
    [
        (("1", "1Gi"), ("500m", "500Mi"), None, ""),
        (("1", "1Gi"), ("1500m", "500Mi"), None, ""),
        (("1", "1Gi"), ("500m", "1500Mi"), None, ""),
        (
            ("1", "1Gi"),
            ("2500m", "2500Mi"),
            DEFERRED,
            f"{SHORT}cpu, requested: 2500, used: 2000, capacity: 4000",
        ),
        (
            ("1", "1Gi"),
            ("500m", "2500Mi"),
            DEFERRED,
            f"{SHORT}memory, requested: 2621440000, used: 2147483648, capacity: 4294967296",
        ),
        (
            ("1", "1Gi"),
            ("1", "4500Mi"),
            INFEASIBLE,
            "Node didn't have enough capacity: memory, requested: 4718592000, capacity: 4294967296",
        ),
        (
            ("1", "1Gi"),
            ("5", "1Gi"),
            INFEASIBLE,
            "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000",
        ),
        (
            ("1", "1Gi"),
            ("5", "4500Mi"),
            INFEASIBLE,
            "Node didn't have enough capacity: memory, requested: 4718592000, capacity: 4294967296",
        ),
        (("2m", "1Gi"), ("1", "1Gi"), None, ""),
        (("1", "1Gi"), ("2m", "1Gi"), None, ""),
        (("1", "1Gi"), ("2", "2Gi"), None, ""),
    ],
)
def test_resize_is_granted_deferred_or_infeasible(
    before: tuple[str, str], after: tuple[str, str], reason: str | None, message: str, sidecar: bool
) -> None:
    """The cases of ``TestHandlePodResourcesResize``: two other pods have a CPU and 1Gi each."""

    def made(size: tuple[str, str]) -> Pod:
        resources = {"requests": dict(zip(("cpu", "memory"), size, strict=True))}
        own = {"name": "own", "image": "x", "resources": resources}
        if sidecar:
            return pod(initContainers=[{**own, "restartPolicy": "Always"}])
        return pod(containers=[own])

    wanted, granted = made(after), desired_resources(made(before).spec)
    admission = admit(wanted, FULL, OTHERS, PLAIN, Machine())
    found = resize_refusal(wanted, granted, FULL, PLAIN, admission)
    told = (found.reason, found.message) if found is not None else (None, "")
    assert told == (reason, message)


@pytest.mark.parametrize(
    ("after", "reason", "message"),
    [
        (("2", "2000Mi"), None, ""),
        (("1200m", "1200Mi"), None, ""),
        (("2500m", "1500Mi"), DEFERRED, f"{SHORT}cpu, requested: 2500, used: 2000, capacity: 4000"),
        (
            ("1500m", "4500Mi"),
            INFEASIBLE,
            "Node didn't have enough capacity: memory, requested: 4718592000, capacity: 4294967296",
        ),
    ],
)
def test_resize_of_the_whole_pod_is_granted_deferred_or_infeasible(
    after: tuple[str, str], reason: str | None, message: str
) -> None:
    """The cases for pod-level resources of ``TestHandlePodResourcesResize``."""
    own = [{"name": "own", "image": "x", "resources": requests("1", "1Gi")}]
    before = pod(containers=own, resources=requests("1500m", "1500Mi"))
    wanted = pod(containers=own, resources=requests(*after))
    admission = admit(wanted, FULL, OTHERS, PLAIN, Machine())
    found = resize_refusal(wanted, desired_resources(before.spec), FULL, PLAIN, admission)
    told = (found.reason, found.message) if found is not None else (None, "")
    assert told == (reason, message)


def requests(cpu: str, memory: str) -> dict[str, Any]:
    return {"requests": {"cpu": cpu, "memory": memory}}


CPU_DETAIL = "guaranteed_pod_cpu_manager_static_policy"


def burstable(memory: str, **container: Any) -> list[dict[str, Any]]:
    return [{"name": "app", "image": "a", "resources": {"requests": {"memory": memory}}, **container}]


@pytest.mark.parametrize(
    ("before", "after", "config", "message"),
    [
        (
            sized("1"),
            sized("2"),
            STATIC,
            'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
        ),
        (
            sized("1"),
            sized("1", "2Gi"),
            STATIC,
            'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
        ),
        (
            sized("1"),
            sized("2", "2Gi"),
            STATIC,
            'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
        ),
        (sized("1"), sized("2"), KubeletConfig(memory_manager_policy="Static"), None),
        (burstable("1Gi"), burstable("2Gi"), STATIC, None),
        (
            burstable("1Gi"),
            burstable("2Gi"),
            SWAP,
            "In-place resize of containers with swap is not supported.",
        ),
        (burstable("1Gi", **RESTARTS), burstable("2Gi", **RESTARTS), SWAP, None),
        (sized("1"), sized("1", "2Gi"), SWAP, None),
        (burstable("1Gi"), burstable("2Gi"), KubeletConfig(), None),
    ],
)
def test_static_managers_and_swap_make_a_resize_infeasible(
    before: list[dict[str, Any]], after: list[dict[str, Any]], config: KubeletConfig, message: str | None
) -> None:
    found = refusal(before, after, config)
    detail = {"CPU": CPU_DETAIL, "Mem": CPU_DETAIL.replace("cpu", "memory")}.get(
        (message or "").partition("alongside ")[2][:3], "swap_limitation"
    )
    assert found == (Pending("Infeasible", message, detail) if message else None)


@pytest.mark.parametrize(
    ("before", "after", "operations"),
    [
        ({}, {}, []),
        ({"requests": {"cpu": "1"}}, {"requests": {"cpu": "1000m"}}, []),
        ({}, {"requests": {"cpu": "1"}}, [("add", "requests", "cpu")]),
        ({"limits": {"memory": "1Gi"}}, {}, [("remove", "limits", "memory")]),
        (
            {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "2Gi"}},
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1", "memory": "3Gi"}},
            [
                ("increase", "requests", "cpu"),
                ("decrease", "limits", "cpu"),
                ("increase", "limits", "memory"),
            ],
        ),
        ({"limits": {"ephemeral-storage": "1Gi"}}, {"limits": {"ephemeral-storage": "2Gi"}}, []),
    ],
)
def test_resize_is_counted_by_operation_requirement_and_resource(
    before: dict[str, Any], after: dict[str, Any], operations: list[tuple[str, str, str]]
) -> None:
    old, new = ({"app": msgspec.convert(each, ResourceRequirements)} for each in (before, after))
    assert resize_operations(old, new) == operations


@pytest.mark.parametrize(
    ("actual", "wanted", "policies", "restarts", "updates"),
    [
        (("200m", "200Mi"), ("100m", "100Mi"), "", False, ["memory 100", "cpu 100"]),
        (("200m", "100Mi"), ("100m", "100Mi"), "", False, ["cpu 100"]),
        (("200m", "100Mi"), ("200m", "200Mi"), "", False, ["memory 200"]),
        (("200m", "200Mi"), ("200m", "200Mi"), "", False, []),
        (("10m", "100Mi"), ("1m", "100Mi"), "", False, []),
        (("100m", "100Mi"), ("200m", "200Mi"), "cpu", True, []),
        (("100m", "100Mi"), ("200m", "200Mi"), "memory", True, []),
        (("100m", "100Mi"), ("100m", "200Mi"), "cpu", False, ["memory 200"]),
        (("100m", "100Mi"), ("200m", "100Mi"), "memory", False, ["cpu 200"]),
    ],
)
def test_containers_are_updated_or_restarted_by_what_differs(
    actual: tuple[str, str], wanted: tuple[str, str], policies: str, restarts: bool, updates: list[str]
) -> None:
    """The cases of ``TestComputePodActionsForPodResize``; limits of 1m and 10m CPU have one quota."""

    def limited(size: tuple[str, str]) -> Pod:
        limits = dict(zip(("cpu", "memory"), size, strict=True))
        resources = {"requests": {"cpu": "1m"}, "limits": limits}
        policy = [{"resourceName": each, "restartPolicy": "RestartContainer"} for each in policies.split()]
        own = [{"name": "app", "image": "x", "resources": resources, "resizePolicy": policy}]
        return pod(containers=own)

    node = NodeMemory(8 << 30)
    before, after = limited(actual), limited(wanted)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    running = Container(
        id="c-1",
        sandbox_id="s-1",
        name="app",
        attempt=0,
        state=ContainerState.RUNNING,
        created_at=now,
        resources=container_resources(before, before.spec.containers[0], PLAIN, node),
    )
    plan = plan_resize(after, PodObservation("u", containers=(running,)), PLAIN, node)
    assert plan.restart == (("app",) if restarts else ())
    found = [
        (each.resource, (each.resources.memory_limit or 0) >> 20, (each.resources.cpu_quota or 0) // 100)
        for each in plan.updates
    ]
    assert [f"{resource} {memory or cpu}" for resource, memory, cpu in found] == updates


STEADY = requests("1", "1Gi")


@pytest.mark.parametrize(
    ("whole", "changed", "grows"),
    [
        (None, [requests("1500m", "1500Mi")], True),
        (None, [requests("500m", "500Mi")], False),
        (None, [requests("1500m", "500Mi")], True),
        (None, [requests("500m", "1500Mi")], True),
        (None, [requests("1500m", "1500Mi"), requests("500m", "500Mi")], False),
        (None, [requests("500m", "500Mi"), requests("500m", "500Mi")], False),
        (None, [{}], False),
        (None, [STEADY, STEADY, STEADY], True),
        (requests("3", "2500Mi"), [], True),
        (requests("2500m", "2000Mi"), [], False),
        (requests("3", "2000Mi"), [], True),
        (requests("2500m", "2500Mi"), [requests("1500m", "1Gi")], False),
        (requests("2500m", "2500Mi"), [requests("500m", "1Gi")], False),
        (requests("2600m", "2500Mi"), [requests("1500m", "1Gi")], True),
        (requests("2000m", "2500Mi"), [requests("500m", "1Gi")], False),
    ],
)
def test_resize_grows_by_the_requests_of_the_whole_pod(
    whole: dict[str, Any] | None, changed: list[dict[str, Any]], grows: bool
) -> None:
    """The cases of ``TestIsResizeIncreasingRequests``."""

    def made(sizes: list[dict[str, Any]], whole: dict[str, Any] | None) -> Pod:
        own: dict[str, Any] = {"resources": whole} if whole is not None else {}
        containers = [{"name": f"c{n}", "image": "x", "resources": size} for n, size in enumerate(sizes)]
        return pod(containers=containers, **own)

    before = [STEADY, STEADY, {}, {}]
    after = [*changed, *before[len(changed) :]]
    allocation = desired_resources(made(before, whole and requests("2500m", "2500Mi")).spec)
    assert retry_order(made(after, whole), allocation, "Burstable", None)[0] is grows


def test_deferred_resizes_are_tried_in_upstreams_order() -> None:
    """The pods of ``TestSortPendingResizes``, from the first to be tried to the last."""

    def key(
        size: dict[str, Any],
        *,
        qos: str = "Burstable",
        since: datetime | None = None,
        **more: Any,
    ) -> tuple[Any, ...]:
        containers = [{"name": "app", "image": "x"}]
        before = pod(containers=[{**containers[0], "resources": STEADY}])
        after = pod(containers=[{**containers[0], "resources": size}], **more)
        return retry_order(after, desired_resources(before.spec), qos, since)

    small, large = requests("500m", "500Mi"), requests("1500m", "1500Mi")
    ordered = [
        key(small),
        key(large, priority=100),
        key(large, qos="Guaranteed"),
        key(large, since=NOON),
        key(large, since=NOON + timedelta(milliseconds=5)),
        key(large),
    ]
    assert all(first < second for first, second in pairwise(ordered))
