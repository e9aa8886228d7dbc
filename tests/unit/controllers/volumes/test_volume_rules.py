"""Bindings left half done, or done twice, are finished or undone by the next reconciliation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import ObjectReference, PersistentVolume, PersistentVolumeClaim
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.client.base import Client, WatchEvent
from podling.controllers.volumes import volume_rules as rules
from podling.controllers.volumes.volume_binder import VolumeBinderController
from podling.controllers.volumes.volume_migration import PROVISIONED_BY
from podling.testing import ControlPlane
from tests.support.control_loops import running
from tests.support.workloads import claim, volume

BY_CONTROLLER = {rules.BOUND_BY_CONTROLLER: "yes"}
PROVISIONED = {PROVISIONED_BY: "disks.example.com"}
DONE = {rules.BIND_COMPLETED: "yes", **BY_CONTROLLER}

Made = Callable[[PersistentVolumeClaim], PersistentVolume]
Shown = tuple[str | None, str, dict[str, str]]
"""Of a volume: its phase, which claim it names, and its annotations."""


T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


def with_annotations(obj: T, annotations: dict[str, str]) -> T:
    return structs.replace(obj, metadata=structs.replace(obj.metadata, annotations=annotations))


def wanted(name: str | None = None) -> PersistentVolumeClaim:
    """Return a claim; if it names its volume, as the binder would have written it."""
    return with_annotations(claim(volume_name=name), DONE) if name else claim()


def free(name: str) -> Made:
    return lambda claim: volume(name)


def reserved(name: str, annotations: dict[str, str], policy: str = "Retain") -> Made:
    """Return a volume that names the very claim."""

    def make(claim: PersistentVolumeClaim) -> PersistentVolume:
        ref = rules.claim_reference(claim)
        made = volume(name, claim_ref=ref, persistent_volume_reclaim_policy=policy)
        return with_annotations(made, annotations)

    return make


def stranger(name: str, of: str) -> Made:
    """Return a volume of a claim that is gone."""
    ref = ObjectReference(namespace="default", name=of, uid="of-one-that-is-gone")
    return lambda claim: with_annotations(volume(name, claim_ref=ref), BY_CONTROLLER)


def whose(held: PersistentVolume, claim: PersistentVolumeClaim) -> str:
    ref = held.spec.claim_ref
    if ref is None:
        return "nobody's"
    if not ref.uid:
        return f"for any {ref.name}"
    return "its" if ref.uid == claim.metadata.uid else "another's"


BOUND: Shown = ("Bound", "its", BY_CONTROLLER)
FREE: Shown = ("Available", "nobody's", {})


@pytest.mark.parametrize(
    ("asked", "made", "volumes", "phase"),
    [
        pytest.param(
            wanted("v"),
            [reserved("v", BY_CONTROLLER), reserved("w", BY_CONTROLLER)],
            {"v": BOUND, "w": FREE},
            "Bound",
            id="two were reserved, and the claim has named one",
        ),
        pytest.param(
            wanted(),
            [reserved("v", BY_CONTROLLER), reserved("w", BY_CONTROLLER)],
            {"v": BOUND, "w": FREE},
            "Bound",
            id="two were reserved, and the claim has named none yet",
        ),
        pytest.param(
            wanted("v"),
            [reserved("v", BY_CONTROLLER), reserved("w", {})],
            {"v": BOUND, "w": ("Available", "for any data", {})},
            "Bound",
            id="what somebody else reserved stays so for the next claim of the name",
        ),
        pytest.param(
            wanted("v"),
            [reserved("v", BY_CONTROLLER), reserved("w", PROVISIONED, "Delete")],
            {"v": BOUND, "w": ("Released", "its", PROVISIONED)},
            "Bound",
            id="what was made for the claim is not needed",
        ),
        pytest.param(
            wanted("v"),
            [reserved("v", BY_CONTROLLER), reserved("w", PROVISIONED)],
            {"v": BOUND, "w": ("Available", "for any data", PROVISIONED)},
            "Bound",
            id="what was made for the claim is to be retained",
        ),
        pytest.param(
            wanted(), [reserved("v", BY_CONTROLLER)], {"v": BOUND}, "Bound", id="only the volume says so"
        ),
        pytest.param(wanted("v"), [free("v")], {"v": BOUND}, "Bound", id="only the claim says so"),
        pytest.param(
            wanted(),
            [stranger("v", of="data")],
            {"v": ("Released", "another's", BY_CONTROLLER)},
            "Pending",
            id="of an earlier claim of the same name",
        ),
        pytest.param(
            wanted(),
            [stranger("v", of="gone"), free("w")],
            {"v": ("Released", "another's", BY_CONTROLLER), "w": BOUND},
            "Bound",
            id="of a claim that is gone",
        ),
    ],
)
async def test_half_done_binding_is_finished_or_undone(
    cluster: ControlPlane,
    asked: PersistentVolumeClaim,
    made: list[Made],
    volumes: dict[str, Shown],
    phase: str,
) -> None:
    created = await cluster.client.create(asked)
    for make in made:
        await cluster.client.create(make(created))
    async with running(cluster.client, VolumeBinderController):
        await cluster.advance(seconds=1)
    shown = {
        held.metadata.name: (held.status.phase, whose(held, created), held.metadata.annotations)
        for held in (await cluster.client.list(PersistentVolume)).items
    }
    assert shown == volumes
    held = await cluster.client.get(PersistentVolumeClaim, "data", "default")
    assert held.status.phase == phase
    assert (held.spec.volume_name in volumes) == (phase == "Bound")


async def test_claim_that_was_given_the_volume_of_another_is_left_as_it_is(cluster: ControlPlane) -> None:
    """Case 2-7 of binder_test.go: the annotation of a completed binding was removed."""
    ref = ObjectReference(namespace="default", name="other", uid="another")
    await cluster.client.create(volume("v", claim_ref=ref))
    made = await cluster.client.create(with_annotations(claim(volume_name="v"), BY_CONTROLLER))
    bound = structs.replace(made, status=structs.replace(made.status, phase="Bound"))
    await cluster.client.update(bound, subresource="status")
    async with running(cluster.client, VolumeBinderController) as manager:
        await cluster.advance(seconds=1)
        assert manager.counters["persistentvolume-binder-controller"].failures > 0
    held = await cluster.client.get(PersistentVolumeClaim, "data", "default")
    assert (held.status.phase, held.metadata.annotations) == ("Bound", BY_CONTROLLER)


async def test_a_volume_is_free_again_as_soon_as_its_claim_gets_another(cluster: ControlPlane) -> None:
    async with running(cluster.client, VolumeBinderController):
        created = await cluster.client.create(claim(size="5Gi"))
        await cluster.client.create(reserved("small", BY_CONTROLLER)(created))
        await cluster.advance(seconds=1)
        assert (await cluster.client.get(PersistentVolume, "small")).spec.claim_ref is not None
        await cluster.client.create(volume("big", "5Gi"))
        await cluster.advance(seconds=1)
        small = await cluster.client.get(PersistentVolume, "small")
        assert (small.status.phase, small.spec.claim_ref) == ("Available", None)


async def test_bound_claim_regains_volume_without_claim_ref(cluster: ControlPlane) -> None:
    async with running(cluster.client, VolumeBinderController):
        created = await cluster.client.create(claim())
        await cluster.client.create(volume("v"))
        await cluster.advance(seconds=1)
        await cluster.client.patch(PersistentVolume, "v", {"spec": {"claimRef": None}})
        await cluster.advance(seconds=1)
        held = await cluster.client.get(PersistentVolume, "v")
        assert (held.status.phase, whose(held, created)) == ("Bound", "its")


class HearsOfNoClaims:
    """A client whose watch of claims brings nothing: its copy of them stays as it was at the start."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def watch(self, kind: type[Any], *args: Any, **options: Any) -> AsyncIterator[WatchEvent[Any]]:
        if kind is PersistentVolumeClaim:
            await clock.sleep(3600)
        async for event in self._client.watch(kind, *args, **options):
            yield event


