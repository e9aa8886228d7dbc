"""The pod after a step of an update of its sidecars. Pure.

Upstream: ``updatePodSidecarContainer``, ``flipPodSidecarContainerDo`` and
``updatePodSidecarSetUpgradableCondition`` of ``pkg/controller/sidecarset``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec import structs

from podling.api.core_v1 import Pod, PodCondition
from podling.machinery.conditions import find
from podling_kruise.sidecarset.annotations import (
    SET_HASH,
    UPDATE_STATE,
    WORKING_CONTAINERS,
    UnreadableRecord,
    new_record,
    records,
    records_text,
    version_alt_annotation,
    version_annotation,
    with_changed_containers,
    working_containers,
)
from podling_kruise.sidecarset.metadata_patches import patched_annotations
from podling_kruise.sidecarset.pod_state import (
    container_to_upgrade,
    hot_containers,
    names_of_running,
)
from podling_kruise.sidecarset.types import SidecarSet

UPGRADABLE = "SidecarSetUpgradable"


def with_new_images(owner: SidecarSet, pod: Pod, now: datetime) -> Pod:
    """Return the pod with the images and the record of the SidecarSet's newest form.

    Raises ``NotJson``.
    """
    images = {each.name: each.image for each in pod.spec.containers}
    annotations = dict(pod.metadata.annotations)
    working = working_containers(pod)
    changed: dict[str, str] = {}
    for sidecar in owner.spec.containers:
        chosen, other = (
            container_to_upgrade(owner, sidecar, pod) if sidecar.is_hot else (sidecar.name, sidecar.name)
        )
        if images.get(other) == sidecar.image or chosen not in images:
            continue
        changed[chosen] = sidecar.image
        if sidecar.is_hot:
            version = owner.metadata.resource_version or ""
            working[sidecar.name] = chosen
            annotations[WORKING_CONTAINERS] = msgspec.json.encode(working, order="deterministic").decode()
            annotations[version_annotation(chosen)] = version
            annotations[version_alt_annotation(chosen)] = annotations.get(version_annotation(other), "")
            annotations[version_alt_annotation(other)] = version
    annotations[SET_HASH] = _record(owner, pod, now)
    annotations[UPDATE_STATE] = _state(owner, pod, changed, now)
    annotations = patched_annotations(annotations, owner.spec.patch_pod_metadata)
    return _with(pod, changed, annotations)


def with_empty_images(owner: SidecarSet, pod: Pod, now: datetime) -> Pod:
    """Return the pod with empty images in the older containers of hot upgrades."""
    images = {each.name: each.image for each in pod.spec.containers}
    annotations = dict(pod.metadata.annotations)
    changed: dict[str, str] = {}
    for sidecar in owner.spec.containers:
        if not sidecar.is_hot:
            continue
        working, other = hot_containers(sidecar.name, pod)
        empty = sidecar.upgrade_strategy.hot_upgrade_empty_image
        if images.get(other, empty) == empty:
            continue
        changed[other] = empty
        annotations[version_annotation(other)] = "0"
        annotations[version_alt_annotation(working)] = "0"
    annotations[UPDATE_STATE] = _state(owner, pod, changed, now)
    return _with(pod, changed, annotations)


def upgradable_condition(owner: str, pod: Pod, *, upgradable: bool) -> PodCondition | None:
    """Return the condition that says which SidecarSets can be updated in the pod; None if it has it."""
    held = find(pod.status.conditions, UPGRADABLE)
    try:
        known = msgspec.json.decode(held.message or "{}", type=dict[str, bool]) if held is not None else {}
    except msgspec.MsgspecError:
        known = {}
    known[owner] = upgradable
    every = all(known.values())
    wanted = PodCondition(
        type=UPGRADABLE,
        status="True" if every else "False",
        reason="AllSidecarsetUpgradable" if every else "UpdateImmutableField",
        message=msgspec.json.encode(known, order="deterministic").decode(),
    )
    if held is not None and (held.status, held.reason, held.message) == (
        wanted.status,
        wanted.reason,
        wanted.message,
    ):
        return None
    return wanted


def _record(owner: SidecarSet, pod: Pod, now: datetime) -> str:
    name = owner.metadata.name or ""
    digest = owner.metadata.annotations.get(SET_HASH, "")
    try:
        known = records(pod.metadata.annotations, SET_HASH)
    except UnreadableRecord:
        known = {}
    known[name] = new_record(name, digest, names_of_running(owner), now, owner.status.latest_revision)
    return records_text(known)


def _state(owner: SidecarSet, pod: Pod, changed: Mapping[str, str], now: datetime) -> str:
    digest = owner.metadata.annotations.get(SET_HASH, "")
    return with_changed_containers(pod, owner.metadata.name or "", digest, list(changed), now)


def _with(pod: Pod, images: Mapping[str, str], annotations: dict[str, str]) -> Pod:
    containers = tuple(
        structs.replace(each, image=images[each.name]) if each.name in images else each
        for each in pod.spec.containers
    )
    metadata = structs.replace(pod.metadata, annotations=annotations)
    return structs.replace(pod, metadata=metadata, spec=structs.replace(pod.spec, containers=containers))
