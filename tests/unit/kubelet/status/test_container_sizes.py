"""The resources that a container's status shows, in the cases of ``kubelet_pods_test.go``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import ContainerStatus, Pod, ResourceRequirements
from podling.kubelet.observation import PodObservation
from podling.kubelet.pod_spec import ContainerKind
from podling.kubelet.status.container_statuses import ContainerFacts, container_statuses
from podling.kubelet.status.probe_view import NO_PROBES
from podling.runtime.base import Container, ContainerState

Amounts = dict[str, str]
ONE: Amounts = {"cpu": "1", "memory": "1Gi"}
TWO: Amounts = {"cpu": "2", "memory": "2Gi"}
STORAGE: Amounts = {"ephemeral-storage": "2Gi", "storage": "2Gi"}
EXTENDED: Amounts = {"dummy.io/dummy": "1"}
ZERO: Amounts = {"cpu": "0", "memory": "0"}


def both(amounts: Amounts) -> dict[str, Any]:
    return {"requests": amounts, "limits": amounts}


SMALL: dict[str, Any] = {"requests": {"memory": "100M", "cpu": "1m"}, "limits": {"cpu": "5m"}}


def shown(
    granted: dict[str, Any], before: dict[str, Any] | None, state: ContainerState, *, stale: bool
) -> ContainerStatus:
    plain = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "app", "resources": granted}]}}
    subject = msgspec.convert(plain, Pod)
    made = datetime(2026, 1, 1, tzinfo=UTC)
    found = Container(id="1", sandbox_id="s", name="app", attempt=0, state=state, created_at=made)
    old: dict[str, Any] = {"name": "app", "state": {"running": {}}}
    if before is not None:
        old["resources"] = before
    (result,) = container_statuses(
        subject,
        ContainerKind.REGULAR,
        subject.spec.containers,
        PodObservation("u", containers=(found,)),
        NO_PROBES,
        {"app": msgspec.convert(old, ContainerStatus)},
        ContainerFacts("sim", stale=frozenset({"app"} if stale else ())),
    )
    return result


@pytest.mark.parametrize(
    ("granted", "before"),
    [
        (both(ONE), both(ONE)),
        (both(ONE), {"requests": ONE, "limits": TWO}),
        ({"requests": {"memory": "100M"}}, {"requests": {"memory": "100M"}}),
        (SMALL, SMALL),
        (both(ONE | STORAGE), both(ONE)),
        (both(ONE | STORAGE), both(TWO | STORAGE)),
        (both(ONE | STORAGE), None),
        ({}, {}),
        ({"requests": ZERO | EXTENDED}, {}),
        ({"requests": ONE | EXTENDED}, {}),
        ({"requests": ONE | STORAGE | EXTENDED}, {}),
        (both(ONE | EXTENDED), {}),
    ],
)
@pytest.mark.parametrize("state", [ContainerState.CREATED, ContainerState.RUNNING])
def test_container_shows_what_was_granted(
    granted: dict[str, Any], before: dict[str, Any] | None, state: ContainerState
) -> None:
    """``TestConvertToAPIContainerStatusesForResources``, but for the resizes."""
    found = shown(granted, before, state, stale=False)
    assert found.allocated_resources == granted.get("requests", {})
    assert found.resources == msgspec.convert(granted, ResourceRequirements)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (ContainerState.RUNNING, both(ONE | STORAGE)),
        (ContainerState.EXITED, both(TWO | STORAGE)),
    ],
)
def test_container_shows_earlier_resources_until_it_is_resized_or_ends(
    state: ContainerState, expected: dict[str, Any]
) -> None:
    """The cases ``resizing Pod`` and ``newly terminated Pod``."""
    found = shown(both(TWO | STORAGE), both(ONE | STORAGE), state, stale=True)
    assert found.allocated_resources == TWO | STORAGE
    assert found.resources == msgspec.convert(expected, ResourceRequirements)
