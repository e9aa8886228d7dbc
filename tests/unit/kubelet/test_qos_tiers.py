"""Limits of the cgroups above the pods, as tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from podling.api.core_v1 import PodSpec
from podling.kubelet.config import KubeletConfig
from podling.kubelet.qos_tiers import tier_limits
from podling.runtime.base import LinuxResources

MIB = 1 << 20
CONFIG = KubeletConfig(cgroup_root="/pods")
CAPACITY = {"cpu": "4", "memory": "8192Mi", "ephemeral-storage": "100Gi", "pid": "32768"}


def spec(requests: dict[str, str], limits: dict[str, str] | None = None, **more: Any) -> PodSpec:
    container = {"name": "app", "resources": {"requests": requests, "limits": limits or {}}}
    return msgspec.convert({"containers": [container], **more}, PodSpec)


BEST_EFFORT = spec({})
BURSTABLE = spec({"cpu": "250m", "memory": "64Mi"})
GUARANTEED = spec({"cpu": "1", "memory": "128Mi"}, {"cpu": "1", "memory": "128Mi"})


@pytest.mark.parametrize(
    ("pods", "shares"),
    [
        ((), 2),
        ((BEST_EFFORT, GUARANTEED), 2),
        ((BURSTABLE,), 256),
        ((BURSTABLE, BURSTABLE, GUARANTEED, BEST_EFFORT), 512),
        ((spec({}, overhead={"cpu": "100m"}, resources={"requests": {"cpu": "1"}}),), 1126),
    ],
)
def test_burstable_pods_share_what_they_request(pods: tuple[PodSpec, ...], shares: int) -> None:
    limits = tier_limits(pods, CONFIG, CAPACITY)
    assert limits["/pods/burstable"] == LinuxResources(cpu_shares=shares)
    assert limits["/pods/besteffort"] == LinuxResources(cpu_shares=2)


def test_parents_come_first() -> None:
    assert list(tier_limits((), CONFIG, CAPACITY)) == ["/pods", "/pods/burstable", "/pods/besteffort"]


@pytest.mark.parametrize(
    ("settings", "shares", "memory", "processes"),
    [
        ({}, 4096, 8192, None),
        ({"eviction_hard": {"memory.available": "1Gi"}}, 4096, 8192, None),
        ({"system_reserved": {"cpu": "500m", "memory": "192Mi"}}, 3584, 8000, None),
        ({"kube_reserved": {"memory": "1Gi"}, "system_reserved": {"memory": "1Gi"}}, 4096, 6144, None),
        ({"kube_reserved": {"pid": "768"}}, 4096, 8192, 32000),
        ({"kube_reserved": {"memory": "16Gi"}}, 4096, 0, None),
        ({"system_reserved": {"memory": "1Gi"}, "enforce_node_allocatable": ()}, 4096, 8192, None),
        ({"system_reserved": {"memory": "1Gi"}, "enforce_node_allocatable": ("none",)}, 4096, 8192, None),
    ],
)
def test_all_pods_together_get_what_is_not_reserved(
    settings: dict[str, Any], shares: int, memory: int, processes: int | None
) -> None:
    limits = tier_limits((), replace(CONFIG, **settings), CAPACITY)
    expected = LinuxResources(cpu_shares=shares, memory_limit=memory * MIB, pids_limit=processes)
    assert limits["/pods"] == expected


def test_memory_of_pods_is_kept_all_the_way_up() -> None:
    config = replace(CONFIG, feature_gates={"MemoryQoS": True}, memory_reservation_policy="TieredReservation")
    limits = tier_limits((BURSTABLE, BURSTABLE, GUARANTEED, BEST_EFFORT), config, CAPACITY)
    assert limits["/pods"].unified == {"memory.min": str(256 * MIB)}
    assert limits["/pods/burstable"].unified == {"memory.low": str(128 * MIB)}
    assert limits["/pods/besteffort"].unified == {}


def test_without_cgroups_by_class_there_are_no_limits() -> None:
    assert tier_limits((BURSTABLE,), replace(CONFIG, cgroups_per_qos=False), CAPACITY) == {}
