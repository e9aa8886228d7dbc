"""One pass of the binder: cases of upstream's tests of deletion, recycling, provisioning and default classes.

Nothing here deletes or recycles volumes itself, so these are the cases without a plugin: of
``delete_test.go``, ``recycle_test.go``, ``provision_test.go`` and ``pv_controller_test.go``.
"""

from __future__ import annotations

import pytest

from podling.api.core_v1 import PersistentVolumeClaimVolumeSource, Volume
from podling.controllers.volumes.volume_migration import (
    BETA_PROVISIONER,
    EXTERNAL_FINALIZER,
    IN_TREE_FINALIZER,
    MIGRATED_TO,
    PROVISIONED_BY,
    PROVISIONER,
)
from podling.controllers.volumes.volume_reclaim_rules import NO_DELETER, NO_RECYCLER
from podling.controllers.volumes.volume_rules import PRE_RESIZE_CAPACITY, SELECTED_NODE
from podling.machinery.storage_classes import BETA_CLASS
from podling.testing import ControlPlane
from tests.support.control_loops import pod
from tests.unit.controllers.volumes.binder_cases import Case, Claim, Vol, check_pass, storage_class

GONE = Vol("v", of="data!", phase="Bound", policy="Delete", marks="b")
EXTERNAL = {PROVISIONED_BY: "vendor.example.com"}
IN_TREE = {PROVISIONED_BY: "kubernetes.io/host-path"}
MIGRATED = {PROVISIONED_BY: "kubernetes.io/gce-pd"}
ON_DRIVER = {**MIGRATED, MIGRATED_TO: "pd.csi.storage.gke.io"}
USER = pod(
    "user",
    volumes=(Volume(name="v", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="data")),),
)

RECLAIM = {
    "8-3 no deleter": Case(
        (GONE,),
        after=(Vol("v", of="data!", phase="Failed", marks="b", message=NO_DELETER.format("v")),),
        events=("Warning VolumeFailedDelete",),
        of_volume="v",
    ),
    "8-9 no deleter, and a next claim of the name": Case(
        (Vol("v", of="data?", phase="Bound", policy="Delete"),),
        Claim(),
        (Vol("v", of="data?", phase="Failed", message=NO_DELETER.format("v")),),
        events=("Warning VolumeFailedDelete",),
        of_volume="v",
    ),
    "a volume that failed stays so": Case(
        (Vol("v", of="data!", phase="Failed", policy="Delete", message="why"),), of_volume="v"
    ),
    "5-6 left to the program that made it": Case(
        (Vol("v", of="data!", phase="Bound", policy="Delete", annotations=EXTERNAL),),
        after=(Vol("v", of="data!", phase="Released", annotations=EXTERNAL),),
        of_volume="v",
    ),
    "made by a plugin that is gone": Case(
        (Vol("v", of="data!", phase="Bound", policy="Delete", annotations=IN_TREE),),
        after=(
            Vol(
                "v",
                of="data!",
                phase="Failed",
                annotations=IN_TREE,
                message="no volume plugin matched name: kubernetes.io/host-path",
                finalizers=(IN_TREE_FINALIZER,),
            ),
        ),
        events=("Warning VolumeFailedDelete",),
        of_volume="v",
    ),
    "made by a plugin that became a driver": Case(
        (Vol("v", of="data!", phase="Bound", policy="Delete", annotations=MIGRATED),),
        after=(Vol("v", of="data!", phase="Released", annotations=ON_DRIVER),),
        of_volume="v",
    ),
    "marked as a driver's, though nothing made it": Case(
        (Vol("v", of="data!", phase="Bound", policy="Delete", annotations={MIGRATED_TO: "x.example.com"}),),
        after=(Vol("v", of="data!", phase="Released", annotations={MIGRATED_TO: "x.example.com"}),),
        of_volume="v",
    ),
    "made for a claim that has another one": Case(
        (Vol("v", of="data!", phase="Bound", policy="Delete", annotations=EXTERNAL),),
        Claim(volume="w", phase="Bound"),
        (Vol("v", of="data!", phase="Released", annotations=EXTERNAL),),
        of_volume="v",
    ),
    "6-3 no recycler": Case(
        (Vol("v", of="data!", phase="Bound", policy="Recycle"),),
        after=(Vol("v", of="data!", phase="Failed", message=NO_RECYCLER),),
        events=("Warning VolumeFailedRecycle",),
        of_volume="v",
    ),
    "a pod uses the volume to be recycled": Case(
        (Vol("v", of="data!", phase="Bound", policy="Recycle"),),
        after=(Vol("v", of="data!", phase="Released"),),
        events=("Normal VolumeFailedRecycle",),
        of_volume="v",
        pods=(USER,),
    ),
    "a pod uses the next claim of the name": Case(
        (Vol("v", of="data?", phase="Bound", policy="Recycle"),),
        Claim(),
        (Vol("v", of="data?", phase="Failed", message=NO_RECYCLER),),
        events=("Warning VolumeFailedRecycle",),
        of_volume="v",
        pods=(USER,),
    ),
    "5-9 a driver's finalizer, and the plugin is served again": Case(
        (
            Vol(
                "v",
                policy="Delete",
                annotations={**IN_TREE, MIGRATED_TO: "x.example.com"},
                finalizers=(EXTERNAL_FINALIZER,),
            ),
        ),
        after=(Vol("v", annotations=IN_TREE, finalizers=(IN_TREE_FINALIZER,)),),
        of_volume="v",
    ),
}


