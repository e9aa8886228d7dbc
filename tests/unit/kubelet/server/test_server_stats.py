"""The stats summary, from two snapshots of a simulated machine."""

from __future__ import annotations

import msgspec

from podling import clock
from podling.kubelet.server.server_stats import summary, take_snapshot
from tests.unit.kubelet.server.machines import machine


async def test_summary_adds_up_and_has_rates_from_the_second_snapshot() -> None:
    source = await machine()
    await clock.sleep(60)
    first = await take_snapshot(source)
    await clock.sleep(10)
    second = await take_snapshot(source)
    before = {container.id: figures for _, container, figures in first.running}
    (alone,) = summary("node", first, {}).pods
    (pod,) = summary("node", second, before).pods
    assert alone.cpu.usage_nano_cores is None
    assert (pod.pod_ref.name, pod.cpu.usage_core_nano_seconds, pod.cpu.usage_nano_cores) == (
        "web",
        35_000_000_000,
        500_000_000,
    )
    assert (pod.memory.working_set_bytes, pod.process_stats.process_count) == (1010, 2)


async def test_summary_has_kubernetes_names() -> None:
    encoded = msgspec.json.decode(
        msgspec.json.encode(summary("node", await take_snapshot(await machine()), {}))
    )
    assert encoded["node"] == {"nodeName": "node"}
    (pod,) = encoded["pods"]
    assert pod["podRef"] == {"name": "web", "namespace": "default", "uid": "uid-web"}
    assert pod["process_stats"] == {"process_count": 2}
    assert set(pod["containers"][0]) == {"name", "startTime", "cpu", "memory", "rootfs"}
    assert set(pod["memory"]) == {"time", "usageBytes", "workingSetBytes"}
