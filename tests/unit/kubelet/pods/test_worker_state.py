"""The states of a pod worker, as tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling.kubelet.pods.worker_state import (
    Demand,
    Finished,
    Syncing,
    Terminated,
    Terminating,
    advance,
    remaining,
)
from podling.kubelet.status.status import Verdict

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def pod(deletion: int | None = None, spec: int | None = 30, **more: Any) -> Pod:
    metadata: dict[str, Any] = {"name": "web", "namespace": "default", "uid": "u"}
    if deletion is not None:
        metadata |= {"deletionTimestamp": at(deletion).isoformat(), "deletionGracePeriodSeconds": deletion}
    liveness = {"terminationGracePeriodSeconds": 60}
    containers = [{"name": "app", "livenessProbe": liveness, "startupProbe": {}}]
    plain = {"metadata": metadata, "spec": {"containers": containers, **more}}
    if spec is not None:
        plain["spec"]["terminationGracePeriodSeconds"] = spec
    return msgspec.convert(plain, Pod)


@pytest.mark.parametrize(
    ("subject", "demand", "grace"),
    [
        (pod(deletion=20), Demand(), 20),
        (pod(deletion=0), Demand(), 1),
        (pod(), Demand(over=True), 30),
        (pod(), Demand(gone=True), 1),
        (pod(deletion=20), Demand(gone=True), 1),
        (pod(), Demand(verdict=Verdict("Evicted", ""), grace_override=5), 5),
        (pod(deletion=3), Demand(verdict=Verdict("Evicted", ""), grace_override=5), 3),
        (pod(deletion=5), Demand(verdict=Verdict("Evicted", ""), grace_override=2), 2),
        (pod(deletion=5), Demand(verdict=Verdict("Evicted", ""), grace_override=0), 1),
    ],
)
def test_demand_terminates_the_pod(subject: Pod, demand: Demand, grace: int) -> None:
    """Among the cases are those of ``Test_calculateEffectiveGracePeriod``."""
    assert advance(Syncing(), subject, demand, START) == Terminating(START, grace, demand.gone)


def test_pod_without_demand_keeps_syncing() -> None:
    assert advance(Syncing(), pod(), Demand(), START) == Syncing()


def test_grace_period_only_shrinks() -> None:
    state = advance(Syncing(), pod(deletion=20), Demand(), START)
    assert advance(state, pod(deletion=60), Demand(), at(1)) == Terminating(START, 20)
    assert advance(state, pod(deletion=5), Demand(), at(1)) == Terminating(START, 5)


def test_resumed_termination_has_the_remaining_grace() -> None:
    state = advance(Syncing(), pod(deletion=20), Demand(), at(14.5), resumed=True)
    assert state == Terminating(START, 20)
    assert remaining(state, at(14.5)) == 5.5
    assert advance(Syncing(), pod(deletion=20), Demand(), at(-3), resumed=True) == Terminating(at(-3), 20)


@pytest.mark.parametrize(("now", "left"), [(0, 20), (5.5, 14.5), (20, 0), (90, 0)])
def test_remaining_grace_counts_from_the_beginning(now: float, left: float) -> None:
    assert remaining(Terminating(START, 20), at(now)) == left


@pytest.mark.parametrize("state", [Terminated(), Finished()])
def test_states_never_go_back(state: Terminated | Finished) -> None:
    assert advance(state, pod(), Demand(), START) == state
    assert advance(state, pod(), Demand(gone=True), START) == type(state)(gone=True)
