"""The back-off of a volume that cannot be set up, against the constants of Kubernetes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.kubelet.volumes.mount_backoff import MountBackoff, MountBackoffs, after_failure

START = datetime(2026, 1, 1, tzinfo=UTC)
MISSING, WRONG = 'configmap "settings" not found', "references non-existent config key: key"
UPSTREAM_MILLISECONDS = (500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 122000, 122000, 122000)
"""``durationBeforeRetry`` after each failure in a row: 500 ms, doubled, at most 2 min 2 s."""


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@pytest.mark.parametrize(("failures", "milliseconds"), list(enumerate(UPSTREAM_MILLISECONDS, 1)))
def test_wait_doubles_with_each_failure_up_to_the_longest(failures: int, milliseconds: int) -> None:
    now, found = START, None
    for _ in range(failures):
        found = after_failure(found, now, MISSING)
        now = found.retry_at
    assert found is not None
    assert found.seconds * 1000 == milliseconds
    assert found.retry_at - found.failed_at == timedelta(milliseconds=milliseconds)


@pytest.mark.parametrize(("failures", "milliseconds"), [(1, 500), (2, 1000), (3, 1000), (20, 1000)])
def test_caller_may_set_a_shorter_longest_wait(failures: int, milliseconds: int) -> None:
    now, found = START, None
    for _ in range(failures):
        found = after_failure(found, now, MISSING, 1.0)
        now = found.retry_at
    assert found is not None
    assert found.seconds * 1000 == milliseconds


@pytest.mark.parametrize(
    ("seconds", "elapsed", "message", "after"),
    [
        pytest.param(0.5, 0.0, MISSING, None, id="early, at once, same reason"),
        pytest.param(0.5, 0.499, MISSING, None, id="early by a millisecond"),
        pytest.param(0.5, 0.5, MISSING, 1.0, id="just over"),
        pytest.param(0.5, 0.5, WRONG, 1.0, id="just over, another reason"),
        pytest.param(0.5, 0.1, WRONG, 1.0, id="early, another reason"),
        pytest.param(4.0, 3.9, MISSING, None, id="early in a longer wait"),
        pytest.param(4.0, 3.9, WRONG, 8.0, id="early in a longer wait, another reason"),
        pytest.param(4.0, 400.0, MISSING, 8.0, id="long over: failures are not forgotten by time"),
        pytest.param(64.0, 64.0, MISSING, 122.0, id="the last doubling is cut"),
        pytest.param(122.0, 121.0, MISSING, None, id="early in the longest wait"),
        pytest.param(122.0, 122.0, MISSING, 122.0, id="the longest wait stays"),
        pytest.param(122.0, 1.0, WRONG, 122.0, id="early, another reason, the longest wait stays"),
    ],
)
def test_failure_after_a_wait_of_some_seconds(
    seconds: float, elapsed: float, message: str, after: float | None
) -> None:
    before = MountBackoff(START, seconds, MISSING)
    expected = before if after is None else MountBackoff(at(elapsed), after, message)
    assert after_failure(before, at(elapsed), message) == expected


PASSES = [
    pytest.param(0.1, 4.0, [0, 0.5, 1.5, 3.5], id="a pass each 100 ms, as upstream's reconciler makes"),
    pytest.param(0.25, 4.0, [0, 0.5, 1.5, 3.5], id="four passes a second"),
    pytest.param(0.3, 4.0, [0, 0.6, 1.8, 3.9], id="passes between the ends of waits"),
    pytest.param(0.5, 16.0, [0, 0.5, 1.5, 3.5, 7.5, 15.5], id="two passes a second"),
    pytest.param(1.0, 16.0, [0, 1, 2, 4, 8, 16], id="a pass each second"),
    pytest.param(10.0, 130.0, [0, 10, 20, 30, 40, 50, 70, 110], id="a pass each 10 s"),
    pytest.param(90.0, 450.0, [0, 90, 180, 270, 360, 450], id="rarer than most waits"),
    pytest.param(0.5, 600.0, [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 63.5, 127.5, 249.5, 371.5, 493.5], id="ten"),
]


@pytest.mark.parametrize(("interval", "seconds", "tries"), PASSES)
def test_volume_is_tried_at_the_first_pass_after_each_wait(
    interval: float, seconds: float, tries: list[float]
) -> None:
    volumes, found = MountBackoffs(), []
    for number in range(round(seconds / interval) + 1):
        moment = round(number * interval, 6)
        if not volumes.is_held_back("files", at(moment)):
            volumes.note_try("files")
            assert volumes.note_failure("files", at(moment), MISSING)
            found.append(moment)
    assert found == tries


def test_volumes_of_a_pod_wait_each_for_itself() -> None:
    volumes = MountBackoffs()
    for seconds in (0, 0.5, 1.5):
        volumes.note_failure("files", at(seconds), MISSING)
    volumes.note_failure("more", at(1.5), MISSING)
    held = {name: volumes.is_held_back(name, at(2.5)) for name in ("files", "more", "others")}
    assert held == {"files": True, "more": False, "others": False}
    assert volumes.retry_at() == at(2)
    volumes.note_success("more")
    assert volumes.retry_at() == at(3.5)
    volumes.note_success("files")
    assert volumes.retry_at() is None


def test_success_forgets_earlier_failures() -> None:
    volumes = MountBackoffs()
    for seconds in (0, 0.5, 1.5):
        volumes.note_failure("files", at(seconds), MISSING)
    volumes.note_success("files")
    assert volumes.get("files") is None
    assert not volumes.is_held_back("files", at(1.5))
    assert volumes.note_failure("files", at(1.5), MISSING)
    assert volumes.retry_at() == at(2)


def test_change_of_the_source_allows_one_try_that_does_not_count_if_it_fails_alike() -> None:
    volumes = MountBackoffs()
    volumes.note_failure("files", at(0), MISSING)
    volumes.note_failure("files", at(0.5), MISSING)
    volumes.note_change("files")
    assert not volumes.is_held_back("files", at(0.6))
    volumes.note_try("files")
    assert not volumes.note_failure("files", at(0.6), MISSING)
    assert volumes.is_held_back("files", at(0.7)), "one change, one try"
    assert volumes.retry_at() == at(1.5), "the wait is as long as without the change"


def test_change_during_a_try_allows_another_one() -> None:
    volumes = MountBackoffs()
    volumes.note_try("files")
    volumes.note_change("files")
    volumes.note_failure("files", at(0), MISSING)
    assert not volumes.is_held_back("files", at(0.1))


@given(st.lists(st.floats(0.01, 300), max_size=30), st.sets(st.integers(0, 29)))
def test_changes_of_the_source_add_no_failures(waits: list[float], changes: set[int]) -> None:
    """However often the source changes, failures that count are as far apart as the back-off says."""
    volumes, now, counted = MountBackoffs(), 0.0, list[float]()
    for number, wait in enumerate(waits):
        if number in changes:
            volumes.note_change("files")
        if not volumes.is_held_back("files", at(now)):
            volumes.note_try("files")
            if volumes.note_failure("files", at(now), MISSING):
                counted.append(now)
        now += wait
    for before, after, milliseconds in zip(counted, counted[1:], UPSTREAM_MILLISECONDS, strict=False):
        assert after - before >= milliseconds / 1000 - 1e-5
