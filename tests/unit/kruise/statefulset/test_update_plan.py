"""The pods of Advanced StatefulSets to update next.

Cases: ``TestSortPodsToUpdate``, ``TestIsCurrentRevisionNeeded``, and the limits of
``TestStatefulSetControlRollingUpdateBlockByMaxUnavailable`` and ``...WithSpecifiedDelete``.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Pod, PodCondition, PodStatus
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.workloads.statefulset_plan import BURST, Create, membership
from podling_kruise.names import FEATURE_GATES, LIFECYCLE_STATE, REVISION_HASH, SPECIFIED_DELETE
from podling_kruise.statefulset.types import StatefulSet, StatefulSetSpec, StatefulSetStatus
from podling_kruise.statefulset.update_plan import AdvancedView, next_updates, prepared, released, scale_limit

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LETTERS = {"o": "web-old", "n": "web-new"}


def pod(ordinal: int, word: str) -> Pod:
    """Return a pod: ``o`` or ``n`` for its revision, then ``!`` if it is being deleted, ``-`` if it is not
    ready, ``*`` if its user chose it for deletion, ``u``/``d`` while it prepares for an update or its end."""
    states = {"u": "PreparingUpdate", "d": "PreparingDelete"}
    state = next((states[each] for each in word[1:] if each in states), "Normal")
    labels = {REVISION_HASH: LETTERS[word[0]], LIFECYCLE_STATE: state, "number": str(ordinal)}
    if "*" in word:
        labels[SPECIFIED_DELETE] = "true"
    gone = NOW if "!" in word else None
    metadata = ObjectMeta(name=f"web-{ordinal}", labels=labels, deletion_timestamp=gone)
    ready = PodCondition(type="Ready", status="False" if "-" in word else "True", last_transition_time=NOW)
    return Pod(metadata=metadata, status=PodStatus(phase="Running", conditions=(ready,)))


def view(words: dict[int, str], replicas: int | None = None, **spec: Any) -> AdvancedView:
    """Return a set with pods by ordinal; ``rolling`` has the fields of the rolling update."""
    strategy = {"type": spec.pop("type", "RollingUpdate"), "rollingUpdate": spec.pop("rolling", {})}
    plain = {"replicas": len(words) if replicas is None else replicas, "updateStrategy": strategy, **spec}
    current = sum(word.startswith("o") for word in words.values())
    stateful = StatefulSet(
        metadata=ObjectMeta(name="web"),
        spec=msgspec.convert(plain, StatefulSetSpec),
        status=StatefulSetStatus(current_replicas=current),
    )
    old, new = (ControllerRevision(metadata=ObjectMeta(name=name), revision=1) for name in LETTERS.values())
    return AdvancedView(stateful, [pod(*each) for each in words.items()], old, new, NOW)


def parallel(stateful: StatefulSet) -> StatefulSet:
    spec = msgspec.structs.replace(stateful.spec, pod_management_policy="Parallel")
    return msgspec.structs.replace(stateful, spec=spec)


def numbered(words: str) -> dict[int, str]:
    return {number: word for number, word in enumerate(words.split()) if word != "."}


def names(pods: list[Pod]) -> list[int]:
    return [int((each.metadata.name or "").rpartition("-")[2]) for each in pods]


FIRST = {"weight": 20, "matchSelector": {"matchLabels": {"number": "1"}}}
WEIGHTS = {"unorderedUpdate": {"priorityStrategy": {"weightPriority": [FIRST]}}}


@pytest.mark.parametrize(
    ("words", "rolling", "reserved", "updated"),
    [
        ("o o o", {}, [], [2, 1, 0]),
        ("n n o", {}, [], [2]),
        ("o o o", {"partition": 1}, [], [2, 1]),
        ("o o o", {"partition": 3}, [], []),
        ("o o o", {"partition": 9}, [], []),
        ("o . o . o", {"partition": 2}, [1, 3], [4]),
        ("o . o . o", {"partition": 1}, [1, 3], [4, 2]),
        ("o o o o o o n n o o", {"partition": 6, "unorderedUpdate": {}}, [], [9, 8]),
        ("o o o . o o o n n o . o", {"partition": 6, "unorderedUpdate": {}}, [3, 10], [11, 9]),
        ("o o o", {"partition": 1, **WEIGHTS}, [], [1, 2]),
        ("o o n", {"partition": 2, **WEIGHTS}, [], []),
    ],
)
def test_order_and_partition(
    words: str, rolling: dict[str, Any], reserved: list[int], updated: list[int]
) -> None:
    free = {"maxUnavailable": 100, **rolling}
    found = next_updates(view(numbered(words), reserveOrdinals=reserved, rolling=free))
    assert names(found.update) == updated


def test_pods_that_prepare_count_as_updated_behind_a_gate() -> None:
    rolling = {"maxUnavailable": 100, "partition": 6, "unorderedUpdate": {}}
    seen = view(numbered("ou ou o . o o o n n o . o"), reserveOrdinals=[3, 10], rolling=rolling)
    gated = replace(seen, gates={**FEATURE_GATES, "PreparingUpdateAsUpdate": True})
    assert names(next_updates(seen).update) == [11, 9]
    assert names(next_updates(gated).update) == [1, 0]


@pytest.mark.parametrize(
    ("words", "limit", "deleted", "updated"),
    [
        ("o o o", 1, [], [2]),
        ("o o o", 2, [], [2, 1]),
        ("o o o", "50%", [], [2]),
        ("o o o", "1%", [], [2]),
        ("o o n-", 1, [], []),
        ("o o- n-", 2, [], [1]),
        ("o o- o", 1, [], []),
        ("o o o-", 1, [], [2]),
        ("o o- o-", 1, [], [2, 1]),
        ("o o o!", 1, [], []),
        ("o o od", 1, [], []),
        ("o o ou", 1, [], [2]),
        ("n n n*", 1, [2], []),
        ("n* n* n*", 1, [2], []),
        ("n* n* n*", 2, [2, 1], []),
        ("n* n n-", 1, [], []),
        ("n*- n n", 1, [0], []),
        ("n n*- n- n* n*", 3, [4, 1], []),
        ("o o o*", 1, [2], []),
        ("o* o o", 2, [0], [2]),
        ("n n n*!", 1, [], []),
    ],
)
def test_no_more_pods_become_unavailable_than_allowed(
    words: str, limit: int | str, deleted: list[int], updated: list[int]
) -> None:
    found = next_updates(view(numbered(words), rolling={"maxUnavailable": limit}))
    assert (names(found.delete), names(found.update)) == (deleted, updated)


def test_missing_pod_counts_as_unavailable() -> None:
    assert next_updates(view(numbered("o . o"), 3)).update == []


def test_work_does_not_grow_with_the_replicas() -> None:
    many = {"maxUnavailable": "100%", "unorderedUpdate": {}}
    seen = view(numbered("o o n"), 2**31 - 1, rolling=many)
    assert names(next_updates(seen).update) == [1, 0]
    steps, _ = membership(replace(seen, stateful=parallel(seen.stateful)), seen.revision_for)
    assert sum(isinstance(action, Create) for step in steps for action in step) == BURST


@pytest.mark.parametrize("spec", [{"rolling": {"paused": True}}, {"type": "OnDelete"}])
def test_nothing_is_updated_while_paused_or_on_delete(spec: dict[str, Any]) -> None:
    found = next_updates(view(numbered("o o* o"), **spec))
    assert (found.delete, found.update) == ([], [])


ANY_ORDER: dict[str, Any] = {"partition": 1, "unorderedUpdate": {}}


@pytest.mark.parametrize(
    ("words", "ordinal", "rolling", "spec", "old"),
    [
        ("o . o", 1, None, {}, True),
        ("o . n", 1, None, {}, False),
        ("o . o", 1, {"partition": 1}, {}, False),
        ("o . n", 1, {"partition": 1}, {}, False),
        (". o o", 0, {"partition": 1}, {}, True),
        (". n n", 0, {"partition": 1}, {}, True),
        (". . o o", 0, {"partition": 2}, {"reserveOrdinals": [1]}, True),
        (". . o . o", 3, None, {"ordinals": {"start": 2}}, True),
        (". . o . n", 3, None, {"ordinals": {"start": 2}}, False),
        (". . o . o", 3, {"partition": 1}, {"ordinals": {"start": 2}}, False),
        (". . . o o", 2, {"partition": 1}, {"ordinals": {"start": 2}}, True),
        (". . n . n", 3, ANY_ORDER, {"ordinals": {"start": 2}}, True),
        (". . o . n", 3, ANY_ORDER, {"ordinals": {"start": 2}}, False),
        ("o . . n", 2, ANY_ORDER, {"reserveOrdinals": [1]}, False),
        ("n . . n", 2, ANY_ORDER, {"reserveOrdinals": [1]}, True),
        ("o . . n", 2, {"partition": 2}, {"reserveOrdinals": [1]}, True),
        (". . o . . n", 4, {"partition": 2}, {"ordinals": {"start": 2}, "reserveOrdinals": [3]}, True),
        (". o", 0, {"partition": 5}, {"type": "OnDelete"}, False),
    ],
)
def test_revision_of_a_new_pod(
    words: str, ordinal: int, rolling: dict[str, Any] | None, spec: dict[str, Any], old: bool
) -> None:
    seen = view(numbered(words), 3, rolling=rolling, **spec)
    assert (seen.revision_for(ordinal) is seen.current) is old


def test_several_missing_pods_share_the_partition_of_an_update_in_any_order() -> None:
    seen = view(numbered(". . n ."), 4, rolling={"partition": 2, "unorderedUpdate": {}})
    assert [seen.revision_for(each) is seen.current for each in (0, 1, 3)] == [True, True, False]


def test_pods_that_no_hook_holds_any_more_are_updated() -> None:
    words = numbered("ou ou! o nu")
    hook = {"inPlaceUpdate": {"labelsHandler": {"number": "0"}}}
    assert names(prepared(view(words))) == [0]
    assert names(prepared(view(words, lifecycle=hook))) == []
    assert names(prepared(view(words, rolling={"partition": 1}))) == []
    assert names(prepared(view(words, rolling={"paused": True}))) == []


def test_pod_that_waits_for_its_end_is_released_when_it_is_wanted() -> None:
    assert names(released(view(numbered("nd n nd* nd! od")))) == [0]


@pytest.mark.parametrize(("given", "limit"), [(None, None), (2, 2), ("50%", 5), ("1%", 1)])
def test_limit_of_creations(given: int | str | None, limit: int | None) -> None:
    strategy = None if given is None else {"maxUnavailable": given}
    assert scale_limit(view({}, 10, scaleStrategy=strategy).stateful.spec) == limit


def test_missing_pods_are_taken_from_an_update_in_any_order() -> None:
    rolling = {"partition": 1, "maxUnavailable": 3, **WEIGHTS}
    found = view(numbered("o o"), replicas=3, rolling=rolling)
    assert names(next_updates(found).update) == [1], "the third pod will be new"
