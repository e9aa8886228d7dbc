"""Decisions of the DaemonSet controller: suitable nodes, roll-out and status."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
)
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.workloads.daemonset_rules import (
    Belongs,
    belongs,
    by_node,
    is_updated,
    node_of,
    placed_on,
    plan,
    pod_for,
    status_of,
    surplus_revisions,
)
from podling.machinery.pods import TEMPLATE_GENERATION
from tests.unit.controllers.workloads.daemonsets import daemon_set, rolling

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def node(*taints: Taint, **labels: str) -> Node:
    return Node(metadata=ObjectMeta(name="n1", labels=labels), spec=NodeSpec(taints=taints))


def requires(*terms: NodeSelectorTerm) -> Affinity:
    selector = NodeSelector(node_selector_terms=terms)
    return Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=selector))


DISK = NodeSelectorTerm(
    match_expressions=(NodeSelectorRequirement(key="disk", operator="In", values=("ssd", "nvme")),)
)


NAMED = NodeSelectorTerm(
    match_fields=(NodeSelectorRequirement(key="metadata.name", operator="NotIn", values=("n1",)),)
)


@pytest.mark.parametrize(
    ("pod", "where", "expected"),
    [
        pytest.param({}, node(), Belongs(True, True), id="any node"),
        pytest.param({"node_selector": {"disk": "ssd"}}, node(), Belongs(False, False), id="not selected"),
        pytest.param(
            {"node_selector": {"disk": "ssd"}}, node(disk="ssd"), Belongs(True, True), id="selected"
        ),
        pytest.param({"affinity": requires(DISK)}, node(disk="nvme"), Belongs(True, True), id="affine"),
        pytest.param({"affinity": requires(DISK)}, node(disk="hdd"), Belongs(False, False), id="not affine"),
        pytest.param({"affinity": requires(NAMED)}, node(), Belongs(False, False), id="not by name"),
        pytest.param({"affinity": requires(DISK, NAMED)}, node(disk="ssd"), Belongs(True, True), id="either"),
        pytest.param(
            {"affinity": requires(NodeSelectorTerm())}, node(), Belongs(False, False), id="an empty term"
        ),
        pytest.param({"node_name": "n2"}, node(), Belongs(False, False), id="meant for another"),
        pytest.param(
            {}, node(Taint(key="gpu", effect="NoSchedule")), Belongs(False, True), id="may stay, not come"
        ),
        pytest.param({}, node(Taint(key="gpu", effect="NoExecute")), Belongs(False, False), id="must leave"),
        pytest.param(
            {}, node(Taint(key="gpu", effect="PreferNoSchedule")), Belongs(True, True), id="only a wish"
        ),
        pytest.param(
            {"tolerations": (Toleration(operator="Exists"),)},
            node(Taint(key="gpu", effect="NoExecute")),
            Belongs(True, True),
            id="tolerates everything",
        ),
        pytest.param(
            {},
            node(
                Taint(key="node.kubernetes.io/unreachable", effect="NoExecute"),
                Taint(key="node.kubernetes.io/disk-pressure", effect="NoSchedule"),
                Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule"),
            ),
            Belongs(True, True),
            id="daemons stand what their nodes suffer",
        ),
        pytest.param(
            {},
            node(Taint(key="node.kubernetes.io/network-unavailable", effect="NoSchedule")),
            Belongs(False, True),
            id="no network",
        ),
        pytest.param(
            {"host_network": True},
            node(Taint(key="node.kubernetes.io/network-unavailable", effect="NoSchedule")),
            Belongs(True, True),
            id="no network needed",
        ),
    ],
)
def test_daemon_pod_belongs_on_suitable_nodes(pod: dict[str, Any], where: Node, expected: Belongs) -> None:
    assert belongs(daemon_set(**pod), where) == expected


DAEMON_TOLERATIONS = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
]


@pytest.mark.parametrize(
    ("given", "first"),
    [
        ((), []),
        (
            (
                Toleration(key="gpu", operator="Exists"),
                Toleration(
                    key="node.kubernetes.io/unreachable",
                    operator="Exists",
                    effect="NoExecute",
                    toleration_seconds=300,
                ),
                Toleration(key="node.kubernetes.io/not-ready", operator="Exists", effect="NoExecute"),
            ),
            [
                ("gpu", ""),
                ("node.kubernetes.io/unreachable", "NoExecute"),
                ("node.kubernetes.io/not-ready", "NoExecute"),
            ],
        ),
        (
            (Toleration(key="node.kubernetes.io/not-ready", operator="Exists", effect="NoSchedule"),),
            [("node.kubernetes.io/not-ready", "NoSchedule")],
        ),
    ],
)
def test_daemon_pod_tolerates_a_failing_node_for_ever(
    given: tuple[Toleration, ...], first: list[tuple[str, str]]
) -> None:
    made = pod_for(daemon_set(tolerations=given), "n1", "abc").spec.tolerations
    assert [(each.key, each.effect) for each in made] == [
        *first,
        *(each for each in DAEMON_TOLERATIONS if each not in first),
    ]
    assert {each.toleration_seconds for each in made} == {None}


def test_a_pod_is_meant_for_its_node_before_it_is_bound() -> None:
    made = pod_for(daemon_set(affinity=requires(DISK)), "n7", "abc")
    assert made.spec.node_name == ""
    assert node_of(made) == "n7"
    assert made.metadata.labels == {"app": "agent", "controller-revision-hash": "abc"}


def named(*names: str, operator: str = "In", key: str = "metadata.name") -> NodeSelectorTerm:
    return NodeSelectorTerm(match_fields=(NodeSelectorRequirement(key=key, operator=operator, values=names),))


TERMS: list[tuple[NodeSelectorTerm, ...]] = [
    (),
    (DISK,),
    (named("n1", "n2"),),
    (DISK, named("n2")),
    (named("n2", operator="NotIn"),),
    (named("bar", key="metadata.foo"),),
]


@pytest.mark.parametrize("terms", TERMS)
def test_name_of_the_node_takes_the_place_of_other_requirements(
    terms: tuple[NodeSelectorTerm, ...],
) -> None:
    """Cases of ``TestReplaceDaemonSetPodNodeNameNodeAffinity`` in daemonset_util_test.go."""
    preferred = (PreferredSchedulingTerm(weight=1, preference=DISK),)
    affinity = requires(*terms)
    assert affinity.node_affinity is not None
    wished = structs.replace(
        affinity.node_affinity, preferred_during_scheduling_ignored_during_execution=preferred
    )
    for given in (None, affinity, Affinity(node_affinity=wished)):
        made = placed_on(PodSpec(affinity=given), "n1").affinity
        kept = preferred if given is not None and given.node_affinity is wished else ()
        placed = requires(named("n1")).node_affinity
        assert placed is not None
        assert made == Affinity(
            node_affinity=structs.replace(placed, preferred_during_scheduling_ignored_during_execution=kept)
        )


@pytest.mark.parametrize(
    ("spec", "node"),
    [
        (PodSpec(node_name="n1"), "n1"),
        (PodSpec(node_name="n1", affinity=requires(named("n2"))), "n1"),
        (PodSpec(affinity=requires(named("n1"))), "n1"),
        (PodSpec(affinity=requires(DISK, named("n1"))), "n1"),
        (PodSpec(affinity=requires(named("n1", "n2"))), ""),
        (PodSpec(affinity=requires(named("n1", operator="NotIn"))), ""),
        (PodSpec(affinity=requires(named("n1", key="metadata.foo"))), ""),
        (PodSpec(), ""),
    ],
)
def test_pod_is_meant_for_the_only_node_that_it_names(spec: PodSpec, node: str) -> None:
    """Cases of ``TestGetTargetNodeName`` in daemonset_util_test.go."""
    assert node_of(Pod(spec=spec)) == node


def surging_pods(*states: tuple[str, bool]) -> list[Pod]:
    """Pods of one node, the oldest first, each with its revision and whether it is ready."""
    surging = daemon_set(strategy=rolling(max_surge=1))
    pods = []
    for number, (revision, ready) in enumerate(states):
        made = pod_for(surging, "n1", revision)
        created = datetime(2026, 1, 1, 0, number, tzinfo=UTC)
        metadata = structs.replace(made.metadata, name=f"p{number}", creation_timestamp=created)
        condition = PodCondition(type="Ready", status="True" if ready else "False")
        status = PodStatus(phase="Running", conditions=(condition,))
        pods.append(structs.replace(made, metadata=metadata, status=status))
    return pods


SURGE: list[tuple[list[tuple[str, bool]], list[str], list[str]]] = [
    ([], ["n1"], []),
    ([("old", True)], [], []),
    ([("old", True), ("new", False)], [], []),
    ([("old", False), ("new", False)], [], ["p0"]),
    ([("old", False), ("new", True)], [], ["p0"]),
    ([("old", True), ("new", True)], [], ["p0"]),
    ([("old", True), ("old", True), ("new", False), ("new", True)], [], ["p1", "p3"]),
    ([("new", True), ("new", True)], [], ["p1"]),
    ([("old", True), ("old", True)], [], ["p1"]),
    ([("old", False), ("old", True), ("new", False)], [], ["p1", "p0"]),
]


@pytest.mark.parametrize(("states", "create", "delete"), SURGE)
def test_surge_allows_an_old_and_a_new_pod_while_the_old_one_is_ready(
    states: list[tuple[str, bool]], create: list[str], delete: list[str]
) -> None:
    surging = daemon_set(strategy=rolling(max_surge=1))
    where = Node(metadata=ObjectMeta(name="n1"))
    made = plan(surging, [where], by_node(surging_pods(*states)), "new", NOW)
    assert (made.create, [pod.metadata.name for pod in made.delete]) == (create, delete)


def test_status_counts_the_oldest_pod_of_a_node() -> None:
    where = Node(metadata=ObjectMeta(name="n1"))
    pods = by_node(surging_pods(("old", False), ("new", True)))
    status = status_of(daemon_set(), [where], pods, "new", 0, datetime(2026, 1, 1, tzinfo=UTC))
    assert (status.number_ready, status.updated_number_scheduled, status.number_unavailable) == (0, 0, 1)


@pytest.mark.parametrize(("seconds", "available"), [(14, 0), (15, 1)])
def test_status_counts_pods_as_available_that_are_ready_long_enough(seconds: int, available: int) -> None:
    owner = daemon_set()
    owner = structs.replace(owner, spec=structs.replace(owner.spec, min_ready_seconds=15))
    (held,) = surging_pods(("new", True))
    since = structs.replace(held.status.conditions[0], last_transition_time=NOW - timedelta(seconds=seconds))
    held = structs.replace(held, status=structs.replace(held.status, conditions=(since,)))
    status = status_of(owner, [Node(metadata=ObjectMeta(name="n1"))], by_node([held]), "new", 0, NOW)
    assert (status.number_ready, status.number_available) == (1, available)


@pytest.mark.parametrize(("seconds", "gone"), [(10, ["p1"]), (20, ["p1", "p0"])])
def test_surge_keeps_the_old_pod_until_the_new_one_is_available(seconds: int, gone: list[str]) -> None:
    surging = daemon_set(strategy=rolling(max_surge=1))
    surging = structs.replace(surging, spec=structs.replace(surging.spec, min_ready_seconds=15))
    old, excess, new = surging_pods(("old", True), ("old", True), ("new", True))
    condition = structs.replace(
        new.status.conditions[0], last_transition_time=NOW - timedelta(seconds=seconds)
    )
    new = structs.replace(new, status=structs.replace(new.status, conditions=(condition,)))
    made = plan(surging, [Node(metadata=ObjectMeta(name="n1"))], by_node([old, excess, new]), "new", NOW)
    assert [pod.metadata.name for pod in made.delete] == gone


def test_pods_that_are_meant_for_no_node_are_left_alone() -> None:
    stray = structs.replace(surging_pods(("old", True))[0], spec=PodSpec())
    assert by_node([stray]) == {}


@pytest.mark.parametrize(
    ("generation", "label", "revision", "updated"),
    [
        (None, None, "new", True),
        (None, None, "old", False),
        ("2", "2", "old", True),
        ("2", "1", "old", False),
        ("2", "1", "new", True),
        (None, "1", "old", False),
    ],
)
def test_pod_is_of_the_template_by_revision_or_generation(
    generation: str | None, label: str | None, revision: str, updated: bool
) -> None:
    wanted = daemon_set()
    if generation is not None:
        annotations = {TEMPLATE_GENERATION: generation}
        wanted = structs.replace(wanted, metadata=structs.replace(wanted.metadata, annotations=annotations))
    labels = {"controller-revision-hash": revision}
    if label is not None:
        labels["pod-template-generation"] = label
    assert is_updated(wanted, Pod(metadata=ObjectMeta(labels=labels)), "new") == updated


# the limit, the revisions by number ("!" is live), and the numbers that go
HISTORY: list[tuple[int | None, list[str], list[int]]] = [
    (0, ["1", "2"], [1, 2]),
    (1, ["1", "2"], [1]),
    (1, ["1!", "2"], [2]),
    (0, ["1!", "2!"], []),
    (1, ["1!", "2!", "3"], [3]),
    (2, ["1", "2"], []),
    (None, [str(number) for number in range(1, 13)], [1, 2]),
]


@pytest.mark.parametrize(("limit", "present", "gone"), HISTORY)
def test_history_counts_revisions_in_use(limit: int | None, present: list[str], gone: list[int]) -> None:
    old = [
        ControllerRevision(metadata=ObjectMeta(name=each.rstrip("!")), revision=int(each.rstrip("!")))
        for each in present
    ]
    live = {each.rstrip("!") for each in present if each.endswith("!")}
    assert [each.revision for each in surplus_revisions(old, live, limit)] == gone
