"""Admission of requests: what is refused, in OpenKruise's words, and what they take from their pods."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.machinery.errors import ApiError
from podling_kruise.recreate.types import ContainerRecreateRequest
from tests.support.clone_sets import Kruise, kruise_cluster
from tests.support.kubelet_node import pod
from tests.support.recreate_requests import recreate

HOOK = {"httpGet": {"port": 8080, "path": "/end"}}


@pytest.fixture
async def kruise(tmp_path: Path) -> AsyncIterator[Kruise]:
    async with kruise_cluster(tmp_path) as found:
        ports = [{"containerPort": 8080}]
        app = {"name": "app", "image": "app:1", "ports": ports, "lifecycle": {"preStop": HOOK}}
        await found.node.create(pod(containers=[app], terminationGracePeriodSeconds=17))
        await found.node.create(pod("pending", nodeName=""))
        await found.node.create(pod("over", script={"runs": [{"seconds": 1}]}, restartPolicy="Never"))
        await found.wait(10)
        yield found


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pod": ""}, "podName can not be empty"),
        ({"containers": []}, "containers list can not be null"),
        ({"activeDeadlineSeconds": 2}, "activeDeadlineSeconds can not be less than 3s"),
        (
            {"strategy": {"terminationGracePeriodSeconds": -1}},
            "terminationGracePeriodSeconds must be non-negative integer",
        ),
        (
            {"strategy": {"unreadyGracePeriodSeconds": -1}},
            "unreadyGracePeriodSeconds must be non-negative integer",
        ),
        ({"strategy": {"failurePolicy": "Retry"}}, "unknown failurePolicy Retry"),
        ({"pod": "other"}, "no found Pod named other"),
        ({"pod": "pending"}, "not allowed to recreate containers in a pending Pod"),
        ({"pod": "over"}, "not allowed to recreate containers in an inactive Pod"),
        ({"containers": [{"name": "app"}, {"name": "app"}]}, "can not recreate app multi times"),
        ({"containers": [{"name": "db"}]}, "container db not found in Pod"),
        (
            {"containers": [{"name": "app", "statusContext": {"containerID": "x", "restartCount": 0}}]},
            "preStop, ports, statusContext in container are ready-only fields",
        ),
    ],
)
async def test_wrong_request_is_refused(kruise: Kruise, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError) as refused:
        await kruise.client.create(recreate(**given))
    assert (refused.value.code, str(refused.value)) == (400, message)


async def test_request_takes_hook_ports_and_grace_from_its_pod(kruise: Kruise) -> None:
    made = await kruise.client.create(recreate())
    (container,) = made.spec.containers
    assert container.pre_stop is not None
    assert container.pre_stop.http_get is not None
    assert container.pre_stop.http_get.path == "/end"
    assert [each.container_port for each in container.ports] == [8080]
    strategy = made.spec.strategy
    assert (strategy.failure_policy, strategy.termination_grace_period_seconds) == ("Fail", 17)


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"spec": {"podName": "other"}}, "spec of ContainerRecreateRequest is immutable"),
        (
            {"metadata": {"labels": {"crr.apps.kruise.io/node-name": "other"}}},
            "not allowed to update immutable label crr.apps.kruise.io/node-name",
        ),
        (
            {"metadata": {"labels": {"crr.apps.kruise.io/pod-uid": None}}},
            "not allowed to update immutable label crr.apps.kruise.io/pod-uid",
        ),
    ],
)
async def test_change_of_a_request_is_refused(kruise: Kruise, patch: dict[str, Any], message: str) -> None:
    await kruise.client.create(recreate())
    with pytest.raises(ApiError, match=message) as refused:
        await kruise.client.patch(ContainerRecreateRequest, "again", patch, "default")
    assert refused.value.code == 403
