"""Controllers of workloads killed at a call of theirs while a workload is scaled and rolled out.

The controller that takes over ends where an undisturbed one ends, makes not one pod more, and takes away no
more pods at a time than the workload allows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import pytest
from msgspec import Struct, structs

from podling.api.apps_v1 import ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet
from podling.api.batch_v1 import CronJob, CronJobSpec, Job, JobTemplateSpec
from podling.api.core_v1 import (
    Binding,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    PodCondition,
    PodResourceClaim,
    PodStatus,
    VolumeResourceRequirements,
)
from podling.api.meta_v1 import ObjectMeta
from podling.api.resource_v1 import (
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from podling.client.base import WatchEventType
from podling.controllers.base import ControllerFactory
from podling.controllers.resource_claims import ResourceClaimController
from podling.controllers.volumes.volume_binder import VolumeBinderController
from podling.controllers.volumes.volume_protection import (
    ClaimProtectionController,
    VolumeProtectionController,
)
from podling.controllers.workloads.cronjob import CronJobController
from podling.controllers.workloads.daemonset import DaemonSetController
from podling.controllers.workloads.daemonset_rules import node_of
from podling.controllers.workloads.deployment import DeploymentController
from podling.controllers.workloads.job import JobController
from podling.controllers.workloads.replicaset import ReplicaSetController
from podling.controllers.workloads.statefulset import StatefulSetController
from podling.machinery.pods import is_ready
from podling.sim import loop
from podling.testing import ControlPlane, memory_cluster
from tests.support import control_loops
from tests.support.control_loops import add_node, set_phase
from tests.support.killed_controllers import failures_of_kills, killed_controllers
from tests.support.killed_kubelet import Line
from tests.support.workloads import claim, deployment, job, rolling_deployment, stateful_set, volume
from tests.unit.controllers.workloads.daemonsets import daemon_set, rolling

NODES = ("n1", "n2", "n3")
LAG_SECONDS = 0.3
"""The controllers see every change so late: long enough to do something twice."""


class World:
    """The pods of a cluster and what their kubelets do each second."""

    def __init__(self, plane: ControlPlane, check: Check, *, ends: bool = False) -> None:
        self.plane = plane
        self.client = plane.client
        self.made: set[str] = set()
        self._check = check
        self._ends = ends

    async def pods(self) -> Sequence[Pod]:
        return (await self.client.list(Pod, "default")).items

    async def wait(self, seconds: int) -> None:
        """Let pods start and end, and check each second that enough of them are ready."""
        for _ in range(seconds):
            for pod in await self.pods():
                await self._live(pod)
            self._check(await self.pods())
            await self.plane.advance(seconds=1)

    async def _live(self, pod: Pod) -> None:
        name = pod.metadata.name or ""
        if pod.metadata.deletion_timestamp is not None:
            await self.client.delete(Pod, name, "default", grace_seconds=0)
        elif not pod.spec.node_name:
            target = ObjectReference(kind="Node", name=node_of(pod) or NODES[0])
            binding = Binding(metadata=ObjectMeta(name=name), target=target)
            await self.client.create_subresource(Pod, name, "binding", binding, "default")
        elif pod.status.phase == "Pending":
            await set_phase(self.client, name, "Running", ready=True)
        elif pod.status.phase == "Running" and self._ends:
            await set_phase(self.client, name, "Succeeded")

    async def count_pods(self) -> None:
        """Note every pod that is ever made."""
        async for event in self.client.watch(Pod, "default", resource_version=""):
            if event.type is WatchEventType.ADDED:
                self.made.add(event.object.metadata.uid or "")

    async def patch(self, kind: type[Any], name: str, **spec: Any) -> None:
        await self.client.patch(kind, name, {"spec": spec}, "default")


Check = Callable[[Sequence[Pod]], None]


class Life(Struct, frozen=True, kw_only=True):
    """A workload from its creation to the end.

    Args:
        begin: creates it.
        act: what the controllers are killed during.
        judge: checks the end.
        made: the number of pods that are made altogether.
        check: what holds each second, until ``act`` begins to scale down.
    """

    controllers: tuple[ControllerFactory, ...]
    begin: Callable[[World], Awaitable[object]]
    act: Callable[[World], Awaitable[None]]
    judge: Callable[[World], Awaitable[None]]
    made: int
    check: Check
    ends: bool = False


def images(image: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", "image": image}]}}


# A StatefulSet with claims is updated and grows, then shrinks.


async def begin_stateful(world: World) -> None:
    request = VolumeResourceRequirements(requests={"storage": "1Gi"})
    spec = PersistentVolumeClaimSpec(access_modes=("ReadWriteOnce",), resources=request)
    data = PersistentVolumeClaim(metadata=ObjectMeta(name="data"), spec=spec)
    await world.client.create(stateful_set(3, volume_claim_templates=(data,)))


async def act_stateful(world: World) -> None:
    await world.patch(StatefulSet, "db", replicas=4, template=images("db:2"))
    await world.wait(40)
    await world.patch(StatefulSet, "db", replicas=2)
    await world.wait(15)


async def judge_stateful(world: World) -> None:
    pods = await world.pods()
    assert [(pod.metadata.name, pod.spec.containers[0].image) for pod in pods] == [
        ("db-0", "db:2"),
        ("db-1", "db:2"),
    ]
    held = (await world.client.get(StatefulSet, "db", "default")).status
    numbers = (held.replicas, held.ready_replicas, held.updated_replicas, held.current_replicas)
    assert (numbers, held.current_revision) == ((2, 2, 2, 2), held.update_revision)
    revisions = (await world.client.list(ControllerRevision, "default")).items
    assert sorted(each.revision for each in revisions) == [1, 2]
    claims = (await world.client.list(PersistentVolumeClaim, "default")).items
    assert [each.metadata.name for each in claims] == [f"data-db-{number}" for number in range(4)]


def few_are_missing(pods: Sequence[Pod], wanted: Sequence[str], most: int) -> None:
    """Check that of the pods with these names, or for these nodes, at most so many are not ready."""
    names = {pod.metadata.name for pod in pods if is_ready(pod)} | {
        node_of(pod) for pod in pods if is_ready(pod)
    }
    missing = [name for name in wanted if name not in names]
    assert len(missing) <= most, f"{missing} are missing at once"


class Grown:
    """A check that begins once it has held for the first time: when the workload has come up."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._holds = False

    def __call__(self, pods: Sequence[Pod]) -> None:
        try:
            self._check(pods)
            self._holds = True
        except AssertionError:
            if self._holds:
                raise


