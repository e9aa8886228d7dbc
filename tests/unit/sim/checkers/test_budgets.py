"""Evictions that overdraw a budget are found."""

from __future__ import annotations

import msgspec

from podling.api.policy_v1 import PodDisruptionBudget
from podling.sim.checkers.budgets import Budgets
from tests.support.checked import History, pod

LABELS = {"app": "web"}
EVICTED = [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}]


def history(desired: int) -> History:
    """Return a history with three healthy pods and a budget."""
    found = History(Budgets)
    plain = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": LABELS}},
        "status": {"desiredHealthy": desired},
    }
    found.write(msgspec.convert(plain, PodDisruptionBudget))
    for name in "abc":
        found.write(pod(name, labels=LABELS))
    return found


def evict(found: History, name: str) -> None:
    moment = "2026-01-01T00:00:30Z"
    found.write(pod(name, labels=LABELS, deletionTimestamp=moment, conditions=EVICTED))


def test_eviction_within_the_budget_is_none() -> None:
    found = history(desired=2)
    evict(found, "a")
    assert not found.texts


def test_eviction_beyond_the_budget_is_a_violation() -> None:
    found = history(desired=2)
    evict(found, "a")
    evict(found, "b")
    assert found.texts == ["the eviction of pods/default/b leaves 1 healthy pods; default/b wants 2"]


def test_pod_that_became_unready_just_now_still_counts() -> None:
    found = history(desired=2)
    found.write(pod("c", labels=LABELS, phase="Pending"))
    evict(found, "a")
    assert not found.texts


def test_pod_that_is_unready_for_long_does_not_count() -> None:
    found = history(desired=2)
    found.write(pod("c", labels=LABELS, phase="Pending"))
    found.wait(60)
    evict(found, "a")
    assert found.texts == ["the eviction of pods/default/a leaves 1 healthy pods; default/b wants 2"]


def test_deletion_is_no_eviction() -> None:
    found = history(desired=3)
    found.write(pod("a", labels=LABELS, deletionTimestamp="2026-01-01T00:00:30Z"))
    assert not found.texts


def test_eviction_of_an_unready_pod_uses_no_budget() -> None:
    found = history(desired=3)
    found.write(pod("d", labels=LABELS, phase="Pending"))
    evict(found, "d")
    assert not found.texts
