"""Containers that start one after another, in a cluster with OpenKruise on virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import ConfigMap, Pod
from podling.machinery.errors import ApiError
from podling.machinery.pods import is_ready
from podling_kruise.names import LAUNCH_COMPLETED
from tests.support.clone_sets import Kruise, kruise_api, kruise_cluster, manifest
from tests.support.kubelet_node import pod

PROBE = {"exec": {"command": ["probe"]}, "periodSeconds": 1}
ORDERED = {"apps.kruise.io/container-launch-priority": "Ordered"}


def prioritized(name: str, value: str | None = None, **more: Any) -> dict[str, Any]:
    env = [] if value is None else [{"name": "KRUISE_CONTAINER_PRIORITY", "value": value}]
    return {"name": name, "image": f"{name}:1", "env": env, **more}


def with_annotations(made: Pod, annotations: dict[str, str]) -> Pod:
    plain = msgspec.to_builtins(made)
    plain["metadata"]["annotations"] = {**plain["metadata"].get("annotations", {}), **annotations}
    return msgspec.convert(plain, Pod)


async def starts(cluster: Kruise) -> dict[str, int]:
    """Return the seconds between the first start of a container and each one's start."""
    found = await cluster.node.get()
    times = {}
    for status in found.status.container_statuses:
        assert status.state.running is not None, status
        assert status.state.running.started_at is not None
        times[status.name] = status.state.running.started_at
    first = min(times.values())
    return {name: round((at - first).total_seconds()) for name, at in times.items()}


async def barrier(cluster: Kruise) -> dict[str, str]:
    return (await cluster.plane.client.get(ConfigMap, "web-barrier", "default")).data


async def test_highest_priority_starts_first_and_others_wait_until_it_is_ready(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as cluster:
        containers = [prioritized("late", "-1"), prioritized("early", "5"), prioritized("usual")]
        delay = {"initialDelaySeconds": 20, **PROBE}
        containers[1]["readinessProbe"] = delay
        await cluster.node.create(pod(containers=containers))
        await cluster.wait(60)
        found = await cluster.node.get()
        times, keys = await starts(cluster), await barrier(cluster)
    assert is_ready(found)
    assert keys == {"p_5": "true", "p_0": "true", "p_-1": "true"}
    assert found.metadata.annotations[LAUNCH_COMPLETED] == "true"
    assert times["early"] == 0
    assert 20 <= times["usual"] <= times["late"]
    assert [status.restart_count for status in found.status.container_statuses] == [0, 0, 0]


async def test_annotation_starts_containers_in_order(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as cluster:
        delay = {"initialDelaySeconds": 5, **PROBE}
        containers = [prioritized(name, readinessProbe=delay) for name in ("zero", "one", "two")]
        await cluster.node.create(with_annotations(pod(containers=containers), ORDERED))
        await cluster.wait(60)
        times, keys = await starts(cluster), await barrier(cluster)
    assert times["zero"] == 0
    assert 5 <= times["one"] <= times["two"] - 5
    assert keys == {"p_0": "true", "p_-1": "true", "p_-2": "true"}


async def test_waiting_container_names_the_missing_key(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as cluster:
        never = {"initialDelaySeconds": 3600, **PROBE}
        containers = [prioritized("first", "1", readinessProbe=never), prioritized("second")]
        await cluster.node.create(pod(containers=containers))
        await cluster.wait(30)
        found = {each.name: each for each in (await cluster.node.get()).status.container_statuses}
        keys = await barrier(cluster)
    assert keys == {"p_1": "true"}
    assert found["first"].state.running is not None
    waiting = found["second"].state.waiting
    assert waiting is not None
    assert waiting.reason == "CreateContainerConfigError"
    assert "p_0" in (waiting.message or "")


async def test_barrier_belongs_to_the_pod(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as cluster:
        made = await cluster.node.create(pod(containers=[prioritized("a", "1"), prioritized("b")]))
        await cluster.wait()
        held = await cluster.plane.client.get(ConfigMap, "web-barrier", "default")
    (owner,) = held.metadata.owner_references
    assert (owner.kind, owner.uid) == ("Pod", made.metadata.uid)


async def test_generated_name_is_known_to_the_barrier() -> None:
    async with kruise_api() as cluster:
        plain = msgspec.to_builtins(pod(containers=[prioritized("a", "1"), prioritized("b")]))
        plain["metadata"] = {"generateName": "web-", "namespace": "default"}
        made = await cluster.plane.client.create(msgspec.convert(plain, Pod))
    source = made.spec.containers[0].env[-1].value_from
    assert source is not None
    assert source.config_map_key_ref is not None
    assert source.config_map_key_ref.name == f"{made.metadata.name}-barrier"


async def test_priority_that_is_no_number_is_refused() -> None:
    async with kruise_api() as cluster:
        with pytest.raises(ApiError, match='parsing "high": invalid syntax') as raised:
            await cluster.plane.client.create(pod(containers=[prioritized("a", "high"), prioritized("b")]))
    assert raised.value.code == 400


async def test_images_change_in_place_by_priority(tmp_path: Path) -> None:
    """The container with the lower priority changes after that with the higher one is ready again."""
    delay = {"initialDelaySeconds": 10, **PROBE}

    def template(tag: int) -> dict[str, Any]:
        containers = [prioritized("low"), prioritized("high", "9", readinessProbe=delay)]
        for each in containers:
            each["image"] = f"{each['name']}:{tag}"
        spec = {"nodeName": "node-1", "containers": containers}
        return {"metadata": {"labels": {"app": "web"}}, "spec": spec}

    rolling = {"podUpdatePolicy": "InPlaceOnly", "maxUnavailable": 1}
    async with kruise_cluster(tmp_path) as cluster:
        made = manifest(
            "v1beta1", replicas=1, template=template(1), updateStrategy={"rollingUpdate": rolling}
        )
        await cluster.create(made)
        await cluster.wait(60)
        await cluster.patch("v1beta1", template=template(2))
        await cluster.wait(5)
        (during,) = await cluster.pods()
        await cluster.wait(60)
        (after,) = await cluster.pods()
    assert [each.image for each in during.spec.containers] == ["low:1", "high:2"]
    assert [each.image for each in after.spec.containers] == ["low:2", "high:2"]
    assert is_ready(after)
    assert [each.restart_count for each in after.status.container_statuses] == [1, 1]
