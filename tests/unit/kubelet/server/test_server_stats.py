"""The stats summary, from two snapshots of a simulated machine, and from detailed figures."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from podling import clock
from podling.kubelet.server.disk_use import DiskUse
from podling.kubelet.server.machine_use import MachineUse
from podling.kubelet.server.server_stats import Measured, samples_of, summary
from podling.kubelet.server.snapshot import UsageSnapshot, take_snapshot
from podling.kubelet.server.summary_types import ClaimReference, FsUse, VolumeUse
from podling.runtime.base import LinuxResources
from podling.runtime.figures import (
    CgroupFigures,
    ContainerFigures,
    InterfaceFigures,
    PodFigures,
    Pressure,
    Stall,
)
from tests.unit.kubelet.server.machines import machine


async def test_summary_adds_up_and_has_rates_from_the_second_snapshot() -> None:
    source = await machine()
    await clock.sleep(60)
    first = Measured("node", await take_snapshot(source))
    await clock.sleep(10)
    second = Measured("node", await take_snapshot(source))
    (alone,) = summary(first, {}).pods
    (pod,) = summary(second, samples_of(first)).pods
    assert alone.cpu is not None
    assert alone.cpu.usage_nano_cores is None
    assert pod.cpu is not None
    assert (pod.pod_ref.name, pod.cpu.usage_core_nano_seconds, pod.cpu.usage_nano_cores) == (
        "web",
        35_000_000_000,
        500_000_000,
    )
    assert pod.memory is not None
    assert pod.process_stats is not None
    assert (pod.memory.working_set_bytes, pod.process_stats.process_count) == (1010, 2)


def encoded(measured: Measured, before: Any = None) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(summary(measured, before or {})))
    return found


async def test_summary_of_few_figures_has_kubernetes_names() -> None:
    found = encoded(Measured("node", await take_snapshot(await machine())))
    assert found["node"] == {"nodeName": "node"}
    (pod,) = found["pods"]
    assert pod["podRef"] == {"name": "web", "namespace": "default", "uid": "uid-web"}
    assert pod["process_stats"] == {"process_count": 2}
    assert set(pod["containers"][0]) == {"name", "startTime", "cpu", "memory", "rootfs"}
    assert set(pod["memory"]) == {"time", "usageBytes", "workingSetBytes"}


STALL = Stall(avg10=1.5, avg60=0.5, avg300=0.1, total_microseconds=7)
FIGURES = CgroupFigures(
    cpu_nanoseconds=9,
    memory_bytes=100,
    memory_working_set_bytes=80,
    rss_bytes=60,
    swap_bytes=5,
    page_faults=11,
    major_page_faults=2,
    processes=3,
    pressure={name: Pressure(STALL, STALL) for name in ("cpu", "memory", "io")},
)
ETH0 = InterfaceFigures(name="eth0", received_bytes=10, received_errors=1, sent_bytes=20, sent_errors=2)


async def detailed() -> UsageSnapshot:
    """Return a snapshot of one pod with a limited and an unlimited container, measured in detail."""
    plain = await take_snapshot(await machine())
    limits = LinuxResources(memory_limit=200, memory_swap_limit=250)
    (sandbox, busy, use), (_, idle, little) = plain.running
    return UsageSnapshot(
        ((sandbox, replace(busy, resources=limits), use), (sandbox, idle, little)),
        {
            each.id: ContainerFigures(container_id=each.id, cgroup=f"/pods/{each.id}", figures=FIGURES)
            for each in (busy, idle)
        },
        {sandbox.id: PodFigures(sandbox_id=sandbox.id, cgroup="/pods", figures=FIGURES, interfaces=(ETH0,))},
    )


async def test_pod_has_what_the_kernel_counts() -> None:
    found = encoded(Measured("node", await detailed()))
    (pod,) = found["pods"]
    busy, idle = pod["containers"]
    del pod["memory"]["time"], busy["memory"]["time"], busy["swap"]["time"], pod["network"]["time"]
    stall = {"total": 7000, "avg10": 1.5, "avg60": 0.5, "avg300": 0.1}
    psi = {"full": stall, "some": stall}
    memory = {
        "usageBytes": 100,
        "workingSetBytes": 80,
        "rssBytes": 60,
        "pageFaults": 11,
        "majorPageFaults": 2,
        "psi": psi,
    }
    assert pod["memory"] == memory
    assert busy["memory"] == {"availableBytes": 120, **memory}
    assert busy["swap"] == {"swapAvailableBytes": 45, "swapUsageBytes": 5}
    assert "swapAvailableBytes" not in idle["swap"]
    assert (busy["cpu"]["psi"], busy["io"]["psi"], pod["cpu"]["psi"], pod["io"]["psi"]) == (psi,) * 4
    interface = {"name": "eth0", "rxBytes": 10, "rxErrors": 1, "txBytes": 20, "txErrors": 2}
    assert pod["network"] == {**interface, "interfaces": [interface]}
    assert pod["process_stats"] == {"process_count": 3}
    assert pod["cpu"]["usageCoreNanoSeconds"] == 9


async def test_other_default_interface_is_only_listed() -> None:
    snapshot = await detailed()
    (figures,) = snapshot.pods.values()
    other = replace(figures, interfaces=(replace(ETH0, name="ens3"),))
    found = encoded(Measured("node", replace(snapshot, pods={figures.sandbox_id: other})))
    network = found["pods"][0]["network"]
    assert set(network) == {"time", "interfaces"}


async def test_pod_uses_a_part_of_the_nodes_disk() -> None:
    now = clock.now()
    node = FsUse(now, 50, 100, 50, 7, 10, 3)
    claimed = VolumeUse(now, 1, 2, 1, 4, 5, 1, name="data", pvc_ref=ClaimReference("mine", "default"))
    disks = DiskUse(
        node,
        FsUse(now, 50, 100, 30, 7, 10),
        {("uid-web", "busy"): 6},
        {"uid-web": [claimed]},
        {"uid-web": 4},
    )
    found = encoded(Measured("node", await detailed(), None, disks))
    (pod,) = found["pods"]
    assert pod["ephemeral-storage"]["usedBytes"] == 10
    assert pod["containers"][0]["logs"]["usedBytes"] == 6
    assert set(pod["containers"][0]["rootfs"]) == {
        "time",
        "availableBytes",
        "capacityBytes",
        "usedBytes",
        "inodesFree",
        "inodes",
    }
    (volume,) = pod["volume"]
    assert volume["pvcRef"] == {"name": "mine", "namespace": "default"}
    assert (volume["name"], volume["usedBytes"], volume["inodesUsed"]) == ("data", 1, 1)
    assert found["node"]["fs"]["inodesUsed"] == 3
    assert found["node"]["runtime"]["imageFs"]["usedBytes"] == 30
    assert found["node"]["runtime"]["containerFs"]["usedBytes"] == 50


async def test_node_has_the_figures_of_its_machine() -> None:
    now = clock.now()
    use = MachineUse(
        now,
        5_000_000_000,
        400,
        started_at=now - timedelta(hours=1),
        memory_total_bytes=1000,
        memory_bytes=500,
        rss_bytes=300,
        page_faults=9,
        major_page_faults=1,
        swap_total_bytes=50,
        swap_bytes=20,
        processes=70,
        processes_max=32768,
        interfaces=(ETH0,),
    )
    first = Measured("node", await detailed(), use)
    later = replace(use, at=now + timedelta(seconds=10), cpu_nanoseconds=25_000_000_000)
    node = encoded(replace(first, machine=later), samples_of(first))["node"]
    for part in ("cpu", "memory", "swap", "rlimit", "network"):
        del node[part]["time"]
    assert node["cpu"] == {"usageNanoCores": 2_000_000_000, "usageCoreNanoSeconds": 25_000_000_000}
    assert node["memory"] == {
        "availableBytes": 600,
        "usageBytes": 500,
        "workingSetBytes": 400,
        "rssBytes": 300,
        "pageFaults": 9,
        "majorPageFaults": 1,
    }
    assert node["swap"] == {"swapAvailableBytes": 30, "swapUsageBytes": 20}
    assert node["rlimit"] == {"maxpid": 32768, "curproc": 70}
    assert node["network"]["rxBytes"] == 10
    assert node["startTime"]