async def test_a_claim_that_is_not_seen_yet_is_not_gone(cluster: ControlPlane) -> None:
    client: Any = HearsOfNoClaims(cluster.client)
    async with running(client, VolumeBinderController):
        created = await cluster.client.create(claim())
        await cluster.client.create(reserved("its", {}, "Delete")(created))
        await cluster.client.create(stranger("old", of="data")(created))
        await cluster.advance(seconds=1)
        phases = [each.status.phase for each in (await cluster.client.list(PersistentVolume)).items]
        assert phases == ["Pending", "Released"]


REF = ObjectReference(namespace="default", name="data")
OTHER = ObjectReference(namespace="default", name="data", uid="another")
LIVE = structs.replace(claim(), metadata=ObjectMeta(name="data", namespace="default", uid="this"))


@pytest.mark.parametrize(
    ("asked_for", "refusal"),
    [
        pytest.param(volume("v"), None, id="free"),
        pytest.param(volume("v", "1Mi", claim_ref=REF), None, id="meant for it, however small"),
        pytest.param(
            volume("v", claim_ref=OTHER),
            ("FailedBinding", 'volume "v" already bound to a different claim.'),
            id="another's",
        ),
        pytest.param(
            volume("v", "1Mi"),
            ("VolumeMismatch", 'Cannot bind to requested volume "v": requested PV is too small'),
            id="too small",
        ),
    ],
)
def test_named_volume_must_suit_claim(asked_for: PersistentVolume, refusal: tuple[str, str] | None) -> None:
    assert rules.refusal(asked_for, LIVE) == refusal


