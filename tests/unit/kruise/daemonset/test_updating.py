"""Advanced DaemonSets whose pods are updated, on a simulated node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.api.core_v1 import Node, Pod
from podling.machinery.pods import is_ready
from podling_kruise.names import LIFECYCLE_STATE
from podling_kruise.podunavailablebudget.types import PodUnavailableBudget
from tests.support.advanced_sets import DaemonSets, daemon, daemon_rolling
from tests.support.budgets import budget
from tests.support.clone_sets import cluster_of, gate, template
from tests.support.kubelet_node import NODE
from tests.support.sidecar_sets import create

IN_PLACE = daemon_rolling("InPlaceIfPossible")


@pytest.fixture
async def sets(tmp_path: Path) -> AsyncIterator[DaemonSets]:
    async with cluster_of(DaemonSets, tmp_path) as found:
        await found.client.patch(Node, NODE, {"spec": {"taints": None}})  # as the node lifecycle controller
        yield found


async def test_image_changes_in_the_living_pod(sets: DaemonSets) -> None:
    await sets.create(daemon(updateStrategy=IN_PLACE))
    await sets.wait()
    (before,) = await sets.pods()
    await sets.change("web:2")
    await sets.wait(60)
    (after,) = await sets.pods()
    assert (after.metadata.uid, after.status.pod_ip) == (before.metadata.uid, before.status.pod_ip)
    assert after.spec.containers[0].image == "web:2"
    assert after.status.container_statuses[0].restart_count == 1
    condition = gate(after)
    assert (condition is not None and condition.status, is_ready(after)) == ("True", True)
    status = (await sets.stored()).status
    assert after.metadata.labels["controller-revision-hash"] == status.update_revision
    assert (status.updated_number_scheduled, status.number_available) == (1, 1)
    assert (await sets.events()).count("SuccessfulUpdatePodInPlace") == 1


async def test_other_changes_recreate_pods_where_in_place_is_not_possible(sets: DaemonSets) -> None:
    await sets.create(daemon(updateStrategy=IN_PLACE))
    await sets.wait()
    (before,) = await sets.pods()
    await sets.change("web:1", hostNetwork=True)
    await sets.wait(120)
    (after,) = await sets.pods()
    assert (after.metadata.uid != before.metadata.uid, after.spec.host_network) == (True, True)
    assert "SuccessfulUpdatePodInPlace" not in await sets.events()


async def test_recreate_is_the_default(sets: DaemonSets) -> None:
    await sets.create(daemon())
    await sets.wait()
    (before,) = await sets.pods()
    assert [gate.condition_type for gate in before.spec.readiness_gates] == ["KruisePodReady"]
    await sets.change("web:2")
    await sets.wait(120)
    (after,) = await sets.pods()
    assert (after.metadata.uid != before.metadata.uid, after.spec.containers[0].image) == (True, "web:2")


async def test_pod_without_the_gate_is_kept_under_in_place_only(sets: DaemonSets) -> None:
    await sets.create(daemon())
    await sets.wait()
    (before,) = await sets.pods()
    await sets.patch("v1beta1", updateStrategy=daemon_rolling("InPlaceOnly"))
    await sets.change("web:2")
    await sets.wait(60)
    (after,) = await sets.pods()
    assert (after.metadata.uid, after.spec.containers[0].image) == (before.metadata.uid, "web:1")


async def test_update_can_be_rolled_back_in_place(sets: DaemonSets) -> None:
    await sets.create(daemon(updateStrategy=IN_PLACE))
    await sets.wait()
    (before,) = await sets.pods()
    for image in ("web:2", "web:1"):
        await sets.change(image)
        await sets.wait(60)
        (pod,) = await sets.pods()
        assert (pod.metadata.uid, pod.spec.containers[0].image) == (before.metadata.uid, image)
        assert is_ready(pod)


async def test_paused_update_begins_when_it_goes_on(sets: DaemonSets) -> None:
    await sets.create(daemon(updateStrategy=daemon_rolling("InPlaceIfPossible", paused=True)))
    await sets.wait()
    await sets.change("web:2")
    await sets.wait(60)
    assert await sets.images() == {"web:1": 1}
    await sets.patch("v1beta1", updateStrategy={"rollingUpdate": {"paused": False}})
    await sets.wait(60)
    assert await sets.images() == {"web:2": 1}


async def test_hook_holds_a_pod_before_it_is_replaced(sets: DaemonSets) -> None:
    made = template()
    made["metadata"]["labels"]["example.com/hold"] = "true"
    hook = {"preDelete": {"labelsHandler": {"example.com/hold": "true"}}}
    await sets.create(daemon(template=made, lifecycle=hook))
    await sets.wait()
    (before,) = await sets.pods()
    made["spec"]["containers"][0]["image"] = "web:2"
    await sets.patch("v1beta1", template=made)
    await sets.wait(60)
    (held,) = await sets.pods()
    assert held.metadata.uid == before.metadata.uid
    assert held.metadata.labels[LIFECYCLE_STATE] == "PreparingDelete"
    release = {"metadata": {"labels": {"example.com/hold": None}}}
    await sets.client.patch(Pod, held.metadata.name or "", release, "default")
    await sets.wait(120)
    (after,) = await sets.pods()
    assert (after.metadata.uid != before.metadata.uid, after.spec.containers[0].image) == (True, "web:2")


@pytest.mark.parametrize("marks", [False, True])
async def test_hook_may_make_a_pod_not_ready_while_its_container_runs(sets: DaemonSets, marks: bool) -> None:
    made = template()
    made["metadata"]["finalizers"] = ["example.io/unready-blocker"]
    hook = {"finalizersHandler": ["example.io/unready-blocker"], "markPodNotReady": marks}
    await sets.create(daemon(template=made, lifecycle={"preDelete": hook}))
    await sets.wait()
    made["spec"]["containers"][0]["image"] = "web:2"
    await sets.patch("v1beta1", template=made)
    await sets.wait(60)
    (held,) = await sets.pods()
    assert (held.metadata.labels[LIFECYCLE_STATE], is_ready(held)) == ("PreparingDelete", not marks)
    (shown,) = held.status.container_statuses
    assert shown.state.running is not None
    await sets.client.patch(Pod, held.metadata.name or "", {"metadata": {"finalizers": []}}, "default")
    await sets.wait(120)
    assert await sets.images() == {"web:2": 1}


async def test_resources_change_in_place_where_the_gate_says_so(tmp_path: Path) -> None:
    async with cluster_of(DaemonSets, tmp_path, InPlaceWorkloadVerticalScaling=True) as sets:
        await sets.client.patch(Node, NODE, {"spec": {"taints": None}})
        container = {"name": "main", "image": "web:1", "resources": {"requests": {"cpu": "100m"}}}
        await sets.create(daemon(updateStrategy=IN_PLACE, template=template(containers=[container])))
        await sets.wait()
        (before,) = await sets.pods()
        container = {**container, "resources": {"requests": {"cpu": "200m"}}}
        await sets.patch("v1beta1", template=template(containers=[container]))
        await sets.wait(60)
        (after,) = await sets.pods()
        assert after.metadata.uid == before.metadata.uid
        assert after.status.container_statuses[0].restart_count == 0
        assert after.spec.containers[0].resources.requests["cpu"] == "200m"
        assert is_ready(after)


async def test_update_in_place_waits_for_the_budget_of_its_pod(sets: DaemonSets) -> None:
    await create(sets, budget(minAvailable=1, maxUnavailable=None))
    await sets.create(daemon(updateStrategy=IN_PLACE))
    await sets.wait()
    await sets.change("web:2")
    await sets.wait(60)
    (held,) = await sets.pods()
    assert (held.spec.containers[0].image, is_ready(held)) == ("web:1", True)
    await sets.client.patch(PodUnavailableBudget, "web", {"spec": {"minAvailable": 0}}, "default")
    await sets.wait(120)
    assert await sets.images() == {"web:2": 1}
