"""The choice of a persistent volume for a claim, and the statuses of both. Pure.

Upstream: ``pkg/controller/volume/persistentvolume`` and ``component-helpers/storage/volume``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import structs

from podling.api.core_v1 import Node, ObjectReference, PersistentVolume, PersistentVolumeClaim, Pod
from podling.clock import seconds_precision
from podling.controllers.nodes.node_matching import selects_node
from podling.machinery.pods import is_terminal
from podling.machinery.quantity import Quantity, parse
from podling.machinery.selectors import SelectorError, from_label_selector
from podling.machinery.storage_classes import class_of

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PRE_RESIZE_CAPACITY = "volume.alpha.kubernetes.io/pre-resize-capacity"
"""The size of a volume's file system that waits to be enlarged on the node."""
YES = "yes"
MISMATCH = "VolumeMismatch"


def requested(claim: PersistentVolumeClaim) -> Quantity:
    return parse(claim.spec.resources.requests.get("storage", "0"))


def shown_capacity(claim: PersistentVolumeClaim) -> Quantity:
    """Return the capacity that the claim's status shows."""
    return parse(claim.status.capacity.get("storage", "0"))


def capacity(volume: PersistentVolume) -> Quantity:
    return parse(volume.spec.capacity.get("storage", "0"))


def is_meant_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether the volume's ``claimRef`` names this claim (or, without a UID, one of its name)."""
    ref = volume.spec.claim_ref
    if ref is None:
        return False
    same = (ref.namespace, ref.name) == (claim.metadata.namespace, claim.metadata.name)
    return same and (not ref.uid or ref.uid == claim.metadata.uid)


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    ref = volume.spec.claim_ref
    return ref is not None and bool(ref.uid) and is_meant_for(volume, claim)


def is_elsewhere(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Return whether the claim is bound to another volume. This never changes: a claim names one once."""
    return bool(claim.spec.volume_name) and claim.spec.volume_name != volume.metadata.name


def reason_to_wait(users: Iterable[Pod]) -> tuple[str, str]:
    """Return the reason and the message of a claim whose volume is chosen for the node of a pod."""
    names = [pod.metadata.name or "" for pod in users if not pod.spec.node_name and not is_terminal(pod)]
    if not names:
        return "WaitForFirstConsumer", "waiting for first consumer to be created before binding"
    pods = "pod" if len(names) == 1 else "pods"
    return "WaitForPodScheduled", f"waiting for {pods} {','.join(names)} to be scheduled"


def satisfies(volume: PersistentVolume, claim: PersistentVolumeClaim, *, of_class: bool = True) -> str:
    """Why the volume cannot serve the claim; empty if it can. ``of_class``: the classes matter."""
    if volume.metadata.deletion_timestamp is not None:
        return f'the volume is marked for deletion "{volume.metadata.name}"'
    if capacity(volume) < requested(claim):
        return "requested PV is too small"
    if of_class and class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if (volume.spec.volume_attributes_class_name or "") != (claim.spec.volume_attributes_class_name or ""):
        return "volumeAttributesClassName does not match"
    if _mode(volume) != _mode(claim):
        return "incompatible volumeMode"
    if not set(claim.spec.access_modes) <= set(volume.spec.access_modes):
        return "incompatible accessMode"
    return ""


def is_misbound(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether the controller gave the claim a volume that is another's, and the claim forgot that it
    was bound: an administrator has removed the annotation."""
    taken = volume.spec.claim_ref is not None and not is_meant_for(volume, claim)
    return taken and BOUND_BY_CONTROLLER in claim.metadata.annotations


def misbound(volume: PersistentVolume, claim: PersistentVolumeClaim) -> str:
    """Return the error about a claim that ``is_misbound``; its status is left as it is."""
    own, ref = claim.metadata, volume.spec.claim_ref
    other = f"{ref.namespace}/{ref.name}" if ref is not None else ""
    return (
        f'invalid binding of claim "{own.namespace}/{own.name}" to volume "{volume.metadata.name}": '
        f'volume already claimed by "{other}"'
    )


def mode_mismatch(
    volume: PersistentVolume, claim: PersistentVolumeClaim
) -> tuple[tuple[str, str], tuple[str, str]] | None:
    """Return reason and message for a volume and for the claim it names, if their modes differ for ever."""
    if _mode(volume) == _mode(claim):
        return None
    why = "due to incompatible volumeMode."
    return (
        (
            MISMATCH,
            f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{claim.metadata.name}" {why}',
        ),
        (
            MISMATCH,
            f'Cannot bind PersistentVolume "{volume.metadata.name}" to requested PersistentVolumeClaim {why}',
        ),
    )


def _mode(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    return obj.spec.volume_mode or "Filesystem"


def refusal(volume: PersistentVolume, claim: PersistentVolumeClaim) -> tuple[str, str] | None:
    """Return why the volume that an unbound claim names cannot be bound: reason and message.

    A volume that names the claim in turn was reserved on purpose, and its size is not compared.
    """
    if is_meant_for(volume, claim):
        return None
    if volume.spec.claim_ref is not None:
        return "FailedBinding", f'volume "{volume.metadata.name}" already bound to a different claim.'
    why = satisfies(volume, claim)
    text = f'Cannot bind to requested volume "{volume.metadata.name}": {why}'
    return (MISMATCH, text) if why else None


def loss(volume: PersistentVolume | None, claim: PersistentVolumeClaim) -> tuple[str, str] | None:
    """Why a claim that was bound has lost its volume, the one it names: reason and message."""
    if not claim.spec.volume_name:
        return "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
    if volume is None:
        return "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
    if volume.spec.claim_ref is None or volume.spec.claim_ref.uid == claim.metadata.uid:
        return None
    return "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly"


def reserved(claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume]) -> PersistentVolume | None:
    """Return the first volume that names the claim and is large enough, of any class."""
    meant = (volume for volume in volumes if is_meant_for(volume, claim))
    return next((volume for volume in meant if not satisfies(volume, claim, of_class=False)), None)


def best_match(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], node: Node | None
) -> PersistentVolume | None:
    """Return the smallest free volume that fits the claim.

    On ``node``, if one is given; else one with as few access modes as possible comes first.
    """
    try:
        selector = from_label_selector(claim.spec.selector) if claim.spec.selector is not None else None
    except SelectorError:
        return None
    fitting: list[PersistentVolume] = []
    for volume in volumes:
        if volume.spec.claim_ref is not None or volume.status.phase != "Available":
            continue
        if satisfies(volume, claim):
            continue
        if selector is not None and not selector.matches(volume.metadata.labels):
            continue
        affinity = volume.spec.node_affinity
        if node is not None and affinity is not None and not selects_node(affinity.required, node):
            continue
        fitting.append(volume)
    return min(fitting, key=_size if node is not None else _modes_and_size, default=None)


