"""A node whose pods have the machine's own network reports the policies that it does not enforce."""

from __future__ import annotations

import asyncio

from podling.api.core_v1 import Event
from podling.api.meta_v1 import ObjectMeta
from podling.api.networking_v1 import NetworkPolicy
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.network.policy.unenforced import report_policies
from podling.testing import ControlPlane


async def test_each_policy_gets_one_warning(cluster: ControlPlane) -> None:
    informers, recorder = InformerFactory(cluster.client), EventRecorder(cluster.client, "kubelet", "node-1")
    report_policies(informers, "node-1", recorder)
    running = asyncio.create_task(informers.run())
    stored = NetworkPolicy(metadata=ObjectMeta(name="deny", namespace="default"))
    await informers.synced()
    made = await cluster.client.create(stored)
    label = {"metadata": {"labels": {"a": "b"}}}
    await cluster.client.patch(NetworkPolicy, "deny", label, "default")
    await asyncio.sleep(1)  # noqa: TID251 virtual time
    running.cancel()
    await recorder.close()
    (event,) = (await cluster.client.list(Event)).items
    assert (event.type, event.reason, event.involved_object.uid) == (
        "Warning",
        "NotEnforced",
        made.metadata.uid,
    )
    assert event.message.startswith("pods on node node-1 have the machine's own network")
    assert event.count == 1
