"""The container whose log a request means, and the errors without one, as tables."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import (
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    Pod,
    PodStatus,
)
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.server.log_target import log_container_id
from podling.machinery.errors import ApiError


def pod(state: ContainerState, last: ContainerState | None = None, container_id: str = "") -> Pod:
    status = ContainerStatus(
        name="app", state=state, last_state=last or ContainerState(), container_id=container_id
    )
    return Pod(metadata=ObjectMeta(name="web"), status=PodStatus(container_statuses=(status,)))


def ended(container_id: str) -> ContainerState:
    return ContainerState(terminated=ContainerStateTerminated(container_id=container_id))


def waiting(reason: str) -> ContainerState:
    return ContainerState(waiting=ContainerStateWaiting(reason=reason))


RUNNING = ContainerState(running=ContainerStateRunning())


@pytest.mark.parametrize(
    ("case", "previous", "expected"),
    [
        (pod(RUNNING, container_id="crun://now"), False, "crun://now"),
        (pod(RUNNING, ended("crun://before"), "crun://now"), True, "crun://before"),
        (pod(ended("crun://done")), False, "crun://done"),
        (pod(ended(""), ended("crun://before")), False, "crun://before"),
        (pod(waiting("CrashLoopBackOff"), ended("crun://before")), False, "crun://before"),
    ],
)
def test_log_is_of_the_latest_run_or_the_one_before(case: Pod, previous: bool, expected: str) -> None:
    assert log_container_id(case, "app", previous=previous) == expected


@pytest.mark.parametrize(
    ("case", "previous", "text"),
    [
        (
            pod(waiting("ContainerCreating")),
            False,
            'container "app" in pod "web" is waiting to start: ContainerCreating',
        ),
        (
            pod(waiting("ErrImagePull")),
            False,
            'container "app" in pod "web" is waiting to start: image can\'t be pulled',
        ),
        (
            pod(waiting("ImagePullBackOff")),
            False,
            'container "app" in pod "web" is waiting to start: trying and failing to pull image',
        ),
        (
            pod(RUNNING, container_id="crun://now"),
            True,
            'previous terminated container "app" in pod "web" not found',
        ),
        (pod(ended("")), False, 'container "app" in pod "web" is terminated'),
        (Pod(metadata=ObjectMeta(name="web")), False, 'container "app" in pod "web" is not available'),
    ],
)
def test_missing_log_is_refused_with_the_reason(case: Pod, previous: bool, text: str) -> None:
    with pytest.raises(ApiError) as caught:
        log_container_id(case, "app", previous=previous)
    assert (caught.value.code, str(caught.value)) == (400, text)
