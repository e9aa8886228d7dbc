"""Final states that end are found."""

from __future__ import annotations

import msgspec

from podling.api.batch_v1 import Job
from podling.sim.checkers.final_phases import FinalPhases
from tests.support.checked import History, pod


def job(*conditions: str) -> Job:
    status = {"conditions": [{"type": each, "status": "True"} for each in conditions]}
    return msgspec.convert(
        {"metadata": {"name": "j", "namespace": "default", "uid": "u"}, "status": status}, Job
    )


def test_pod_that_runs_again_is_a_violation() -> None:
    history = History(FinalPhases)
    history.write(pod(phase="Succeeded"))
    history.write(pod(phase="Running"))
    assert history.texts == ["pods/default/web was Succeeded and is Running"]


def test_pod_may_end_once() -> None:
    history = History(FinalPhases)
    for phase in ("Pending", "Running", "Failed", "Failed"):
        history.write(pod(phase=phase))
    history.write(pod(phase="Pending", uid="another"))
    assert not history.texts


def test_job_that_is_not_complete_any_more_is_a_violation() -> None:
    history = History(FinalPhases)
    history.write(job())
    history.write(job("Complete"))
    assert not history.texts
    history.write(job())
    assert history.texts == ["jobs/default/j was Complete and is not any more"]
