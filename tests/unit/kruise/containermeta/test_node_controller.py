"""Containers whose environment is metadata of their pods: updates in place start them again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.machinery.pods import is_ready
from podling.runtime.sim import Scenario
from podling.runtime.sim.script import ImageScript
from podling_kruise.names import RUNTIME_CONTAINERS_META, UPDATE_STATE
from tests.support.advanced_sets import GATE, StatefulSets, rolling, stateful
from tests.support.clone_sets import Kruise, cluster_of, gate, kruise_cluster, manifest, template
from tests.support.control_loops import told

IF_POSSIBLE = {"type": "InPlaceIfPossible"}
CONFIG = {
    "name": "APP_CONFIG",
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['app-config']"}},
}


def configured(value: str, image: str = "web:1", *env: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return a template whose container ``main`` reads an annotation, beside one that does not."""
    containers = [
        {"name": "main", "image": image, "env": [CONFIG, *env]},
        {"name": "beside", "image": "beside:1"},
    ]
    made = template(**{"containers": containers, **spec})
    made["metadata"]["annotations"] = {"app-config": value}
    return made


@pytest.fixture
async def kruise(tmp_path: Path) -> AsyncIterator[Kruise]:
    async with kruise_cluster(tmp_path) as found:
        yield found


def counts(pod: Pod) -> dict[str, int]:
    return {each.name: each.restart_count for each in pod.status.container_statuses}


async def start(kruise: Kruise, made: dict[str, Any], **spec: Any) -> Pod:
    await kruise.create(manifest(replicas=1, updateStrategy=IF_POSSIBLE, template=made, **spec))
    await kruise.wait(30)
    (pod,) = await kruise.pods()
    assert is_ready(pod)
    return pod


async def environment(kruise: Kruise, pod: Pod) -> dict[str, str]:
    """Return the variables that the newest instance of ``main`` was created with."""
    found = await kruise.node.runtime.list_containers()
    newest = max((each for each in found if each.name == "main"), key=lambda each: each.attempt)
    return dict(json.loads(newest.annotations["podling.dev/metadata-environment"]))


async def test_changed_annotation_renews_the_environment_in_place(kruise: Kruise) -> None:
    before = await start(kruise, configured("one"))
    assert await environment(kruise, before) == {"APP_CONFIG": "one"}
    await kruise.patch(template=configured("two"))
    await kruise.wait(60)
    (after,) = await kruise.pods()
    assert (after.metadata.uid, after.status.pod_ip) == (before.metadata.uid, before.status.pod_ip)
    assert counts(after) == {"main": 1, "beside": 0}
    assert await environment(kruise, after) == {"APP_CONFIG": "two"}
    condition = gate(after)
    assert condition is not None
    assert (condition.status, is_ready(after)) == ("True", True)
    state = json.loads(after.metadata.annotations[UPDATE_STATE])
    assert (state["updateEnvFromMetadata"], state["containerBatchesRecord"][0]["containers"]) == (
        True,
        ["main"],
    )
    beside, main = json.loads(after.metadata.annotations[RUNTIME_CONTAINERS_META])["containers"]
    shown = {each.name: each for each in after.status.container_statuses}
    assert (main["name"], main["containerID"], main["restartCount"]) == (
        "main",
        shown["main"].container_id,
        1,
    )
    assert beside["containerID"] == shown["beside"].container_id
    assert set(main["hashes"]) == {"plainHash", "extractedEnvFromMetadataHash"}
    events = await told(kruise.plane.client)
    old = next(each.container_id for each in before.status.container_statuses if each.name == "main")
    assert any(f"Stopping containerID {old} by container meta restarter" in each for each in events)


async def test_gate_is_closed_until_the_container_has_its_new_environment(kruise: Kruise) -> None:
    pod = await start(kruise, configured("one"))
    stream = kruise.client.watch(Pod, "default", resource_version=pod.metadata.resource_version or "")
    await kruise.patch(template=configured("two"))
    await kruise.wait(60)
    last = (await kruise.pods())[0].metadata.resource_version
    seen: list[tuple[str, str, int, bool]] = []
    async for event in stream:
        found, condition = event.object, gate(event.object)
        assert condition is not None
        step = (
            found.metadata.annotations["app-config"],
            condition.status or "",
            counts(found)["main"],
            is_ready(found),
        )
        if not seen or seen[-1] != step:
            seen.append(step)
        if found.metadata.resource_version == last:
            break
    assert seen[0] == ("one", "False", 0, False)
    assert seen[-1] == ("two", "True", 1, True)
    assert [step for step in seen if step[3] and step[:3] != ("two", "True", 1)] == []


