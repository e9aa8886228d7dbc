"""Container statuses where the runtime has lost containers or their states."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import ContainerStatus, Pod
from podling.kubelet.observation import PodObservation
from podling.kubelet.pod_spec import ContainerKind
from podling.kubelet.status.container_statuses import ContainerFacts, container_statuses
from podling.kubelet.status.probe_view import NO_PROBES
from podling.runtime.base import Container
from podling.runtime.base import ContainerState as RuntimeState

RUNNING: dict[str, Any] = {"running": {}}


def pod(status: dict[str, Any], **spec: Any) -> Pod:
    plain = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "app"}], **spec}, "status": status}
    return msgspec.convert(plain, Pod)


def shown(state: RuntimeState, attempt: int, before: dict[str, Any]) -> ContainerStatus:
    """Return the status of a container that the runtime has in ``state``."""
    subject = pod({}, containers=[{"name": "app"}])
    made = datetime(2026, 1, 1, tzinfo=UTC)
    found = Container(id="1", sandbox_id="s", name="app", attempt=attempt, state=state, created_at=made)
    (result,) = container_statuses(
        subject,
        ContainerKind.REGULAR,
        subject.spec.containers,
        PodObservation("u", containers=(found,)),
        NO_PROBES,
        {"app": msgspec.convert({"name": "app", **before}, ContainerStatus)},
        ContainerFacts("sim"),
    )
    return result


ENDED: dict[str, Any] = {"terminated": {"exitCode": 1}}


@pytest.mark.parametrize(
    ("attempt", "before", "count"),
    [
        (3, {"restartCount": 2, "state": ENDED}, 3),
        (3, {"restartCount": 3, "state": RUNNING}, 3),
        (0, {"restartCount": 3, "state": RUNNING}, 3),
        (0, {"restartCount": 3, "state": ENDED}, 4),
        (0, {"restartCount": 0, "state": ENDED}, 1),
        (1, {"restartCount": 1, "state": {"waiting": {}}}, 1),
    ],
)
def test_restart_count_survives_lost_attempts(attempt: int, before: dict[str, Any], count: int) -> None:
    assert shown(RuntimeState.RUNNING, attempt, before).restart_count == count


def test_container_in_an_unknown_state_has_ended() -> None:
    found = shown(RuntimeState.UNKNOWN, 2, {"restartCount": 2, "state": RUNNING})
    ended = found.state.terminated
    assert ended is not None
    assert (ended.reason, ended.exit_code, found.restart_count) == ("ContainerStatusUnknown", 137, 3)
    assert ended.message == "The container could not be located when the pod was terminated"