@pytest.mark.parametrize(
    ("name", "held", "reason"),
    [
        pytest.param("v", volume("v"), None, id="the volume has come unbound"),
        pytest.param(
            "v", volume("v", claim_ref=REF), "ClaimMisbound", id="the volume is reserved for one of its name"
        ),
        pytest.param("v", volume("v", claim_ref=OTHER), "ClaimMisbound", id="the volume is another's"),
        pytest.param("v", None, "ClaimLost", id="no such volume"),
        pytest.param(None, None, "ClaimLost", id="it names none any more"),
    ],
)
def test_when_a_bound_claim_is_lost(
    name: str | None, held: PersistentVolume | None, reason: str | None
) -> None:
    bound = structs.replace(LIVE, spec=structs.replace(LIVE.spec, volume_name=name))
    loss = rules.loss(held, bound)
    assert (loss[0] if loss else None) == reason


def test_a_reservation_counts_more_than_the_class() -> None:
    named = volume("v", claim_ref=REF, storage_class_name="fast")
    assert rules.reserved(LIVE, [volume("w"), named]) is named
    assert rules.reserved(LIVE, [volume("v", "1Mi", claim_ref=REF)]) is None


def _free(name: str, size: str, modes: tuple[str, ...], **more: Any) -> PersistentVolume:
    held = volume(name, size, access_modes=modes, **more)
    return structs.replace(held, status=structs.replace(held.status, phase="Available"))


RWO, ROX, RWX = "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"
TAKEN = ObjectReference(uid="abc123")
MARKED = {"should-exist": "true"}
INDEX = (
    _free("disk-10", "10G", (RWO, ROX)),
    _free("disk-20", "20G", (RWO, ROX), claim_ref=TAKEN),
    _free("nfs-5", "5G", (RWO, ROX, RWX)),
    _free("disk-1", "1G", (RWO, ROX), claim_ref=TAKEN),
    _free("nfs-10", "10G", (RWO, ROX, RWX)),
    _free("disk-5", "5G", (RWO, ROX)),
    _free("nfs-1", "1G", (RWO, ROX, RWX)),
    _free("disk-2", "20000G", (RWO,), labels=MARKED),
    _free("silver-1", "10000G", (RWO,), labels=MARKED, storage_class_name="silver"),
    _free("silver-2", "100G", (RWO,), storage_class_name="silver"),
    _free("gold", "50G", (RWO,), storage_class_name="gold"),
)
"""The volumes of upstream's ``index_test.go``."""


