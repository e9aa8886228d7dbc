"""Explanations of containers that end again and again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ailing_pods import BOUND, EARLIER, PROBE, ask, container, ended, looping


@pytest.mark.parametrize(
    ("last", "text", "advice"),
    [
        (
            ended(3),
            "run number 5 ended 30s ago after 90s with exit code 3 (Error)",
            "logs web -c main --previous",
        ),
        (
            ended(3, message="no db\n"),
            'with exit code 3 (Error), saying "no db"',
            "logs web -c main --previous",
        ),
        (ended(137, "OOMKilled"), "for using more memory than it may (OOMKilled", "resources.limits.memory"),
        (ended(139), "was ended 30s ago after 90s by SIGSEGV (exit code 139)", "logs web"),
        (ended(137), "was ended 30s ago after 90s by SIGKILL", "Nobody in the cluster is on record for it"),
        (ended(127), "with exit code 127", "Correct command and args"),
        (
            ended(128, "StartError", message='exec: "nginz": executable file not found in $PATH'),
            "could not be started 30s ago",
            "Correct command and args",
        ),
        (ended(128, "StartError", message="no dir"), "could not be started 30s ago: no dir", "its mounts"),
        (ended(0, "Completed"), "with exit code 0 (Completed)", "belongs in a Job"),
    ],
)
def test_crash_loop_is_explained_by_last_run(last: dict[str, Any], text: str, advice: str) -> None:
    answer = ask(BOUND, looping(last))
    assert (answer.area, answer.reason) == ("crash", "CrashLoopBackOff")
    assert text in answer.text
    assert answer.text.endswith("it is started again in about 50s, when the back-off of 1m20s is over.")
    assert advice in answer.advice


@pytest.mark.parametrize("kind", ["liveness", "startup"])
def test_kill_by_failed_probe_is_explained(kind: str) -> None:
    spec = {**BOUND, "containers": [{"name": "main", f"{kind}Probe": PROBE}]}
    failing = ("Unhealthy/main", f"{kind.capitalize()} probe failed: bad state\n")
    killing = ("Killing/main", f"Container main failed {kind} probe, will be restarted")
    answer = ask(spec, looping(ended(0, "Completed")), failing, killing)
    because = f"because its {kind} probe (exec test -e /ok) failed 2 times in a row: bad state (exit code 0)"
    assert answer.area == "probe"
    assert f"was killed 30s ago after 90s {because}" in answer.text
    assert "give the probe more room" in answer.advice
    assert [source.name for source in answer.evidence] == ["main", "Killing", "Unhealthy"]
    unsure = ask(spec, looping(ended(0, "Completed")), failing)
    assert f"most likely {because}" in unsure.text


def test_killing_of_other_container_or_run_is_ignored() -> None:
    spec = {**BOUND, "containers": [{"name": "main", "livenessProbe": PROBE}]}
    killing = "Container other failed liveness probe, will be restarted"
    assert ask(spec, looping(ended(3)), ("Killing/other", killing)).area == "crash"
    before = ended(3) | {"terminated": {**ended(3)["terminated"], "finishedAt": EARLIER}}
    assert ask(spec, looping(before), ("Killing/main", killing)).area == "crash"


def test_kill_after_failed_post_start_hook_is_explained() -> None:
    answer = ask(BOUND, looping(ended(0)), ("Killing/main", "FailedPostStartHook"))
    assert (answer.area, answer.reason) == ("hook", "CrashLoopBackOff")
    assert "because its postStart hook failed" in answer.text


def test_container_that_restart_policy_leaves_ended_is_explained() -> None:
    spec = {**BOUND, "restartPolicy": "Never"}
    answer = ask(spec, container(state=ended(1)))
    assert "its restart policy, Never, lets it be; the pod cannot be Ready without it" in answer.text
    assert answer.advice == "See what it said: kubectl logs web -c main"
