"""Statuses of pods, as a table."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod, PodStatus
from podling.kubelet.observation import PodObservation
from podling.kubelet.status.container_statuses import ContainerFacts
from podling.kubelet.status.probe_view import NO_PROBES
from podling.kubelet.status.status import PodFacts, pod_status
from podling.runtime.base import Container, Sandbox
from podling.runtime.base import ContainerState as RuntimeState


def pod(status: dict[str, Any], **spec: Any) -> Pod:
    plain = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "app"}], **spec}, "status": status}
    return msgspec.convert(plain, Pod)


def status(**fields: Any) -> PodStatus:
    return msgspec.convert(fields, PodStatus)


@pytest.mark.parametrize(("phase", "reason"), [("Running", "Noted"), ("Pending", "")])
def test_reason_and_message_stay_while_the_phase_stays(phase: str, reason: str) -> None:
    subject = pod({}, containers=[{"name": "app"}])
    made = datetime(2026, 1, 1, tzinfo=UTC)
    app = Container(
        id="1", sandbox_id="s", name="app", attempt=0, state=RuntimeState.RUNNING, created_at=made
    )
    before = status(phase=phase, reason="Noted", message="in words")
    observed = PodObservation("u", containers=(app,))
    found = pod_status(subject, observed, NO_PROBES, before, PodFacts(ContainerFacts("sim")), made)
    assert (found.phase, found.reason, found.message) == ("Running", reason, "in words" if reason else "")


RUNS: dict[str, Any] = {"state": {"running": {}}}
WAITS: dict[str, Any] = {"state": {"waiting": {}}}
DONE: dict[str, Any] = {"state": {"terminated": {"exitCode": 0}}}


@pytest.mark.parametrize(
    ("policy", "api", "before", "running", "sandbox", "terminal", "expected"),
    [
        ("Always", "", ("", RUNS, RUNS, ""), "", True, True, ("Failed", "", "True", "False PodFailed")),
        ("Always", "", ("", RUNS, RUNS, ""), "", True, False, ("Running", "", "True", "False")),
        (
            "Always",
            "Succeeded",
            ("", RUNS, RUNS, ""),
            "",
            False,
            False,
            ("Succeeded", "", "True PodCompleted", "False PodCompleted"),
        ),
        (
            "Always",
            "Running",
            ("Succeeded", RUNS, RUNS, "Test"),
            "",
            False,
            False,
            ("Succeeded", "Test", "True PodCompleted", "False PodCompleted"),
        ),
        (
            "Never",
            "Running",
            ("Succeeded", DONE, DONE, "Test"),
            "",
            False,
            False,
            ("Succeeded", "Test", "True PodCompleted", "False PodCompleted"),
        ),
        ("Always", "Running", ("", WAITS, WAITS, ""), "", True, False, ("Pending", "", "True", "False")),
        (
            "Always",
            "Running",
            ("Pending", WAITS, RUNS, "Test"),
            "b",
            True,
            False,
            ("Pending", "Test", "True", "False"),
        ),
        (
            "Always",
            "Pending",
            ("Pending", RUNS, RUNS, "Test"),
            "a b",
            True,
            False,
            ("Running", "", "True", "True"),
        ),
    ],
)
def test_status_as_upstream(
    policy: str,
    api: str,
    before: tuple[str, dict[str, Any], dict[str, Any], str],
    running: str,
    sandbox: bool,
    terminal: bool,
    expected: tuple[str, str, str, str],
) -> None:
    """The cases of ``Test_generateAPIPodStatus``, with the readiness that probes would give."""
    made = datetime(2026, 1, 1, tzinfo=UTC)
    phase, first, second, reason = before
    subject = pod({"phase": api}, containers=[{"name": "a"}, {"name": "b"}], restartPolicy=policy)
    sandboxes = Sandbox(
        id="s", pod_uid="u", pod_name="web", pod_namespace="", attempt=0, ready=True, created_at=made
    )
    containers = (
        Container(id=name, sandbox_id="s", name=name, attempt=0, state=RuntimeState.RUNNING, created_at=made)
        for name in running.split()
    )
    observed = PodObservation("u", sandboxes=(sandboxes,) if sandbox else (), containers=tuple(containers))
    held = status(
        phase=phase, reason=reason, containerStatuses=[{"name": "a", **first}, {"name": "b", **second}]
    )
    facts = PodFacts(ContainerFacts("sim"), terminal=terminal)
    found = pod_status(subject, observed, NO_PROBES, held, facts, made)
    shown = {each.type: f"{each.status} {each.reason or ''}".strip() for each in found.conditions}
    assert (found.phase, found.reason, shown["Initialized"]) == expected[:3]
    assert shown["Ready"].removesuffix(" ContainersNotReady") == expected[3]
    assert shown["PodScheduled"] == "True"


def test_reason_in_the_api_stays_while_the_phase_stays() -> None:
    subject = pod({"phase": "Running", "reason": "NodeLost", "message": "node is unresponsive"})
    made = datetime(2026, 1, 1, tzinfo=UTC)
    app = Container(
        id="1", sandbox_id="s", name="app", attempt=0, state=RuntimeState.RUNNING, created_at=made
    )
    observed = PodObservation("u", containers=(app,))
    facts = PodFacts(ContainerFacts("sim"))
    found = pod_status(subject, observed, NO_PROBES, status(phase="Running"), facts, made)
    assert (found.reason, found.message) == ("NodeLost", "node is unresponsive")


@pytest.mark.parametrize("gate", [True, False])
@pytest.mark.parametrize("volumes_ready", [True, False])
def test_ready_to_start_is_reported_with_its_gate_only(gate: bool, volumes_ready: bool) -> None:
    made = datetime(2026, 1, 1, tzinfo=UTC)
    sandbox = Sandbox(
        id="s", pod_uid="u", pod_name="web", pod_namespace="", attempt=0, ready=True, created_at=made
    )
    observed = PodObservation("u", sandboxes=(sandbox,))
    facts = PodFacts(ContainerFacts("sim"), volumes_ready=volumes_ready, shows_ready_to_start=gate)
    found = pod_status(pod({}), observed, NO_PROBES, status(), facts, made)
    shown = [held.status for held in found.conditions if held.type == "PodReadyToStartContainers"]
    assert shown == ([str(volumes_ready)] if gate else [])
    others = {held.type for held in found.conditions} - {"PodReadyToStartContainers"}
    assert others == {"Initialized", "Ready", "ContainersReady", "PodScheduled"}


@pytest.mark.parametrize(
    ("terminal", "api", "moment"),
    [(False, [], 1), (True, [], 9), (True, [("True", 3)], 3), (True, [("False", 3)], 9)],
)
def test_disruption_is_as_old_as_the_end_that_it_explains(
    terminal: bool, api: list[tuple[str, int]], moment: int
) -> None:
    """``mergePodStatus``: the condition is sent late, with the terminal phase."""

    def mark(value: str, minute: int) -> dict[str, str]:
        return {
            "type": "DisruptionTarget",
            "status": value,
            "lastTransitionTime": f"2026-01-01T00:{minute:02}:00Z",
        }

    subject = pod({"conditions": [mark(*each) for each in api]})
    before = status(conditions=[mark("True", 1)])
    facts = PodFacts(ContainerFacts("sim"), terminal=terminal)
    now = datetime(2026, 1, 1, 0, 9, tzinfo=UTC)
    found = pod_status(subject, PodObservation("u"), NO_PROBES, before, facts, now)
    (shown,) = [each for each in found.conditions if each.type == "DisruptionTarget"]
    assert shown.last_transition_time is not None
    assert shown.last_transition_time.minute == moment
