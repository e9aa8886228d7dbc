"""Pods wait for their claims, and go where the volumes can be reached."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from msgspec import structs

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim, Pod
from podling.api.storage_v1 import CSIDriver, CSIStorageCapacity, StorageClass
from podling.scheduler.binding.volume_binder import VolumeBinding
from podling.scheduler.cache import Cache
from podling.scheduler.decide import Diagnosis, Placement, decide
from podling.scheduler.framework import Hopeless
from podling.scheduler.plugins.volume_binding import CONFLICT, GONE, NO_SPACE, NO_VOLUME, UNBOUND
from podling.scheduler.podfacts import PodFacts, facts_of
from podling.testing import ControlPlane
from tests.unit.scheduler.at_work import join
from tests.unit.scheduler.scheduling import DEFAULT_PROFILE, accepted, cache_of, node, pod, rejections

NODES = (node("a"), node("b"))
ON_A = {
    "required": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}]}
        ]
    }
}
NAMED = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
EPHEMERAL = {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}


def user(*volumes: dict[str, Any]) -> PodFacts:
    made = pod("web")
    spec = msgspec.convert({"containers": [], "volumes": volumes or [NAMED]}, type(made.spec))
    return facts_of(structs.replace(made, spec=structs.replace(made.spec, volumes=spec.volumes)))


def claim(bound_to: str = "", *, name: str = "data", **fields: Any) -> PersistentVolumeClaim:
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if bound_to else {}
    plain: dict[str, dict[str, Any]] = {
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": bound_to,
        },
        "status": {"phase": "Bound" if bound_to else "Pending"},
    }
    for part, values in fields.items():
        plain[part] = {**plain[part], **values}
    return msgspec.convert(plain, PersistentVolumeClaim)


def volume(phase: str = "Available", **spec: Any) -> PersistentVolume:
    plain = {
        "metadata": {"name": "pv"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "capacity": {"storage": "1Gi"},
            "nodeAffinity": ON_A,
            "local": {"path": "/data"},
            **spec,
        },
        "status": {"phase": phase},
    }
    return msgspec.convert(plain, PersistentVolume)


def storage_class(mode: str, provisioner: str = "kubernetes.io/no-provisioner") -> StorageClass:
    plain = {"metadata": {"name": "local"}, "provisioner": provisioner, "volumeBindingMode": mode}
    return msgspec.convert(plain, StorageClass)


def cache_with(*objects: PersistentVolumeClaim | PersistentVolume | StorageClass | CSIDriver) -> Cache:
    cache = cache_of(*NODES)
    for obj in objects:
        name = obj.metadata.name or ""
        if isinstance(obj, PersistentVolumeClaim):
            cache.claims["default", name] = obj
        elif isinstance(obj, PersistentVolume):
            cache.volumes[name] = obj
        elif isinstance(obj, CSIDriver):
            cache.csi_drivers[name] = obj
        else:
            cache.storage_classes[name] = obj
    return cache


def named_volume(name: str, phase: str = "Bound", **spec: Any) -> PersistentVolume:
    made = volume(phase, **spec)
    return structs.replace(made, metadata=structs.replace(made.metadata, name=name))


LATER = storage_class("WaitForFirstConsumer")
DISKS = "example.com/disks"
PROVISIONED = storage_class("WaitForFirstConsumer", DISKS)
LABELLED = {"selector": {"matchLabels": {"x": "y"}}}
ANYWHERE = named_volume("anywhere", "Available", nodeAffinity=None)
OF_DATA = {"namespace": "default", "name": "data"}
SELECTED = {"annotations": {"volume.kubernetes.io/selected-node": "a"}}
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("subject", "held", "why"),
    [
        (user(), (), 'persistentvolumeclaim "data" not found'),
        (
            user(EPHEMERAL),
            (),
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "web-data"',
        ),
        (
            user(EPHEMERAL),
            (claim(name="web-data"),),
            "was not created for pod default/web (pod is not owner)",
        ),
        (user(), (claim(metadata=DELETED),), 'persistentvolumeclaim "data" is being deleted'),
        (
            user(),
            (claim("pv", status={"phase": "Lost"}),),
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
        ),
        (user(), (claim(),), UNBOUND),
        (user(), (claim(), storage_class("Immediate")), UNBOUND),
        (
            user(),
            (claim(spec={"volumeName": "pv"}), volume(), storage_class("WaitForFirstConsumer")),
            UNBOUND,
        ),
    ],
)
def test_pod_waits_for_its_claim(subject: PodFacts, held: tuple[Any, ...], why: str) -> None:
    with pytest.raises(Hopeless, match=f"{re.escape(why)}$"):
        VolumeBinding().candidates(subject, cache_with(*held))


@pytest.mark.parametrize(
    ("held", "taken", "why"),
    [
        ((claim("pv"), volume("Bound")), ["a"], CONFLICT),
        ((claim("pv"), volume("Bound", nodeAffinity=None)), ["a", "b"], None),
        ((claim("pv"),), [], GONE),
        ((claim(), LATER), [], NO_VOLUME),
        ((claim(), LATER, volume()), ["a"], NO_VOLUME),
        ((claim(), LATER, volume("Released")), [], NO_VOLUME),
        ((claim(), LATER, volume(capacity={"storage": "1Mi"})), [], NO_VOLUME),
        ((claim(), LATER, volume(storageClassName="other")), [], NO_VOLUME),
        ((claim(), LATER, volume(volumeMode="Block")), [], NO_VOLUME),
        ((claim(), LATER, volume(accessModes=["ReadOnlyMany"])), [], NO_VOLUME),
        ((claim(spec=LABELLED), LATER, volume()), [], NO_VOLUME),
        ((claim(), LATER, volume(claimRef={"namespace": "default", "name": "other"})), [], NO_VOLUME),
        ((claim(), LATER, volume(claimRef=OF_DATA)), ["a"], NO_VOLUME),
        ((claim(), LATER, volume("Released", claimRef=OF_DATA)), ["a"], NO_VOLUME),
        ((claim(), LATER, volume(claimRef=OF_DATA, accessModes=["ReadOnlyMany"])), ["a"], NO_VOLUME),
        ((claim(spec=LABELLED), LATER, volume(claimRef=OF_DATA)), ["a"], NO_VOLUME),
        ((claim(), LATER, volume(claimRef=OF_DATA, volumeMode="Block")), [], NO_VOLUME),
        ((claim(), LATER, volume(claimRef={**OF_DATA, "uid": "older"})), [], NO_VOLUME),
        ((claim(), LATER, volume(claimRef=OF_DATA), ANYWHERE), ["a"], NO_VOLUME),
        ((claim(), PROVISIONED, volume(claimRef=OF_DATA)), ["a", "b"], None),
        ((claim(), storage_class("WaitForFirstConsumer", "example.com/disks")), ["a", "b"], None),
    ],
)
def test_nodes_are_those_that_reach_the_volume(
    held: tuple[Any, ...], taken: list[str], why: str | None
) -> None:
    cache = cache_with(*held)
    assert accepted(VolumeBinding(), user(), cache) == taken
    others = [name for name in ("a", "b") if name not in taken]
    assert rejections(VolumeBinding(), user(), cache) == {name: [why] for name in others}


MORE = {"name": "more", "persistentVolumeClaim": {"claimName": "more"}}
NO_ROOM = msgspec.convert({"metadata": {"name": DISKS}, "spec": {"storageCapacity": True}}, CSIDriver)


@pytest.mark.parametrize(
    ("held", "refused"),
    [
        (
            (claim("pv"), volume("Bound"), claim(name="more"), LATER),
            {"a": [NO_VOLUME], "b": [CONFLICT, NO_VOLUME]},
        ),
        ((claim("gone"), claim("pv", name="more"), volume("Bound")), {"a": [GONE], "b": [GONE]}),
        ((claim("pv"), volume("Bound"), claim("gone", name="more")), {"a": [GONE], "b": [CONFLICT]}),
        (
            (claim("pv"), volume("Bound"), claim("other", name="more"), named_volume("other")),
            {"b": [CONFLICT]},
        ),
        ((claim(), claim(name="more"), LATER), {"a": [NO_VOLUME], "b": [NO_VOLUME]}),
        ((claim(), claim(name="more"), LATER, volume()), {"a": [NO_VOLUME], "b": [NO_VOLUME]}),
        ((claim(), claim(name="more"), PROVISIONED), {}),
        ((claim(), claim(name="more"), PROVISIONED, NO_ROOM), {"a": [NO_SPACE], "b": [NO_SPACE]}),
        (
            (claim(metadata=SELECTED), claim(name="more"), PROVISIONED, NO_ROOM),
            {"a": [NO_SPACE], "b": [NO_VOLUME]},
        ),
        (
            (claim(), claim(name="more", spec={"storageClassName": "unknown"}), PROVISIONED, NO_ROOM),
            {"a": [NO_SPACE], "b": [NO_SPACE]},
        ),
    ],
)
def test_first_claim_that_a_node_cannot_serve_gives_the_reason(
    held: tuple[Any, ...], refused: dict[str, list[str]]
) -> None:
    """One reason for the bound claims of the pod, and one for the others."""
    assert rejections(VolumeBinding(), user(NAMED, MORE), cache_with(*held)) == refused


OPTED_OUT = msgspec.convert({"metadata": {"name": DISKS}, "spec": {"storageCapacity": False}}, CSIDriver)


def capacity(
    size: str, largest: str = "", at: str | None = "", of_class: str = "local"
) -> CSIStorageCapacity:
    """Return what a driver can make at one node, at all of them, or nowhere (None)."""
    labels = {"kubernetes.io/hostname": at} if at else {}
    plain = {
        "metadata": {"name": f"{at}-{size}-{largest}"},
        "storageClassName": of_class,
        "nodeTopology": None if at is None else {"matchLabels": labels},
        "capacity": size or None,
        "maximumVolumeSize": largest or None,
    }
    return msgspec.convert(plain, CSIStorageCapacity)


@pytest.mark.parametrize(
    ("capacities", "taken"),
    [
        ([capacity("1Gi")], ["a", "b"]),
        ([capacity("1Gi", at="a")], ["a"]),
        ([capacity("1Gi"), capacity("1Gi", at="b"), capacity("1Gi", at="a")], ["a", "b"]),
        ([], []),
        ([capacity("1Gi", at=None)], []),
        ([capacity("1Gi", at="a", of_class="other")], []),
        ([capacity("1Mi", at="a")], []),
        ([capacity("1Gi", "1Mi", at="a")], []),
        ([capacity("1Mi", "1Gi", at="a")], ["a"]),
        ([capacity("0Mi", at="a")], []),
        ([capacity("", "0Mi", at="a")], []),
        ([capacity("", at="a")], []),
        ([capacity("1Mi", at="a"), capacity("2Gi", at="a")], ["a"]),
    ],
    ids=[
        "everywhere",
        "at one node",
        "several",
        "none",
        "nowhere",
        "another class",
        "too little",
        "largest volume is too small",
        "largest volume is more precise",
        "zero",
        "largest volume is zero",
        "unknown",
        "one of two suffices",
    ],
)
def test_capacity_is_where_the_driver_reports_it(
    capacities: list[CSIStorageCapacity], taken: list[str]
) -> None:
    """The cases of upstream's ``TestCapacity``; without the driver's consent no capacity matters."""
    for driver, expected in ((NO_ROOM, taken), (OPTED_OUT, ["a", "b"])):
        cache = cache_with(claim(), PROVISIONED, driver)
        for each in capacities:
            cache.capacities["default", each.metadata.name or ""] = each
        assert accepted(VolumeBinding(), user(), cache) == expected


def test_message_is_that_of_kubernetes() -> None:
    outcome = decide(user(), cache_with(), DEFAULT_PROFILE, (), lambda rows: rows[0])
    assert isinstance(outcome, Diagnosis)
    text = '0/2 nodes are available: persistentvolumeclaim "data" not found.'
    assert outcome.message().startswith(text)
    outcome = decide(user(), cache_with(claim("pv"), volume("Bound")), DEFAULT_PROFILE, (), lambda _: 0)
    assert outcome == Placement("a", 2)


async def test_pod_is_placed_once_its_claim_is_bound(running: ControlPlane) -> None:
    """Hours may have passed: the change of the claim wakes the pod, not a period."""
    client = running.client
    for each in NODES:
        await join(running, each)
    await client.create(user().pod)
    await running.advance(seconds=20)
    waiting = await client.get(Pod, "web", "default")
    (condition,) = (each for each in waiting.status.conditions if each.type == "PodScheduled")
    assert (condition.status, condition.reason) == ("False", "Unschedulable")
    assert 'persistentvolumeclaim "data" not found' in (condition.message or "")
    await client.create(volume())
    made = await client.create(structs.replace(claim("pv"), status=type(claim().status)()))
    await client.update(
        structs.replace(made, status=structs.replace(made.status, phase="Bound")), subresource="status"
    )
    await running.advance(seconds=11)
    found = await client.get(Pod, "web", "default")
    assert found.spec.node_name == "a", found.status.conditions
