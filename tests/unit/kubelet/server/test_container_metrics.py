"""The page of cAdvisor's metrics."""

from __future__ import annotations

from podling import clock
from podling.kubelet.server.container_metrics import container_metrics_text
from podling.kubelet.server.machine_use import MachineUse
from podling.kubelet.server.metric_families import CONTAINERS
from podling.kubelet.server.snapshot import take_snapshot
from podling.runtime.figures import DiskFigures
from tests.unit.kubelet.server.machines import machine
from tests.unit.kubelet.server.test_server_stats import ETH0, FIGURES, detailed


async def test_simulated_containers_have_the_labels_of_cadvisor() -> None:
    source = await machine()
    await clock.sleep(60)
    now = await take_snapshot(source)
    lines = container_metrics_text(now).splitlines()
    milliseconds = int(clock.now().timestamp() * 1000)
    identifier = next(container.id for _, container, _ in now.running if container.name == "busy")
    rest = f'id="{identifier}",image="app",name="{identifier}",namespace="default",pod="web"'
    assert (
        f'container_cpu_usage_seconds_total{{container="busy",cpu="total",{rest}}} 30 {milliseconds}' in lines
    )
    assert f'container_memory_working_set_bytes{{container="busy",{rest}}} 1000 {milliseconds}' in lines
    assert f'container_processes{{container="busy",{rest}}} 1 {milliseconds}' in lines
    assert "container_scrape_error 0" in lines


async def test_every_family_has_a_sample_where_the_kernel_counts_it() -> None:
    from msgspec.structs import replace

    now, disk = await detailed(), DiskFigures(device="8:0", reads=1)
    full = replace(FIGURES, periods=4, disks=(disk,))
    containers = {name: replace(each, figures=full) for name, each in now.containers.items()}
    limited = tuple(
        (
            sandbox,
            replace(
                container, resources=replace(container.resources, cpu_shares=2, cpu_quota=1, cpu_period=2)
            )
            if container.resources
            else container,
            use,
        )
        for sandbox, container, use in now.running
    )
    use = MachineUse(clock.now(), 1, 2, started_at=clock.now(), memory_total_bytes=9, interfaces=(ETH0,))
    text = container_metrics_text(replace(now, containers=containers, running=limited), use)
    shown = {line.split("{")[0].split()[0] for line in text.splitlines() if not line.startswith("#")}
    assert set(CONTAINERS) == shown


async def test_node_pod_and_containers_have_series_of_their_own() -> None:
    now = await detailed()
    use = MachineUse(clock.now(), 3_000_000_000, 2, memory_total_bytes=9)
    lines = container_metrics_text(now, use).splitlines()
    series = [line for line in lines if line.startswith("container_memory_working_set_bytes{")]
    names = [line.partition('container="')[2].partition('"')[0] for line in series]
    places = [line.partition('id="')[2].partition('"')[0] for line in series]
    assert names == ["", "", "busy", "idle"]
    assert places[:2] == ["/", "/pods"]
    assert all(place.startswith("/pods/") for place in places[2:])
    (network,) = [line for line in lines if line.startswith("container_network_receive_bytes_total{")]
    assert (
        'container="",id="/pods",image="",interface="eth0",name="",namespace="default",pod="web"' in network
    )
    assert network.split()[-2] == "10"
