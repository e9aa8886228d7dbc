"""The resources of pods as a whole, as tables."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import PodSpec, ResourceRequirements
from podling.kubelet.config import KubeletConfig
from podling.kubelet.status.pod_sizes import own_resources, pod_sizes
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, pod, sim_node

Amounts = dict[str, str]
SMALL: Amounts = {"cpu": "100m", "memory": "100Mi"}
LARGE: Amounts = {"cpu": "200m", "memory": "200Mi"}
ZERO: Amounts = {"cpu": "0", "memory": "0"}
NOTHING: Amounts = {}


def given(requests: Amounts, limits: Amounts = NOTHING) -> dict[str, Any]:
    return {key: value for key, value in (("requests", requests), ("limits", limits)) if value}


def spec(whole: dict[str, Any] | None, *containers: dict[str, Any], **more: Any) -> PodSpec:
    made = [{"name": f"c{number}", "resources": each} for number, each in enumerate(containers)]
    own = {"resources": whole} if whole is not None else {}
    return msgspec.convert({"containers": made, **own, **more}, PodSpec)


INIT: list[dict[str, Any]] = [{"name": "init", "resources": given(SMALL)}]


@pytest.mark.parametrize(
    ("subject", "allocated", "ended", "running"),
    [
        (
            spec(given(SMALL, LARGE), given(SMALL, LARGE)),
            SMALL,
            given(SMALL, LARGE),
            given(SMALL, LARGE),
        ),
        (spec(given(SMALL), given(SMALL)), SMALL, given(SMALL), given(SMALL)),
        (spec(given(LARGE), given(LARGE), initContainers=INIT), LARGE, given(LARGE), given(LARGE)),
        (spec(None, {}, {}), {}, {}, {}),
        (
            spec(given({"cpu": "100m"}), given({"cpu": "100m"})),
            {"cpu": "100m"},
            given({"cpu": "100m"}),
            given({"cpu": "100m"}),
        ),
        (
            spec(given({"memory": "100Mi"}), given({"memory": "100Mi"})),
            {"memory": "100Mi"},
            given({"memory": "100Mi"}),
            given({"memory": "100Mi"}),
        ),
        (spec(given(ZERO), given(ZERO)), ZERO, given(ZERO), given(ZERO)),
    ],
)
def test_sizes_as_upstream(
    subject: PodSpec, allocated: Amounts, ended: dict[str, Any], running: dict[str, Any]
) -> None:
    """The cases of ``Test_generateAPIPodStatus`` with resources of the pod as a whole."""
    sizes = pod_sizes(subject, KubeletConfig())
    assert sizes.total.requests == allocated
    assert sizes.total == msgspec.convert(ended, ResourceRequirements)
    assert sizes.in_force == msgspec.convert(running, ResourceRequirements)


@pytest.mark.parametrize(
    ("subject", "total", "running"),
    [
        (
            spec(None, given(SMALL, LARGE), given(SMALL, LARGE)),
            given({"cpu": "200m", "memory": "200Mi"}, {"cpu": "400m", "memory": "400Mi"}),
            given({"cpu": "200m", "memory": "200Mi"}, {"cpu": "400m", "memory": "400Mi"}),
        ),
        (spec(None, given(SMALL, LARGE), {}), given(SMALL, LARGE), given(SMALL)),
        (
            spec(None, given({**SMALL, "ephemeral-storage": "1Gi"})),
            given({**SMALL, "ephemeral-storage": "1Gi"}),
            given(SMALL),
        ),
        (spec(None, given({"cpu": "2m"})), given({"cpu": "2m"}), {}),
        (
            spec(given({"cpu": "1"}), given(SMALL), overhead={"cpu": "50m", "memory": "10Mi"}),
            given({"cpu": "1050m", "memory": "110Mi"}),
            given({"cpu": "1050m", "memory": "110Mi"}),
        ),
    ],
)
def test_running_pod_shows_what_its_cgroup_has(
    subject: PodSpec, total: dict[str, Any], running: dict[str, Any]
) -> None:
    sizes = pod_sizes(subject, KubeletConfig())
    assert sizes.total == msgspec.convert(total, ResourceRequirements)
    assert sizes.in_force == msgspec.convert(running, ResourceRequirements)


@pytest.mark.parametrize(
    "subject",
    [
        spec(given(SMALL, LARGE), given(SMALL, LARGE)),
        spec(given({"cpu": "1"}), given(SMALL, LARGE), {}, overhead={"cpu": "50m", "memory": "10Mi"}),
        spec(given({"cpu": "1", "memory": "1Gi"}, {"memory": "2Gi"}), overhead={"memory": "10Mi"}),
    ],
)
def test_pods_own_resources_are_found_again_in_its_sizes(subject: PodSpec) -> None:
    sizes = pod_sizes(subject, KubeletConfig())
    assert own_resources(subject, sizes.total.requests, sizes.in_force) == subject.resources


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    async with sim_node(cluster, tmp_path) as found:
        yield found


async def test_pod_without_resources_of_its_own_shows_those_of_its_containers(node: SimNode) -> None:
    containers = [{"name": name, "image": "x:1", "resources": given(SMALL, LARGE)} for name in ("a", "b")]
    await node.create(pod(containers=containers))
    await node.pass_time(5)
    shown = (await node.get()).status
    assert shown.allocated_resources == {"cpu": "200m", "memory": "200Mi"}
    assert shown.resources == ResourceRequirements(
        requests={"cpu": "200m", "memory": "200Mi"}, limits={"cpu": "400m", "memory": "400Mi"}
    )


async def test_next_kubelet_takes_no_requests_of_containers_for_the_pods_own(node: SimNode) -> None:
    containers = [{"name": "a", "image": "x:1", "resources": given(SMALL)}]
    await node.create(pod(containers=containers, resources=given({"cpu": "1"})))
    await node.pass_time(5)
    await node.stop()
    await node.start()
    await node.pass_time(5)
    found = await node.get()
    assert found.status.allocated_resources == {"cpu": "1", "memory": "100Mi"}
    assert not [each for each in found.status.conditions if "Resize" in each.type]
    assert not [event for event in await node.events() if "Resize" in event]