async def test_image_and_environment_change_with_one_restart(kruise: Kruise) -> None:
    await start(kruise, configured("one"))
    await kruise.patch(template=configured("two", "web:2"))
    await kruise.wait(60)
    (after,) = await kruise.pods()
    assert (counts(after), is_ready(after)) == ({"main": 1, "beside": 0}, True)
    assert after.spec.containers[0].image == "web:2"
    assert await environment(kruise, after) == {"APP_CONFIG": "two"}


async def test_image_that_cannot_be_pulled_leaves_the_old_environment_running(tmp_path: Path) -> None:
    absent = Scenario(images={"docker.io/library/web:2": ImageScript(missing=True)})
    async with kruise_cluster(tmp_path, absent) as kruise:
        before = await start(kruise, configured("one"))
        await kruise.patch(template=configured("two", "web:2"))
        await kruise.wait(60)
        (during,) = await kruise.pods()
        assert (counts(during), is_ready(during)) == ({"main": 0, "beside": 0}, False)
        assert all(each.state.running is not None for each in during.status.container_statuses)
        await kruise.patch(template=configured("one"))
        await kruise.wait(60)
        (after,) = await kruise.pods()
        assert (after.metadata.uid, counts(after), is_ready(after)) == (
            before.metadata.uid,
            counts(before),
            True,
        )


async def test_value_of_a_variable_is_no_metadata_and_recreates_the_pod(kruise: Kruise) -> None:
    before = await start(kruise, configured("one"))
    await kruise.patch(template=configured("one", "web:1", {"name": "APP_NAME", "value": "x"}))
    await kruise.wait(120)
    (after,) = await kruise.pods()
    assert after.metadata.uid != before.metadata.uid


async def test_annotation_that_no_container_reads_restarts_nothing(kruise: Kruise) -> None:
    await start(kruise, configured("one"))
    changed = configured("one")
    changed["metadata"]["annotations"]["note"] = "x"
    await kruise.patch(template=changed)
    await kruise.wait(60)
    (after,) = await kruise.pods()
    assert (after.metadata.annotations["note"], counts(after)) == ("x", {"main": 0, "beside": 0})


async def test_user_who_changes_an_annotation_of_the_pod_restarts_nothing(kruise: Kruise) -> None:
    pod = await start(kruise, configured("one"))
    note = {"metadata": {"annotations": {"app-config": "other"}}}
    await kruise.client.patch(Pod, pod.metadata.name or "", note, "default")
    await kruise.wait(60)
    (after,) = await kruise.pods()
    assert (counts(after), is_ready(after)) == ({"main": 0, "beside": 0}, True)


async def test_pods_without_such_variables_are_not_recorded(kruise: Kruise) -> None:
    pod = await start(kruise, template())
    assert RUNTIME_CONTAINERS_META not in pod.metadata.annotations


async def test_containers_are_renewed_in_the_order_of_their_launch_priorities(kruise: Kruise) -> None:
    priority = {"name": "KRUISE_CONTAINER_PRIORITY", "value": "10"}
    containers = [
        {"name": "sidecar", "image": "side:1", "env": [priority, CONFIG]},
        {"name": "main", "image": "web:1"},
    ]
    made = configured("one", containers=containers)
    await start(kruise, made)
    changed = configured("two", containers=[containers[0], {"name": "main", "image": "web:2"}])
    await kruise.patch(template=changed)
    await kruise.wait(90)
    (after,) = await kruise.pods()
    state = json.loads(after.metadata.annotations[UPDATE_STATE])
    batches = [each["containers"] for each in state["containerBatchesRecord"]]
    assert (batches, counts(after)) == ([["sidecar"], ["main"]], {"sidecar": 1, "main": 1})
    assert is_ready(after)
    assert not {"nextContainerImages", "nextContainerRefMetadata", "preCheckBeforeNext"} & set(state)


async def test_stateful_sets_renew_the_environment_in_place(tmp_path: Path) -> None:
    async with cluster_of(StatefulSets, tmp_path) as sets:
        policy = rolling("InPlaceIfPossible")
        await sets.create(stateful(replicas=2, updateStrategy=policy, template=configured("one", **GATE)))
        await sets.wait(60)
        before = {pod.metadata.uid for pod in await sets.pods()}
        await sets.patch("v1beta1", template=configured("two", **GATE))
        await sets.wait(90)
        after = await sets.pods()
        assert {pod.metadata.uid for pod in after} == before
        assert [counts(pod) for pod in after] == [{"main": 1, "beside": 0}] * 2
        assert all(is_ready(pod) for pod in after)
