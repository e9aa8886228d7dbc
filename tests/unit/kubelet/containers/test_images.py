"""Image pulls: policies as tables, and pulls on a simulated node."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling import clock
from podling.api.core_v1 import Event, Pod, Secret
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.config import KubeletConfig
from podling.kubelet.containers.images import pull_policy, with_default_tag
from podling.runtime.sim import ImageScript, PullFailure, Scenario
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, pod, sim_node


@pytest.mark.parametrize(
    ("image", "stated", "policy"),
    [
        ("app", "", "Always"),
        ("app:latest", "", "Always"),
        ("app:1", "", "IfNotPresent"),
        ("host:5000/app", "", "Always"),
        ("app@sha256:abc", "", "IfNotPresent"),
        ("app", "Never", "Never"),
    ],
)
def test_pull_policy_follows_the_tag(image: str, stated: str, policy: str) -> None:
    assert pull_policy(image, stated or None) == policy


def test_default_tag_is_latest() -> None:
    assert [with_default_tag(i) for i in ("a", "a:1", "h:5/a", "a@sha256:0")] == [
        "a:latest",
        "a:1",
        "h:5/a:latest",
        "a@sha256:0",
    ]


IMAGES = {
    "docker.io/library/slow:1": ImageScript(pull_seconds=20),
    "docker.io/library/here:1": ImageScript(present=True),
    "docker.io/library/nowhere:1": ImageScript(missing=True),
    "docker.io/library/flaky:1": ImageScript(failures=(PullFailure(message="registry is down"),)),
    "docker.io/library/rooted:1": ImageScript(present=True, user=""),
    "docker.io/library/named:1": ImageScript(present=True, user="www"),
}


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    async with sim_node(cluster, tmp_path, Scenario(images=IMAGES)) as found:
        yield found


def with_image(name: str, image: str, **container: object) -> Pod:
    return pod(name, containers=[{"name": "app", "image": image, **container}])


async def waiting(node: SimNode, name: str = "web") -> str:
    (status,) = (await node.get(name)).status.container_statuses
    return (status.state.waiting.reason or "") if status.state.waiting is not None else "not waiting"


async def test_present_image_is_not_pulled(node: SimNode) -> None:
    await node.create(with_image("web", "here:1"))
    await node.pass_time(1)
    assert (await node.get()).status.phase == "Running"
    assert (
        'Pulled: Container image "here:1" already present on machine and can be accessed by the pod'
        in await node.events()
    )


async def test_pod_shows_container_creating_during_the_pull(node: SimNode) -> None:
    await node.create(with_image("web", "slow:1"))
    await node.pass_time(10)
    found = await node.get()
    assert await waiting(node) == "ContainerCreating"
    assert found.status.start_time is not None
    ready = {held.type: held.status for held in found.status.conditions}
    assert ready["PodReadyToStartContainers"] == "True"
    await node.pass_time(11)
    assert (await node.get()).status.phase == "Running"


async def test_images_are_pulled_one_at_a_time(node: SimNode) -> None:
    await node.create(with_image("a", "slow:1"))
    await node.create(with_image("b", "slow:1", imagePullPolicy="Always"))
    await node.pass_time(21)
    assert (await node.get("a")).status.phase == "Running"
    assert (await node.get("b")).status.phase == "Pending"
    await node.pass_time(20)
    assert (await node.get("b")).status.phase == "Running"
    assert any("in 20s (40s including waiting)" in recorded for recorded in await node.events("b"))


@pytest.mark.parametrize(
    ("most", "running"),
    [(0, {"a": 21, "b": 21, "c": 21}), (2, {"a": 21, "b": 21, "c": 41})],
    ids=["no limit", "two at a time"],
)
async def test_images_may_be_pulled_in_parallel(
    cluster: ControlPlane, tmp_path: Path, most: int, running: dict[str, int]
) -> None:
    images = {f"docker.io/library/{name}:1": ImageScript(pull_seconds=20) for name in running}
    config = KubeletConfig(
        node_addresses=("192.168.0.10",),
        write_files=False,
        serialize_image_pulls=False,
        max_parallel_image_pulls=most,
    )
    async with sim_node(cluster, tmp_path, Scenario(images=images), config) as node:
        for name in running:
            await node.create(with_image(name, f"{name}:1"))
        began = clock.monotonic()
        for name, seconds in running.items():
            await node.pass_time(max(0.0, began + seconds - 2 - clock.monotonic()))
            assert (await node.get(name)).status.phase == "Pending"
        for name, seconds in running.items():
            await node.pass_time(max(0.0, began + seconds - clock.monotonic()))
            assert (await node.get(name)).status.phase == "Running"


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 10), (2, 30), (3, 70), (4, 150), (5, 310), (6, 610), (7, 910)]
)
async def test_each_pull_waits_twice_as_long(
    cluster: ControlPlane, tmp_path: Path, failures: int, seconds: int
) -> None:
    script = ImageScript(failures=(PullFailure(message="registry is down"),) * failures)
    async with sim_node(cluster, tmp_path, Scenario(images={"docker.io/library/late:1": script})) as node:
        await node.create(with_image("web", "late:1"))
        await node.pass_time(seconds - 1)
        assert await waiting(node) == "ImagePullBackOff"
        await node.pass_time(2)
        assert (await node.get()).status.phase == "Running"


async def test_a_missing_image_backs_off(node: SimNode) -> None:
    await node.create(with_image("web", "nowhere:1"))
    await node.pass_time(0.5)
    assert await waiting(node) == "ErrImagePull"
    await node.pass_time(5)
    assert await waiting(node) == "ImagePullBackOff"
    found = await node.get()
    assert found.status.phase == "Pending"
    state = found.status.container_statuses[0].state.waiting
    assert state is not None
    assert (state.message or "").startswith('Back-off pulling image "nowhere:1"')
    await node.pass_time(60)
    recorded = await node.events()
    assert "Failed: Error: ErrImagePull" in recorded
    assert "Failed: Error: ImagePullBackOff" in recorded
    assert 'BackOff: Back-off pulling image "nowhere:1"' in recorded


async def test_pull_is_retried_after_the_registry_recovers(node: SimNode) -> None:
    await node.create(with_image("web", "flaky:1"))
    await node.pass_time(5)
    assert await waiting(node) == "ImagePullBackOff"
    await node.pass_time(6)
    assert (await node.get()).status.phase == "Running"


@pytest.mark.parametrize(
    ("image", "policy", "reason"),
    [
        ("nowhere:1", "Never", "ErrImageNeverPull"),
        ("UPPER CASE", "IfNotPresent", "InvalidImageName"),
    ],
)
async def test_unavailable_images_show_their_reason(
    node: SimNode, image: str, policy: str, reason: str
) -> None:
    await node.create(with_image("web", image, imagePullPolicy=policy))
    await node.pass_time(2)
    assert await waiting(node) == reason


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ("rooted:1", "container has runAsNonRoot and image will run as root"),
        ("named:1", "image has non-numeric user (www), cannot verify user is non-root"),
    ],
)
async def test_run_as_non_root_is_checked_against_the_image(node: SimNode, image: str, message: str) -> None:
    await node.create(with_image("web", image, securityContext={"runAsNonRoot": True}))
    await node.pass_time(2)
    assert await waiting(node) == "CreateContainerConfigError"
    (status,) = (await node.get()).status.container_statuses
    assert status.state.waiting is not None
    assert message in (status.state.waiting.message or "")


async def test_missing_pull_secret_is_an_event_and_not_fatal(node: SimNode) -> None:
    login = {"auths": {"docker.io": {"auth": base64.b64encode(b"me:secret").decode()}}}
    data = {".dockerconfigjson": base64.b64encode(json.dumps(login).encode()).decode()}
    secret = Secret(
        metadata=ObjectMeta(name="login", namespace="default"),
        type="kubernetes.io/dockerconfigjson",
        data=data,
    )
    await node.client.create(secret)
    await node.create(pod(imagePullSecrets=[{"name": "login"}, {"name": "absent"}]))
    await node.pass_time(1)
    assert (await node.get()).status.phase == "Running"
    assert any(
        "Unable to retrieve some image pull secrets (absent)" in recorded for recorded in await node.events()
    )


async def test_a_container_works_while_another_waits_for_its_image(node: SimNode) -> None:
    probe = {"httpGet": {"port": 80}, "periodSeconds": 1}
    quick = {"name": "quick", "image": "here:1", "readinessProbe": probe}
    await node.create(pod(containers=[quick, {"name": "slow", "image": "slow:1"}]))
    await node.pass_time(5)
    found = await node.get()
    assert found.status.phase == "Pending"
    ready = {status.name: status.ready for status in found.status.container_statuses}
    assert ready == {"quick": True, "slow": False}
    await node.pass_time(20)
    assert (await node.get()).status.phase == "Running"


def with_image_volume(reference: str, **image: object) -> Pod:
    mount = {"name": "data", "mountPath": "/data"}
    return pod(
        containers=[
            {"name": "app", "image": "here:1", "volumeMounts": [mount]},
            {"name": "other", "image": "here:1"},
        ],
        volumes=[{"name": "data", "image": {"reference": reference, **image}}],
    )


def reasons(found: Pod) -> dict[str, str]:
    return {
        status.name: status.state.waiting.reason or "" if status.state.waiting is not None else "runs"
        for status in found.status.container_statuses
    }


async def test_an_image_volume_is_pulled_before_the_container_that_mounts_it(node: SimNode) -> None:
    await node.create(with_image_volume("slow:1"))
    await node.pass_time(10)
    assert set(reasons(await node.get()).values()) == {"ContainerCreating"}
    await node.pass_time(11)
    assert reasons(await node.get()) == {"app": "runs", "other": "runs"}
    recorded = [
        event for event in (await node.client.list(Event, "default")).items if event.reason == "Pulling"
    ]
    assert [(event.message, event.involved_object.field_path) for event in recorded] == [
        ('Pulling image "slow:1"', "")
    ]


async def test_an_image_volume_that_cannot_be_pulled_keeps_only_those_that_mount_it(node: SimNode) -> None:
    await node.create(with_image_volume("nowhere:1"))
    await node.pass_time(0.5)
    assert reasons(await node.get()) == {"app": "ErrImagePull", "other": "runs"}
    await node.pass_time(5)
    found = await node.get()
    assert reasons(found) == {"app": "ImagePullBackOff", "other": "runs"}
    (status,) = (status for status in found.status.container_statuses if status.name == "app")
    assert status.state.waiting is not None
    assert (status.state.waiting.message or "").startswith(
        'Back-off pulling image "nowhere:1": ErrImagePull:'
    )
    recorded = await node.events()
    assert {"Failed: Error: ErrImagePull", "Failed: Error: ImagePullBackOff"} <= set(recorded)


async def test_an_image_volume_has_a_pull_policy(node: SimNode) -> None:
    await node.create(with_image_volume("slow:1", pullPolicy="Never"))
    await node.pass_time(1)
    assert reasons(await node.get()) == {"app": "ErrImageNeverPull", "other": "runs"}
