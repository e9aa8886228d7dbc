"""CPU and memory of real containers, read inside them and from their cgroups."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from podling import clock
from podling.api.core_v1 import Node
from podling.kubelet.config import KubeletConfig
from podling.kubelet.configuration.files import load
from podling.kubelet.kubelet import Kubelet
from podling.kubelet.node.machine import most_processes
from podling.runtime.base import LinuxResources
from podling.runtime.failures import RuntimeFailure
from tests.support import oci_node
from tests.support.cgroup_values import Values, shares, values
from tests.support.real_kubelet import RealNode, real_node

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(oci_node.missing()), reason=oci_node.missing()),
]

DEADLINE_SECONDS = 20.0
QUOTA_FILES = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max"
"""The container's quota with version 1 and version 2; one of them exists."""


def sized(name: str, cpu: str, memory: str) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory}
    return {"name": name, "resources": {"requests": amounts, "limits": amounts}}


async def allowed_cpus(node: RealNode, pod: str, container: str) -> str:
    """Return the CPUs that the kernel allows to a container's processes."""
    said = await node.exec(
        await node.phase(pod, "Running"), container, "grep", "Cpus_allowed_list", "/proc/self/status"
    )
    return said.out.split()[-1]


async def until_cpus_are(node: RealNode, pod: str, expected: str) -> None:
    deadline = clock.monotonic() + DEADLINE_SECONDS
    while (found := await allowed_cpus(node, pod, "main")) != expected:
        assert clock.monotonic() < deadline, f"the CPUs of {pod} are {found}, not {expected}"
        await clock.sleep(0.1)


async def test_exclusive_cpus_belong_to_one_container(tmp_path: Path) -> None:
    config = KubeletConfig(
        cpu_manager_policy="static", reserved_system_cpus="0", eviction_hard={}, max_pods=10
    )
    async with real_node(tmp_path, config) as node:
        await node.run("shares", {"name": "main"})
        everything = await allowed_cpus(node, "shares", "main")
        owner = await node.run("owns", sized("main", "1", "64Mi"))
        own = await allowed_cpus(node, "owns", "main")
        assert own == "1"
        quota = await node.exec(
            owner, "main", "sh", "-c", "cat /sys/fs/cgroup/cpu*/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max"
        )
        assert quota.out.split()[0] in ("-1", "max")
        await until_cpus_are(node, "shares", "0")
        await node.stop()
        await node.start()
        assert await allowed_cpus(node, "owns", "main") == own
        await node.client.delete(type(owner), "owns", "default", grace_seconds=0)
        await until_cpus_are(node, "shares", everything)


async def test_kubelet_does_not_start_on_a_machine_with_swap(tmp_path: Path) -> None:
    swaps = tmp_path / "swaps"
    swaps.write_text("Filename Type Size Used Priority\n/dev/sda2 partition 4194300 0 -2\n")
    async with real_node(tmp_path, KubeletConfig(eviction_hard={})) as node:
        deps = replace(node.deps, swaps=swaps)
        with pytest.raises(RuntimeFailure, match="running with swap on is not supported"):
            Kubelet(deps)
        Kubelet(replace(deps, config=replace(deps.config, fail_swap_on=False)))
        static = replace(deps.config, fail_swap_on=False, cpu_manager_policy="static")
        with pytest.raises(RuntimeFailure, match="to be greater than zero"):
            Kubelet(replace(deps, config=static))


SWAP_FILES = "/sys/fs/cgroup/memory/memory.swappiness /sys/fs/cgroup/memory.swap.max"
"""The files that keep a container without a memory limit from swapping, with version 1 and version 2."""


async def test_container_without_memory_limit_gets_no_swap(tmp_path: Path) -> None:
    async with oci_node.node(tmp_path) as machine:
        limits = LinuxResources(unified={"memory.swap.max": "0"})
        container = await machine.run(await machine.pod(), resources=limits)
        said = await machine.exec(container, "sh", "-c", f"cat {SWAP_FILES}")
        assert said.out.split() == ["0"]


