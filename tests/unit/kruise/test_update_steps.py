"""Steps of updates that workloads share: pods written at the same time, and changes that fit in place."""

from __future__ import annotations

from typing import Any

import pytest

from podling import clock
from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Pod
from podling.api.meta_v1 import ObjectMeta
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.client.workqueue import WorkQueue
from podling.controllers.children import Children, child_selector
from podling.testing import memory_cluster
from podling_kruise.common_types import InPlaceUpdateStrategy
from podling_kruise.extension import KruiseExtension
from podling_kruise.names import FEATURE_GATES, REVISION_HASH
from podling_kruise.statefulset.types import StatefulSet
from podling_kruise.update_steps import PARALLEL, UpdateSteps, in_groups


def named(number: int, revision: str = "web-old") -> Pod:
    return Pod(metadata=ObjectMeta(name=f"web-{number}", labels={REVISION_HASH: revision}))


async def test_no_group_begins_after_one_that_failed() -> None:
    begun: list[str] = []
    at_once, most = 0, 0

    async def write(pod: Pod) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        begun.append(pod.metadata.name or "")
        await clock.sleep(0)
        at_once -= 1
        if pod.metadata.name == "web-60":
            raise ValueError("no")

    failure = await in_groups(write, [named(number) for number in range(200)])
    assert (str(failure), len(begun), most) == ("no", 2 * PARALLEL, PARALLEL)
    assert await in_groups(write, [named(1)]) is None


def revision(name: str, image: str, **pod: Any) -> ControllerRevision:
    spec = {"containers": [{"name": "main", "image": image}], **pod}
    data = {"spec": {"template": {"spec": spec}}}
    return ControllerRevision(metadata=ObjectMeta(name=name), data=data, revision=1)


OLD = revision("web-old", "web:1")


@pytest.mark.parametrize(
    ("target", "own", "images"),
    [
        (revision("web-new", "web:2"), "web-old", {"main": "web:2"}),
        (revision("web-new", "web:2", hostNetwork=True), "web-old", None),
        (revision("web-new", "web:2"), "web-unknown", None),
    ],
)
async def test_changes_are_those_from_the_pods_own_revision(
    target: ControllerRevision, own: str, images: dict[str, str] | None
) -> None:
    async with memory_cluster(extensions=[KruiseExtension()]) as plane:
        informers = InformerFactory(plane.client)
        sets, pods = informers.informer(StatefulSet), informers.informer(Pod)
        children = Children(plane.client, sets, pods, WorkQueue(), child_selector)
        recorder = EventRecorder(plane.client, "test")
        steps = UpdateSteps(plane.client, recorder, children, FEATURE_GATES, lambda pod, _: pod)
        strategy = InPlaceUpdateStrategy(grace_period_seconds=5)
        found = steps.spec(named(0, own), [OLD, target], target, strategy)
    if images is None:
        assert found is None
    else:
        assert found is not None
        assert (found.revision, found.container_images, found.grace_seconds) == ("web-new", images, 5)