@pytest.mark.parametrize(
    ("size", "modes", "labels", "storage_class", "found"),
    [
        pytest.param("8G", (ROX, RWO), None, None, "disk-10", id="the next larger"),
        pytest.param("5G", (ROX, RWO, RWX), None, None, "nfs-5", id="all modes"),
        pytest.param("1G", (ROX, RWO), None, None, "disk-5", id="not one that is taken"),
        pytest.param("999G", (ROX, RWO), None, None, None, id="none large enough"),
        pytest.param("999G", (ROX, RWO), {"should-not-exist": "true"}, None, None, id="none with the label"),
        pytest.param("20000G", (ROX, RWO), MARKED, None, None, id="the label, and too few modes"),
        pytest.param("20000G", (RWO,), MARKED, None, "disk-2", id="the label"),
        pytest.param("1G", (RWO,), MARKED, "silver", "silver-1", id="the label and the class"),
        pytest.param("1G", (RWO,), None, "silver", "silver-2", id="the class"),
    ],
)
def test_choice_among_many_volumes(
    size: str,
    modes: tuple[str, ...],
    labels: dict[str, str] | None,
    storage_class: str | None,
    found: str | None,
) -> None:
    selector = LabelSelector(match_labels=labels) if labels is not None else None
    asked = claim(size=size, access_modes=modes, selector=selector, storage_class_name=storage_class)
    chosen = rules.best_match(asked, INDEX, None)
    assert (chosen.metadata.name if chosen is not None else None) == found


@pytest.mark.parametrize(
    ("modes", "taken", "found"),
    [
        ((RWO,), (), "ebs"),
        ((RWO, ROX), (), "gce"),
        ((RWX, RWO, ROX), (), "nfs"),
        ((RWX,), (), "nfs"),
        ((RWO,), ("ebs",), "gce"),
        ((RWO,), ("ebs", "gce"), "nfs"),
        ((ROX,), ("ebs",), "gce"),
    ],
)
def test_fewest_access_modes_come_first(modes: tuple[str, ...], taken: tuple[str, ...], found: str) -> None:
    offered = {"gce": (RWO, ROX), "ebs": (RWO,), "nfs": (RWO, ROX, RWX)}
    held = [
        _free(name, "10G", of_it, claim_ref=TAKEN if name in taken else None)
        for name, of_it in offered.items()
    ]
    chosen = rules.best_match(claim(size="1G", access_modes=modes), held, None)
    assert chosen is not None
    assert chosen.metadata.name == found


@pytest.mark.parametrize(
    ("named", "found"),
    [
        pytest.param({}, "pv1", id="the size that fits"),
        pytest.param(
            {"pv1": ObjectReference(name="foo", namespace="bar")}, "pv5", id="the one that fits is another's"
        ),
        pytest.param({"pv8": REF}, "pv8", id="the largest is reserved for it"),
        pytest.param({"small": REF}, "pv1", id="a reserved one is too small"),
        pytest.param({"read-only": REF}, "pv1", id="a reserved one has other modes"),
    ],
)
def test_reserved_volume_is_chosen_if_it_suits(named: dict[str, ObjectReference], found: str) -> None:
    sizes = {"pv1": "1Gi", "pv5": "5Gi", "pv8": "8Gi", "small": "1Mi", "read-only": "1Gi"}
    held = [
        _free(name, size, (ROX,) if name == "read-only" else (RWO,), claim_ref=named.get(name))
        for name, size in sizes.items()
    ]
    chosen = rules.reserved(LIVE, held) or rules.best_match(LIVE, held, None)
    assert chosen is not None
    assert chosen.metadata.name == found
