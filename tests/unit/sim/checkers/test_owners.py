"""Objects that outlive their owners are found at the end."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from podling.api.apps_v1 import ReplicaSet
from podling.sim.checkers.owners import Owners
from tests.support.checked import History, pod

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "uid-rs", "controller": True}


def replica_set() -> ReplicaSet:
    return msgspec.convert({"metadata": {"name": "rs", "namespace": "default", "uid": "uid-rs"}}, ReplicaSet)


def history_with_orphan() -> History:
    history = History(Owners)
    history.write(replica_set())
    history.write(pod(ownerReferences=[OWNER]))
    history.delete(replica_set())
    return history


def test_orphan_at_the_end_is_a_violation() -> None:
    history = history_with_orphan()
    history.wait(400)
    history.checker.end()
    assert history.texts == ["1 objects have outlived their owners: pods/default/web"]


def test_deleted_dependent_is_none() -> None:
    history = history_with_orphan()
    history.wait(100)
    history.delete(pod(ownerReferences=[OWNER]))
    history.wait(400)
    history.checker.end()
    assert not history.texts


def test_collector_has_some_minutes() -> None:
    history = history_with_orphan()
    history.wait(200)
    history.checker.end()
    assert not history.texts


def test_minutes_after_a_fault_do_not_count() -> None:
    history = history_with_orphan()
    history.wait(400)
    history.quiet = history.at - timedelta(seconds=60)
    history.checker.end()
    assert not history.texts


def test_object_with_a_living_owner_stays() -> None:
    history = History(Owners)
    history.write(replica_set())
    history.write(pod(ownerReferences=[OWNER]))
    history.wait(400)
    history.checker.end()
    assert not history.texts


@pytest.mark.parametrize(
    ("blocks", "finalizer", "count"), [(True, True, 1), (False, True, 0), (True, False, 0)]
)
def test_owner_in_the_foreground_goes_last(blocks: bool, finalizer: bool, count: int) -> None:
    history = History(Owners)
    going = replica_set()
    if finalizer:
        held = msgspec.structs.replace(going.metadata, finalizers=("foregroundDeletion",))
        going = msgspec.structs.replace(going, metadata=held)
    history.write(going)
    history.write(pod(ownerReferences=[OWNER | {"blockOwnerDeletion": blocks}]))
    history.delete(replica_set())
    text = "replicasets/default/rs went before pods/default/web, which block its deletion"
    assert history.texts == [text] * count
