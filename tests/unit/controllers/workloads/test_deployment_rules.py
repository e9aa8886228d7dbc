"""Sizes of a Deployment's roll-out (cases of deployment_util_test.go, sync_test.go and rolling_test.go)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from podling.api.apps_v1 import (
    Deployment,
    DeploymentSpec,
    DeploymentStatus,
    DeploymentStrategy,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicaSetStatus,
    RollingUpdateDeployment,
)
from podling.api.core_v1 import Container, Pod, PodSpec, PodStatus, PodTemplateSpec
from podling.api.meta_v1 import LabelSelector, ObjectMeta, OwnerReference
from podling.controllers.workloads.deployment_rules import (
    MAX_REPLICAS,
    REVISION,
    REVISION_HISTORY,
    find_new,
    fraction_of,
    grow_new,
    max_surge,
    max_unavailable,
    new_size,
    old_pods_run,
    replica_set_name,
    resize,
    revised_annotations,
    same_template,
    shrink_old,
    size_annotations,
    surplus_history,
)
from podling.sim.loop import EPOCH


def deployment(replicas: int, surge: int | str | None, missing: int | str | None, type_: str) -> Deployment:
    rolling = RollingUpdateDeployment(max_surge=surge, max_unavailable=missing)
    return Deployment(
        spec=DeploymentSpec(
            replicas=replicas,
            selector=LabelSelector(),
            template=PodTemplateSpec(),
            strategy=DeploymentStrategy(type=type_, rolling_update=rolling),
        )
    )


@pytest.mark.parametrize(
    ("replicas", "surge", "missing", "type_", "expected"),
    [
        (10, 1, 5, "RollingUpdate", (1, 5)),
        (10, "50%", "50%", "RollingUpdate", (5, 5)),
        (5, "30%", "30%", "RollingUpdate", (2, 1)),
        (10, 0, 0, "RollingUpdate", (0, 1)),
        (1, "0%", "25%", "RollingUpdate", (0, 1)),
        (5, 0, 10, "RollingUpdate", (0, 5)),
        (0, 0, 10, "RollingUpdate", (0, 0)),
        (5, 1, 10, "Recreate", (0, 0)),
        (0, "0%", "0%", "RollingUpdate", (0, 0)),
        (10, "39%", "39%", "RollingUpdate", (4, 3)),
        (10, 1, 10, "RollingUpdate", (1, 10)),
        (10, 1, "100%", "RollingUpdate", (1, 10)),
        (5, 1, "100%", "RollingUpdate", (1, 5)),
        (10, 1, "60%", "RollingUpdate", (1, 6)),
        (10, None, "39%", "RollingUpdate", (0, 3)),
        (10, "39%", None, "RollingUpdate", (4, 0)),
        (10, None, None, "RollingUpdate", (0, 1)),
    ],
)
def test_surge_rounds_up_and_unavailability_down(
    replicas: int, surge: int | str | None, missing: int | str | None, type_: str, expected: tuple[int, int]
) -> None:
    held = deployment(replicas, surge, missing, type_)
    assert (max_surge(held), max_unavailable(held)) == expected


def template(image: str, **labels: str) -> PodTemplateSpec:
    names = {name.replace("_", "-"): value for name, value in labels.items()}
    return PodTemplateSpec(
        metadata=ObjectMeta(labels=names), spec=PodSpec(containers=(Container(name="c", image=image),))
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (template("a", app="x"), template("a", app="x"), True),
        (template("a", app="x", pod_template_hash="1"), template("a", app="x"), True),
        (template("a", pod_template_hash="1"), template("a", pod_template_hash="2"), True),
        (template("a", app="x"), template("a", app="y"), False),
        (template("a", app="x"), template("b", app="x"), False),
        (template("a"), None, False),
    ],
)
def test_templates_are_compared_without_hash_label(
    one: PodTemplateSpec | None, other: PodTemplateSpec | None, same: bool
) -> None:
    assert same_template(one, other) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (template("a", app="x", pod_template_hash="1"), template("a", app="x", pod_template_hash="1"), True),
        (template("a", app="x", pod_template_hash="1"), template("a", app="x", pod_template_hash="2"), True),
        (template("a", app="x"), template("a", pod_template_hash="2"), False),
        (template("a", pod_template_hash="1"), template("a", app="x", pod_template_hash="1"), False),
        (template("a", app="x", pod_template_hash="1"), template("b", app="x", pod_template_hash="2"), False),
        (template("a", app="x"), template("b", app="x", pod_template_hash="2"), False),
        (template("a", app="x"), template("a", role="x"), False),
    ],
)
def test_comparison_of_templates_is_symmetric(
    one: PodTemplateSpec, other: PodTemplateSpec, same: bool
) -> None:
    assert same_template(one, other) is same
    assert same_template(other, one) is same


def replica_set(
    name: str,
    replicas: int,
    age: int = 0,
    *,
    available: int | None = None,
    before: Deployment | None = None,
    present: int | None = None,
) -> ReplicaSet:
    """Return a replica set, ``age`` hours old, as it was sized for the deployment ``before``."""
    created = EPOCH - timedelta(hours=age)
    annotations = size_annotations(before) if before is not None else {}
    status = ReplicaSetStatus(
        replicas=replicas if present is None else present,
        available_replicas=replicas if available is None else available,
    )
    return ReplicaSet(
        metadata=ObjectMeta(name=name, uid=name, creation_timestamp=created, annotations=annotations),
        spec=ReplicaSetSpec(replicas=replicas, selector=LabelSelector()),
        status=status,
    )


# replicas and surge before and after, the new replica set's size, the old ones' sizes, and what they become
SCALES: list[tuple[tuple[int, int], tuple[int, int], int | None, list[int], int | None, list[int]]] = [
    ((10, 0), (12, 0), 10, [], 12, []),
    ((10, 0), (5, 0), 10, [], 5, []),
    ((5, 0), (10, 0), 2, [3], 4, [6]),
    ((5, 0), (3, 0), 2, [3], 1, [2]),
    ((9, 0), (4, 0), 8, [1], 4, [0]),
    ((7, 0), (10, 0), 2, [3, 2], 3, [4, 3]),
    ((13, 0), (8, 0), 2, [8, 3], 1, [5, 2]),
    ((3, 0), (4, 0), 1, [1, 1], 2, [1, 1]),
    ((3, 0), (2, 0), 1, [1, 1], 1, [1, 0]),
    ((4, 0), (5, 0), None, [2, 2], None, [3, 2]),
    ((6, 0), (0, 0), 3, [2, 1], 0, [0, 0]),
    ((6, 0), (6, 0), 0, [0, 0], 6, [0, 0]),
    ((10, 2), (20, 2), 6, [6], 11, [11]),
    ((10, 3), (50, 6), 5, [8], 22, [34]),
    ((10, 0), (14, 0), None, [7, 3], None, [10, 4]),
    ((2, 1), (2, 1), 2, [1], 2, [1]),
]


@pytest.mark.parametrize(("before", "after", "new", "old", "new_after", "old_after"), SCALES)
def test_resize_is_shared_out_in_proportion(
    before: tuple[int, int],
    after: tuple[int, int],
    new: int | None,
    old: list[int],
    new_after: int | None,
    old_after: list[int],
) -> None:
    earlier, now = (deployment(replicas, surge, 0, "RollingUpdate") for replicas, surge in (before, after))
    current = None if new is None else replica_set("new", new, available=0, before=earlier)
    others = [replica_set(f"old{age}", size, age + 1, before=earlier) for age, size in enumerate(old)]
    changes = {each.replica_set.metadata.name: each.replicas for each in resize(now, current, others)}
    if new is not None:
        assert changes.get("new", new) == new_after
    assert [changes.get(f"old{age}", size) for age, size in enumerate(old)] == old_after


@pytest.mark.parametrize(
    ("surge", "old", "new", "after"),
    [(0, 10, 0, 0), (2, 10, 0, 2), (2, 5, 0, 7), (2, 10, 2, 2), (2, 2, 11, 10)],
)
def test_new_replica_set_grows_within_the_surge(surge: int, old: int, new: int, after: int) -> None:
    current, other = replica_set("new", new), replica_set("old", old, 1)
    changes = grow_new(deployment(10, surge, 0, "RollingUpdate"), current, [other])
    assert (changes[0].replicas if changes else new) == after


# replicas of the deployment, of the new replica set, the surge, the strategy, and the size beside 5 others
GROWTHS = [
    (1, 5, 1, "RollingUpdate", 5),
    (6, 2, 10, "RollingUpdate", 6),
    (3, 1, 1, "Recreate", 3),
]


@pytest.mark.parametrize(("replicas", "current", "surge", "type_", "after"), GROWTHS)
def test_new_replica_set_grows_no_further_than_the_deployment(
    replicas: int, current: int, surge: int, type_: str, after: int
) -> None:
    held = deployment(replicas, surge, 1, type_)
    assert new_size(held, [replica_set("other", 5)], current) == after


def with_max(replicas: int, annotation: str | None) -> ReplicaSet:
    held = replica_set("rs", replicas)
    annotations = {} if annotation is None else {MAX_REPLICAS: annotation}
    return structs.replace(held, metadata=structs.replace(held.metadata, annotations=annotations))


# replicas of the deployment, its surge, replicas in its status, those of the replica set, the annotation
# ``max-replicas``, and the change of the replica set's size
FRACTIONS = [
    (0, 0, 0, 10, None, -10),
    (10, 0, 0, 5, None, 0),
    (10, 0, 0, 5, "0", 0),
    (120, 0, 100, 50, None, 10),
    (120, 0, 100, 50, "0", 10),
    (120, 0, 0, 50, "100", 10),
    (120, 10, 0, 50, "110", 9),
    (10, 0, 0, 6, "12", -1),
    (100, 10, 0, 50, "130", -8),
]


@pytest.mark.parametrize(("replicas", "surge", "present", "size", "annotation", "change"), FRACTIONS)
def test_replica_set_changes_by_its_share_of_the_former_maximum(
    replicas: int, surge: int, present: int, size: int, annotation: str | None, change: int
) -> None:
    held = deployment(replicas, surge, 1, "RollingUpdate")
    held = structs.replace(held, status=DeploymentStatus(replicas=present))
    assert fraction_of(held, with_max(size, annotation)) == change


# ages in hours of replica sets with the deployment's template and another one, and the name of the new one
NEWEST: list[tuple[list[tuple[str, int, bool]], str | None]] = [
    ([("new", 1, True), ("old", 2, False)], "new"),
    ([("new", 1, True), ("old", 3, False), ("first", 2, True)], "first"),
    ([("old", 1, False)], None),
    ([], None),
]


@pytest.mark.parametrize(("sets", "found"), NEWEST)
def test_oldest_replica_set_of_the_template_is_the_new_one(
    sets: list[tuple[str, int, bool]], found: str | None
) -> None:
    present = template("a", app="x")
    held = deployment(1, 0, 1, "RollingUpdate")
    held = structs.replace(held, spec=structs.replace(held.spec, template=present))
    everyone = []
    for name, age, same in sets:
        each = replica_set(name, 1, age)
        made = template("a" if same else "b", app="x", pod_template_hash=name)
        everyone.append(structs.replace(each, spec=structs.replace(each.spec, template=made)))
    new = find_new(held, everyone)
    assert (new.metadata.name if new is not None else None) == found


def test_revisions_of_a_replica_set_are_remembered_in_its_annotation() -> None:
    held = deployment(1, 0, 1, "RollingUpdate")
    annotations: dict[str, str] = {}
    for number in range(11, 21):
        annotations = revised_annotations(held, annotations, number)
        assert annotations[REVISION] == str(number)
    assert annotations[REVISION_HISTORY] == ",".join(map(str, range(11, 20)))
    assert revised_annotations(held, annotations, 20) == annotations


def test_revision_that_is_no_number_stays() -> None:
    held = deployment(1, 0, 1, "RollingUpdate")
    metadata = ObjectMeta(annotations={"note": "new"})
    annotations = {REVISION: "x", "note": "old"}
    assert revised_annotations(structs.replace(held, metadata=metadata), annotations, 3) == annotations


def test_history_of_revisions_loses_the_oldest_when_it_is_full() -> None:
    held = deployment(1, 0, 1, "RollingUpdate")
    annotations: dict[str, str] = {}
    for number in range(1000, 1700):
        annotations = revised_annotations(held, annotations, number)
    kept = annotations[REVISION_HISTORY].split(",")
    assert kept == [str(number) for number in range(1699 - len(kept), 1699)]
    assert 1990 < len(annotations[REVISION_HISTORY]) <= 2000


# maxUnavailable, sizes of old and new, available pods of both, and the old size after that
SHRINKS = [
    (0, 10, 0, 10, 0, 9),
    (2, 10, 0, 10, 0, 8),
    (2, 10, 0, 8, 0, 8),
    (2, 10, 0, 9, 0, 8),
    (2, 8, 2, 8, 0, 8),
    (2, 10, 0, 1, 0, 8),
    (2, 0, 0, 0, 0, 0),
]


@pytest.mark.parametrize(("unavailable", "old", "new", "old_ready", "new_ready", "after"), SHRINKS)
def test_old_replica_sets_shrink_within_max_unavailable(
    unavailable: int, old: int, new: int, old_ready: int, new_ready: int, after: int
) -> None:
    current = replica_set("new", new, available=new_ready)
    other = replica_set("old", old, 1, available=old_ready)
    changes = shrink_old(deployment(10, 0, unavailable, "RollingUpdate"), current, [other])
    assert (changes[0].replicas if changes else old) == after


# sizes and available pods of old replica sets, the older one first, and their sizes after that; the new one
# has 2 pods, the given number of them available
STALE_SHRINKS: list[tuple[list[tuple[int, int]], int, list[int]]] = [
    ([(8, 10)], 1, [8]),
    ([(3, 4), (6, 6)], 2, [3, 6]),
    ([(3, 2), (6, 7)], 2, [2, 6]),
    ([(4, 3), (4, 5)], 1, [2, 4]),
]


@pytest.mark.parametrize(("old", "new_ready", "after"), STALE_SHRINKS)
def test_no_available_pod_is_taken_while_a_status_is_from_before_the_last_scaling(
    old: list[tuple[int, int]], new_ready: int, after: list[int]
) -> None:
    sets = [replica_set(f"old{n}", size, 9 - n, available=ready) for n, (size, ready) in enumerate(old)]
    changes = shrink_old(
        deployment(10, 2, 2, "RollingUpdate"), replica_set("new", 2, available=new_ready), sets
    )
    changed = {each.replica_set.metadata.name: each.replicas for each in changes}
    assert [changed.get(each.metadata.name, each.spec.replicas) for each in sets] == after


@pytest.mark.parametrize(("name", "cut"), [("web", "web-abcdefghij"), ("w" * 242, "w" * 242 + "-abcdefghij")])
def test_name_of_a_replica_set_has_the_hash(name: str, cut: str) -> None:
    assert replica_set_name(name, "abcdefghij") == cut


def test_long_name_of_a_deployment_is_cut_in_its_replica_set() -> None:
    name = "w" * 253
    assert replica_set_name(name, "abcdefghij") == "w" * 242 + "-abcdefghij"


# replicas in the status of old replica sets, phases of their pods and of the new one's, and the answer
# (cases of recreate_test.go)
OLD_PODS: list[tuple[list[int], list[str], list[str], bool]] = [
    ([], [], [], False),
    ([], [], ["Running"], False),
    ([0, 0], ["", ""], [], True),
    ([1], [], [], True),
    ([0], [], [], False),
    ([0], ["Failed", "Succeeded"], [], False),
    ([0], ["Unknown"], [], True),
    ([0], ["Pending"], [], True),
    ([0], ["Running"], [], True),
    ([0], ["Failed", "Succeeded", "Pending"], [], True),
]


@pytest.mark.parametrize(("old", "phases", "new_phases", "run"), OLD_PODS)
def test_recreation_waits_for_old_pods_that_may_run(
    old: list[int], phases: list[str], new_phases: list[str], run: bool
) -> None:
    sets = [replica_set(f"old{number}", 0, 1, present=present) for number, present in enumerate(old)]
    new = replica_set("new", 1)
    pods = [pod_of(each, sets[0]) for each in phases] + [pod_of(each, new) for each in new_phases]
    assert old_pods_run(new, sets, pods) is run


def pod_of(phase: str, owner: ReplicaSet) -> Pod:
    reference = OwnerReference(
        api_version="apps/v1", kind="ReplicaSet", name="rs", uid=owner.metadata.uid or "", controller=True
    )
    metadata = ObjectMeta(name="p", owner_references=(reference,))
    return Pod(metadata=metadata, status=PodStatus(phase=phase))


# the limit, (spec.replicas, status.replicas) of old replica sets, and the number that goes
HISTORIES: list[tuple[int | None, list[tuple[int, int]], int]] = [
    (1, [(0, 0), (0, 0), (0, 0)], 2),
    (0, [(0, 0), (0, 1), (1, 0), (1, 1)], 1),
    (0, [(0, 0), (0, 0)], 2),
    (0, [(1, 1), (1, 1)], 0),
    (2**31 - 1, [(0, 0), (0, 0), (0, 0)], 0),
    (None, [(0, 0), (0, 0), (0, 0)], 0),
]


@pytest.mark.parametrize(("limit", "sizes", "gone"), HISTORIES)
def test_history_beyond_the_limit_goes_once_it_is_empty(
    limit: int | None, sizes: list[tuple[int, int]], gone: int
) -> None:
    held = deployment(1, 0, 0, "RollingUpdate")
    held = structs.replace(held, spec=structs.replace(held.spec, revision_history_limit=limit))
    old = [
        replica_set(f"old{number}", wanted, present=present) for number, (wanted, present) in enumerate(sizes)
    ]
    assert len(surplus_history(held, old)) == gone


# the limit, old replica sets from the first made to the last with their size and revision, and those that go
ORDERS: list[tuple[int, list[tuple[int, str]], set[str]]] = [
    (1, [(0, "1"), (0, "2")], {"rs1"}),
    (1, [(0, "2"), (0, "1")], {"rs2"}),
    (1, [(0, "1"), (0, "")], {"rs2"}),
    (1, [(0, ""), (0, "2")], {"rs1"}),
    (1, [(1, "1"), (0, "2"), (0, "3")], {"rs2"}),
    (1, [(1, "1"), (1, "2"), (0, "3")], set()),
    (2, [(0, "3"), (0, "1"), (0, "4"), (0, "2")], {"rs2", "rs4"}),
    (1, [(0, ""), (0, ""), (0, "")], {"rs1", "rs2"}),
]


@pytest.mark.parametrize(("limit", "sets", "gone"), ORDERS)
def test_oldest_revisions_go_first(limit: int, sets: list[tuple[int, str]], gone: set[str]) -> None:
    """Their names and their order in the list do not matter."""
    held = deployment(1, 0, 0, "RollingUpdate")
    held = structs.replace(held, spec=structs.replace(held.spec, revision_history_limit=limit))
    old = []
    for number, (size, text) in enumerate(sets, start=1):
        each = replica_set(f"rs{number}", size, age=10 - number)
        annotations = {REVISION: text} if text else {}
        old.append(structs.replace(each, metadata=structs.replace(each.metadata, annotations=annotations)))
    assert {each.metadata.name for each in surplus_history(held, old[::-1])} == gone


def test_replica_set_that_is_being_deleted_is_no_history() -> None:
    held = deployment(1, 0, 0, "RollingUpdate")
    held = structs.replace(held, spec=structs.replace(held.spec, revision_history_limit=0))
    old = replica_set("old", 0)
    old = structs.replace(old, metadata=structs.replace(old.metadata, deletion_timestamp=EPOCH))
    assert surplus_history(held, [old]) == []