# A DaemonSet is updated one node after the other, or with a surge.


async def act_daemon(world: World) -> None:
    await world.patch(DaemonSet, "agent", template=images("agent:2"))
    await world.wait(30)


async def judge_daemon(world: World) -> None:
    pods = [(node_of(pod), pod.spec.containers[0].image) for pod in await world.pods()]
    assert sorted(pods) == [(node, "agent:2") for node in NODES]
    held = (await world.client.get(DaemonSet, "agent", "default")).status
    numbers = (held.desired_number_scheduled, held.updated_number_scheduled, held.number_available)
    assert (*numbers, held.number_misscheduled) == (3, 3, 3, 0)
    revisions = (await world.client.list(ControllerRevision, "default")).items
    assert sorted(each.revision for each in revisions) == [1, 2]


async def begin_daemon(world: World, **update: Any) -> None:
    await world.client.create(daemon_set(strategy=rolling(**update)))


# A Deployment rolls out without a pod less than wanted, and grows.


async def begin_deployment(world: World) -> None:
    await world.client.create(deployment(4, strategy=rolling_deployment(1, 0)))


async def act_deployment(world: World) -> None:
    await world.patch(Deployment, "web", template=images("web:2"))
    await world.wait(40)
    await world.patch(Deployment, "web", replicas=6)
    await world.wait(10)


