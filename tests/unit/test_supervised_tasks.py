"""Each background task of each component fails with an unexpected exception, and the cluster goes on.

The tasks are found, not listed: a call in the source that starts a task which no test here runs is an error.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import msgspec
import pytest

from podling import clock
from podling.api.apps_v1 import Deployment
from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import ConfigMap, Event, Namespace, Node, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.api.scheduling_v1 import PriorityClass
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.auth.node_references import NodeReferences
from podling.apiserver.server import ApiServer
from podling.cluster.components import run_components
from podling.controllers.volumes.volume_folders import NoFolders
from podling.kubelet.config import KubeletConfig
from podling.machinery.encoding import codec
from podling.machinery.scheme import resource_of
from podling.runtime.sim import Scenario
from podling.runtime.values import SandboxSpec
from podling.sim.runner import Run
from podling.sim.simulated_cluster import simulated_cluster
from podling.store.base import WriteFailed
from podling.store.memory import MemoryStore
from podling.testing import ControlPlane, memory_cluster
from tests.support.failing_tasks import FailingTasks, sites
from tests.support.full_store import FullStore
from tests.support.kubelet_node import NODE, SimNode, pod, sim_node
from tests.support.node_controllers import Notes
from tests.support.scenarios import FOLDER, scenario

pytestmark = [pytest.mark.usefixtures("failures_expected"), pytest.mark.slow]

NEEDS_REAL_CLUSTER = (
    "cli/up.py",
    "cluster/control_plane.py",
    "cluster/served_api.py",
    "network/dns/cluster_dns.py",
    "network/policy/enforcement.py",
    "network/policy/inputs.py",
    "node/networking.py",
    "node/node.py",
    "runtime/oci/ends.py",
)
"""Files whose tasks ``tests/e2e/test_supervised_tasks_of_a_cluster.py`` runs."""

NEEDS_PROCESSES = (
    "client/socket_backend.py",
    "client/socket_connection.py",
    "cluster/processes/part_process.py",
)
"""Files whose tasks ``tests/e2e/test_supervised_tasks_of_processes.py`` runs."""

NEEDS_SOCKETS = (
    "network/dns/control.py",
    "network/dns/forwarder.py",
    "network/dns/server.py",
    "network/loopback/tcp.py",
    "node/cni_networking.py",
    "node/loopback_networking.py",
)
"""Files whose tasks ``tests/unit/network/test_supervised_tasks_of_sockets.py`` runs."""

NEEDS_JOINED_NODE = ("cli/join.py", "cluster/joined/joined_node.py")
"""Files whose tasks ``tests/e2e/test_supervised_tasks_of_joined_nodes.py`` runs."""

SIMULATED = ("sim/idle/lease_renewals.py", "sim/simulated_cluster.py", "sim/simulated_node.py")
"""Files whose tasks ``test_every_task_of_a_simulated_cluster_may_fail_once`` runs."""

PLAYED = ("sim/scenario_tasks.py",)
"""Files whose tasks ``test_failing_task_of_a_scenario_ends_its_run`` runs."""

FAULTS = [
    RecursionError("maximum recursion depth exceeded"),
    OverflowError("Python int too large to convert to C long"),
    OSError(errno.EMFILE, "Too many open files"),
    OSError(errno.ENOSPC, "No space left on device"),
    WriteFailed("the write was not saved: database or disk is full"),
]

GATES = {"GenericWorkload": True}
"""Feature gates that start tasks."""

SHORT_LIVED = {"kubelet/status", "apiserver/feed", "kubelet/probe", "kubelet/pod"}

MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: proxy}
spec: {containers: [{name: app, image: proxy}]}
"""


def deployment(name: str) -> Deployment:
    container = {
        "name": "app",
        "image": "app:1",
        "readinessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 1},
        "volumeMounts": [{"name": "read", "mountPath": "/read"}],
    }
    read = {"name": "read", "configMap": {"name": "settings"}}
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [container], "volumes": [read], "automountServiceAccountToken": False},
    }
    plain = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }
    return msgspec.convert(plain, Deployment)


