"""Memory QoS: the files of cgroup version 2, by upstream's formula."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import PodSpec
from podling.kubelet.config import KubeletConfig
from podling.kubelet.memory_qos import container_memory_qos, pod_memory_qos

MIB = 1 << 20
ON = {"MemoryQoS": True}
HIGH = int(512 * MIB + 0.9 * 512 * MIB) // 4096 * 4096
UNLIMITED_HIGH = int(512 * MIB + 0.9 * (8192 - 512) * MIB) // 4096 * 4096


def spec(**resources: Any) -> PodSpec:
    return msgspec.convert({"containers": [{"name": "app", "resources": resources}]}, PodSpec)


GUARANTEED = spec(limits={"cpu": "1", "memory": "512Mi"}, requests={"cpu": "1", "memory": "512Mi"})
BURSTABLE = spec(requests={"memory": "512Mi"}, limits={"memory": "1Gi"})
UNLIMITED = spec(requests={"memory": "512Mi"})


@pytest.mark.parametrize(
    ("gates", "policy", "subject", "container", "pod"),
    [
        ({}, "TieredReservation", BURSTABLE, {}, {}),
        (ON, "None", GUARANTEED, {}, {}),
        (ON, "None", BURSTABLE, {"memory.high": str(HIGH)}, {}),
        (ON, "None", UNLIMITED, {"memory.high": str(UNLIMITED_HIGH)}, {}),
        (
            ON,
            "TieredReservation",
            GUARANTEED,
            {"memory.min": str(512 * MIB)},
            {"memory.min": str(512 * MIB)},
        ),
        (
            ON,
            "TieredReservation",
            BURSTABLE,
            {"memory.low": str(512 * MIB), "memory.high": str(HIGH)},
            {"memory.low": str(512 * MIB)},
        ),
        (ON, "TieredReservation", spec(), {}, {}),
    ],
)
def test_memory_is_kept_and_throttled(
    gates: dict[str, bool], policy: str, subject: PodSpec, container: dict[str, str], pod: dict[str, str]
) -> None:
    config = KubeletConfig(feature_gates=gates, memory_reservation_policy=policy)
    assert container_memory_qos(subject, subject.containers[0], config, 8192 * MIB) == container
    assert pod_memory_qos(subject, config) == pod