async def judge_deployment(world: World) -> None:
    assert [pod.spec.containers[0].image for pod in await world.pods()] == ["web:2"] * 6
    held = await world.client.get(Deployment, "web", "default")
    numbers = (held.status.replicas, held.status.updated_replicas, held.status.available_replicas)
    assert (numbers, held.metadata.annotations["deployment.kubernetes.io/revision"]) == ((6, 6, 6), "2")
    sets = (await world.client.list(ReplicaSet, "default")).items
    assert sorted(each.spec.replicas for each in sets if each.spec.replicas is not None) == [0, 6]


def four_are_ready(pods: Sequence[Pod]) -> None:
    living = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
    assert sum(map(is_ready, living)) >= 4, "fewer than four are ready"
    assert len(living) <= 6, "more pods than the surge allows"


# A Job counts every pod once.


async def act_job(world: World) -> None:
    await world.client.create(job(completions=6, parallelism=2))
    await world.wait(25)


async def judge_job(world: World) -> None:
    status = (await world.client.get(Job, "sum", "default")).status
    assert (status.succeeded, status.failed or 0, status.active or 0) == (6, 0, 0)
    assert [each.type for each in status.conditions if each.status == "True"] == [
        "SuccessCriteriaMet",
        "Complete",
    ]
    assert all(not pod.metadata.finalizers for pod in await world.pods())


# A CronJob makes each of its Jobs once.


async def act_cron(world: World) -> None:
    template = JobTemplateSpec(spec=job(completions=1).spec)
    spec = CronJobSpec(schedule="* * * * *", job_template=template, successful_jobs_history_limit=2)
    template = structs.replace(
        template, spec=structs.replace(template.spec, manual_selector=None, selector=None)
    )
    spec = structs.replace(spec, job_template=template)
    await world.client.create(CronJob(metadata=ObjectMeta(name="tick", namespace="default"), spec=spec))
    for _ in range(4):
        await world.wait(10)
        await world.plane.advance(seconds=50)
    await world.patch(CronJob, "tick", suspend=True)


async def judge_cron(world: World) -> None:
    held = (await world.client.get(CronJob, "tick", "default")).status
    jobs = (await world.client.list(Job, "default")).items
    assert held.active == ()
    assert len(jobs) == 2, "the history has two"
    assert all(each.status.succeeded == 1 for each in jobs)


# Pods get a ResourceClaim for each entry, and lose them at their end.


