"""The use of whole machines."""

from __future__ import annotations

import pytest

from podling import clock
from podling.kubelet.server.machine_use import MachineMeter, busy_ticks, working_set
from podling.kubelet.server.server_metrics import resource_metrics_text
from podling.kubelet.server.snapshot import take_snapshot
from tests.unit.kubelet.server.machines import machine


@pytest.mark.parametrize(
    ("stat", "ticks"),
    [
        ("cpu  100 20 30 4000 500 6 7 8 90 10\ncpu0 1 1 1 1\n", 171),
        ("cpu 1 2 3\n", 6),
        ("intr 5\n", 0),
        ("", 0),
    ],
)
def test_busy_time_leaves_out_idling_waiting_and_guests(stat: str, ticks: int) -> None:
    assert busy_ticks(stat) == ticks


def test_working_set_leaves_out_inactive_files() -> None:
    assert working_set({"MemTotal": 1000, "MemFree": 300, "Inactive(file)": 200, "Cached": 400}) == 500
    assert working_set({"MemTotal": 100, "MemFree": 90, "Inactive(file)": 50}) == 0


async def test_simulated_machine_counts_its_containers() -> None:
    source, meter = await machine(), MachineMeter()
    await clock.sleep(60)
    now = await take_snapshot(source)
    use = await meter.read(source.runtime, now)
    assert use is not None
    assert (use.cpu_nanoseconds, use.memory_working_set_bytes) == (30_000_000_000, 1010)
    lines = resource_metrics_text(now, use).splitlines()
    milliseconds = int(clock.now().timestamp() * 1000)
    assert f"node_cpu_usage_seconds_total 30 {milliseconds}" in lines
    assert f"node_memory_working_set_bytes 1010 {milliseconds}" in lines
    for _, container, _ in now.running:
        await source.runtime.stop_container(container.id, grace_seconds=0)
    ended = await meter.read(source.runtime, await take_snapshot(source))
    assert ended is not None
    assert (ended.cpu_nanoseconds, ended.memory_working_set_bytes) == (30_000_000_000, 0)
