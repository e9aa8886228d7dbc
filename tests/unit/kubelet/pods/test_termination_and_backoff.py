"""Grace periods, the order of going, and how long a crashing container waits: as tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api.core_v1 import Pod, PodSpec
from podling.kubelet.backoff import (
    BackoffEntry,
    BackoffPolicy,
    BackoffTable,
    backoff_key,
    next_entry,
    waits_until,
)
from podling.kubelet.containers.init_actions import KillReason
from podling.kubelet.containers.termination import grace_seconds, stop_grace, waits_for
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
from podling.kubelet.volumes.manager import retry_seconds

START = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = BackoffPolicy()


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
    ("subject", "reason", "override", "grace"),
    [
        (pod(), KillReason.POD, None, 30),
        (pod(), KillReason.POD, 5, 5),
        (pod(), KillReason.LIVENESS, None, 60),
        (pod(), KillReason.STARTUP, None, 30),
        (pod(deletion=10), KillReason.LIVENESS, None, 10),
        (pod(deletion=10), KillReason.POD, 3, 3),
        (pod(spec=None), KillReason.POD, None, 2),
        (pod(spec=0), KillReason.POD, None, 0),
    ],
)
def test_which_grace_period_holds(subject: Pod, reason: KillReason, override: int | None, grace: int) -> None:
    assert grace_seconds(subject, subject.spec.containers[0], reason, override) == grace


def test_nobody_gets_less_than_two_seconds() -> None:
    assert [stop_grace(left) for left in (30, 2, 1, 0, -5)] == [30, 2, 2, 2, 2]


def test_who_waits_for_whom() -> None:
    sidecars = [{"name": name, "restartPolicy": "Always"} for name in ("s1", "s2", "s3")]
    init = [{"name": "setup"}, *sidecars]
    spec = msgspec.convert({"initContainers": init, "containers": [{"name": "a"}, {"name": "b"}]}, PodSpec)
    assert waits_for(spec, "a") == ()
    assert waits_for(spec, "setup") == ()
    assert waits_for(spec, "s3") == ("a", "b")
    assert waits_for(spec, "s1") == ("a", "b", "s2", "s3")


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
    ],
)
def test_an_end_that_is_demanded(subject: Pod, demand: Demand, grace: int) -> None:
    assert advance(Syncing(), subject, demand, START) == Terminating(START, grace, demand.gone)


def test_without_a_demand_the_pod_lives() -> None:
    assert advance(Syncing(), pod(), Demand(), START) == Syncing()


def test_a_grace_period_only_shrinks() -> None:
    state = advance(Syncing(), pod(deletion=20), Demand(), START)
    assert advance(state, pod(deletion=60), Demand(), at(1)) == Terminating(START, 20)
    assert advance(state, pod(deletion=5), Demand(), at(1)) == Terminating(START, 5)


def test_a_resumed_end_has_only_what_is_left() -> None:
    state = advance(Syncing(), pod(deletion=20), Demand(), at(14.5), resumed=True)
    assert state == Terminating(START, 20)
    assert remaining(state, at(14.5)) == 5.5
    assert advance(Syncing(), pod(deletion=20), Demand(), at(-3), resumed=True) == Terminating(at(-3), 20)


@pytest.mark.parametrize(("now", "left"), [(0, 20), (5.5, 14.5), (20, 0), (90, 0)])
def test_what_is_left_counts_from_the_beginning(now: float, left: float) -> None:
    assert remaining(Terminating(START, 20), at(now)) == left


@pytest.mark.parametrize("state", [Terminated(), Finished()])
def test_there_is_no_way_back(state: Terminated | Finished) -> None:
    assert advance(state, pod(), Demand(), START) == state
    assert advance(state, pod(), Demand(gone=True), START) == type(state)(gone=True)


def test_back_off_doubles_up_to_five_minutes() -> None:
    entry = None
    seconds = []
    for number in range(8):
        entry = next_entry(entry, at(number), at(number), POLICY)
        seconds.append(entry.seconds)
    assert seconds == [10, 20, 40, 80, 160, 300, 300, 300]


@pytest.mark.parametrize(
    ("entry", "ended", "now", "until"),
    [
        (None, 0, 0, None),
        (BackoffEntry(10, at(0)), 5, 6, 15),
        (BackoffEntry(10, at(0)), 5, 15, None),
        (BackoffEntry(300, at(0)), 600, 601, 900),
        (BackoffEntry(300, at(0)), 601, 602, None),
    ],
)
def test_a_wait_counts_from_the_end_of_the_container(
    entry: BackoffEntry | None, ended: int, now: int, until: int | None
) -> None:
    assert waits_until(entry, at(ended), at(now)) == (at(until) if until is not None else None)


def test_a_long_healthy_run_starts_from_the_beginning() -> None:
    assert next_entry(BackoffEntry(160, at(0)), at(601), at(601), POLICY).seconds == 10


def test_a_changed_image_is_a_fresh_start() -> None:
    subject = pod()
    (container,) = subject.spec.containers
    table = BackoffTable(POLICY)
    table.advance(backoff_key(subject, container), at(0), at(0))
    assert table.view(subject) == {"app": BackoffEntry(10, at(0))}
    changed = msgspec.structs.replace(container, image="other")
    spec = msgspec.structs.replace(subject.spec, containers=(changed,))
    assert table.view(msgspec.structs.replace(subject, spec=spec)) == {}


@given(st.lists(st.floats(0, 2000), max_size=20))
def test_a_wait_never_exceeds_the_longest_delay(gaps: list[float]) -> None:
    entry: BackoffEntry | None = None
    now = 0.0
    for gap in gaps:
        ended = at(now + gap)
        until = waits_until(entry, ended, ended)
        assert until is None or until - ended <= timedelta(seconds=POLICY.max_seconds)
        now += gap
        entry = next_entry(entry, ended, ended, POLICY)


def test_volumes_are_tried_again_ever_more_rarely() -> None:
    assert [retry_seconds(n) for n in (1, 2, 3, 9, 50)] == [0.5, 1, 2, 122, 122]
