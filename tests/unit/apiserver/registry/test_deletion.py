"""Effects of deletion requests on an object: a table of every case."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import ConfigMap, Pod
from podling.api.meta_v1 import DeleteOptions, ObjectMeta, Preconditions
from podling.apiserver.kinds.common.base import KindRules
from podling.apiserver.registry.deletion import Outcome, check_preconditions, ends_with_update, plan_deletion
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of

NOW = datetime(2026, 1, 1, 12, 0, 0, 999, tzinfo=UTC)
SECOND = NOW.replace(microsecond=0)


class Graceful(KindRules[Any]):
    def grace_for(self, obj: Any, requested: int | None) -> int:
        return 30 if requested is None else requested


def in_seconds(seconds: float) -> datetime:
    return SECOND + timedelta(seconds=seconds)


def pod(**metadata: Any) -> Pod:
    return Pod(metadata=ObjectMeta(name="p", namespace="default", generation=1, **metadata))


@pytest.mark.parametrize(
    ("rules", "grace", "finalizers", "outcome", "ends_in", "left"),
    [
        pytest.param(KindRules(), None, (), Outcome.REMOVE, None, None, id="nothing holds it"),
        pytest.param(KindRules(), None, ("a/b",), Outcome.MARK, 0, 0, id="a finalizer holds it"),
        pytest.param(Graceful(), None, (), Outcome.MARK, 30, 30, id="its own grace"),
        pytest.param(Graceful(), 5, (), Outcome.MARK, 5, 5, id="the grace asked for"),
        pytest.param(Graceful(), 0, (), Outcome.REMOVE, None, None, id="no grace"),
        pytest.param(Graceful(), 0, ("a/b",), Outcome.MARK, 0, 0, id="no grace, but a finalizer"),
    ],
)
def test_first_deletion_request(
    rules: KindRules[Any],
    grace: int | None,
    finalizers: tuple[str, ...],
    outcome: Outcome,
    ends_in: int | None,
    left: int | None,
) -> None:
    options = DeleteOptions(grace_period_seconds=grace)
    plan = plan_deletion(pod(finalizers=finalizers), options, rules, NOW)
    metadata = plan.object.metadata
    assert plan.outcome is outcome
    assert metadata.deletion_timestamp == (None if ends_in is None else in_seconds(ends_in))
    assert metadata.deletion_grace_period_seconds == left
    assert metadata.generation == (1 if outcome is Outcome.REMOVE else 2)


@pytest.mark.parametrize(
    ("asked", "outcome", "ends_in", "grace"),
    [
        pytest.param(None, Outcome.KEEP, 20, 30, id="again"),
        pytest.param(30, Outcome.KEEP, 20, 30, id="as long"),
        pytest.param(60, Outcome.KEEP, 20, 30, id="longer: no"),
        pytest.param(15, Outcome.MARK, 5, 15, id="shorter, counted from the first request"),
        pytest.param(5, Outcome.MARK, 0, 1, id="so short that it is over already"),
        pytest.param(0, Outcome.REMOVE, 0, 0, id="now"),
        pytest.param(-1, Outcome.MARK, 0, 1, id="negative counts as one second"),
    ],
)
def test_later_deletion_request_can_only_shorten_the_grace_period(
    asked: int | None, outcome: Outcome, ends_in: int, grace: int
) -> None:
    """The first request came ten seconds ago and gave thirty seconds."""
    going = pod(deletion_timestamp=in_seconds(20), deletion_grace_period_seconds=30)
    plan = plan_deletion(going, DeleteOptions(grace_period_seconds=asked), Graceful(), NOW)
    metadata = plan.object.metadata
    assert plan.outcome is outcome
    assert (metadata.deletion_timestamp, metadata.deletion_grace_period_seconds) == (
        in_seconds(ends_in),
        grace,
    )
    assert metadata.generation == 1


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        (DeleteOptions(), ("a/b",)),
        (DeleteOptions(propagation_policy="Foreground"), ("a/b", "foregroundDeletion")),
        (DeleteOptions(propagation_policy="Orphan"), ("a/b", "orphan")),
        (DeleteOptions(propagation_policy="Background"), ("a/b",)),
        (DeleteOptions(orphan_dependents=True), ("a/b", "orphan")),
        (DeleteOptions(orphan_dependents=False), ("a/b",)),
    ],
)
def test_propagation_policy_becomes_a_finalizer(options: DeleteOptions, finalizers: tuple[str, ...]) -> None:
    plan = plan_deletion(pod(finalizers=("a/b",)), options, KindRules(), NOW)
    assert plan.object.metadata.finalizers == finalizers


@pytest.mark.parametrize(
    ("present", "options", "finalizers"),
    [
        pytest.param((), DeleteOptions(), ("orphan",), id="nobody says: they stay"),
        pytest.param((), DeleteOptions(propagation_policy="Background"), (), id="the request says"),
        pytest.param((), DeleteOptions(orphan_dependents=False), (), id="it says so in the old way"),
        pytest.param(("foregroundDeletion",), DeleteOptions(), ("foregroundDeletion",), id="the object says"),
    ],
)
def test_oldest_kinds_orphan_their_dependents(
    present: tuple[str, ...], options: DeleteOptions, finalizers: tuple[str, ...]
) -> None:
    class Old(KindRules[Any]):
        orphans_dependents = True

    plan = plan_deletion(pod(finalizers=present), options, Old(), NOW)
    assert plan.object.metadata.finalizers == finalizers


def test_later_propagation_policy_replaces_the_finalizer() -> None:
    going = pod(
        finalizers=("foregroundDeletion",), deletion_timestamp=SECOND, deletion_grace_period_seconds=0
    )
    plan = plan_deletion(going, DeleteOptions(propagation_policy="Orphan"), KindRules(), NOW)
    assert plan.object.metadata.finalizers == ("orphan",)


def test_update_without_finalizers_ends_the_deletion() -> None:
    going = pod(finalizers=("a/b",), deletion_timestamp=SECOND, deletion_grace_period_seconds=0)
    assert not ends_with_update(going, KindRules())
    free = structs.replace(going, metadata=structs.replace(going.metadata, finalizers=()))
    assert ends_with_update(free, KindRules())
    waiting = structs.replace(free, metadata=structs.replace(free.metadata, deletion_grace_period_seconds=30))
    assert not ends_with_update(waiting, KindRules())


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (
            Preconditions(uid="2"),
            "the UID in the precondition (2) does not match the UID in record (1). "
            "The object might have been deleted and then recreated",
        ),
        (
            Preconditions(uid="1", resource_version="8"),
            "the ResourceVersion in the precondition (8) does not match the ResourceVersion in record (7). "
            "The object might have been modified",
        ),
    ],
)
def test_failed_precondition_is_a_conflict(wanted: Preconditions, why: str) -> None:
    metadata = ObjectMeta(name="a", uid="1", resource_version="7")
    with pytest.raises(ApiError) as error:
        check_preconditions(resource_of(ConfigMap), metadata, DeleteOptions(preconditions=wanted))
    assert str(error.value) == f'Operation cannot be fulfilled on ConfigMap "a": {why}'
