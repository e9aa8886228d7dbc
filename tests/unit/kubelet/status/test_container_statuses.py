"""Container statuses where the runtime has lost containers or their states."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Container as ApiContainer
from podling.api.core_v1 import ContainerState, ContainerStatus, Pod
from podling.kubelet.observation import PodObservation
from podling.kubelet.pod_spec import ContainerKind
from podling.kubelet.status.container_statuses import ContainerFacts, WaitingReason, container_statuses
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


def vanished(before: dict[str, Any], kind: ContainerKind, **metadata: Any) -> ContainerStatus:
    """Return the status of a container of which the runtime has no trace."""
    mounts = [{"name": "data", "mountPath": "/data", "readOnly": True}]
    plain = {"metadata": {"name": "web", **metadata}, "spec": {"containers": [{"name": "app"}]}}
    subject = msgspec.convert(plain, Pod)
    container = msgspec.convert({"name": "app", "image": "app:1", "volumeMounts": mounts}, ApiContainer)
    (result,) = container_statuses(
        subject,
        kind,
        [container],
        PodObservation("u"),
        NO_PROBES,
        {"app": msgspec.convert({"name": "app", **before}, ContainerStatus)} if before else {},
        ContainerFacts("sim"),
    )
    return result


@pytest.mark.parametrize(("deleting", "count"), [(True, 0), (False, 1)])
def test_running_container_that_vanished_has_an_unknown_end(deleting: bool, count: int) -> None:
    """The cases of ``TestConvertToAPIContainerStatuses``."""
    metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}
    found = vanished({"state": RUNNING}, ContainerKind.REGULAR, **metadata)
    assert found.state.waiting is not None
    end = found.last_state.terminated
    assert end is not None
    assert (found.state.waiting.reason, found.restart_count) == ("ContainerCreating", count)
    assert (end.reason, end.exit_code, end.message) == (
        "ContainerStatusUnknown",
        137,
        "The container could not be located when the pod was deleted.  The container used to be Running",
    )


@pytest.mark.parametrize("kind", ContainerKind)
def test_ended_container_that_vanished_stays_as_it_ended(kind: ContainerKind) -> None:
    before = {"state": ENDED, "lastState": ENDED, "restartCount": 2, "containerID": "sim://1"}
    found = vanished(before, kind)
    assert found.state.terminated is not None
    assert (found.state.terminated.exit_code, found.restart_count, found.container_id) == (1, 2, "sim://1")


@pytest.mark.parametrize("state", RuntimeState)
def test_mounts_and_user_are_shown_in_every_state(state: RuntimeState) -> None:
    mounts = [{"name": "data", "mountPath": "/data", "readOnly": True}]
    subject = pod({}, containers=[{"name": "app", "volumeMounts": mounts}])
    made = datetime(2026, 1, 1, tzinfo=UTC)
    user = (1000, 3000, (3000, 4000))
    found = Container(id="1", sandbox_id="s", name="app", attempt=0, state=state, created_at=made, user=user)
    (result,) = container_statuses(
        subject,
        ContainerKind.REGULAR,
        subject.spec.containers,
        PodObservation("u", containers=(found,)),
        NO_PROBES,
        {},
        ContainerFacts("sim"),
    )
    shown = [(each.name, each.mount_path, each.recursive_read_only) for each in result.volume_mounts]
    assert shown == [("data", "/data", "Disabled")]
    assert result.user is not None
    assert result.user.linux is not None
    assert (result.user.linux.uid, result.user.linux.gid) == (1000, 3000)


def test_mounts_are_shown_before_the_container_is_made() -> None:
    (mount,) = vanished({}, ContainerKind.REGULAR).volume_mounts
    assert (mount.name, mount.mount_path, mount.read_only) == ("data", "/data", True)


def instance(name: str, state: RuntimeState, *, number: int = 1, code: int | None = None) -> Container:
    """Return a container of the runtime; a later one of the same name has a higher number."""
    made = datetime(2026, 1, 1, 0, 0, number, tzinfo=UTC)
    return Container(
        id=f"{name}-{number}",
        sandbox_id="s",
        name=name,
        attempt=0,
        state=state,
        created_at=made,
        exit_code=code,
    )


def converted(
    observed: list[Container], before: dict[str, Any], *, restarting: bool = False, **spec: Any
) -> list[tuple[str, int, str]]:
    """Return state, restart count and last state of the containers ``a`` and ``b``."""
    subject = pod({}, containers=[{"name": "a"}, {"name": "b"}], **spec)
    found = container_statuses(
        subject,
        ContainerKind.REGULAR,
        subject.spec.containers,
        PodObservation("u", containers=tuple(observed)),
        NO_PROBES,
        {name: msgspec.convert({"name": name, **held}, ContainerStatus) for name, held in before.items()},
        ContainerFacts("sim", restarting_all=restarting),
    )
    return [(words(each.state), each.restart_count, words(each.last_state)) for each in found]


def words(state: ContainerState) -> str:
    if state.terminated is not None:
        over = state.terminated.reason == "RestartingAllContainers"
        return "over" if over else f"ended {state.terminated.exit_code}"
    if state.waiting is not None:
        return state.waiting.reason or "waiting"
    return "running" if state.running is not None else ""


def held(code: int, count: int = 0) -> dict[str, Any]:
    return {"state": {"terminated": {"exitCode": code}}, "restartCount": count}


OVER: dict[str, Any] = {
    "state": {"waiting": {"reason": "RestartingAllContainers"}},
    "lastState": {"terminated": {"exitCode": 137, "reason": "RestartingAllContainers"}},
    "restartCount": 1,
}
RUNS: dict[str, Any] = {"state": RUNNING}
RESET = ("RestartingAllContainers", 1, "over")


@pytest.mark.parametrize(
    ("observed", "before", "restarting", "expected"),
    [
        ([], {"a": held(-1, 5), "b": held(-1, 5)}, False, [("ended -1", 5, ""), ("ended -1", 5, "")]),
        (
            [instance("a", RuntimeState.RUNNING), instance("b", RuntimeState.RUNNING)],
            {"a": held(-1, 5), "b": held(-1, 5)},
            False,
            [("running", 6, "ended -1"), ("running", 6, "ended -1")],
        ),
        (
            [instance("a", RuntimeState.RUNNING), instance("b", RuntimeState.EXITED, code=42)],
            {"a": RUNS, "b": RUNS},
            True,
            [("running", 0, ""), ("ended 42", 0, "")],
        ),
        (
            [instance("a", RuntimeState.EXITED, code=137)],
            {"a": RUNS, "b": held(42)},
            True,
            [("ended 137", 0, ""), RESET],
        ),
        ([], {"a": held(137), "b": held(42)}, True, [RESET, RESET]),
        ([], {"a": RUNS, "b": held(42)}, True, [RESET, RESET]),
        (
            [instance("a", RuntimeState.RUNNING, number=2)],
            {"a": OVER, "b": held(42)},
            True,
            [("running", 1, "over"), RESET],
        ),
        (
            [instance("a", RuntimeState.EXITED, code=0)],
            {"a": {**RUNS, "restartCount": 1}, "b": held(42)},
            True,
            [("ended 0", 1, ""), RESET],
        ),
        (
            [instance("a", RuntimeState.EXITED, code=1)],
            {"a": {**RUNS, "restartCount": 1}, "b": held(42)},
            True,
            [("ended 1", 1, ""), RESET],
        ),
    ],
)
def test_statuses_are_converted_as_upstream(
    observed: list[Container],
    before: dict[str, Any],
    restarting: bool,
    expected: list[tuple[str, int, str]],
) -> None:
    """The other cases of ``TestConvertToAPIContainerStatuses``."""
    assert converted(observed, before, restarting=restarting) == expected


@pytest.mark.parametrize(
    ("container", "others", "before", "state"),
    [
        ({}, [instance("app", RuntimeState.RUNNING)], {}, "ended 0"),
        ({}, [instance("app", RuntimeState.EXITED, code=1)], {}, "ended 0"),
        ({}, [instance("app", RuntimeState.CREATED)], {"state": {"waiting": {}}}, "ended 0"),
        ({}, [instance("app", RuntimeState.RUNNING)], RUNS, "ended 0"),
        ({}, [instance("app", RuntimeState.RUNNING)], held(3), "ended 3"),
        ({}, [], {}, "PodInitializing"),
        ({"restartPolicy": "Always"}, [instance("app", RuntimeState.RUNNING)], {}, "PodInitializing"),
    ],
)
def test_init_container_without_a_trace_has_completed_before_the_others(
    container: dict[str, Any], others: list[Container], before: dict[str, Any], state: str
) -> None:
    subject = pod({}, initContainers=[{"name": "setup", **container}])
    (found,) = container_statuses(
        subject,
        ContainerKind.INIT,
        subject.spec.init_containers,
        PodObservation("u", containers=tuple(others)),
        NO_PROBES,
        {"setup": msgspec.convert({"name": "setup", **before}, ContainerStatus)} if before else {},
        ContainerFacts("sim"),
    )
    assert words(found.state) == state
    if found.state.terminated is not None and state == "ended 0":
        assert found.state.terminated.reason == "Completed"
        assert "has been initialized, treat it as exited normally" in found.state.terminated.message
        assert found.ready


def test_end_of_a_removed_container_becomes_the_last_state() -> None:
    """The runtime still has the very container that had ended: its last state is the one before."""
    ended = {**held(1, 2), "lastState": ENDED, "containerID": "sim://a-1"}
    same = converted([instance("a", RuntimeState.EXITED, code=1)], {"a": {**ended, "lastState": {}}})
    later = converted([instance("a", RuntimeState.CREATED, number=2)], {"a": ended})
    assert (same[0], later[0]) == (("ended 1", 2, ""), ("waiting", 2, "ended 1"))


@pytest.mark.parametrize(("code", "state"), [(0, "ended 0"), (1, "CrashLoopBackOff")])
@pytest.mark.parametrize("policy", ["Always", None])
def test_init_container_that_ended_well_is_not_shown_waiting(
    code: int, state: str, policy: str | None
) -> None:
    """Upstream makes no exception for sidecars, which do wait for their next start."""
    subject = pod({}, initContainers=[{"name": "setup", **({"restartPolicy": policy} if policy else {})}])
    waits = {"setup": WaitingReason("CrashLoopBackOff", "back-off")}
    (found,) = container_statuses(
        subject,
        ContainerKind.INIT,
        subject.spec.init_containers,
        PodObservation("u", containers=(instance("setup", RuntimeState.EXITED, code=code),)),
        NO_PROBES,
        {},
        ContainerFacts("sim", waiting=waits),
    )
    assert words(found.state) == state
