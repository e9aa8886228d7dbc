"""The next step of a pod's in-place update: the pod as it should be, batch by batch. Pure.

Containers with the highest launch priority are changed first, those without one at once. A later batch waits
until the containers of the earlier are ready.
Upstream: ``defaultPatchUpdateSpecToPod``, ``doPreCheckBeforeNext``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from msgspec import Struct, structs

from podling.api.core_v1 import Container, Pod, PodReadinessGate, PodSpec
from podling.machinery.numbers import INT64_MAX, natural
from podling_kruise.common_types import MetadataPart, Resources
from podling_kruise.inplace.revision_diff import DELETED_FINALIZERS
from podling_kruise.inplace.update_state import (
    ContainerBatch,
    ContainerState,
    PreCheck,
    UpdateSpec,
    UpdateState,
    annotated,
    state_text,
    time_text,
)
from podling_kruise.names import IN_PLACE_UPDATE_READY, LAUNCH_BARRIER, UPDATE_STATE

T = TypeVar("T")

PRIORITY_PREFIX = "p_"


class PodStep(Struct, frozen=True):
    """The pod to write, its record, and the resources to resize through ``pods/resize``."""

    pod: Pod
    state: UpdateState
    resources: dict[str, Resources]


def launch_priority(container: Container) -> int | None:
    """Return the priority that the launch barrier gives a container; None without one.

    The key's first two characters are not looked at, and a key without a number stands for 0, as upstream.
    """
    for variable in container.env:
        source = variable.value_from.config_map_key_ref if variable.value_from is not None else None
        if variable.name == LAUNCH_BARRIER and source is not None:
            text = source.key[len(PRIORITY_PREFIX) :]
            value = natural(text.removeprefix("-"), INT64_MAX)
            return 0 if value is None else -value if text.startswith("-") else value
    return None


def has_readiness_gate(pod: Pod, name: str = IN_PLACE_UPDATE_READY) -> bool:
    return any(gate.condition_type == name for gate in pod.spec.readiness_gates)


def with_readiness_gate(spec: PodSpec) -> PodSpec:
    """Return the spec with the readiness gate of in-place updates."""
    if any(gate.condition_type == IN_PLACE_UPDATE_READY for gate in spec.readiness_gates):
        return spec
    gate = PodReadinessGate(condition_type=IN_PLACE_UPDATE_READY)
    return structs.replace(spec, readiness_gates=(*spec.readiness_gates, gate))


def next_step(pod: Pod, spec: UpdateSpec, state: UpdateState, now: datetime) -> PodStep:
    """Return the pod after the next batch of an update, with the record of what is left."""
    chosen = _batch(pod, spec)
    changed = _with_metadata(pod, spec, chosen)
    images = {name: image for name, image in spec.container_images.items() if name in chosen}
    containers = tuple(
        structs.replace(each, image=images[each.name]) if each.name in images else each
        for each in changed.spec.containers
    )
    changed = structs.replace(changed, spec=structs.replace(changed.spec, containers=containers))
    was = {
        each.name: ContainerState(image_id=each.image_id)
        for each in pod.status.container_statuses
        if each.name in images
    }
    names = tuple(sorted(chosen))
    batch = ContainerBatch(timestamp=time_text(now), containers=names)
    new = structs.replace(
        state,
        last_container_statuses={**was, **state.last_container_statuses},
        next_container_images=_left(spec.container_images, chosen),
        next_container_ref_metadata=_left(spec.container_ref_metadata, chosen),
        next_container_resources=_left(spec.container_resources, chosen),
        container_batches_record=(*state.container_batches_record, batch),
    )
    check = PreCheck(containers_required_ready=names) if new.has_next_batch else None
    new = structs.replace(new, pre_check_before_next=check)
    resources = {name: own for name, own in spec.container_resources.items() if name in chosen}
    return PodStep(annotated(changed, {UPDATE_STATE: state_text(new)}), new, resources)


def waits_for(pod: Pod, state: UpdateState) -> str:
    """Return the reason why the next batch cannot begin yet; empty if it can."""
    check = state.pre_check_before_next
    statuses = {each.name: each for each in pod.status.container_statuses}
    for name in check.containers_required_ready if check is not None else ():
        status = statuses.get(name)
        if status is None:
            return f"not found container {name} in pod status"
        if not status.ready:
            return f"waiting container {name} to be ready"
    return ""


def _left(changes: Mapping[str, T], chosen: set[str]) -> dict[str, T]:
    return {name: change for name, change in changes.items() if name not in chosen}


def _batch(pod: Pod, spec: UpdateSpec) -> set[str]:
    """Return the names of the containers that are changed now."""
    affected = {*spec.container_images, *spec.container_ref_metadata, *spec.container_resources}
    priorities = {each.name: launch_priority(each) for each in pod.spec.containers if each.name in affected}
    highest = max((each for each in priorities.values() if each is not None), default=None)
    chosen = {name for name, priority in priorities.items() if priority is None or priority == highest}
    return _with_sharers(chosen, spec.container_ref_metadata)


def _with_sharers(chosen: set[str], references: Mapping[str, MetadataPart]) -> set[str]:
    """Add the containers that read a label or annotation which one of the batch reads: it changes for all."""
    while True:
        keys = {key for name in chosen if name in references for key in _keys(references[name])}
        more = {name for name, own in references.items() if name not in chosen and keys & _keys(own)}
        if not more:
            return chosen
        chosen = chosen | more


def _keys(part: MetadataPart) -> set[tuple[str, str]]:
    return {("label", key) for key in part.labels} | {("annotation", key) for key in part.annotations}


def _with_metadata(pod: Pod, spec: UpdateSpec, chosen: set[str]) -> Pod:
    """Return the pod with the changed labels and annotations."""
    patch = (spec.meta_data_patch or {}).get("metadata", {})
    labels = _merged(pod.metadata.labels, patch.get("labels", {}))
    annotations = _merged(pod.metadata.annotations, patch.get("annotations", {}))
    for name, own in spec.container_ref_metadata.items():
        if name in chosen:
            labels |= own.labels
            annotations |= own.annotations
    gone = patch.get(DELETED_FINALIZERS, ())
    kept = tuple(each for each in pod.metadata.finalizers if each not in gone)
    added = tuple(each for each in patch.get("finalizers", ()) if each not in kept)
    metadata = structs.replace(
        pod.metadata, labels=labels, annotations=annotations, finalizers=(*kept, *added)
    )
    return structs.replace(pod, metadata=metadata)


def _merged(old: Mapping[str, str], patch: Mapping[str, str | None]) -> dict[str, str]:
    kept = {key: value for key, value in old.items() if key not in patch}
    return kept | {key: value for key, value in patch.items() if value is not None}
