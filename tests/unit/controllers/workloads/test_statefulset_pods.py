"""Plans as they are carried out: requests in the order of steps, and events about the set."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import structs

from podling.api.apps_v1 import ControllerRevision, StatefulSet
from podling.api.core_v1 import Pod
from podling.api.meta_v1 import ObjectMeta
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.client.workqueue import WorkQueue
from podling.controllers.children import Children, child_selector
from podling.controllers.workloads.revisions import template_data
from podling.controllers.workloads.statefulset_plan import Create, Delete
from podling.controllers.workloads.statefulset_pods import SetPods
from podling.controllers.workloads.statefulset_rules import StatefulOwner, View
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.control_loops import told
from tests.support.workloads import stateful_set

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def annotated(stateful: StatefulOwner, pod: Pod) -> Pod:
    annotations = {**pod.metadata.annotations, "example.com/set": stateful.metadata.name or ""}
    return structs.replace(pod, metadata=structs.replace(pod.metadata, annotations=annotations))


async def test_steps_are_done_in_order_until_one_fails(cluster: ControlPlane) -> None:
    client = cluster.client
    informers = InformerFactory(client)
    sets, pods = informers.informer(StatefulSet), informers.informer(Pod)
    children = Children(client, sets, pods, WorkQueue(), child_selector)
    stateful = await client.create(stateful_set(3))
    data = template_data(stateful.spec.template)
    revision = ControllerRevision(metadata=ObjectMeta(name="db-1"), data=data, revision=1)
    view = View(stateful, [], revision, revision, NOW)
    recorder = EventRecorder(client, "test")
    writes = SetPods(client, recorder, children, annotated)
    assert await writes.carry_out(view, [[Create(0, revision), Create(1, revision)]]) is None
    found = (await client.list(Pod, "default")).items
    assert [pod.metadata.annotations["example.com/set"] for pod in found] == ["db", "db"]
    gone = Delete(found[1])
    failure = await writes.carry_out(view, [[Create(0, revision)], [gone]])
    assert isinstance(failure, ApiError)
    assert failure.status.reason == "AlreadyExists"
    assert len((await client.list(Pod, "default")).items) == 2, "the step after the failure was not begun"
    assert await writes.carry_out(view, [[gone], [gone]]) is None, "a pod that is gone is no failure"
    assert [pod.metadata.name for pod in (await client.list(Pod, "default")).items] == ["db-0"]
    await recorder.close()
    assert sorted(text.split()[1] for text in await told(client)) == [
        "SuccessfulCreate",
        "SuccessfulCreate",
        "SuccessfulDelete",
    ]
