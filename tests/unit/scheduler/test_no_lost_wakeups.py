"""No lost wake-ups: after any history, no pod that is still pending could be placed.

Random histories of nodes and pods against the real API server. When things have settled, a fresh look at the
cluster must agree with the scheduler: no pending pod fits anywhere or could preempt others, and no node
was promised twice. The five-minute retry, which would hide a lost wake-up, is never reached.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from podling.api.core_v1 import ContainerPort, Node, Pod, TopologySpreadConstraint
from podling.api.meta_v1 import LabelSelector
from podling.client.base import Key, key_of
from podling.scheduler.cache import Cache
from podling.scheduler.columns import CPU
from podling.scheduler.decide import Diagnosis, decide
from podling.scheduler.podfacts import facts_of
from podling.scheduler.preemption import Attempt, Refusal, preempt
from podling.sim.loop import run
from podling.testing import ControlPlane, memory_cluster
from tests.unit.scheduler import scheduling
from tests.unit.scheduler.at_work import scheduler_for
from tests.unit.scheduler.scheduling import DEFAULT_PROFILE

SETTLE_SECONDS = 25
"""Longer than any back-off, much shorter than the retry after five minutes."""


@dataclasses.dataclass(frozen=True)
class SetNode:
    """A node joins, or becomes this."""

    name: str
    zone: str
    cpu: str
    tainted: bool
    cordoned: bool


@dataclasses.dataclass(frozen=True)
class RemoveNode:
    name: str


@dataclasses.dataclass(frozen=True)
class AddPod:
    app: str
    cpu: str
    priority: int
    wish: str


@dataclasses.dataclass(frozen=True)
class RemovePod:
    which: int


@dataclasses.dataclass(frozen=True)
class RelabelPod:
    which: int
    app: str


@dataclasses.dataclass(frozen=True)
class Wait:
    seconds: float


Step = SetNode | RemoveNode | AddPod | RemovePod | RelabelPod | Wait

NAMES = st.sampled_from(["n1", "n2", "n3"])
APPS = st.sampled_from(["web", "db"])
WISHES = ["", "", "apart", "near", "near others", "spread", "port", "zone", "tolerant"]
RARELY = st.sampled_from([False, False, False, True])
NODES = st.builds(SetNode, NAMES, st.sampled_from(["a", "b"]), st.sampled_from(["1", "2"]), RARELY, RARELY)
PODS = st.builds(
    AddPod, APPS, st.sampled_from(["500m", "1"]), st.sampled_from([0, 0, 5]), st.sampled_from(WISHES)
)
OFTEN = ["pod"] * 10 + ["node"] * 3 + ["remove pod"] * 3 + ["wait"] * 3 + ["relabel", "remove node"]
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "pod": PODS,
    "node": NODES,
    "remove pod": st.builds(RemovePod, st.integers(0, 20)),
    "relabel": st.builds(RelabelPod, st.integers(0, 20), APPS),
    "remove node": st.builds(RemoveNode, NAMES),
    "wait": st.builds(Wait, st.sampled_from([0.0, 0.1, 2.0])),
}
STEPS: st.SearchStrategy[Step] = st.sampled_from(OFTEN).flatmap(lambda kind: KINDS[kind])
HISTORIES = st.builds(
    lambda start, steps: [*start, *steps],
    st.lists(NODES, min_size=2, max_size=3),
    st.lists(STEPS, min_size=15, max_size=50),
)


def made(step: AddPod, number: int) -> Pod:
    wishes: dict[str, dict[str, Any]] = {
        "": {},
        "apart": {
            "affinity": scheduling.anti_affinity(scheduling.near({"app": step.app}, "kubernetes.io/hostname"))
        },
        "near": {"affinity": scheduling.affinity(scheduling.near({"app": step.app}))},
        "near others": {"affinity": scheduling.affinity(scheduling.near({"app": "db"}))},
        "spread": {
            "topology_spread_constraints": (
                TopologySpreadConstraint(
                    max_skew=1,
                    topology_key="zone",
                    when_unsatisfiable="DoNotSchedule",
                    label_selector=LabelSelector(match_labels={"app": step.app}),
                ),
            )
        },
        "port": {},
        "zone": {"node_selector": {"zone": "a"}},
        "tolerant": {"tolerations": (scheduling.toleration("k"),)},
    }
    port = ContainerPort(container_port=80, host_port=80, protocol="TCP")
    app = scheduling.container({"cpu": step.cpu}, ports=[port] if step.wish == "port" else [])
    one = scheduling.pod(
        f"pod-{number}",
        labels={"app": step.app},
        containers=[app],
        priority=step.priority,
        **wishes[step.wish],
    )
    return structs.replace(one, metadata=structs.replace(one.metadata, uid=""))


async def pods_of(cluster: ControlPlane) -> list[Pod]:
    return list((await cluster.client.list(Pod, "default")).items)


async def perform(cluster: ControlPlane, step: Step, number: int) -> None:
    client = cluster.client
    match step:
        case SetNode():
            wanted = scheduling.node(
                step.name,
                labels={"zone": step.zone},
                cpu=step.cpu,
                taints=[scheduling.taint("k")] if step.tainted else [],
                unschedulable=step.cordoned,
            )
            nodes = {node.metadata.name: node for node in (await client.list(Node)).items}
            held = nodes.get(step.name)
            if held is None:
                await client.create(wanted)
            else:
                merged = structs.replace(
                    wanted, metadata=structs.replace(held.metadata, labels=wanted.metadata.labels)
                )
                updated = await client.update(merged)
                await client.update(structs.replace(updated, status=wanted.status), subresource="status")
        case RemoveNode():
            if step.name in {node.metadata.name for node in (await client.list(Node)).items}:
                await client.delete(Node, step.name)
        case AddPod():
            await client.create(made(step, number))
        case RemovePod() | RelabelPod():
            pods = await pods_of(cluster)
            if not pods:
                return
            chosen = key_of(pods[step.which % len(pods)])
            if isinstance(step, RemovePod):
                await kill(cluster, chosen)
            else:
                change = {"metadata": {"labels": {"app": step.app}}}
                await client.patch(Pod, chosen.name, change, chosen.namespace)
        case Wait():
            await cluster.advance(seconds=step.seconds)


async def kill(cluster: ControlPlane, key: Key) -> None:
    await cluster.client.delete(Pod, key.name, key.namespace, grace_seconds=0)


async def settle(cluster: ControlPlane) -> None:
    """Wait, and remove terminating pods like kubelets, until there are none."""
    while True:
        await cluster.advance(seconds=SETTLE_SECONDS)
        going = [pod for pod in await pods_of(cluster) if pod.metadata.deletion_timestamp]
        if not going:
            return
        for pod in going:
            await kill(cluster, key_of(pod))


async def check(cluster: ControlPlane) -> None:
    cache = Cache()
    for node in (await cluster.client.list(Node)).items:
        cache.set_node(node)
    cache.namespace_labels = {"default": {}}
    pods = await pods_of(cluster)
    for pod in pods:
        if pod.spec.node_name:
            cache.add_pod(facts_of(pod), pod.spec.node_name)
    for pod in pods:
        if not pod.spec.node_name:
            facts = facts_of(pod)
            outcome = decide(facts, cache, DEFAULT_PROFILE, (), lambda rows: rows[0])
            assert isinstance(outcome, Diagnosis), f"{pod.metadata.name} waits but could go to {outcome}"
            if outcome.total:
                refusal = preempt(Attempt(facts, cache, DEFAULT_PROFILE, (), ()), outcome)
                assert isinstance(refusal, Refusal), f"{pod.metadata.name} waits but could preempt {refusal}"


async def history(steps: list[Step]) -> None:
    async with memory_cluster(plugins=()) as cluster, scheduler_for(cluster.client):
        for number, step in enumerate(steps):
            await perform(cluster, step, number)
        await settle(cluster)
        await check(cluster)
        await no_node_was_promised_twice(cluster, steps)


async def no_node_was_promised_twice(cluster: ControlPlane, steps: list[Step]) -> None:
    """Check that the pods on nodes that never shrank fit there."""
    sizes = {step.name: set[str]() for step in steps if isinstance(step, SetNode)}
    for step in steps:
        if isinstance(step, SetNode):
            sizes[step.name].add(step.cpu)
    cache = Cache()
    for node in (await cluster.client.list(Node)).items:
        cache.set_node(node)
    for pod in await pods_of(cluster):
        if pod.spec.node_name:
            cache.add_pod(facts_of(pod), pod.spec.node_name)
    for row in cache.rows.tolist():
        if len(sizes[cache.name_of(row)]) == 1 and not any(
            isinstance(step, RemoveNode) and step.name == cache.name_of(row) for step in steps
        ):
            assert cache.resources.requested[CPU, row] <= cache.resources.allocatable[CPU, row]


NEIGHBOUR_THAT_NEVER_CAME: list[Step] = [
    *[SetNode("n1", "a", "1", tainted=False, cordoned=False)] * 3,
    AddPod("web", "500m", 0, ""),
    AddPod("web", "500m", 0, "apart"),
    RemoveNode("n1"),
    AddPod("db", "1", 5, "apart"),
    AddPod("web", "500m", 0, ""),
    AddPod("web", "1", 0, ""),
    Wait(0.0),
    AddPod("web", "500m", 5, ""),
    AddPod("db", "1", 0, ""),
    SetNode("n1", "a", "1", tainted=False, cordoned=False),
    RemovePod(19),
    Wait(0.1),
    AddPod("db", "500m", 0, ""),
    RelabelPod(19, "web"),
    SetNode("n2", "a", "2", tainted=False, cordoned=False),
    RemoveNode("n1"),
    Wait(0.1),
    RemovePod(5),
    RemovePod(17),
]
"""A pod keeps away from one that is nominated to the node, and then never gets there."""

NODE_THAT_SHRANK: list[Step] = [
    SetNode("n1", "a", "2", tainted=False, cordoned=False),
    SetNode("n2", "a", "2", tainted=False, cordoned=False),
    AddPod("web", "500m", 0, ""),
    AddPod("web", "1", 0, ""),
    AddPod("web", "1", 5, ""),
    SetNode("n3", "a", "1", tainted=False, cordoned=False),
    AddPod("web", "500m", 0, ""),
    AddPod("web", "500m", 5, ""),
    Wait(0.1),
    AddPod("web", "500m", 0, ""),
    RemoveNode("n2"),
    AddPod("web", "500m", 0, ""),
    AddPod("web", "1", 5, ""),
    Wait(0.0),
    *[AddPod("web", "500m", 0, "")] * 5,
    SetNode("n1", "a", "1", tainted=False, cordoned=False),
]
"""Preemption frees a node that by then is too small for the preemptor, though not for others."""


@settings(max_examples=60, deadline=None)
@given(steps=HISTORIES)
@example(steps=NEIGHBOUR_THAT_NEVER_CAME)
@example(steps=NODE_THAT_SHRANK)
def test_no_pending_pod_could_be_placed(steps: list[Step]) -> None:
    run(history(steps))
