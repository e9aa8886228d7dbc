"""Steps of in-place updates as they are written: grace periods, batches, resizes, other writers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import ConfigMap, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.pods import is_ready
from podling_kruise.inplace.update_state import update_state
from tests.support.clone_sets import Kruise, gate, kruise_cluster, manifest, template

IF_POSSIBLE = {"type": "InPlaceIfPossible"}


@pytest.fixture
async def kruise(tmp_path: Path) -> AsyncIterator[Kruise]:
    async with kruise_cluster(tmp_path, InPlaceWorkloadVerticalScaling=True) as found:
        yield found


def gate_status(pod: Pod) -> str:
    condition = gate(pod)
    return condition.status if condition is not None else ""


async def test_grace_period_closes_the_gate_long_before_the_change(kruise: Kruise) -> None:
    strategy = {**IF_POSSIBLE, "inPlaceUpdateStrategy": {"gracePeriodSeconds": 30}}
    await kruise.create(manifest(replicas=1, updateStrategy=strategy))
    await kruise.wait()
    await kruise.change("web:2")
    await kruise.wait(20)
    (pod,) = await kruise.pods()
    assert (pod.spec.containers[0].image, gate_status(pod), is_ready(pod)) == ("web:1", "False", False)
    await kruise.wait(20)
    (pod,) = await kruise.pods()
    assert (pod.spec.containers[0].image, gate_status(pod), is_ready(pod)) == ("web:2", "True", True)


async def test_new_revision_during_the_grace_period_replaces_the_pending_one(kruise: Kruise) -> None:
    strategy = {**IF_POSSIBLE, "inPlaceUpdateStrategy": {"gracePeriodSeconds": 30}}
    await kruise.create(manifest(replicas=1, updateStrategy=strategy))
    await kruise.wait()
    await kruise.change("web:2")
    await kruise.wait(10)
    await kruise.change("web:3")
    await kruise.wait(100)
    (pod,) = await kruise.pods()
    assert (pod.spec.containers[0].image, gate_status(pod), is_ready(pod)) == ("web:3", "True", True)


def container(name: str, image: str, priority: int | None = None, **more: Any) -> dict[str, Any]:
    made = {"name": name, "image": image, **more}
    if priority is not None:
        source = {"configMapKeyRef": {"name": "barrier", "key": f"p_{priority}"}}
        made["env"] = [{"name": "KRUISE_CONTAINER_BARRIER", "valueFrom": source}]
    return made


async def test_containers_change_in_the_order_of_their_launch_priorities(kruise: Kruise) -> None:
    data = {"p_0": "true", "p_1": "true"}
    await kruise.client.create(ConfigMap(metadata=ObjectMeta(name="barrier", namespace="default"), data=data))

    def containers(tag: int) -> list[dict[str, Any]]:
        return [container("late", f"late:{tag}", 0), container("early", f"early:{tag}", 1)]

    first = template(containers=containers(1))
    await kruise.create(manifest(replicas=1, template=first, updateStrategy=IF_POSSIBLE))
    await kruise.wait()
    await kruise.patch(template=template(containers=containers(2)))
    await kruise.wait(60)
    (pod,) = await kruise.pods()
    assert [each.image for each in pod.spec.containers] == ["late:2", "early:2"]
    state = update_state(pod)
    assert state is not None
    assert [each.containers for each in state.container_batches_record] == [("early",), ("late",)]
    assert (gate_status(pod), is_ready(pod)) == ("True", True)


async def test_resources_change_through_the_resize_of_the_pod(kruise: Kruise) -> None:
    def sized(cpu: str) -> dict[str, Any]:
        amounts = {"cpu": cpu, "memory": "64Mi"}
        resources = {"requests": amounts, "limits": amounts}
        return template(containers=[container("main", "web:1", resources=resources)])

    await kruise.create(manifest(replicas=1, template=sized("100m"), updateStrategy=IF_POSSIBLE))
    await kruise.wait()
    (before,) = await kruise.pods()
    await kruise.patch(template=sized("200m"))
    await kruise.wait(60)
    (pod,) = await kruise.pods()
    assert pod.metadata.uid == before.metadata.uid
    assert pod.spec.containers[0].resources.limits["cpu"] == "200m"
    (status,) = pod.status.container_statuses
    assert status.resources is not None
    assert (status.resources.limits["cpu"], status.restart_count) == ("200m", 0)
    assert pod.metadata.labels["lifecycle.apps.kruise.io/state"] == "Normal"
