"""Evictions never overdraw a disruption budget.

An eviction sees the pods as the disruption controller last counted them. A pod that became unready within
the last seconds, or while a fault lasts, may not have been counted yet, and does not count here either.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeVar

from podling.api.core_v1 import Pod
from podling.api.policy_v1 import PodDisruptionBudget
from podling.machinery.selectors import readable_selector
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, Report, Surroundings
from podling.sim.conditions import is_conditioned

T = TypeVar("T")

BY_EVICTION = "EvictionByEvictionAPI"
LAG = timedelta(seconds=10)


class Budgets(Checker):
    """Counts the healthy pods of each budget when one of them is evicted."""

    name = "budgets"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._budgets: dict[str, PodDisruptionBudget] = {}
        self._pods: dict[str, Pod] = {}
        self._unready_since: dict[str, datetime] = {}

    def change(self, change: Change) -> None:
        if change.resource.kind == "PodDisruptionBudget":
            _set(self._budgets, change)
        elif change.resource.kind == "Pod":
            if _is_evicted(change.new) and not _is_evicted(change.old):
                self._check(change)
            self._note(change)

    def _note(self, change: Change) -> None:
        _set(self._pods, change)
        if change.new is None or _is_healthy(change.new):
            self._unready_since.pop(change.key, None)
        else:
            self._unready_since.setdefault(change.key, change.at)

    def _check(self, change: Change) -> None:
        pod: Pod = change.new
        if change.old is None or not is_conditioned(change.old, "Ready"):
            return  # an unhealthy pod uses nothing of a budget
        if not self.has_been_quiet_for(LAG.total_seconds()):
            return
        for budget in self._budgets.values():
            selector = readable_selector(budget.spec.selector)
            if budget.metadata.namespace != change.namespace or selector is None:
                continue
            if selector.matches(pod.metadata.labels):
                self._check_budget(budget, change)

    def _check_budget(self, budget: PodDisruptionBudget, change: Change) -> None:
        selector = readable_selector(budget.spec.selector)
        assert selector is not None
        left = sum(
            self._counts(key, pod, change.at)
            for key, pod in self._pods.items()
            if key != change.key
            and pod.metadata.namespace == change.namespace
            and selector.matches(pod.metadata.labels)
        )
        wanted = budget.status.desired_healthy
        if left < wanted:
            name = f"{budget.metadata.namespace}/{budget.metadata.name}"
            self.report(f"the eviction of {change.key} leaves {left} healthy pods; {name} wants {wanted}")

    def _counts(self, key: str, pod: Pod, at: datetime) -> bool:
        since = self._unready_since.get(key)
        was_just_healthy = since is not None and at - since < LAG and not _is_evicted(pod)
        return _is_healthy(pod) or was_just_healthy


def _is_healthy(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is None and is_conditioned(pod, "Ready")


def _is_evicted(pod: Pod | None) -> bool:
    if pod is None or pod.metadata.deletion_timestamp is None:
        return False
    return any(
        each.type == "DisruptionTarget" and each.reason == BY_EVICTION for each in pod.status.conditions
    )


def _set(found: dict[str, T], change: Change) -> None:
    if change.new is None:
        found.pop(change.key, None)
    else:
        found[change.key] = change.new
