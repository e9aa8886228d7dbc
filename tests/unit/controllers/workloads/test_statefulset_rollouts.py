"""Whole roll-outs: plans are carried out on a model of the pods until nothing changes any more.

Cases of ``TestStatefulSetControlRollingUpdate``, ``-RollingUpdateWithPartition``, ``-OnDeleteUpdate`` and
``-RollingUpdateWithMaxUnavailable`` in stateful_set_control_test.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from podling import ids
from podling.api.apps_v1 import StatefulSetUpdateStrategy
from podling.controllers.workloads.statefulset_plan import Create, Delete, Step, plan
from podling.controllers.workloads.statefulset_rules import View
from tests.support.workloads import rolling_stateful
from tests.unit.controllers.workloads.statefulsets import view

PLAIN = StatefulSetUpdateStrategy(type="RollingUpdate")
PARTED = rolling_stateful(partition=2)
ON_DELETE = StatefulSetUpdateStrategy(type="OnDelete")

# the strategy, the replicas before and after, and which members are of the old or of the new template then
ROLLOUTS: list[tuple[StatefulSetUpdateStrategy, int, int, str]] = [
    (PLAIN, 3, 3, "nnn"),
    (PLAIN, 3, 5, "nnnnn"),
    (PLAIN, 5, 3, "nnn"),
    (rolling_stateful(partition=0), 3, 5, "nnnnn"),
    (PARTED, 3, 3, "oon"),
    (PARTED, 3, 5, "oonnn"),
    (PARTED, 5, 3, "oon"),
    (rolling_stateful(partition=7), 3, 5, "ooooo"),
    (ON_DELETE, 3, 3, "ooo"),
    (ON_DELETE, 3, 5, "ooonn"),
    (ON_DELETE, 5, 3, "ooo"),
    (rolling_stateful(partition=3, max_unavailable=2), 6, 6, "ooonnn"),
    (rolling_stateful(partition=0, max_unavailable=2), 6, 6, "nnnnnn"),
]


class Model:
    """The members of a set by ordinal. What is left to do happens in any order."""

    def __init__(self, strategy: StatefulSetUpdateStrategy, policy: str, before: int, seed: int) -> None:
        self.pods = dict.fromkeys(range(before), "readyo")
        self._spec: dict[str, Any] = {"update_strategy": strategy, "pod_management_policy": policy}
        self._draws = ids.generator(seed)

    def seen(self, replicas: int) -> View:
        return view(replicas, self.pods, **self._spec)

    def carry_out(self, steps: list[Step]) -> None:
        for action in [action for step in steps for action in step]:
            match action:
                case Create(ordinal=ordinal, revision=revision):
                    assert ordinal not in self.pods
                    self.pods[ordinal] = "pending" + ("o" if revision.metadata.name == "old" else "")
                case Delete(pod=pod):
                    self.pods[int((pod.metadata.name or "").removeprefix("db-"))] += "!"

    def pass_time(self) -> bool:
        """Let one pod start, become ready or end; return whether one could."""
        moving = [ordinal for ordinal in self.pods if ordinal not in self.available()]
        if moving:
            ordinal = self._draws.choice(moving)
            state = self.pods.pop(ordinal)
            if "!" not in state:
                self.pods[ordinal] = state.replace("waiting", "ready").replace("pending", "waiting")
        return bool(moving)

    def available(self) -> set[int]:
        return {ordinal for ordinal, state in self.pods.items() if state in ("ready", "readyo")}


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("strategy", "before", "after", "members"), ROLLOUTS)
def test_rollout_ends_with_the_right_templates_and_keeps_enough_pods(
    strategy: StatefulSetUpdateStrategy, before: int, after: int, members: str, policy: str, seed: int
) -> None:
    model = Model(strategy, policy, before, seed)
    down_max = strategy.rolling_update.max_unavailable or 1 if strategy.rolling_update is not None else 1
    while True:
        steps = plan(model.seen(after))
        model.carry_out(steps)
        down = set(range(min(before, after))) - model.available()
        assert len(down) <= int(down_max), "members that were there are replaced within the limit"
        if policy == "OrderedReady":
            changing = [state for state in model.pods.values() if "!" in state or "ready" not in state]
            assert len(changing) <= int(down_max), "one thing happens at a time"
        if not model.pass_time() and not any(steps):
            break
    assert model.available() == set(model.pods) == set(range(after))
    states = [model.pods[ordinal] for ordinal in range(after)]
    assert "".join("o" if state == "readyo" else "n" for state in states) == members


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_members_that_are_updated_on_deletion_are_new_after_a_restart(policy: str) -> None:
    model = Model(ON_DELETE, policy, 3, 0)
    for replicas in (0, 3):
        while True:
            steps = plan(model.seen(replicas))
            model.carry_out(steps)
            if not model.pass_time() and not any(steps):
                break
        assert len(model.pods) == replicas
    assert set(model.pods.values()) == {"ready"}
