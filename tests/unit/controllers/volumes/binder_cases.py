"""The tables of upstream's binder tests in short notation, and one pass of the binder over them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs

from podling.api.core_v1 import ObjectReference, PersistentVolume, PersistentVolumeClaim, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.api.storage_v1 import StorageClass
from podling.client.base import Client, Key
from podling.client.runner import NotYet
from podling.controllers.volumes.volume_binder import VolumeBinderController
from tests.support import workloads
from tests.support.control_loops import told
from tests.support.one_pass import following

MARKS = {"b": "pv.kubernetes.io/bound-by-controller", "c": "pv.kubernetes.io/bind-completed"}


class Vol(Struct, frozen=True):
    """A volume before or after: ``of`` is the claim it names, ``marks`` letters of ``MARKS``.

    ``of`` is ``claim`` without a UID, ``claim!`` with the UID of the claim of that name, and ``claim?`` with
    another one.
    """

    name: str
    size: str = "1Gi"
    of: str = ""
    phase: str = "Available"
    marks: str = ""
    policy: str = "Retain"
    message: str = ""
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    storage_class: str = ""
    spec: dict[str, Any] = {}


class Claim(Struct, frozen=True):
    """A claim before or after; ``shown`` is the capacity in its status, for one that is Bound its request."""

    size: str = "1Gi"
    volume: str = ""
    phase: str = "Pending"
    marks: str = ""
    storage_class: str | None = None
    shown: str = ""
    annotations: dict[str, str] = {}
    spec: dict[str, Any] = {}


class Case(Struct, frozen=True):
    """One pass: for the claim ``data``, or for the volume ``of_volume``. ``after`` None: as before."""

    before: tuple[Vol, ...] = ()
    claim: Claim | None = None
    after: tuple[Vol, ...] | None = None
    claim_after: Claim | None = None
    events: tuple[str, ...] = ()
    of_volume: str = ""
    error: bool = False
    classes: tuple[StorageClass, ...] = ()
    pods: tuple[Pod, ...] = ()


def marks(letters: str) -> dict[str, str]:
    return {MARKS[each]: "yes" for each in letters}


def _volume(given: Vol, uid: str) -> PersistentVolume:
    ref = None
    if given.of:
        name = given.of.rstrip("!?")
        named = {"!": uid, "?": "another"}.get(given.of[-1], "")
        ref = ObjectReference(kind="PersistentVolumeClaim", namespace="default", name=name, uid=named)
    made = workloads.volume(
        given.name,
        given.size,
        labels=given.labels,
        claim_ref=ref,
        storage_class_name=given.storage_class,
        persistent_volume_reclaim_policy=given.policy,
        **given.spec,
    )
    annotations = {**given.annotations, **marks(given.marks)}
    metadata = structs.replace(made.metadata, annotations=annotations, finalizers=given.finalizers)
    return structs.replace(made, metadata=metadata)


async def _put_volume(client: Client, given: Vol, uid: str) -> None:
    held = await client.create(_volume(given, uid))
    status = structs.replace(held.status, phase=given.phase, message=given.message)
    await client.update(structs.replace(held, status=status), subresource="status")


async def _put_claim(client: Client, given: Claim) -> str:
    made = workloads.claim(
        "data",
        given.size,
        volume_name=given.volume or None,
        storage_class_name=given.storage_class,
        **given.spec,
    )
    annotations = {**given.annotations, **marks(given.marks)}
    made = structs.replace(made, metadata=structs.replace(made.metadata, annotations=annotations))
    held = await client.create(made)
    bound = given.phase == "Bound"
    status = structs.replace(
        held.status,
        phase=given.phase,
        capacity={"storage": given.shown or given.size} if given.shown or bound else {},
        access_modes=held.spec.access_modes if bound else (),
    )
    held = await client.update(structs.replace(held, status=status), subresource="status")
    return held.metadata.uid or ""


def shown_volume(held: PersistentVolume, uid: str) -> tuple[Any, ...]:
    ref = held.spec.claim_ref
    of = ""
    if ref is not None:
        of = (ref.name or "") + ("" if not ref.uid else "!" if ref.uid == uid else "?")
    annotations = held.metadata.annotations
    return (of, held.status.phase, held.status.message or "", annotations, tuple(held.metadata.finalizers))


def wanted_volume(given: Vol) -> tuple[Any, ...]:
    annotations = {**given.annotations, **marks(given.marks)}
    return (given.of, given.phase, given.message, annotations, given.finalizers)


def shown_claim(held: PersistentVolumeClaim) -> tuple[Any, ...]:
    spec, status = held.spec, held.status
    shown = status.capacity.get("storage", "")
    return (spec.volume_name or "", status.phase, shown, held.metadata.annotations, spec.storage_class_name)


def wanted_claim(given: Claim) -> tuple[Any, ...]:
    shown = given.shown or (given.size if given.phase == "Bound" else "")
    annotations = {**given.annotations, **marks(given.marks)}
    return (given.volume, given.phase, shown, annotations, given.storage_class)


async def check_pass(client: Client, case: Case) -> None:
    """Write the objects of the case, let the binder make one pass, and compare."""
    uid = await _put_claim(client, case.claim) if case.claim is not None else "of the claim that is gone"
    for each in case.classes:  # after the claim: admission would give it the default class
        await client.create(each)
    for pod in case.pods:
        await client.create(pod)
    for given in case.before:
        await _put_volume(client, given, uid)
    failed = False
    async with following(client, VolumeBinderController) as binder:
        try:
            await binder.reconcile(Key("", case.of_volume) if case.of_volume else Key("default", "data"))
        except NotYet:
            failed = True
    assert failed == case.error
    volumes = {each.metadata.name: each for each in (await client.list(PersistentVolume)).items}
    after = case.before if case.after is None else case.after
    assert {name: shown_volume(held, uid) for name, held in volumes.items()} == {
        given.name: wanted_volume(given) for given in after
    }
    claims = (await client.list(PersistentVolumeClaim, "default")).items
    claim_after = case.claim_after or case.claim
    assert [shown_claim(held) for held in claims] == ([wanted_claim(claim_after)] if claim_after else [])
    reasons = [" ".join(line.split(":")[0].split()[:2]) for line in await told(client)]
    assert tuple(reasons) == case.events


def storage_class(
    name: str,
    provisioner: str = "kubernetes.io/no-provisioner",
    mode: str = "Immediate",
    *,
    default: bool = False,
) -> StorageClass:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    metadata = ObjectMeta(name=name, annotations=annotations)
    return StorageClass(metadata=metadata, provisioner=provisioner, volume_binding_mode=mode)