def _size(volume: PersistentVolume) -> tuple[Quantity, str]:
    return capacity(volume), volume.metadata.name or ""


def _modes_and_size(volume: PersistentVolume) -> tuple[int, Quantity, str]:
    return len(volume.spec.access_modes), *_size(volume)


def claim_reference(claim: PersistentVolumeClaim) -> ObjectReference:
    """Return the reference from a volume to its claim."""
    metadata = claim.metadata
    return ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )


def volume_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """``volume`` bound to ``claim``; the very same if it is already."""
    if is_bound_to(volume, claim):
        return volume
    ref = claim_reference(claim)
    annotations = volume.metadata.annotations
    if volume.spec.claim_ref is None:
        annotations = {**annotations, BOUND_BY_CONTROLLER: YES}
    return structs.replace(
        volume,
        metadata=structs.replace(volume.metadata, annotations=annotations),
        spec=structs.replace(volume.spec, claim_ref=ref),
    )


def unbound(volume: PersistentVolume) -> PersistentVolume:
    """Return ``volume`` without the claim that got another one.

    The controller removes its own reference. A reservation by another writer stays one, for the next
    claim of that name: only the UID goes.
    """
    ref = volume.spec.claim_ref
    annotations = dict(volume.metadata.annotations)
    if annotations.pop(BOUND_BY_CONTROLLER, None) is not None:
        ref = None
    elif ref is not None:
        ref = structs.replace(ref, uid="")
    return structs.replace(
        volume,
        metadata=structs.replace(volume.metadata, annotations=annotations),
        spec=structs.replace(volume.spec, claim_ref=ref),
    )


def claim_for(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaim:
    """``claim`` bound to ``volume``; the very same if it is already."""
    annotations = {**claim.metadata.annotations, BIND_COMPLETED: YES}
    if not claim.spec.volume_name:
        annotations[BOUND_BY_CONTROLLER] = YES
    if annotations == claim.metadata.annotations and claim.spec.volume_name == volume.metadata.name:
        return claim
    return structs.replace(
        claim,
        metadata=structs.replace(claim.metadata, annotations=annotations),
        spec=structs.replace(claim.spec, volume_name=volume.metadata.name),
    )


def with_claim_phase(
    claim: PersistentVolumeClaim, phase: str, volume: PersistentVolume | None = None
) -> PersistentVolumeClaim:
    """``claim`` in a phase; one that becomes bound shows what it got. The very same if nothing changes.

    The capacity of a bound claim changes when its volume has been enlarged, not with the volume's object.
    """
    attributes_class = claim.status.current_volume_attributes_class_name
    if volume is None:
        attributes_class = None
    elif phase == "Bound" and claim.status.phase in ("", "Pending"):
        attributes_class = volume.spec.volume_attributes_class_name
    status = structs.replace(
        claim.status,
        phase=phase,
        access_modes=volume.spec.access_modes if volume is not None else (),
        capacity=_shown_capacity(claim, phase, volume) if volume is not None else {},
        current_volume_attributes_class_name=attributes_class,
    )
    return claim if status == claim.status else structs.replace(claim, status=status)


def _shown_capacity(claim: PersistentVolumeClaim, phase: str, volume: PersistentVolume) -> dict[str, str]:
    if phase == claim.status.phase == "Bound" and claim.status.capacity:
        return dict(claim.status.capacity)
    before = volume.metadata.annotations.get(PRE_RESIZE_CAPACITY)
    if before is None:
        return dict(volume.spec.capacity)
    try:
        parse(before)
    except ValueError:
        return dict(volume.spec.capacity)
    return {**claim.status.capacity, "storage": before}


def with_volume_phase(
    volume: PersistentVolume, phase: str, now: datetime, message: str = ""
) -> PersistentVolume:
    """Return ``volume`` in a phase; the very same if it has it, also with a message of another client."""
    if volume.status.phase == phase:
        return volume
    moment = seconds_precision(now)
    status = structs.replace(volume.status, phase=phase, message=message, last_phase_transition_time=moment)
    return structs.replace(volume, status=status)
