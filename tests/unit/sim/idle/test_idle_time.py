"""A wound or virtual clock leaps over the rounds of an idle cluster: all is as it would be without leaps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar

import msgspec
import pytest

from podling import clock
from podling.api.apps_v1 import Deployment
from podling.api.batch_v1 import CronJob
from podling.api.certificates_v1 import CertificateSigningRequest
from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import Event, Node, Service
from podling.api.networking_v1 import ServiceCIDR
from podling.client.informer import Informer
from podling.machinery.scheme import resource_of
from podling.runtime.base import RuntimeFailure
from podling.runtime.sim import Fault
from podling.runtime.sim.life import Life
from podling.sim.loop import EPOCH, VirtualTimeLoop
from podling.sim.simulated_cluster import SimulatedCluster, simulated_cluster
from podling.sim.wound_loop import WoundLoop
from podling.supervisor import Supervisor
from podling.winding import Winding
from tests.support.certificate_requests import manifest, request_pem
from tests.support.simulated import deployment

T = TypeVar("T")
REVISIONS = ("resourceVersion", "generation", "observedGeneration")
"""Fields that count writes."""


class VirtualTime:
    """The clock of a virtual-time loop, moved as a wound clock is."""

    async def advance(self, seconds: float) -> None:
        await clock.sleep(seconds)

    async def run_while(self, work: Coroutine[Any, Any, T]) -> T:
        return await work


Happen = Callable[[SimulatedCluster, Any], Awaitable[object]]
"""Gets a cluster, and its clock: ``Winding``, or ``VirtualTime`` where only its methods are needed."""

HOURLY = msgspec.convert(
    {
        "metadata": {"name": "hourly", "namespace": "default"},
        "spec": {
            "schedule": "7 * * * *",
            "jobTemplate": {
                "spec": {
                    "template": {
                        "metadata": {"annotations": {"sim.podling.dev/main": '{"runs": [{"seconds": 30}]}'}},
                        "spec": {
                            "restartPolicy": "Never",
                            "containers": [{"name": "main", "image": "app"}],
                        },
                    }
                }
            },
        },
    },
    CronJob,
)


def probed(script: dict[str, Any], **probes: Any) -> Deployment:
    """Return a Deployment whose pods have probes, and a script."""
    plain = msgspec.to_builtins(deployment())
    template = plain["spec"]["template"]
    template["metadata"]["annotations"] = {"sim.podling.dev/app": json.dumps(script)}
    template["spec"]["containers"] = [{"name": "app", "image": "web:1", **probes}]
    return msgspec.convert(plain, Deployment)


def wound_loop() -> asyncio.AbstractEventLoop:
    return WoundLoop(EPOCH, seed=5)


def virtual_loop() -> asyncio.AbstractEventLoop:
    return VirtualTimeLoop(seed=5)


def live(
    happen: Happen,
    *,
    leaps: bool = True,
    nodes: int = 2,
    loop: Callable[[], asyncio.AbstractEventLoop] = wound_loop,
) -> dict[str, Any]:
    """Return all objects of a cluster in which something has happened.

    Args:
        leaps: the clock leaps, and probes that succeed as before are not made.
    """

    async def main() -> dict[str, Any]:
        wound, leaping = clock.wound_clock(), clock.leaping_clock()
        winding = wound if isinstance(wound, Winding) else VirtualTime()
        context = simulated_cluster(nodes=nodes)
        cluster = await winding.run_while(context.__aenter__())
        if not leaps and leaping is not None:
            leaping.may_leap = bool
        await happen(cluster, winding)
        found = (await cluster.store.list("")).entries
        await winding.run_while(context.__aexit__(None, None, None))
        return {each.key: without_revisions(json.loads(each.value)) for each in found}

    with asyncio.Runner(loop_factory=loop) as runner, pytest.MonkeyPatch.context() as patch:
        if not leaps:
            patch.setattr(Life, "seconds_to_next_answer", lambda life: 0.0)
        return runner.run(main())


def without_revisions(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_revisions(each) for key, each in value.items() if key not in REVISIONS}
    return [without_revisions(each) for each in value] if isinstance(value, list) else value


def same(happen: Happen) -> None:
    for loop in (wound_loop, virtual_loop):
        steps, leaps = (live(happen, leaps=each, loop=loop) for each in (False, True))
        assert steps.keys() == leaps.keys()
        for key, value in steps.items():
            assert leaps[key] == value, (loop.__name__, key)


async def work(cluster: SimulatedCluster, winding: Winding) -> None:
    await cluster.client.create(deployment())
    await cluster.client.create(HOURLY)
    await winding.advance(3 * 3600 + 11)


def test_day_with_work_leaves_the_same_objects() -> None:
    same(work)


@pytest.mark.parametrize("seconds", [3 * 3600, 2 * 3600 + 7, 4 * 3600 - 13.5])
def test_idle_hours_leave_the_same_objects(seconds: float) -> None:
    """Nodes show the times of their last reports, which a leap passes over but for the last one."""

    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        await winding.advance(61.5)
        await cluster.nodes["node-1"].restart()
        await winding.advance(seconds)

    same(happen)


READY = {"readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 2}}
ALIVE = {"livenessProbe": {"exec": {"command": ["alive"]}, "periodSeconds": 10, "failureThreshold": 2}}
STARTED = {"startupProbe": {"grpc": {"port": 8080}, "periodSeconds": 5, "failureThreshold": 30}}


@pytest.mark.parametrize(
    ("script", "probes"),
    [
        ({}, READY | ALIVE),
        ({"probes": [{"after": 5400, "success": False}, {"after": 5475}]}, READY | ALIVE),
        ({"exec": [{}, {"command": "alive", "after": 7234.5, "exitCode": 1, "stderr": "no"}]}, READY | ALIVE),
        ({"probes": [{"success": False}, {"after": 62.5}, {"after": 4321, "seconds": 3}]}, STARTED | READY),
        ({"runs": [{"seconds": 6000, "exitCode": 1}, {}]}, STARTED | READY | ALIVE),
        ({"exec": [{"seconds": 0.5}, {"after": 3600, "seconds": 60}, {"after": 3615}]}, ALIVE),
    ],
)
def test_hours_of_probes_leave_the_same_objects(script: dict[str, Any], probes: dict[str, Any]) -> None:
    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        await cluster.client.create(probed(script, **probes))
        await winding.advance(2 * 3600 + 300.7)

    same(happen)


def test_faults_of_the_runtime_meet_probes_after_idle_hours() -> None:
    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        await cluster.client.create(probed({}, **READY, **ALIVE))
        await winding.advance(3601.3)
        hanging = Fault(verb="exec", hangs=True)
        cluster.nodes["node-1"].runtime.faults.append(hanging)
        cluster.nodes["node-2"].runtime.faults.append(Fault(verb="exec", error=RuntimeFailure("no"), times=2))
        await winding.advance(61.2)
        cluster.nodes["node-1"].runtime.faults.remove(hanging)
        await winding.advance(3600)
        await cluster.nodes["node-1"].crash()
        await winding.advance(333.3)
        await cluster.nodes["node-1"].start()
        await winding.advance(3600)

    same(happen)


def test_deleted_object_of_the_cluster_comes_back_at_the_same_time() -> None:
    """The rounds that find it gone keep to their times."""

    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        await winding.advance(2 * 3600 + 3)
        await cluster.client.delete(Service, "kubernetes", "default")
        await cluster.client.delete(ServiceCIDR, "kubernetes")
        await winding.advance(60)

    same(happen)


def test_problem_of_a_service_is_reported_as_often() -> None:
    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        service = {
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30123}]},
        }
        await winding.run_while(cluster.client.create(msgspec.convert(service, Service)))
        key = resource_of(Service).key("default", "web")
        entry = cluster.store.peek(key)
        assert entry is not None
        value = entry.value.replace(b'"nodePort":30123', b'"nodePort":40123')  # as with another range before
        await cluster.store.put(key, lambda revision: value, expect=entry.revision)
        await cluster.stop_server()
        await cluster.start_server()
        await winding.advance(2 * 3600 + 3)
        events = await cluster.client.list(Event, "default")
        assert any(each.reason == "PortOutOfRange" for each in events.items)

    same(happen)


def test_old_certificate_request_is_removed_at_the_first_pass_after_its_day() -> None:
    """Passes over requests are no rounds to leap over: they act on ages."""

    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        await winding.advance(1800)
        request = msgspec.convert(
            manifest("old", request_pem("somebody"), ["client auth"]), CertificateSigningRequest
        )
        await cluster.client.create(request)
        await winding.advance(24 * 3600 + 900)
        assert (await cluster.client.list(CertificateSigningRequest)).items
        await winding.advance(1000)
        assert not (await cluster.client.list(CertificateSigningRequest)).items

    live(happen)


def test_lost_node_after_idle_hours_is_found_at_the_same_time() -> None:
    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        await cluster.client.create(deployment())
        await winding.advance(2 * 3600 + 3)
        await cluster.nodes["node-1"].crash()
        await winding.advance(30 * 60)
        await cluster.nodes["node-1"].start()
        await winding.advance(3600)

    same(happen)


@pytest.mark.parametrize("seconds", [1800, 1802.5, 1804, 1807.5])
def test_node_lost_in_the_middle_of_a_winding_is_found_at_the_same_time(seconds: float) -> None:
    """Kubelets and the node controller have made their rounds shortly before the event, as without a leap."""

    async def crash(cluster: SimulatedCluster) -> None:
        await clock.sleep(seconds)
        await cluster.nodes["node-1"].crash()

    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        await cluster.client.create(deployment())
        async with Supervisor() as tasks:
            tasks.run_once("crash", lambda: crash(cluster))
            await winding.advance(3600)

    same(happen)


def test_orphaned_pods_are_removed_at_the_same_time() -> None:
    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        await cluster.client.create(deployment())
        await winding.advance(3600)
        await cluster.remove_node("node-2")
        await cluster.client.delete(Node, "node-2")
        await winding.advance(1800)

    same(happen)


def test_cut_connection_after_idle_hours_has_the_same_effects() -> None:
    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        await winding.advance(3600)
        await cluster.nodes["node-1"].connection.cut()
        await winding.advance(90)
        cluster.nodes["node-1"].connection.mend()
        await winding.advance(3600)

    same(happen)


async def renewals(cluster: SimulatedCluster, seconds: float, winding: Winding) -> int:
    """Return how many renewals of a lease a watch shows while so much time passes."""
    seen = 0

    def note(old: Lease, new: Lease) -> None:
        nonlocal seen
        seen += new.metadata.name == "node-1"

    async with Supervisor() as tasks:
        informer: Informer[Lease] = Informer(cluster.client, Lease)
        informer.add_handler(lambda lease: None, note)
        tasks.keep_running("informer", informer.run)
        await winding.advance(seconds)
        await tasks.close()
    return seen


def test_idle_month_takes_few_rounds() -> None:
    """Two for each day, at the last reports and at the end of the leap; and at begin and end."""

    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        await winding.advance(60)
        assert await renewals(cluster, 30 * 86_400, winding) <= 30 * 2 + 20

    live(happen)


def test_idle_day_of_probed_pods_takes_few_rounds() -> None:
    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        await cluster.client.create(probed({}, **STARTED, **READY, **ALIVE))
        await winding.advance(300)
        assert await renewals(cluster, 86_400, winding) <= 30

    live(happen)


def test_leases_are_true_at_every_event() -> None:
    """A job each hour, and each of its steps, finds leases no older than a kubelet's."""

    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        await cluster.client.create(HOURLY)
        for _ in range(5):
            await winding.advance(1234.5)
            lease = await cluster.client.get(Lease, "node-1", "kube-node-lease")
            assert lease.spec.renew_time is not None
            assert timedelta() <= clock.now() - lease.spec.renew_time <= timedelta(seconds=10)

        ages, renewed = [], []

        async def look() -> None:
            while True:
                await clock.sleep(777.7)
                lease = await cluster.client.get(Lease, "node-1", "kube-node-lease")
                assert lease.spec.renew_time is not None
                ages.append(clock.now() - lease.spec.renew_time)
                renewed.append(lease.spec.renew_time)

        async with Supervisor() as tasks:
            tasks.keep_running("look", look)
            await winding.advance(7200)
            await tasks.close()
        assert len(ages) == 9
        assert max(ages) <= timedelta(seconds=10)
        assert not any((each - renewed[0]) % timedelta(seconds=10) for each in renewed)

    live(happen)


def test_client_that_is_sent_something_sees_every_round() -> None:
    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        await winding.advance(60)

        async def client() -> None:
            """A client that a renewal wakes, as a watch over HTTPS does."""
            informer: Informer[Lease] = Informer(cluster.client, Lease)
            informer.add_handler(lambda lease: None, lambda old, new: winding.note_activity())
            await informer.run()

        winding.settle_seconds = 0
        async with Supervisor() as tasks:
            tasks.keep_running("client", client)
            assert await renewals(cluster, 1800, winding) >= 179
            await tasks.close()

    live(happen)


def test_lost_node_keeps_the_clock_from_leaping() -> None:
    async def happen(cluster: SimulatedCluster, winding: Winding) -> None:
        await winding.advance(60)
        assert winding.may_leap()
        await cluster.nodes["node-2"].crash()
        assert not winding.may_leap()
        await winding.advance(300)
        assert not winding.may_leap()
        await cluster.nodes["node-2"].start()
        await winding.advance(60)
        assert winding.may_leap()
        await cluster.stop_server()
        assert not winding.may_leap()
        await cluster.start_server()

    live(happen)