KUBELET = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
podPidsLimit: 30
evictionHard: {}
"""


async def test_pods_have_the_process_limit_of_the_kubelets_file(tmp_path: Path) -> None:
    """The containers of a pod share the limit."""
    file = tmp_path / "kubelet.yaml"
    file.write_text(KUBELET)
    config = replace(KubeletConfig(), **load(file, None))
    assert config.pod_pids_limit == 30
    forks = "for n in $(seq 20); do sleep 3600 & done; echo all; sleep 3600"
    async with real_node(tmp_path, config) as node:
        await node.run("roomy", {"name": "main"}, {"name": "second"})
        pod = await node.phase("roomy", "Running")
        assert (await node.exec(pod, "main", "sh", "-c", forks.replace("; sleep 3600", ""))).out == "all\n"
        said = await node.exec(pod, "second", "sh", "-c", forks)
        assert said.code != 0
        assert "can't fork" in said.err
        assert "all" not in said.out


async def test_all_pods_together_get_what_is_not_reserved(tmp_path: Path) -> None:
    """The cgroup above all pods has the limit, and only where the kubelet is to enforce it."""
    kept = {"cpu": "500m", "memory": "128Mi", "pid": "1000"}
    config = KubeletConfig(kube_reserved=kept, system_reserved={"memory": "64Mi"}, eviction_hard={})
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    processes = most_processes()
    all_shares = (os.cpu_count() or 1) * 1024
    async with real_node(tmp_path, config) as node:
        await node.run("any", {"name": "main"})
        limits = Values(shares(all_shares - 512), None, memory - (192 << 20), processes - 1000)
        await until_limits_are(node, limits)
        (found,) = (await node.client.list(Node)).items
        assert found.status.allocatable["memory"] == f"{(memory - (192 << 20)) >> 10}Ki"
        await node.stop()
        node.deps = replace(node.deps, config=replace(node.deps.config, enforce_node_allocatable=()))
        await node.start()
        await until_limits_are(node, Values(shares(all_shares), None, memory, processes))


async def until_limits_are(node: RealNode, expected: Values) -> None:
    """Wait until the cgroup above all pods has these limits."""
    deadline = clock.monotonic() + DEADLINE_SECONDS
    while (found := values(node.deps.config.cgroup_root)) != expected:
        assert clock.monotonic() < deadline, f"the limits are {found}, not {expected}"
        await clock.sleep(0.1)


async def test_container_reads_the_huge_pages_that_it_may_use(tmp_path: Path) -> None:
    """In a variable and in a file. Only the settings of the kubelet say that the node has huge pages."""
    config = KubeletConfig(capacity={"hugepages-2Mi": "64Mi"}, eviction_hard={})
    amounts = {"cpu": "100m", "memory": "32Mi", "hugepages-2Mi": "8Mi"}
    fields = [
        {"resource": f"{what}.hugepages-2Mi", "divisor": divisor, "containerName": "main"}
        for what, divisor in (("limits", "1Mi"), ("requests", "1"))
    ]
    env = [{"name": f"PAGES_{n}", "valueFrom": {"resourceFieldRef": each}} for n, each in enumerate(fields)]
    items = [{"path": f"pages-{n}", "resourceFieldRef": each} for n, each in enumerate(fields)]
    main = {
        "name": "main",
        "resources": {"requests": amounts, "limits": amounts},
        "env": env,
        "volumeMounts": [{"name": "about", "mountPath": "/about"}],
    }
    about = [{"name": "about", "downwardAPI": {"items": items}}]
    async with real_node(tmp_path, config) as node:
        pod = await node.run("pages", main, volumes=about)
        assert pod.status.phase == "Running", pod.status.message
        script = "echo $PAGES_0 $PAGES_1; head /about/pages-0; echo; head /about/pages-1"
        said = await node.exec(pod, "main", "sh", "-c", script)
        assert said.out.split() == ["8", str(8 << 20)] * 2
        more = {**amounts, "hugepages-2Mi": "64Mi"}
        late = await node.run("late", {"name": "main", "resources": {"requests": more, "limits": more}})
        assert (late.status.phase, late.status.reason) == ("Failed", "OutOfhugepages-2Mi")
