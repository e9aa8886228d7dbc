"""Failures of background tasks are shown at ``/metrics``."""

from __future__ import annotations

import pytest

from podling import clock
from podling.apiserver.http.metrics import exposition
from podling.client.task_metrics import SupervisedTasks
from podling.supervisor import Supervisor


@pytest.mark.usefixtures("failures_expected")
async def test_failure_is_counted_by_task() -> None:
    async def fails() -> None:
        raise RecursionError("maximum recursion depth exceeded")

    tasks = Supervisor()
    tasks.run_once("kubelet/example", fails)
    await clock.sleep(1)
    await tasks.close()
    text = exposition(list(SupervisedTasks().collect()), process=False).decode()
    assert 'podling_task_failures_total{task="kubelet/example"} 1.0' in text