async def begin_claims(world: World) -> None:
    devices = DeviceClaim(
        requests=(DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu")),)
    )
    spec = ResourceClaimTemplateSpec(spec=ResourceClaimSpec(devices=devices))
    await world.client.create(
        ResourceClaimTemplate(metadata=ObjectMeta(name="gpus", namespace="default"), spec=spec)
    )


async def act_claims(world: World) -> None:
    entries = tuple(PodResourceClaim(name=name, resource_claim_template_name="gpus") for name in ("a", "b"))
    for name in ("stays", "ends"):
        await world.client.create(control_loops.pod(name, resource_claims=entries))
    await world.wait(10)
    await set_phase(world.client, "ends", "Succeeded")
    await world.wait(5)


async def judge_claims(world: World) -> None:
    claims = (await world.client.list(ResourceClaim, "default")).items
    pod = await world.client.get(Pod, "stays", "default")
    shown = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
    assert sorted(shown) == ["a", "b"]
    assert sorted(each.metadata.name or "" for each in claims) == sorted(
        name or "" for name in shown.values()
    )


# Claims get volumes, one each, and give them back.


async def act_volumes(world: World) -> None:
    for number in range(3):
        await world.client.create(volume(f"v{number}"))
        await world.client.create(claim(f"c{number}"))
    await world.wait(5)
    await world.client.delete(PersistentVolumeClaim, "c1", "default")
    await world.wait(5)


async def judge_volumes(world: World) -> None:
    volumes = (await world.client.list(PersistentVolume)).items
    claims = (await world.client.list(PersistentVolumeClaim, "default")).items
    assert sorted(each.status.phase or "" for each in volumes) == ["Bound", "Bound", "Released"]
    assert [each.status.phase for each in claims] == ["Bound", "Bound"]
    bound = {each.spec.claim_ref.uid for each in volumes if each.spec.claim_ref is not None}
    assert bound > {each.metadata.uid for each in claims}
    assert len({each.spec.volume_name for each in claims}) == 2


async def nothing(world: World) -> None:
    pass


LIVES: dict[str, Life] = {
    "stateful-set": Life(
        controllers=(StatefulSetController,),
        begin=begin_stateful,
        act=act_stateful,
        judge=judge_stateful,
        made=3 + 3 + 1,
        check=partial(few_are_missing, wanted=("db-0", "db-1"), most=1),
    ),
    "daemon-set": Life(
        controllers=(DaemonSetController,),
        begin=partial(begin_daemon, max_unavailable=1),
        act=act_daemon,
        judge=judge_daemon,
        made=6,
        check=partial(few_are_missing, wanted=NODES, most=1),
    ),
    "daemon-set-surge": Life(
        controllers=(DaemonSetController,),
        begin=partial(begin_daemon, max_surge=1, max_unavailable=0),
        act=act_daemon,
        judge=judge_daemon,
        made=6,
        check=partial(few_are_missing, wanted=NODES, most=0),
    ),
    "deployment": Life(
        controllers=(DeploymentController, ReplicaSetController),
        begin=begin_deployment,
        act=act_deployment,
        judge=judge_deployment,
        made=4 + 4 + 2,
        check=four_are_ready,
    ),
    "cron-job": Life(
        controllers=(CronJobController, JobController),
        begin=nothing,
        act=act_cron,
        judge=judge_cron,
        made=4,
        check=lambda pods: None,
        ends=True,
    ),
    "resource-claims": Life(
        controllers=(ResourceClaimController,),
        begin=begin_claims,
        act=act_claims,
        judge=judge_claims,
        made=2,
        check=lambda pods: None,
    ),
    "volumes": Life(
        controllers=(VolumeBinderController, ClaimProtectionController, VolumeProtectionController),
        begin=nothing,
        act=act_volumes,
        judge=judge_volumes,
        made=0,
        check=lambda pods: None,
    ),
    "job": Life(
        controllers=(JobController,),
        begin=nothing,
        act=act_job,
        judge=judge_job,
        made=6,
        check=lambda pods: None,
        ends=True,
    ),
}


async def play(life: Life, line: Line) -> None:
    async with memory_cluster() as plane:
        world = World(plane, Grown(life.check), ends=life.ends)
        for name in NODES:
            await add_node(plane.client, name)
        counting = asyncio.create_task(world.count_pods())
        async with killed_controllers(plane, line, life.controllers, LAG_SECONDS):
            await life.begin(world)
            await world.wait(15)
            line.counts = True
            await life.act(world)
            line.counts = False
            await world.wait(30)
            await life.judge(world)
            assert len(world.made) == life.made
        counting.cancel()
        await asyncio.gather(counting, return_exceptions=True)


def run(life: Life, line: Line) -> int:
    """Play a life on virtual time; return the number of the controllers' calls."""
    loop.run(play(life, line))
    return line.calls


@pytest.mark.parametrize("name", LIVES)
def test_workload_survives_a_kill_at_any_call(name: str) -> None:
    calls, failures = failures_of_kills(partial(run, LIVES[name]))
    assert calls > LIVES[name].made
    assert not failures, "\n".join(failures)


def test_check_of_ready_pods_fails_where_too_many_are_missing() -> None:
    check = Grown(partial(few_are_missing, wanted=("a", "b"), most=0))
    check([])
    ready = [pod_that_is_ready(name) for name in "ab"]
    check(ready)
    with pytest.raises(AssertionError, match="missing at once"):
        check(ready[:1])


def pod_that_is_ready(name: str) -> Pod:
    status = PodStatus(phase="Running", conditions=(PodCondition(type="Ready", status="True"),))
    return structs.replace(control_loops.pod(name), status=status)
