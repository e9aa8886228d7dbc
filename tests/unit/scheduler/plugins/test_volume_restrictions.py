"""VolumeRestrictions: disks that pods of a node cannot share, and claims for one pod at a time."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import (
    AWSElasticBlockStoreVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    RBDVolumeSource,
    Volume,
)
from podling.scheduler.framework import Hopeless, ObjectChange, PodChange, PodEvent
from podling.scheduler.plugins.volume_restrictions import CLAIM_IN_USE, DISK_CONFLICT, VolumeRestrictions
from podling.scheduler.podfacts import facts_of
from tests.unit.scheduler.plugins.volumes import cache_with, claim, user
from tests.unit.scheduler.scheduling import cache_of, facts, node, pod, rejections, unresolvable

PLUGIN = VolumeRestrictions()
ONE_POD, MANY = "ReadWriteOncePod", "ReadWriteMany"


def gce(name: str, *, read_only: bool = False) -> Volume:
    return Volume(
        name="v", gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name=name, read_only=read_only)
    )


def aws(name: str) -> Volume:
    return Volume(name="v", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id=name))


def rbd(image: str, *monitors: str, pool: str = "p", read_only: bool = False) -> Volume:
    source = RBDVolumeSource(image=image, monitors=monitors, pool=pool, read_only=read_only)
    return Volume(name="v", rbd=source)


def iscsi(iqn: str, *, read_only: bool = False) -> Volume:
    source = ISCSIVolumeSource(iqn=iqn, lun=0, target_portal="127.0.0.1", read_only=read_only)
    return Volume(name="v", iscsi=source)


@pytest.mark.parametrize(
    ("wanted", "there", "conflict"),
    [
        (gce("a"), gce("a"), True),
        (gce("a"), gce("b"), False),
        (gce("a", read_only=True), gce("a", read_only=True), False),
        (gce("a", read_only=True), gce("a"), True),
        (aws("a"), aws("a"), True),
        (aws("a"), aws("b"), False),
        (aws("a"), gce("a"), False),
        (rbd("i", "m1", "m2"), rbd("i", "m2", "m3"), True),
        (rbd("i", "m1"), rbd("i", "m2"), False),
        (rbd("i", "m1"), rbd("other", "m1"), False),
        (rbd("i", "m1", pool="p"), rbd("i", "m1", pool="q"), False),
        (rbd("i", "m1", read_only=True), rbd("i", "m1", read_only=True), False),
        (rbd("i", "m1", read_only=True), rbd("i", "m1"), True),
        (iscsi("iqn.a"), iscsi("iqn.a"), True),
        (iscsi("iqn.a"), iscsi("iqn.b"), False),
        (iscsi("iqn.a", read_only=True), iscsi("iqn.a", read_only=True), False),
        (Volume(name="v"), gce("a"), False),
    ],
)
def test_pods_of_a_node_do_not_share_a_disk(wanted: Volume, there: Volume, conflict: bool) -> None:
    cache = cache_of(node("used"), node("free"), pods={"used": [pod(volumes=(there,))]})
    one = facts(volumes=(wanted,))
    assert rejections(PLUGIN, one, cache) == ({"used": [DISK_CONFLICT]} if conflict else {})
    assert unresolvable(PLUGIN, one, cache) == []


def test_disk_is_free_again_when_its_pod_goes() -> None:
    cache = cache_of(node("n"), pods={"n": [pod(volumes=(gce("a"),))]})
    [there] = cache.pods_on(0)
    cache.remove_pod(there.uid)
    assert rejections(PLUGIN, facts(volumes=(gce("a"),)), cache) == {}


@pytest.mark.parametrize(
    ("mode", "used", "rejected"), [(ONE_POD, True, True), (ONE_POD, False, False), (MANY, True, False)]
)
def test_claim_for_one_pod_is_used_once_in_the_cluster(mode: str, used: bool, rejected: bool) -> None:
    there = {"a": [user("data")]} if used else {}
    cache = cache_with([node("a"), node("b")], claim("data", "pv", mode), pods=there)
    expected = {"a": [CLAIM_IN_USE], "b": [CLAIM_IN_USE]} if rejected else {}
    assert rejections(PLUGIN, facts_of(user("data")), cache) == expected
    assert unresolvable(PLUGIN, facts_of(user("data")), cache) == []


def test_claim_of_another_namespace_is_another_one() -> None:
    cache = cache_with(
        [node("a")], claim("data", "pv", ONE_POD), pods={"a": [user("data", namespace="other")]}
    )
    assert rejections(PLUGIN, facts_of(user("data")), cache) == {}


def test_disk_conflict_is_reported_before_the_claim() -> None:
    both = pod(volumes=(*user("data").spec.volumes, gce("a")))
    cache = cache_with([node("a"), node("b")], claim("data", "pv", ONE_POD), pods={"a": [both]})
    found = rejections(PLUGIN, facts(volumes=both.spec.volumes), cache)
    assert found == {"a": [DISK_CONFLICT], "b": [CLAIM_IN_USE]}


def test_missing_claim_is_reported() -> None:
    with pytest.raises(Hopeless, match='persistentvolumeclaim "data" not found'):
        PLUGIN.candidates(facts_of(user("data")), cache_with([node("a")]))


@pytest.mark.parametrize(
    ("gone", "helps"),
    [
        (user("data"), True),
        (user("other"), False),
        (user("data", namespace="other"), False),
        (pod(volumes=(gce("a"),)), True),
        (pod(volumes=(gce("b"),)), False),
    ],
)
def test_deleted_pod_helps_if_it_shared_a_volume(gone: Any, helps: bool) -> None:
    waits = facts(volumes=(*user("data").spec.volumes, gce("a")))
    change = PodChange(PodEvent.DELETED, facts_of(gone))
    assert PLUGIN.wakes_for_pod(waits, change, cache_of()) is helps


@pytest.mark.parametrize(("name", "helps"), [("data", True), ("other", False)])
def test_new_claim_of_the_pod_helps(name: str, helps: bool) -> None:
    change = ObjectChange("PersistentVolumeClaim", claim(name))
    assert PLUGIN.wakes_for_object(facts_of(user("data")), change, cache_of()) is helps
