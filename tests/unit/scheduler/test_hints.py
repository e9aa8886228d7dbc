"""Queueing hints: which change wakes a pod that was rejected by which plugin."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    ContainerPort,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from podling.api.core_v1 import NodeAffinity as NodeAffinityTerms
from podling.api.meta_v1 import LabelSelector
from podling.scheduler.cache import Cache
from podling.scheduler.configuration.plugin_args import NodeAffinityArgs
from podling.scheduler.framework import Aspect, ObjectChange, Plugin, PodEvent
from podling.scheduler.hints import Changes, wakes_for_object, wakes_for_own
from podling.scheduler.plugins.node_affinity import NodeAffinity
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.queue import Place, SchedulingQueue, Waiting
from tests.unit.scheduler.scheduling import (
    DEFAULT_PROFILE,
    affinity,
    anti_affinity,
    cache_of,
    container,
    facts,
    near,
    node,
    taint,
    toleration,
)

DB = {"app": "db"}
PORT = ContainerPort(container_port=80, host_port=80)

Happening = Callable[[Cache, Changes], None]


def node_changes(aspects: Aspect, **what: object) -> Happening:
    """The node takes on this new state."""

    def happen(cache: Cache, changes: Changes) -> None:
        before = cache.node("n")
        cache.set_node(node("n", **what))  # type: ignore[arg-type]
        changes.node("n", aspects, before)

    return happen


def node_goes(cache: Cache, changes: Changes) -> None:
    cache.remove_node("n")
    changes.node("n", Aspect.REMOVED)


def pod_event(event: PodEvent, one: PodFacts, before: PodFacts | None = None) -> Happening:
    def happen(cache: Cache, changes: Changes) -> None:
        changes.pod(event, one, "n", before)

    return happen


def waiting(*pods: PodFacts, rejected_by: Iterable[str]) -> SchedulingQueue:
    """Return a queue of pods that all were rejected by these plugins, long ago."""
    queue = SchedulingQueue(lambda _: "")
    for one in pods:
        queue.add(one, 0.0)
        found = queue.pop(0.0)
        assert found is not None
        queue.reject(found, rejected_by, 0.0)
    return queue


def dedicated(users: Iterable[str]) -> list[Taint]:
    return [taint("dedicated", value=user) for user in users]


def woken(changes: Changes, queue: SchedulingQueue) -> list[str]:
    """Return the UIDs of those who are to be tried again."""
    changes.offer(queue, LATER)
    return [one.uid for one in queue.pods() if queue.place(one.uid) is Place.ACTIVE]


LATER = 100.0
FOO = NodeSelectorRequirement(key="foo", operator="In", values=("bar",))
ONLY_FOO = structs.replace(
    DEFAULT_PROFILE,
    by_name={
        **DEFAULT_PROFILE.by_name,
        "NodeAffinity": NodeAffinity(
            NodeAffinityArgs(
                added_affinity=NodeAffinityTerms(
                    required_during_scheduling_ignored_during_execution=NodeSelector(
                        node_selector_terms=(NodeSelectorTerm(match_expressions=(FOO,)),)
                    )
                )
            )
        ),
    },
)
SPREAD = TopologySpreadConstraint(
    max_skew=1,
    topology_key="zone",
    when_unsatisfiable="DoNotSchedule",
    label_selector=LabelSelector(match_labels=DB),
)


@pytest.mark.parametrize(
    ("rejected_by", "one", "happening", "wakes"),
    [
        ("NodeResourcesFit", facts(cpu="5"), node_changes(Aspect.ADDED, cpu="8"), True),
        ("NodeResourcesFit", facts(cpu="5"), node_changes(Aspect.ADDED), False),
        ("NodeResourcesFit", facts(cpu="5"), node_changes(Aspect.ALLOCATABLE, cpu="8"), True),
        ("NodeResourcesFit", facts(cpu="5"), node_changes(Aspect.ALLOCATABLE, cpu="4500m"), False),
        ("NodeResourcesFit", facts(cpu="3"), node_changes(Aspect.LABELS), False),
        ("NodeResourcesFit", facts(cpu="3"), pod_event(PodEvent.DELETED, facts()), True),
        ("NodeResourcesFit", facts(cpu="5"), pod_event(PodEvent.DELETED, facts()), False),
        ("NodeResourcesFit", facts(cpu="3"), pod_event(PodEvent.SHRUNK, facts()), True),
        ("NodeResourcesFit", facts(cpu="3"), pod_event(PodEvent.ADDED, facts()), False),
        ("NodePorts", facts(containers=[container(ports=[PORT])]),
         pod_event(PodEvent.DELETED, facts()), True),
        ("NodePorts", facts(containers=[container(ports=[PORT])]), node_changes(Aspect.LABELS), False),
        ("TaintToleration", facts(), node_changes(Aspect.TAINTS), False),
        ("TaintToleration", facts(), node_changes(Aspect.TAINTS, taints=[taint("k")]), False),
        ("NodeUnschedulable", facts(), node_changes(Aspect.ADDED), True),
        ("NodeUnschedulable", facts(), node_changes(Aspect.TAINTS), False),
        ("NodeUnschedulable", facts(), node_changes(Aspect.TAINTS, unschedulable=True), False),
        ("NodeAffinity", facts(node_selector={"a": "b"}),
         node_changes(Aspect.LABELS, labels={"a": "b"}), True),
        ("NodeAffinity", facts(node_selector={"a": "b"}),
         node_changes(Aspect.LABELS, labels={"a": "c"}), False),
        ("NodeName", facts(node_name="n"), node_changes(Aspect.ADDED), True),
        ("NodeName", facts(node_name="m"), node_changes(Aspect.ADDED), False),
        ("InterPodAffinity", facts(affinity=affinity(near(DB))),
         pod_event(PodEvent.ADDED, facts(labels=DB)), True),
        ("InterPodAffinity", facts(affinity=affinity(near(DB))),
         pod_event(PodEvent.ADDED, facts()), False),
        ("InterPodAffinity", facts(affinity=anti_affinity(near(DB))),
         pod_event(PodEvent.LABELS, facts(), facts(labels=DB)), True),
        ("InterPodAffinity", facts(labels=DB),
         pod_event(PodEvent.DELETED, facts(affinity=anti_affinity(near(DB)))), True),
        ("InterPodAffinity", facts(), node_changes(Aspect.LABELS), True),
        ("PodTopologySpread", facts(topology_spread_constraints=(SPREAD,)),
         pod_event(PodEvent.DELETED, facts(labels=DB)), True),
        ("PodTopologySpread", facts(topology_spread_constraints=(SPREAD,)), node_goes, True),
        ("NodeResourcesFit", facts(cpu="3"), node_goes, False),
    ],
)  # fmt: skip
def test_queueing_hint_wakes_pod(rejected_by: str, one: PodFacts, happening: Happening, wakes: bool) -> None:
    cache = cache_of(node("n"))
    changes = Changes(cache, {"": DEFAULT_PROFILE})
    happening(cache, changes)
    assert woken(changes, waiting(one, rejected_by=[rejected_by])) == ([one.uid] if wakes else [])


@pytest.mark.parametrize(
    ("aspects", "before", "after", "wakes"),
    [
        (Aspect.ADDED, None, {}, False),
        (Aspect.ADDED, None, {"foo": "bar"}, True),
        (Aspect.ALLOCATABLE, {}, {}, False),
        (Aspect.ALLOCATABLE, {"foo": "bar"}, {"foo": "bar"}, False),
        (Aspect.LABELS, {}, {"k": "v"}, False),
        (Aspect.LABELS, {"foo": "bar"}, {"k": "v"}, False),
        (Aspect.LABELS, {}, {"foo": "bar"}, True),
        (Aspect.LABELS, {"foo": "baz"}, {"foo": "bar"}, True),
        (Aspect.LABELS, {"foo": "bar"}, {"foo": "bar", "k": "v"}, False),
    ],
    ids=[
        "unsuitable node comes",
        "suitable node comes",
        "other change of an unsuitable node",
        "other change of a suitable node",
        "another label",
        "no longer suitable",
        "suitable by a new label",
        "suitable by a new value",
        "suitable before",
    ],
)
@pytest.mark.parametrize("of_pod", [True, False], ids=["affinity of the pod", "affinity of the profile"])
def test_labels_of_nodes_wake_a_pod_with_node_affinity(
    aspects: Aspect, before: dict[str, str] | None, after: dict[str, str], wakes: bool, of_pod: bool
) -> None:
    """The cases of upstream's ``Test_isSchedulableAfterNodeChange`` of NodeAffinity."""
    cache = cache_of() if before is None else cache_of(node("n", labels=before))
    changes = Changes(cache, {"": DEFAULT_PROFILE if of_pod else ONLY_FOO})
    node_changes(aspects, labels=after)(cache, changes)
    one = facts(node_selector={"foo": "bar"} if of_pod else None)
    assert woken(changes, waiting(one, rejected_by=["NodeAffinity"])) == ([one.uid] if wakes else [])


