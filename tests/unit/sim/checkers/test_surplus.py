"""Pods beyond what their owner wants are found."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.apps_v1 import ReplicaSet
from podling.sim.checkers.surplus import Surplus
from tests.support.checked import History, pod

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "uid-rs", "controller": True}


def replica_set(replicas: int) -> ReplicaSet:
    metadata = {"name": "rs", "namespace": "default", "uid": "uid-rs"}
    return msgspec.convert({"metadata": metadata, "spec": {"replicas": replicas}}, ReplicaSet)


def history_with_two() -> History:
    history = History(Surplus)
    history.write(replica_set(2))
    for name in "ab":
        history.write(pod(name, ownerReferences=[OWNER]))
    return history


def test_pod_beyond_the_replicas_is_a_violation() -> None:
    history = history_with_two()
    history.write(pod("c", ownerReferences=[OWNER]))
    assert history.texts == ["pods/default/c is pod 3 of an owner that wants 2"]


@pytest.mark.parametrize("change", [{"phase": "Failed"}, {"deletionTimestamp": "2026-01-01T00:00:30Z"}])
def test_pod_that_ends_is_replaced(change: dict[str, Any]) -> None:
    history = history_with_two()
    history.write(pod("a", ownerReferences=[OWNER], **change))
    history.write(pod("c", ownerReferences=[OWNER]))
    assert not history.texts


def test_number_from_before_a_scaling_counts_for_a_while() -> None:
    history = History(Surplus)
    history.write(replica_set(2))
    history.write(replica_set(1))
    for name in "ab":
        history.write(pod(name, ownerReferences=[OWNER]))
    assert not history.texts
    history.wait(40)
    history.write(pod("c", ownerReferences=[OWNER]))
    assert history.texts == ["pods/default/c is pod 3 of an owner that wants 1"]


@pytest.mark.parametrize(("seconds", "count"), [(50, 0), (70, 1)])
def test_creation_without_an_answer_may_be_made_again(seconds: int, count: int) -> None:
    history = history_with_two()
    history.checker.answer_lost("controller-manager")
    history.wait(seconds)
    history.write(pod("c", ownerReferences=[OWNER]))
    assert len(history.texts) == count
