"""Counts of jobs that fall, or count what has not happened, are found."""

from __future__ import annotations

import msgspec
import pytest

from podling.api.batch_v1 import Job
from podling.sim.checkers.job_counts import JobCounts
from tests.support.checked import History, pod

OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "uid-job", "controller": True}


def job(succeeded: int, failed: int = 0) -> Job:
    metadata = {"name": "job", "namespace": "default", "uid": "uid-job"}
    return msgspec.convert({"metadata": metadata, "status": {"succeeded": succeeded, "failed": failed}}, Job)


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ([(1, 0), (1, 1)], ""),
        ([(2, 0)], "jobs/default/job counts 2 succeeded pods of 1"),
        ([(1, 2)], "jobs/default/job counts 3 ended pods; it had 2"),
        ([(1, 1), (1, 0)], "jobs/default/job counted 1 succeeded, 1 failed; now 1 and 0"),
    ],
)
def test_counts_are_compared_with_the_pods(counts: list[tuple[int, int]], text: str) -> None:
    history = History(JobCounts)
    history.write(pod("a", phase="Succeeded", ownerReferences=[OWNER]))
    history.write(pod("b", phase="Failed", ownerReferences=[OWNER]))
    history.write(pod("c", phase="Succeeded"))
    for succeeded, failed in counts:
        history.write(job(succeeded, failed))
    assert history.texts == ([text] if text else [])