@pytest.mark.parametrize(
    ("aspects", "before", "after", "wakes"),
    [
        (Aspect.ADDED, None, ["user1"], False),
        (Aspect.ADDED, None, ["user2"], True),
        (Aspect.ADDED, None, [], True),
        (Aspect.TAINTS, ["user1"], ["user1", "user3"], False),
        (Aspect.TAINTS, ["user1"], ["user2"], True),
        (Aspect.TAINTS, ["user1"], ["user1", "user2"], False),
        (Aspect.LABELS, ["user1"], ["user1"], False),
        (Aspect.TAINTS, [], ["user2"], False),
        (Aspect.TAINTS, ["user2"], [], False),
    ],
)
def test_taints_of_nodes_wake_a_pod_that_tolerates_them(
    aspects: Aspect, before: list[str] | None, after: list[str], wakes: bool
) -> None:
    """The cases of upstream's ``TestIsSchedulableAfterNodeChange`` of TaintToleration."""
    cache = cache_of() if before is None else cache_of(node("n", taints=dedicated(before)))
    changes = Changes(cache, {"": DEFAULT_PROFILE})
    node_changes(aspects, taints=dedicated(after))(cache, changes)
    one = facts(tolerations=(Toleration(key="dedicated", operator="Equal", value="user2"),))
    assert woken(changes, waiting(one, rejected_by=["TaintToleration"])) == ([one.uid] if wakes else [])


