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
