"""The merge of a decided status with the API's, as tables."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import ContainerStatus, Pod, PodStatus
from podling.kubelet.observation import PodObservation
from podling.kubelet.pod_spec import ContainerKind
from podling.kubelet.status.container_statuses import ContainerFacts, container_statuses
from podling.kubelet.status.probe_view import NO_PROBES
from podling.kubelet.status.status_merge import merge_status, terminated_status
from podling.runtime.base import Container
from podling.runtime.base import ContainerState as RuntimeState

RUNNING: dict[str, Any] = {"running": {}}


def pod(status: dict[str, Any], **spec: Any) -> Pod:
    plain = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "app"}], **spec}, "status": status}
    return msgspec.convert(plain, Pod)


def status(**fields: Any) -> PodStatus:
    return msgspec.convert(fields, PodStatus)


def condition(type_: str, value: str, **more: Any) -> dict[str, Any]:
    return {"type": type_, "status": value, **more}


def conditions(found: PodStatus) -> list[str]:
    return [f"{held.type}={held.status} {held.reason or ''}".strip() for held in found.conditions]


def test_a_terminal_phase_waits_until_nothing_runs() -> None:
    held = pod({"phase": "Running"})
    decided = status(phase="Failed", reason="Evicted", message="too much")
    waiting = merge_status(held, decided, may_run=True)
    assert (waiting.phase, waiting.reason, waiting.message) == ("Running", "", "")
    sent = merge_status(held, decided, may_run=False)
    assert (sent.phase, sent.reason, sent.message) == ("Failed", "Evicted", "too much")


def test_terminal_phase_is_final() -> None:
    held = pod({"phase": "Succeeded", "reason": "Done"})
    sent = merge_status(held, status(phase="Running"), may_run=True)
    assert (sent.phase, sent.reason) == ("Succeeded", "Done")


@pytest.mark.parametrize(("phase", "reason"), [("Failed", "PodFailed"), ("Succeeded", "PodCompleted")])
def test_terminal_pod_is_not_ready(phase: str, reason: str) -> None:
    decided = status(
        phase=phase, conditions=[condition("Ready", "True"), condition("ContainersReady", "True")]
    )
    sent = merge_status(pod({}), decided, may_run=False)
    assert conditions(sent) == [f"Ready=False {reason}", f"ContainersReady=False {reason}"]


def test_conditions_of_others_are_kept_as_they_are() -> None:
    held = pod({"conditions": [condition("example.com/gate", "True"), condition("Ready", "False")]})
    decided = status(conditions=[condition("example.com/gate", "False"), condition("Ready", "True")])
    assert conditions(merge_status(held, decided, may_run=True)) == ["example.com/gate=True", "Ready=True"]


@pytest.mark.parametrize(
    ("gate", "ready", "sent"),
    [
        ("False", "False", "False"),  # closed after the status was decided
        ("True", "False", "True"),
        ("False", "True", "True"),  # the pod's worker follows, with the time of the change
    ],
)
def test_pod_stays_not_ready_with_a_gate_that_was_closed(gate: str, ready: str, sent: str) -> None:
    held = pod(
        {"conditions": [condition("Gate", gate), condition("Ready", ready)]},
        readinessGates=[{"conditionType": "Gate"}],
    )
    decided = status(conditions=[condition("ContainersReady", "True"), condition("Ready", "True")])
    found = merge_status(held, decided, may_run=True)
    assert {each.type: each.status for each in found.conditions}["Ready"] == sent


def test_disruption_is_sent_with_the_terminal_phase() -> None:
    held = pod({"phase": "Running"})
    mark = condition("DisruptionTarget", "True", reason="TerminationByKubelet")
    decided = status(phase="Failed", conditions=[mark])
    assert conditions(merge_status(held, decided, may_run=True)) == []
    assert conditions(merge_status(held, decided, may_run=False)) == [
        "DisruptionTarget=True TerminationByKubelet"
    ]


READY_PLAN = (condition("Ready", "True"), condition("PodScheduled", "True"))
BY_API = condition("DisruptionTarget", "True", reason="EvictionByEvictionAPI")
BY_KUBELET = condition("DisruptionTarget", "True", reason="TerminationByKubelet")
FEATURE = condition("example.com/feature", "True")
OVER = {"Ready=False PodFailed", "PodScheduled=True"}
RUNS = {"Ready=True", "PodScheduled=True"}


@pytest.mark.parametrize(
    ("may_run", "held", "phase", "decided", "shown"),
    [
        (False, [], "Running", READY_PLAN, RUNS),
        (
            False,
            [],
            "Failed",
            [BY_KUBELET, *READY_PLAN],
            OVER | {"DisruptionTarget=True TerminationByKubelet"},
        ),
        (True, [], "Failed", [BY_KUBELET, *READY_PLAN], RUNS),
        (False, [BY_KUBELET], "Running", READY_PLAN, RUNS | {"DisruptionTarget=True TerminationByKubelet"}),
        (
            False,
            [BY_API],
            "Failed",
            [BY_KUBELET, *READY_PLAN],
            OVER | {"DisruptionTarget=True TerminationByKubelet"},
        ),
        (
            False,
            [BY_API],
            "Running",
            [BY_KUBELET, *READY_PLAN],
            RUNS | {"DisruptionTarget=True EvictionByEvictionAPI"},
        ),
        (
            True,
            [BY_API],
            "Failed",
            [BY_KUBELET, *READY_PLAN],
            RUNS | {"DisruptionTarget=True EvictionByEvictionAPI"},
        ),
        (False, [], "Running", [condition("Ready", "False")], {"Ready=False"}),
        (False, [FEATURE], "Running", READY_PLAN, RUNS | {"example.com/feature=True"}),
        (
            False,
            [FEATURE],
            "Running",
            [condition("Ready", "False")],
            {"Ready=False", "example.com/feature=True"},
        ),
        (
            False,
            [FEATURE],
            "Running",
            [condition("example.com/feature", "False"), *READY_PLAN],
            RUNS | {"example.com/feature=True"},
        ),
    ],
)
def test_conditions_are_merged_as_upstream(
    may_run: bool, held: list[dict[str, Any]], phase: str, decided: list[dict[str, Any]], shown: set[str]
) -> None:
    """The cases of ``TestMergePodStatus``."""
    before = pod({"phase": "Running", "conditions": [*READY_PLAN, *held]})
    found = merge_status(before, status(phase=phase, conditions=decided), may_run=may_run)
    assert set(conditions(found)) == shown
    assert found.phase == ("Running" if may_run else phase)


def test_disruption_is_as_old_as_the_one_that_it_replaces() -> None:
    held = {**BY_API, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    mark = {**BY_KUBELET, "lastTransitionTime": "2026-02-02T00:00:00Z"}
    before = pod({"phase": "Running", "conditions": [held]})
    (found,) = merge_status(before, status(phase="Failed", conditions=[mark]), may_run=False).conditions
    assert found.reason == "TerminationByKubelet"
    assert found.last_transition_time == datetime(2026, 1, 1, tzinfo=UTC)


def test_start_time_and_class_of_the_api_are_kept() -> None:
    held = pod({"startTime": "2026-01-01T00:00:00Z", "observedGeneration": 7, "qosClass": "Burstable"})
    decided = status(startTime="2026-02-02T00:00:00Z", observedGeneration=3, qosClass="BestEffort")
    sent = merge_status(held, decided, may_run=True)
    assert sent.start_time is not None
    assert (sent.start_time.month, sent.observed_generation, sent.qos_class) == (1, 7, "Burstable")


@pytest.mark.parametrize(
    ("policy", "exit_code", "shown"),
    [
        ("Always", 0, "running"),
        ("OnFailure", 1, "running"),
        ("OnFailure", 0, "ended"),
        ("Never", 1, "ended"),
    ],
)
def test_container_ended_for_good_is_not_shown_running(policy: str, exit_code: int, shown: str) -> None:
    ended = {"name": "setup", "state": {"terminated": {"exitCode": exit_code}}}
    held = pod({"initContainerStatuses": [ended]}, restartPolicy=policy, initContainers=[{"name": "setup"}])
    decided = status(initContainerStatuses=[{"name": "setup", "state": RUNNING}])
    (found,) = merge_status(held, decided, may_run=True).init_container_statuses
    assert ("running" if found.state.running is not None else "ended") == shown


def test_an_ended_pod_has_no_container_that_looks_alive() -> None:
    subject = pod({}, containers=[{"name": "app"}, {"name": "late"}])
    decided = status(
        phase="Running",
        containerStatuses=[
            {"name": "app", "state": {"terminated": {"exitCode": 3}}},
            {"name": "late", "state": {"waiting": {"reason": "ContainerCreating"}}},
        ],
    )
    found = terminated_status(subject, decided)
    assert found.phase == "Failed"
    codes = [held.state.terminated.exit_code for held in found.container_statuses if held.state.terminated]
    assert codes == [3, 137]
    late = found.container_statuses[1].state.terminated
    assert late is not None
    assert late.reason == "ContainerStatusUnknown"


WAITS: dict[str, Any] = {"state": {"waiting": {}}}
NO_STATE: dict[str, Any] = {"state": {}}
UNKNOWN = 137


def ended(code: int) -> dict[str, Any]:
    return {"state": {"terminated": {"exitCode": code}}}


def ended_before(code: int) -> dict[str, Any]:
    return {**WAITS, "lastState": {"terminated": {"exitCode": code}}}


@pytest.mark.parametrize(
    ("init", "regular", "codes"),
    [
        ([], ended(2), [2]),
        ([], ended_before(2), [UNKNOWN]),
        ([], WAITS, [UNKNOWN]),
        ([WAITS], WAITS, [UNKNOWN, None]),
        ([WAITS, WAITS], WAITS, [UNKNOWN, None, None]),
        ([WAITS, WAITS, ended(1), WAITS], WAITS, [UNKNOWN, UNKNOWN, 1, None, None]),
        ([WAITS, WAITS, ended(1)], WAITS, [UNKNOWN, UNKNOWN, 1, None]),
        ([WAITS, WAITS, ended(0)], WAITS, [UNKNOWN, UNKNOWN, 0, UNKNOWN]),
        ([WAITS, WAITS, ended_before(0)], WAITS, [UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]),
        ([WAITS], {"state": RUNNING}, [UNKNOWN, UNKNOWN]),
        ([WAITS], ended(0), [UNKNOWN, 0]),
        ([WAITS], ended_before(0), [UNKNOWN, UNKNOWN]),
        ([NO_STATE, ended(0), ended(3)], NO_STATE, [UNKNOWN, 0, 3, UNKNOWN]),
        ([NO_STATE, ended(0), WAITS], NO_STATE, [UNKNOWN, 0, None, UNKNOWN]),
    ],
)
def test_containers_without_a_known_end_by_what_has_started(
    init: list[dict[str, Any]], regular: dict[str, Any], codes: list[int | None]
) -> None:
    """The cases of ``TestTerminatePod``, ``TestTerminatePodWaiting``, ``..._DefaultUnknownStatus``."""
    names = [f"init-{number}" for number in range(len(init))]
    subject = pod({}, initContainers=[{"name": name} for name in names], restartPolicy="Never")
    decided = status(
        phase="Running",
        initContainerStatuses=[{"name": name, **each} for name, each in zip(names, init, strict=True)],
        containerStatuses=[{"name": "app", **regular}],
    )
    found = terminated_status(subject, decided)
    ends = [each.state.terminated for each in (*found.init_container_statuses, *found.container_statuses)]
    assert [end.exit_code if end is not None else None for end in ends] == codes
    assert found.phase == "Failed"


@pytest.mark.parametrize(
    ("phase", "expected"),
    [("Pending", "Failed"), ("Running", "Failed"), ("Succeeded", "Succeeded"), ("Failed", "Failed")],
)
def test_phase_of_an_ended_pod_is_terminal(phase: str, expected: str) -> None:
    assert terminated_status(pod({}), status(phase=phase)).phase == expected
    assert terminated_status(pod({}), status(phase="Unknown")).phase == "Failed"


def test_pod_ended_before_its_init_containers_has_no_exit_codes() -> None:
    subject = pod({}, initContainers=[{"name": "setup"}])
    decided = status(
        phase="Pending",
        initContainerStatuses=[{"name": "setup", "state": {"waiting": {"reason": "PodInitializing"}}}],
        containerStatuses=[{"name": "app", "state": {"waiting": {"reason": "PodInitializing"}}}],
    )
    found = terminated_status(subject, decided)
    assert found.phase == "Failed"
    assert all(held.state.waiting is not None for held in found.container_statuses)


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


def test_ready_to_start_that_was_not_decided_stays_as_it_is() -> None:
    """Without its feature gate the condition is not the kubelet's, so an older kubelet's stays."""
    held = pod({"conditions": [condition("PodReadyToStartContainers", "True"), condition("Ready", "True")]})
    sent = merge_status(held, status(conditions=[condition("Ready", "False")]), may_run=True)
    assert conditions(sent) == ["PodReadyToStartContainers=True", "Ready=False"]
    decided = [condition("PodReadyToStartContainers", "False"), condition("Ready", "False")]
    sent = merge_status(held, status(conditions=decided), may_run=True)
    assert conditions(sent) == ["PodReadyToStartContainers=False", "Ready=False"]