def test_one_plugin_that_welcomes_the_change_is_enough() -> None:
    cache = cache_of(node("n"))
    changes = Changes(cache, {"": DEFAULT_PROFILE})
    changes.node("n", Aspect.TAINTS)
    one = facts()
    queue = waiting(one, rejected_by=["NodeResourcesFit", "TaintToleration"])
    assert woken(changes, queue) == [one.uid]


def test_a_pod_that_found_no_nodes_at_all_is_woken_by_anything() -> None:
    cache = cache_of(node("n"))
    changes = Changes(cache, {"": DEFAULT_PROFILE})
    changes.node("n", Aspect.ADDED)
    one = facts()
    assert woken(changes, waiting(one, rejected_by=[])) == [one.uid]


def test_a_change_is_offered_once() -> None:
    cache = cache_of(node("n"))
    changes = Changes(cache, {"": DEFAULT_PROFILE})
    changes.node("n", Aspect.TAINTS)
    assert changes
    one = facts()
    assert woken(changes, waiting(one, rejected_by=["TaintToleration"])) == [one.uid]
    assert not changes
    assert woken(changes, waiting(one, rejected_by=["TaintToleration"])) == []


def test_of_many_nodes_one_is_enough() -> None:
    cache = cache_of(*(node(f"n{number}", cpu="1") for number in range(50)), node("big", cpu="8"))
    changes = Changes(cache, {"": DEFAULT_PROFILE})
    for number in range(50):
        changes.node(f"n{number}", Aspect.ADDED)
    one = facts(cpu="6")
    assert woken(changes, waiting(one, rejected_by=["NodeResourcesFit"])) == []
    changes.node("n0", Aspect.ADDED)
    changes.node("big", Aspect.ADDED)
    assert woken(changes, waiting(one, rejected_by=["NodeResourcesFit"])) == [one.uid]


