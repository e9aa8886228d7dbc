"""Decisions about a resize, as tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Node, NodeStatus, ResourceRequirements
from podling.kubelet.config import KubeletConfig
from podling.kubelet.pods.resize import Pending, desired_resources, resize_operations, resize_refusal
from tests.support.kubelet_node import pod


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
    return resize_refusal(pod(containers=after), allocation, NODE, (), config)


def test_resize_beyond_the_node_is_infeasible() -> None:
    """The API server refuses it first; the kubelet does if the node has become smaller meanwhile."""
    text = "Node didn't have enough capacity: "
    found = refusal(sized(), sized("5"))
    detail = "insufficient_node_allocatable"
    assert found == Pending("Infeasible", f"{text}cpu, requested: 5000, capacity: 4000", detail)
    found = refusal(sized(), sized("5", "9Gi"))
    assert found == Pending("Infeasible", f"{text}memory, requested: {9 << 30}, capacity: {8 << 30}", detail)
    assert refusal(sized(), sized("4")) is None


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
