"""The slices that a controller of slices counts as its own.

Cases of ``TestEndpointSlicesMirroredForService`` in endpointslicemirroring_controller_test.go, of
``TestSyncServiceEndpointSliceLabelSelection`` and ``Test_dropEndpointSlicesPendingDeletion`` in
endpointslice_controller_test.go.
"""

from __future__ import annotations

import asyncio

import pytest

from podling.api.core_v1 import Namespace
from podling.api.discovery_v1 import EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key
from podling.client.informer import Informer
from podling.client.workqueue import WorkQueue
from podling.controllers.endpoints import endpoint_rules, mirror_rules
from podling.controllers.endpoints.slice_changes import ManagedSlices
from podling.controllers.endpoints.slice_rules import MANAGED_BY, SERVICE_NAME
from podling.testing import ControlPlane

PODS, MIRRORS = endpoint_rules.MANAGER, mirror_rules.MANAGER
OF_WEB = {SERVICE_NAME: "web"}

# the slice's namespace and labels, whether it is being deleted, and the managers whose own it is
SLICES: list[tuple[str, dict[str, str], bool, set[str]]] = [
    ("default", {**OF_WEB, MANAGED_BY: PODS}, False, {PODS}),
    ("default", {**OF_WEB, MANAGED_BY: MIRRORS}, False, {MIRRORS}),
    ("default", {**OF_WEB, MANAGED_BY: PODS}, True, set()),
    ("default", {**OF_WEB, MANAGED_BY: MIRRORS}, True, set()),
    ("default", {**OF_WEB, MANAGED_BY: "something-else"}, False, set()),
    ("default", {SERVICE_NAME: "something-else", MANAGED_BY: PODS}, False, set()),
    ("default", {SERVICE_NAME: "something-else", MANAGED_BY: MIRRORS}, False, set()),
    ("default", OF_WEB, False, set()),
    ("default", {MANAGED_BY: PODS}, False, set()),
    ("default", {}, False, set()),
    ("team", {**OF_WEB, MANAGED_BY: PODS}, False, set()),
    ("team", {**OF_WEB, MANAGED_BY: MIRRORS}, False, set()),
]


@pytest.mark.parametrize(("namespace", "labels", "deleting", "wanted"), SLICES)
async def test_own_slices_have_both_labels_and_are_not_being_deleted(
    cluster: ControlPlane, namespace: str, labels: dict[str, str], deleting: bool, wanted: set[str]
) -> None:
    await cluster.client.create(Namespace(metadata=ObjectMeta(name="team")))
    metadata = ObjectMeta(
        name="web-1", namespace=namespace, labels=labels, finalizers=("example.com/hold",) if deleting else ()
    )
    await cluster.client.create(EndpointSlice(metadata=metadata, address_type="IPv4"))
    if deleting:
        await cluster.client.delete(EndpointSlice, "web-1", namespace)
    informer = Informer(cluster.client, EndpointSlice)
    queues: dict[str, WorkQueue[Key]] = {PODS: WorkQueue(), MIRRORS: WorkQueue()}
    managed = {manager: ManagedSlices(informer, manager, queue) for manager, queue in queues.items()}
    task = asyncio.create_task(informer.run())
    await informer.synced()
    own = {manager for manager, each in managed.items() if each.of(Key("default", "web"))}
    task.cancel()
    assert own == wanted