class TestRoomIsOfferedToAsManyAsItHasRoomFor:
    """A node of 4 CPUs joins; ten pods of one CPU wait, and one of three."""

    def start(self) -> tuple[Cache, Changes, list[PodFacts], SchedulingQueue]:
        cache = cache_of(node("n"))
        changes = Changes(cache, {"": DEFAULT_PROFILE})
        changes.node("n", Aspect.ADDED)
        pods = [facts(f"p{number}", cpu="1") for number in range(10)]
        return cache, changes, pods, waiting(*pods, rejected_by=["NodeResourcesFit"])

    def test_the_first_in_line_are_tried(self) -> None:
        _, changes, pods, queue = self.start()
        assert woken(changes, queue) == [one.uid for one in pods[:4]]
        assert woken(changes, queue) == [one.uid for one in pods[:4]]

    def test_used_up_change_wakes_no_further_pods(self) -> None:
        cache, changes, _, queue = self.start()
        changes.offer(queue, LATER)
        while (found := queue.pop(LATER)) is not None:
            cache.add_pod(found.facts, "n")
        changes.offer(queue, LATER)
        assert not changes
        assert len(queue.unschedulable()) == 6

    def test_unused_change_wakes_all_pods_in_turn(self) -> None:
        _, changes, pods, queue = self.start()
        tried = []
        while changes:
            changes.offer(queue, LATER)
            while (found := queue.pop(LATER)) is not None:
                tried.append(found.facts.name)
                queue.reject(found, ["NodeAffinity"], LATER)
        assert tried == [one.name for one in pods]

    def test_when_they_go_the_next_are_tried(self) -> None:
        _, changes, pods, queue = self.start()
        changes.offer(queue, LATER)
        for one in pods[:4]:
            queue.remove(one.uid)
        assert woken(changes, queue) == [one.uid for one in pods[4:8]]

    def test_other_pods_are_another_line(self) -> None:
        _, changes, pods, queue = self.start()
        big = facts("big", cpu="3")
        queue.add(big, 0.0)
        found = queue.pop(0.0)
        assert found is not None
        queue.reject(found, ["NodeResourcesFit"], 0.0)
        assert woken(changes, queue) == [*(one.uid for one in pods[:4]), big.uid]


@pytest.mark.parametrize(
    ("one", "wakes"),
    [
        (facts(cpu="3", priority=5), True),
        (facts(cpu="3", priority=5, preemption_policy="Never"), False),
        (facts(cpu="3", priority=0), False),
        (facts(cpu="5", priority=5), False),
    ],
    ids=["could preempt the rest", "never preempts", "not more important", "too big for the node"],
)
def test_partly_freed_node_wakes_pod_that_may_preempt(one: PodFacts, wakes: bool) -> None:
    cache = cache_of(node("n"))
    cache.add_pod(facts(cpu="2", priority=0), "n")
    changes = Changes(cache, {"": DEFAULT_PROFILE})
    changes.pod(PodEvent.DELETED, facts(cpu="2", priority=100), "n")
    queue = waiting(one, rejected_by=["NodeResourcesFit"])
    assert woken(changes, queue) == ([one.uid] if wakes else [])


