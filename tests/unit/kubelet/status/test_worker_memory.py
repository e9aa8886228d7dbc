"""Attempts and times that a pod's worker keeps between passes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from podling.api.core_v1 import ContainerStatus, PodStatus
from podling.kubelet.backoff import BackoffPolicy, BackoffTable
from podling.kubelet.directories import Directories
from podling.kubelet.observation import PodObservation
from podling.kubelet.status.worker_memory import PodMemory
from tests.support.kubelet_node import pod
from tests.unit.kubelet.instances import NOON, container


def memory() -> PodMemory:
    return PodMemory(BackoffTable(BackoffPolicy()))


@pytest.mark.parametrize(
    ("seen", "logged", "restarts", "attempt"),
    [
        ([], [], 0, 0),
        ([], [0, 1], 0, 2),
        ([], [], 4, 4),
        ([0, 2], [7], 0, 3),
        ([0], [], 4, 4),
    ],
)
def test_next_attempt_was_never_used(
    tmp_path: Path, seen: list[int], logged: list[int], restarts: int, attempt: int
) -> None:
    directories, subject, subject_memory = Directories(tmp_path), pod(), memory()
    for number in logged:
        log = directories.container_log(subject, "app", number)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
    if seen:
        found = tuple(container("app", number) for number in seen)
        subject_memory.observe(PodObservation("u-1", containers=found))
        subject_memory.observe(PodObservation("u-1"))
    status = PodStatus(container_statuses=(ContainerStatus(name="app", restart_count=restarts),))
    assert subject_memory.next_attempt(subject, "app", status, directories) == attempt


def test_messages_of_removed_containers_are_dropped() -> None:
    subject = memory()
    subject.messages.update({"app0": "old", "app1": "new"})
    subject.observe(PodObservation("u-1", containers=(container("app", 1),)))
    assert subject.messages == {"app1": "new"}


def test_earliest_retry_counts() -> None:
    subject = memory()
    for seconds in (20, 10, 30):
        subject.retry(NOON + timedelta(seconds=seconds))
    assert subject.retry_at == NOON + timedelta(seconds=10)
