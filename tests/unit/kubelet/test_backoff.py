"""Restart back-off, as tables and as laws."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api.core_v1 import Pod
from podling.kubelet.backoff import (
    BackoffEntry,
    BackoffPolicy,
    BackoffTable,
    backoff_key,
    next_entry,
    waits_until,
)

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
def test_wait_counts_from_the_end_of_the_container(
    entry: BackoffEntry | None, ended: int, now: int, until: int | None
) -> None:
    assert waits_until(entry, at(ended), at(now)) == (at(until) if until is not None else None)


def test_long_healthy_run_resets_the_back_off() -> None:
    assert next_entry(BackoffEntry(160, at(0)), at(601), at(601), POLICY).seconds == 10


def test_changed_image_resets_the_back_off() -> None:
    subject = pod()
    (container,) = subject.spec.containers
    table = BackoffTable(POLICY)
    table.advance(backoff_key(subject, container), at(0), at(0))
    assert table.view(subject) == {"app": BackoffEntry(10, at(0))}
    changed = msgspec.structs.replace(container, image="other")
    spec = msgspec.structs.replace(subject.spec, containers=(changed,))
    assert table.view(msgspec.structs.replace(subject, spec=spec)) == {}


@given(st.lists(st.floats(0, 2000), max_size=20))
def test_wait_never_exceeds_the_longest_delay(gaps: list[float]) -> None:
    entry: BackoffEntry | None = None
    now = 0.0
    for gap in gaps:
        ended = at(now + gap)
        until = waits_until(entry, ended, ended)
        assert until is None or until - ended <= timedelta(seconds=POLICY.max_seconds)
        now += gap
        entry = next_entry(entry, ended, ended, POLICY)