SPREAD = TopologySpreadConstraint(
    topology_key="zone",
    max_skew=1,
    when_unsatisfiable="DoNotSchedule",
    label_selector=LabelSelector(match_labels=DB),
)


@pytest.mark.parametrize(
    ("plugin", "before", "after", "helps"),
    [
        ("TaintToleration", {}, {"tolerations": (toleration("k"),)}, True),
        ("NodeUnschedulable", {}, {"tolerations": (toleration("k"),)}, True),
        ("NodeResourcesFit", {}, {"tolerations": (toleration("k"),)}, False),
        ("NodeResourcesFit", {"cpu": "2"}, {"cpu": "1"}, True),
        ("NodeResourcesFit", {"cpu": "1"}, {"cpu": "2"}, False),
        ("NodeAffinity", {}, {"labels": DB}, False),
        ("InterPodAffinity", {}, {"labels": DB}, True),
        ("PodTopologySpread", {}, {"labels": DB}, True),
        ("PodTopologySpread", {}, {"labels": {"app": "web"}}, False),
        ("PodTopologySpread", {}, {"tolerations": (toleration("k"),)}, False),
        ("VolumeBinding", {}, {"labels": DB}, False),
        ("", {}, {"labels": DB}, True),
        ("", {}, {}, False),
    ],
)
def test_changed_pod_is_tried_again_if_its_plugins_care(
    plugin: str, before: dict[str, Any], after: dict[str, Any], helps: bool
) -> None:
    names = frozenset({plugin}) if plugin else frozenset()
    old = facts("p", topology_spread_constraints=(SPREAD,), **before)
    new = facts("p", topology_spread_constraints=(SPREAD,), **after)
    waits = Waiting(old, 0.0, rejected_by=names)
    assert wakes_for_own(waits, new, DEFAULT_PROFILE, cache_of()) is helps


def test_tolerations_matter_to_spreading_that_honors_taints() -> None:
    honoring = structs.replace(SPREAD, node_taints_policy="Honor")
    old = facts("p", topology_spread_constraints=(honoring,))
    new = facts("p", topology_spread_constraints=(honoring,), tolerations=(toleration("k"),))
    waits = Waiting(old, 0.0, rejected_by=frozenset({"PodTopologySpread"}))
    assert wakes_for_own(waits, new, DEFAULT_PROFILE, cache_of())


class Broken(Plugin):
    """Fails to judge any change."""

    name = "Broken"

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise ValueError("bug")

    wakes_for_nodes: Any = _fail
    wakes_for_pod: Any = _fail
    wakes_for_own: Any = _fail
    wakes_for_object: Any = _fail


class TestErrors:
    """A case of upstream's ``Test_isPodWorthRequeuing``: a pod is tried where a plugin fails to answer."""

    profile = structs.replace(DEFAULT_PROFILE, by_name={"Broken": Broken()})
    rejected_by = frozenset({"Broken"})

    @pytest.mark.parametrize("happens", ["node", "pod"])
    def test_change_of_nodes_and_pods(self, happens: str) -> None:
        one, cache = facts(), cache_of(node("n"))
        changes = Changes(cache, {"": self.profile})
        if happens == "node":
            changes.node("n", Aspect.LABELS)
        else:
            changes.pod(PodEvent.ADDED, facts(), "n")
        assert woken(changes, waiting(one, rejected_by=self.rejected_by)) == [one.uid]

    def test_change_of_an_object(self) -> None:
        change = ObjectChange("StorageClass", None)
        assert wakes_for_object(self.profile.by_name["Broken"], facts(), change, cache_of())

    def test_change_of_the_pod_itself(self) -> None:
        waits = Waiting(facts("p"), 0.0, rejected_by=self.rejected_by)
        assert wakes_for_own(waits, facts("p", labels=DB), self.profile, cache_of())
