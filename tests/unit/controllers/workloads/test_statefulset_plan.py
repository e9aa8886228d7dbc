"""The plan of a stateful set: which pod is next, which has to wait, and how much one run does."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.apps_v1 import StatefulSetOrdinals, StatefulSetPersistentVolumeClaimRetentionPolicy
from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.workloads.statefulset_plan import BURST, Create, membership, plan
from podling.controllers.workloads.statefulset_rules import View
from tests.support.workloads import rolling_stateful
from tests.unit.controllers.workloads.statefulsets import claim, pod, view, words_of

INT32_MAX = 2**31 - 1


SCALE_DOWN: list[tuple[str, dict[int, str], list[str]]] = [
    ("the highest goes first", {0: "ready", 1: "ready", 2: "ready"}, ["delete db-2"]),
    ("one that goes is waited for", {0: "ready", 1: "ready", 2: "ready!"}, []),
    ("an unhealthy one waits for a lower unhealthy one", {0: "ready", 1: "waiting", 2: "waiting"}, []),
    ("the lowest unhealthy one may go", {0: "ready", 1: "ready", 2: "waiting"}, ["delete db-2"]),
    ("a healthy one goes though a lower one is not", {0: "ready", 1: "waiting", 2: "ready"}, ["delete db-2"]),
    ("one that goes below counts as unhealthy", {0: "ready", 1: "ready!", 2: "pending"}, []),
    ("one that has ended waits as well", {0: "ready", 1: "failed", 2: "failed"}, []),
    ("an unhealthy member stops all of it", {0: "waiting", 1: "ready", 2: "ready"}, []),
    ("a missing member comes first", {1: "ready", 2: "ready"}, ["create 0"]),
]


@pytest.mark.parametrize(("why", "pods", "words"), SCALE_DOWN)
def test_ordered_scale_down_stops_at_unhealthy_pods(why: str, pods: dict[int, str], words: list[str]) -> None:
    assert words_of(view(1, pods)) == words, why


def test_ordered_scale_down_waits_until_pods_are_available() -> None:
    states = {0: "ready", 1: "young", 2: "young"}
    assert words_of(view(1, states, min_ready_seconds=30)) == []
    assert words_of(view(1, {0: "ready", 1: "ready", 2: "young"}, min_ready_seconds=30)) == ["delete db-2"]
    assert words_of(view(1, states)) == ["delete db-2"]


LIMITED: list[tuple[str, int, dict[int, str], list[int]]] = [
    ("as many as may be unavailable", 2, {}, [0, 1]),
    ("unavailable pods count", 2, {0: "ready", 1: "waiting"}, [2]),
    ("pods that go count", 2, {0: "ready!", 1: "pending"}, []),
    ("available pods do not", 1, {0: "ready", 1: "ready"}, [2]),
    ("later pods do not", 1, {1: "waiting", 2: "waiting"}, [0]),
]


@pytest.mark.parametrize(("why", "limit", "pods", "created"), LIMITED)
def test_parallel_creations_are_limited_by_unavailable_pods(
    why: str, limit: int, pods: dict[int, str], created: list[int]
) -> None:
    seen = view(4, pods, pod_management_policy="Parallel")
    steps, settled = membership(seen, lambda _: seen.update, limit)
    made = [action.ordinal for action in steps[0] if isinstance(action, Create)]
    assert (made, settled) == (created, True), why


PARALLEL: list[tuple[str, int, dict[int, str], list[str]]] = [
    ("all that is missing at once", 3, {}, ["create 0", "create 1", "create 2"]),
    (
        "all that is too much at once",
        1,
        {0: "waiting", 1: "pending", 2: "ready"},
        ["delete db-2", "delete db-1"],
    ),
    ("what goes already is left alone", 0, {0: "ready!", 1: "ready"}, ["delete db-1"]),
    (
        "an ended pod does not stop the rest",
        2,
        {0: "failed", 2: "ready"},
        ["delete db-0", "create 1", "delete db-2"],
    ),
    ("an update from the last one down", 2, {0: "readyo", 1: "readyo"}, ["delete db-1"]),
    ("an update takes a broken pod", 2, {0: "readyo", 1: "waitingo"}, ["delete db-1"]),
    ("an update waits for each", 2, {0: "readyo", 1: "waiting"}, []),
]


@pytest.mark.parametrize(("why", "replicas", "pods", "words"), PARALLEL)
def test_parallel_sets_do_everything_at_once(
    why: str, replicas: int, pods: dict[int, str], words: list[str]
) -> None:
    assert words_of(view(replicas, pods, pod_management_policy="Parallel")) == words, why


def test_update_within_max_unavailable_counts_those_that_are_down() -> None:
    more = {
        "pod_management_policy": "Parallel",
        "update_strategy": rolling_stateful(partition=0, max_unavailable=2),
    }
    assert words_of(view(4, dict.fromkeys(range(4), "readyo"), **more)) == ["delete db-3", "delete db-2"]
    assert words_of(view(4, {0: "readyo", 1: "readyo", 2: "readyo", 3: "waiting"}, **more)) == ["delete db-2"]
    assert words_of(view(4, {0: "readyo", 1: "readyo", 2: "waiting", 3: "waiting"}, **more)) == []


# replicas, maxUnavailable, partition, states of the members that are not "readyo", and the names that go
PARALLEL_UPDATES: list[tuple[int, int, int, dict[int, str], list[int]]] = [
    (1, 1, 0, {0: "waitingo"}, [0]),
    (3, 1, 0, {2: "waitingo"}, [2]),
    (5, 2, 0, {3: "waitingo", 4: "waitingo"}, [4, 3]),
    (3, 1, 0, {2: "readyo!"}, []),
    (5, 3, 0, {3: "waitingo", 4: "readyo!"}, [3, 2]),
    (3, 1, 0, {2: "youngo"}, [2]),
    (5, 3, 0, {3: "readyo!", 4: "waitingo"}, [4, 2]),
    (5, 1, 2, {4: "waitingo"}, [4]),
    (5, 1, 2, {2: "waitingo"}, [2]),
    (5, 1, 2, {1: "waitingo"}, []),
    (5, 2, 3, {3: "waitingo", 4: "waitingo"}, [4, 3]),
    (5, 2, 3, {1: "waitingo", 4: "waitingo"}, [4]),
    (4, 2, 0, {0: "waitingo", 1: "waitingo"}, [1, 0]),
    (5, 3, 0, {0: "waitingo", 1: "waitingo"}, [1, 0, 4]),
    *[
        (6, 2, 3, dict.fromkeys(leaving, "readyo!"), gone)
        for leaving, gone in (
            ((), [5, 4]),
            ((5,), [4]),
            ((3,), [5]),
            ((4,), [5]),
            ((5, 4), []),
            ((5, 3), []),
            ((4, 3), []),
            ((5, 4, 3), []),
            ((2,), [5]),
            ((1,), [5]),
        )
    ],
]

# In order nothing is updated before every member is available: the first part of the run waits for it.
ORDERED_UPDATES: list[tuple[int, int, int, dict[int, str], list[int]]] = [
    (1, 1, 0, {0: "waitingo"}, []),
    (3, 1, 0, {2: "waitingo"}, []),
    (3, 1, 0, {2: "readyo!"}, []),
    (3, 1, 0, {2: "youngo"}, []),
    (5, 1, 2, {4: "waitingo"}, []),
    (5, 2, 0, {}, [4, 3]),
    (5, 2, 4, {}, [4]),
    (5, 2, 0, {4: "ready"}, [3, 2]),
    (5, 3, 0, {4: "ready", 3: "ready", 2: "ready", 1: "ready"}, [0]),
]


@pytest.mark.parametrize(
    ("policy", "replicas", "unavailable", "partition", "states", "gone"),
    [
        *[("Parallel", *each) for each in PARALLEL_UPDATES],
        *[("OrderedReady", *each) for each in ORDERED_UPDATES],
    ],
)
def test_max_unavailable_lets_broken_members_of_parallel_sets_go_first(
    policy: str, replicas: int, unavailable: int, partition: int, states: dict[int, str], gone: list[int]
) -> None:
    seen = view(
        replicas,
        {**dict.fromkeys(range(replicas), "readyo"), **states},
        pod_management_policy=policy,
        update_strategy=rolling_stateful(partition=partition, max_unavailable=unavailable),
        min_ready_seconds=30,
    )
    assert words_of(seen) == [f"delete db-{ordinal}" for ordinal in gone]


@pytest.mark.parametrize(("partition", "gone"), [(0, [7, 6, 5]), (2, [7]), (3, [])])
def test_partition_counts_from_the_first_ordinal(partition: int, gone: list[int]) -> None:
    seen = view(
        3,
        dict.fromkeys(range(5, 8), "readyo"),
        ordinals=StatefulSetOrdinals(start=5),
        update_strategy=rolling_stateful(partition=partition, max_unavailable=3),
    )
    assert words_of(seen) == [f"delete db-{ordinal}" for ordinal in gone]


# maxUnavailable, replicas, and the members that one run updates
UNAVAILABLE: list[tuple[Any, int, int]] = [
    (1, 3, 1),
    (2, 3, 2),
    (5, 3, 3),
    ("30%", 10, 3),
    ("33%", 10, 3),
    ("1%", 10, 1),
    ("99%", 10, 9),
    ("100%", 10, 10),
]


@pytest.mark.parametrize(("unavailable", "replicas", "number"), UNAVAILABLE)
def test_max_unavailable_is_rounded_down_to_one_at_least(
    unavailable: Any, replicas: int, number: int
) -> None:
    strategy = rolling_stateful(partition=0, max_unavailable=unavailable)
    seen = view(replicas, dict.fromkeys(range(replicas), "readyo"), update_strategy=strategy)
    assert len(words_of(seen)) == number


@pytest.mark.parametrize("replicas", [100_000, INT32_MAX])
@pytest.mark.parametrize("policy", ["Parallel", "OrderedReady"])
@pytest.mark.parametrize("unavailable", [None, 2, "100%"])
def test_one_run_does_a_bounded_amount_of_work(replicas: int, policy: str, unavailable: Any) -> None:
    strategy = rolling_stateful(partition=0, max_unavailable=unavailable)
    present = dict.fromkeys(range(3), "readyo")
    seen = view(replicas, present, pod_management_policy=policy, update_strategy=strategy)
    actions = [action for step in plan(seen) for action in step]
    assert 1 <= len(actions) <= 2 * BURST
    assert sum(isinstance(action, Create) for action in actions) == (BURST if policy == "Parallel" else 1)


def test_scaling_away_many_pods_takes_several_runs() -> None:
    seen = view(0, dict.fromkeys(range(BURST + 100), "ready"), pod_management_policy="Parallel")
    words = words_of(seen)
    assert len(words) == BURST
    assert words[0] == f"delete db-{BURST + 99}"


NAMES = ["db-00", "db-2147483648", "db-+1", "other-0", "db", "db-"]


@pytest.mark.parametrize("name", NAMES)
def test_pods_with_other_names_are_no_members(name: str) -> None:
    seen = view(1, {0: "ready"})
    odd = pod(seen.stateful, 7, "ready")
    odd = structs.replace(odd, metadata=structs.replace(odd.metadata, name=name))
    assert words_of(with_pods(seen, odd)) == []


def with_pods(seen: View, *more: Pod) -> View:
    """Return the same with more pods."""
    return View(seen.stateful, [*more, *seen.pods], seen.current, seen.update, seen.now, seen.claims)


# Claims


TEMPLATES = (PersistentVolumeClaim(metadata=ObjectMeta(name="data")),)
SET, FIRST, SECOND = ("StatefulSet", "db", "set"), ("Pod", "db-0", "uid-0"), ("Pod", "db-1", "uid-1")
OTHER = ("Backup", "nightly", "other")

RETENTION: list[tuple[str, str, list[tuple[str, str, str]], list[tuple[str, str, str]], list[str]]] = [
    ("Retain", "Retain", [], [], ["delete db-1"]),
    ("Retain", "Retain", [SET], [], ["repair 0", "delete db-1"]),
    ("Retain", "Retain", [], [SECOND], ["claims 1", "delete db-1"]),
    ("Delete", "Retain", [SET], [SET], ["delete db-1"]),
    ("Delete", "Retain", [], [SET], ["repair 0", "delete db-1"]),
    ("Retain", "Delete", [], [SECOND], ["delete db-1"]),
    ("Retain", "Delete", [], [], ["claims 1", "delete db-1"]),
    ("Delete", "Delete", [SET], [SECOND], ["delete db-1"]),
    ("Delete", "Delete", [SET], [SET], ["claims 1", "delete db-1"]),
    ("Delete", "Delete", [OTHER], [OTHER], ["delete db-1"]),
]


@pytest.mark.parametrize(("deleted", "scaled", "first", "second", "words"), RETENTION)
def test_claims_follow_the_retention_policy_when_it_changes(
    deleted: str,
    scaled: str,
    first: list[tuple[str, str, str]],
    second: list[tuple[str, str, str]],
    words: list[str],
) -> None:
    policy = StatefulSetPersistentVolumeClaimRetentionPolicy(when_deleted=deleted, when_scaled=scaled)
    claims = {"data-db-0": claim("data-db-0", *first), "data-db-1": claim("data-db-1", *second)}
    seen = view(
        1,
        {0: "ready", 1: "ready"},
        volume_claim_templates=TEMPLATES,
        persistent_volume_claim_retention_policy=policy,
        claims=claims,
    )
    assert words_of(seen) == words


def test_pending_pod_gets_owners_of_its_claims_before_it_is_available() -> None:
    policy = StatefulSetPersistentVolumeClaimRetentionPolicy(when_deleted="Delete", when_scaled="Retain")
    more = {"volume_claim_templates": TEMPLATES, "persistent_volume_claim_retention_policy": policy}
    held = {"data-db-0": claim("data-db-0")}
    assert words_of(view(1, {0: "pending"}, claims=held, **more)) == ["claims 0"]
    assert words_of(view(1, {0: "ready"}, claims=held, **more)) == ["repair 0"]


def test_member_without_its_volumes_is_repaired() -> None:
    seen = view(1, {0: "ready"}, volume_claim_templates=TEMPLATES)
    bare = structs.replace(seen.pods[0], spec=structs.replace(seen.pods[0].spec, volumes=()))
    stripped = View(seen.stateful, [bare], seen.current, seen.update, seen.now, seen.claims)
    assert words_of(stripped) == ["repair 0"]


def test_pending_pod_gets_its_missing_claims_again() -> None:
    assert words_of(view(1, {0: "pending"}, volume_claim_templates=TEMPLATES)) == ["claims 0"]
    assert words_of(view(1, {0: "ready"}, volume_claim_templates=TEMPLATES)) == []


@pytest.mark.parametrize("policy", ["Parallel", "OrderedReady"])
def test_pod_waits_for_the_end_of_a_claim_of_an_earlier_pod(policy: str) -> None:
    gone = StatefulSetPersistentVolumeClaimRetentionPolicy(when_deleted="Retain", when_scaled="Delete")
    more = {
        "pod_management_policy": policy,
        "volume_claim_templates": TEMPLATES,
        "persistent_volume_claim_retention_policy": gone,
    }
    stale = {"data-db-0": claim("data-db-0", ("Pod", "db-0", "earlier"))}
    assert words_of(view(1, {}, claims=stale, **more)) == []
    assert words_of(view(1, {}, claims={"data-db-0": claim("data-db-0")}, **more)) == ["create 0"]


# the claims of the next pod, one for each template: none, free, or of an earlier pod; and whether it is made
STALE: list[tuple[list[str], bool]] = [
    ([], True),
    (["missing", "missing"], True),
    (["missing", "free"], True),
    (["stale", "free"], False),
    (["stale", "missing"], False),
    (["free", "stale"], False),
]


@pytest.mark.parametrize(("states", "made"), STALE)
def test_one_claim_of_an_earlier_pod_is_enough_to_wait(states: list[str], made: bool) -> None:
    """Cases of ``TestPodClaimIsStale`` in stateful_pod_control_test.go."""
    owners = {"free": [], "stale": [("Pod", "db-0", "earlier")]}
    names = [f"data{number}" for number, _ in enumerate(states)]
    held = [
        claim(f"{name}-db-0", *owners[state])
        for name, state in zip(names, states, strict=True)
        if state in owners
    ]
    seen = view(
        1,
        {},
        claims={each.metadata.name: each for each in held},
        volume_claim_templates=tuple(PersistentVolumeClaim(metadata=ObjectMeta(name=name)) for name in names),
        persistent_volume_claim_retention_policy=StatefulSetPersistentVolumeClaimRetentionPolicy(
            when_deleted="Retain", when_scaled="Delete"
        ),
    )
    assert words_of(seen) == (["create 0"] if made else [])