async def nothing_measured(node: Node) -> str:
    return ""


@asynccontextmanager
async def control_plane(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[None]:
    """Run scheduler and controllers, which must not end by themselves."""
    components = asyncio.create_task(
        run_components(plane.client_for, "", NoFolders(tmp_path), feature_gates=GATES)
    )
    try:
        yield
        assert not components.done()
    finally:
        components.cancel()
        await asyncio.gather(components, return_exceptions=True)


async def assert_works(node: SimNode, name: str) -> None:
    """Everything that a cluster is for happens: pods are made, placed, run, probed and recorded in events."""
    client = node.client
    await client.create(deployment(name))
    await node.pass_time(60)
    found = await client.get(Deployment, name, "default")
    assert (found.status.ready_replicas, found.status.updated_replicas) == (2, 2)
    pods = (await client.list(Pod, "default", label_selector=f"app={name}")).items
    events = (await client.list(Event, "default")).items
    for each in pods:
        reasons = {event.reason for event in events if event.involved_object.name == each.metadata.name}
        assert {"Scheduled", "Pulled", "Created", "Started"} <= reasons
    lease = await client.get(Lease, NODE, "kube-node-lease")
    assert lease.spec.renew_time is not None
    assert clock.now() - lease.spec.renew_time < timedelta(seconds=20)
    static = await client.get(Pod, f"proxy-{NODE}", "default")
    assert static.status.phase == "Running"
    await client.delete(Deployment, name, "default")
    await node.pass_time(90)
    assert not (await client.list(Pod, "default", label_selector=f"app={name}")).items


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__ + str(fault)[:10])
async def test_every_task_may_fail_once(
    fault: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = FailingTasks(monkeypatch, fault)
    files = tmp_path / "manifests"
    files.mkdir()
    (files / "proxy.yaml").write_text(MANIFEST)
    async with memory_cluster(feature_gates=GATES) as plane:
        plane.server.show_itself()
        plane.server.measure_loop()
        plane.server.start_workers()
        plane.server.serve_resource_metrics(nothing_measured)
        config = KubeletConfig(
            node_addresses=("192.168.0.10",),
            capacity={"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi"},
            static_pod_path=files,
        )
        async with (
            control_plane(plane, tmp_path),
            sim_node(plane, tmp_path, Scenario(), config, node_controllers={"notes": Notes}) as node,
        ):
            settings = ConfigMap(metadata=ObjectMeta(name="settings", namespace="default"))
            await node.client.create(settings)
            await node.pass_time(60)
            await assert_works(node, "first-runs-failed")
            await run_the_rare_tasks(node, tmp_path)
            before = {task for task in tasks.long_lived() if task[0] not in SHORT_LIVED}
            for name, subject in sorted(before):
                tasks.fail(name, subject)
                await node.pass_time(2)
            await node.pass_time(30)
            after = {task for task in tasks.long_lived() if task[0] not in SHORT_LIVED}
            assert before - after == set()
            await assert_works(node, "all-failed-once")
    elsewhere = (
        *NEEDS_REAL_CLUSTER,
        *NEEDS_PROCESSES,
        *NEEDS_SOCKETS,
        *NEEDS_JOINED_NODE,
        *SIMULATED,
        *PLAYED,
    )
    forgotten = {site for site in sites() - tasks.sites if site[0] not in elsewhere}
    assert not forgotten, "these tasks are not run here, so their failure is not tried"


async def test_every_task_of_a_simulated_cluster_may_fail_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = FailingTasks(monkeypatch, FAULTS[0])
    async with simulated_cluster(nodes=2) as cluster:
        of_node = {("events", "node-1"), ("kubelet", "node-1")}
        for name, subject in sorted({("control-plane", ""), ("simulation/leases", ""), *of_node}):
            assert (name, subject) in tasks.long_lived()
            tasks.fail(name, subject)
            await cluster.advance(seconds=2)
        await cluster.client.create(deployment("web"))
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="settings", namespace="default")))
        await cluster.advance(minutes=2)
        found = await cluster.client.get(Deployment, "web", "default")
        assert found.status.ready_replicas == 2
    assert {site for site in sites() if site[0] in SIMULATED} <= tasks.sites


