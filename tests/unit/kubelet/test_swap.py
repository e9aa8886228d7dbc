"""Swap: machines refused, and the swap of containers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podling.kubelet.config import KubeletConfig
from podling.kubelet.node.machine import read_swap_areas
from podling.kubelet.swap import NodeMemory, swap_behavior, swap_bytes, swap_refusal
from tests.support.kubelet_node import pod

GIB = 1 << 30
HEADER = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
AREA = "/dev/sda2                               partition\t4194300\t\t0\t\t-2\n"


@pytest.mark.parametrize(
    ("text", "areas"), [(None, ()), ("", ()), (HEADER, ()), (HEADER + AREA, ("/dev/sda2",))]
)
def test_swap_areas_are_read(text: str | None, areas: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "swaps"
    if text is not None:
        path.write_text(text)
    assert read_swap_areas(path) == areas


def test_machine_with_swap_is_refused_unless_configured() -> None:
    assert swap_refusal(KubeletConfig(), ()) == ""
    assert swap_refusal(KubeletConfig(fail_swap_on=False), ("/dev/sda2",)) == ""
    refusal = swap_refusal(KubeletConfig(), ("/dev/sda2",))
    assert refusal.startswith("running with swap on is not supported, please disable swap")
    assert "/dev/sda2" in refusal
    with pytest.raises(ValueError, match="swapBehavior must be one of"):
        swap_refusal(KubeletConfig(memory_swap_swap_behavior="UnlimitedSwap"), ())


BURSTABLE = {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}
EQUAL = {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}}
GUARANTEED = {name: {"cpu": "1", "memory": "1Gi"} for name in ("requests", "limits")}


@pytest.mark.parametrize(
    ("behavior", "resources", "priority", "swap"),
    [
        ("LimitedSwap", BURSTABLE, 0, GIB // 2),
        ("LimitedSwap", {"requests": {"memory": "1Gi"}}, 0, GIB // 2),
        ("NoSwap", BURSTABLE, 0, 0),
        ("", BURSTABLE, 0, 0),
        ("LimitedSwap", EQUAL, 0, 0),
        ("LimitedSwap", GUARANTEED, 0, 0),
        ("LimitedSwap", {"requests": {"cpu": "1"}}, 0, 0),
        ("LimitedSwap", {}, 0, 0),
        ("LimitedSwap", BURSTABLE, 2_000_000_000, 0),
    ],
)
def test_limited_swap_follows_the_memory_request(
    behavior: str, resources: dict[str, Any], priority: int, swap: int
) -> None:
    subject = pod(containers=[{"name": "app", "image": "a", "resources": resources}], priority=priority)
    config = KubeletConfig(memory_swap_swap_behavior=behavior)
    (container,) = subject.spec.containers
    assert swap_bytes(subject, container, config, NodeMemory(8 * GIB, 4 * GIB)) == swap
    assert swap_behavior(subject, container, config) == ("LimitedSwap" if swap else "NoSwap")
    assert swap_bytes(subject, container, config, NodeMemory(8 * GIB, 0)) == 0