def _asks(name: str) -> dict[str, str]:
    return {PROVISIONER: name, BETA_PROVISIONER: name}


VENDOR = storage_class("gold", "vendor.example.com")
LATE = storage_class("late", "vendor.example.com", "WaitForFirstConsumer")
SELECTED = {SELECTED_NODE: "node1"}
PROVISION = {
    "11-6 there is a volume": Case(
        (Vol("v", storage_class="gold"),),
        Claim(storage_class="gold"),
        (Vol("v", of="data!", phase="Bound", marks="b"),),
        Claim(volume="v", phase="Bound", marks="bc", storage_class="gold"),
        classes=(VENDOR,),
    ),
    "11-14 no such class": Case((), Claim(storage_class="gold"), events=("Warning ProvisioningFailed",)),
    "11-15 the empty class": Case((), Claim(storage_class=""), events=("Normal FailedBinding",)),
    "11-16 no class": Case((), Claim(), events=("Normal FailedBinding",)),
    "11-17 a program outside": Case(
        (),
        Claim(storage_class="gold"),
        claim_after=Claim(storage_class="gold", annotations=_asks("vendor.example.com")),
        events=("Normal ExternalProvisioning",),
        classes=(VENDOR,),
    ),
    "11-18 an unknown plugin": Case(
        (),
        Claim(storage_class="gold"),
        events=("Warning ProvisioningFailed",),
        classes=(storage_class("gold", "kubernetes.io/unknown"),),
    ),
    "11-20 a plugin that became a driver": Case(
        (),
        Claim(storage_class="gold"),
        claim_after=Claim(storage_class="gold", annotations=_asks("pd.csi.storage.gke.io")),
        events=("Normal ExternalProvisioning",),
        classes=(storage_class("gold", "kubernetes.io/gce-pd"),),
    ),
    "11-22 for the selected node, though a volume is free": Case(
        (Vol("v", storage_class="late"),),
        Claim(storage_class="late", annotations=SELECTED),
        claim_after=Claim(storage_class="late", annotations={**SELECTED, **_asks("vendor.example.com")}),
        events=("Normal ExternalProvisioning",),
        classes=(LATE,),
    ),
    "a claim of a plugin that became a driver is marked": Case(
        (),
        Claim(storage_class="gold", annotations={BETA_PROVISIONER: "kubernetes.io/gce-pd"}),
        claim_after=Claim(
            storage_class="gold",
            annotations={
                BETA_PROVISIONER: "kubernetes.io/gce-pd",
                MIGRATED_TO: "pd.csi.storage.gke.io",
            },
        ),
        events=("Warning ProvisioningFailed",),
    ),
    "5-2-3 the file system waits to be enlarged": Case(
        (Vol("v", "2Gi", annotations={PRE_RESIZE_CAPACITY: "1Gi"}),),
        Claim("2Gi"),
        (Vol("v", of="data!", phase="Bound", marks="b", annotations={PRE_RESIZE_CAPACITY: "1Gi"}),),
        Claim("2Gi", volume="v", phase="Bound", marks="bc", shown="1Gi"),
    ),
    "a size before enlarging that is none": Case(
        (Vol("v", "2Gi", annotations={PRE_RESIZE_CAPACITY: "much"}),),
        Claim("2Gi"),
        (Vol("v", of="data!", phase="Bound", marks="b", annotations={PRE_RESIZE_CAPACITY: "much"}),),
        Claim("2Gi", volume="v", phase="Bound", marks="bc"),
    ),
    "the capacity of a bound claim stays": Case(
        (Vol("v", "2Gi", of="data!", phase="Bound"),),
        Claim(volume="v", phase="Bound", marks="bc"),
    ),
}

DEFAULT, OTHER = storage_class("gold", default=True), storage_class("copper")
FAILED = ("Warning ProvisioningFailed",)
RETROACTIVE = {
    "15-1 no default class": Case((), Claim(), events=("Normal FailedBinding",)),
    "15-2 two default classes": Case(
        (),
        Claim(),
        claim_after=Claim(storage_class="gold"),
        classes=(DEFAULT, storage_class("silver", default=True)),
    ),
    "15-3 the claim is bound": Case(
        (),
        Claim(volume="test", phase="Bound", marks="bc", storage_class="copper"),
        claim_after=Claim(volume="test", phase="Lost", marks="bc", storage_class="copper"),
        events=("Warning ClaimLost",),
        classes=(DEFAULT,),
    ),
    "15-4 the claim was bound and has no marks": Case(
        (),
        Claim(volume="test", phase="Bound", storage_class="copper"),
        claim_after=Claim(volume="test", storage_class="copper"),
        classes=(DEFAULT,),
    ),
    "15-5 a default class": Case(
        (), Claim(), claim_after=Claim(storage_class="gold"), classes=(DEFAULT, OTHER)
    ),
    "15-6 the claim has a class": Case(
        (), Claim(storage_class="copper"), events=FAILED, classes=(DEFAULT, OTHER)
    ),
    "15-7 the claim has a class in its annotation": Case(
        (), Claim(annotations={BETA_CLASS: "copper"}), events=FAILED, classes=(DEFAULT, OTHER)
    ),
    "15-8 the claim wants none": Case(
        (), Claim(storage_class=""), events=("Normal FailedBinding",), classes=(DEFAULT, OTHER)
    ),
}

CASES = RECLAIM | PROVISION | RETROACTIVE


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
async def test_one_pass_of_the_binder(cluster: ControlPlane, case: Case) -> None:
    await check_pass(cluster.client, case)