@pytest.mark.parametrize("failing", ["tick", "samples", "traffic", "action-0", "mend"])
async def test_failing_task_of_a_scenario_ends_its_run(failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator's own failures are no failures of the cluster, and not hidden."""
    tasks = FailingTasks(monkeypatch, FAULTS[0])
    tasks.failed.add("scenario")  # else its first task would fail
    played = scenario("""
traffic: [{pods: {app: web}, cpuMilliseconds: 1, steps: [{at: 0, perSecond: 1}]}]
actions: [{at: 100s, restartKubelets: {}}, {at: 10s, stopControlPlane: {for: 3m}}]
""")
    running = asyncio.create_task(Run(played, FOLDER, 0).execute())
    await clock.sleep(90)
    tasks.fail("scenario", failing)
    with pytest.raises(type(FAULTS[0])):
        await running
    assert {site for site in sites() if site[0] in PLAYED} <= tasks.sites


async def run_the_rare_tasks(node: SimNode, tmp_path: Path) -> None:
    """Run what the life of a Deployment does not need."""
    await end_orphan(node, tmp_path)
    await end_static_pod(node, tmp_path / "manifests" / "proxy.yaml")
    await preempt(node)
    await overrun_references()
    await start_without_storage()


async def end_orphan(node: SimNode, tmp_path: Path) -> None:
    orphan = SandboxSpec(pod_uid="gone", pod_name="gone", pod_namespace="default", log_directory=tmp_path)
    await node.runtime.run_sandbox(orphan)
    await node.pass_time(30)
    assert "gone" not in [sandbox.pod_name for sandbox in await node.runtime.list_sandboxes()]


async def end_static_pod(node: SimNode, file: Path) -> None:
    file.unlink()  # noqa: ASYNC240
    await node.pass_time(60)
    assert not await node.exists(f"proxy-{NODE}")
    file.write_text(MANIFEST)  # noqa: ASYNC240


async def preempt(node: SimNode) -> None:
    await node.client.create(PriorityClass(metadata=ObjectMeta(name="high"), value=1000))
    container = {"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "3"}}}
    await node.create(pod("low", containers=[container], nodeName=""))
    await node.pass_time(10)
    await node.create(pod("high", containers=[container], nodeName="", priorityClassName="high"))
    await node.pass_time(90)
    assert (await node.get("high")).status.phase == "Running"
    assert not await node.exists("low")
    await node.delete("high")
    await node.pass_time(60)


async def overrun_references() -> None:
    """More pods change than a watch can hold: the references are read again, in a task."""
    store = MemoryStore(watch_capacity=2)
    references = NodeReferences(store)
    await references.load()
    for number in range(300):
        new = pod(f"web-{number}", volumes=[{"name": "v", "configMap": {"name": f"cm-{number}"}}])
        key = resource_of(Pod).key("default", f"web-{number}")
        await store.put(key, partial(_encoded, new), expect=0)
    references.catch_up()
    await clock.sleep(5)
    assert references.has(NODE, "configmaps", "default", "cm-4")
    references.close()
    await store.close()


async def start_without_storage() -> None:
    """An API server that starts on a full disk writes later, in a task."""
    store = FullStore()
    key = resource_of(Namespace).key("", "kube-public")
    for full in (False, True):
        server = ApiServer(store, plugins_without_controllers())
        if full:
            held = store.peek(key)
            assert held is not None
            await store.delete(key, expect=held.revision)
            store.full = True
        await server.start()
        await clock.sleep(1)
        store.full = False
        await clock.sleep(15)
        assert store.peek(key) is not None
        await server.stop()
    await store.close()


def _encoded(obj: Pod, revision: int) -> bytes:
    return codec.encode(obj)
