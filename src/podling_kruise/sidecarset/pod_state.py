"""The state of an injected pod, as its SidecarSet sees it. Pure.

Upstream: ``sidecarset_control.go`` and ``util_hotupgrade.go`` of ``pkg/control/sidecarcontrol``, and
``sidecarset_hotupgrade.go`` of the controller.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from podling.api.core_v1 import Pod
from podling.controllers.pod_state import is_active
from podling.machinery.pods import is_ready
from podling_kruise.sidecarset.annotations import (
    SET_HASH,
    SET_HASH_WITHOUT_IMAGE,
    injected_names,
    record_of,
    update_states,
    working_containers,
)
from podling_kruise.sidecarset.types import SidecarContainer, SidecarSet, hot_names


def is_updated(owner: SidecarSet, pod: Pod) -> bool:
    """Return whether the pod has the newest form of the SidecarSet."""
    return record_of(pod, owner.metadata.name or "").hash == owner.metadata.annotations.get(SET_HASH, "")


def is_managed(owner: SidecarSet, pod: Pod) -> bool:
    """Return whether the active pod was injected, and still has all of the SidecarSet's containers."""
    if not is_active(pod) or owner.metadata.name not in injected_names(pod):
        return False
    names = {each.name for each in pod.spec.containers}
    for sidecar in owner.spec.containers:
        if sidecar.is_hot:
            if sidecar.name not in working_containers(pod) or not names.issuperset(hot_names(sidecar.name)):
                return False
        elif sidecar.name not in names:
            return False
    return True


def containers_in_pod(owner: SidecarSet) -> set[str]:
    """Return the names that the SidecarSet's containers have in pods."""
    found: set[str] = set()
    for sidecar in owner.spec.containers:
        found.update(hot_names(sidecar.name) if sidecar.is_hot else (sidecar.name,))
    return found


def hot_containers(sidecar: str, pod: Pod) -> tuple[str, str]:
    """Return the container that works, and the other one: empty, or of the older revision."""
    first, second = hot_names(sidecar)
    return (first, second) if working_containers(pod).get(sidecar) == first else (second, first)


def empty_containers(owner: SidecarSet, pod: Pod) -> dict[str, str]:
    """Return the containers that do not work, with the images that they shall have."""
    return {
        hot_containers(each.name, pod)[1]: each.upgrade_strategy.hot_upgrade_empty_image
        for each in owner.spec.containers
        if each.is_hot
    }


def is_consistent(owner: SidecarSet, pod: Pod, names: Collection[str] | None = None) -> bool:
    """Return whether the pod's status shows the images of its spec. ``names``: of which containers."""
    if len(pod.spec.containers) != len(pod.status.container_statuses):
        return False
    wanted = names if names is not None else containers_in_pod(owner)
    ids = {each.name: each.image_id for each in pod.status.container_statuses}
    images = [(each.image, ids.get(each.name, "")) for each in pod.spec.containers if each.name in wanted]
    if all("@" in image and "@" in found for image, found in images):
        return all(_digest(image) == _digest(found) for image, found in images)
    return is_update_complete(owner.metadata.name or "", pod, wanted)


def _digest(image: str) -> str:
    return image.rpartition("@")[2]


def is_update_complete(name: str, pod: Pod, wanted: Collection[str]) -> bool:
    """Return whether no container of a SidecarSet still has the image of before its last update."""
    states = update_states(pod)
    if states is None:
        return False
    before = states[name].last_container_statuses if name in states else {}
    images = {each.name: each.image for each in pod.spec.containers}
    return not any(
        status.name in wanted
        and status.name in before
        and before[status.name].image_id == status.image_id
        and images.get(status.name) != status.image
        for status in pod.status.container_statuses
    )


def is_pod_ready(owner: SidecarSet, pod: Pod) -> bool:
    """Return whether the pod runs and is ready, and no hot upgrade is under way."""
    images = {each.name: each.image for each in pod.spec.containers}
    if any(
        empty and images.get(name, empty) != empty for name, empty in empty_containers(owner, pod).items()
    ):
        return False
    return pod.status.phase == "Running" and is_ready(pod)


def can_update(owner: SidecarSet, pod: Pod) -> bool:
    """Return whether nothing but images has changed since the pod was injected."""
    name = owner.metadata.name or ""
    own = owner.metadata.annotations.get(SET_HASH_WITHOUT_IMAGE, "")
    return record_of(pod, name, SET_HASH_WITHOUT_IMAGE).hash == own


def is_in_update(owner: SidecarSet, pod: Pod) -> bool:
    """Return whether a hot upgrade must end before the next one begins.

    A container of a cold upgrade that still runs with its old image, since the new one cannot be pulled, does
    not hold back the image that is to replace the missing one.
    """
    ready = {each.name for each in pod.status.container_statuses if each.ready}
    hot = [name for each in owner.spec.containers if each.is_hot for name in hot_names(each.name)]
    return any(name in ready and not is_consistent(owner, pod, (name,)) for name in hot)


def can_reset(owner: SidecarSet, pod: Pod) -> bool:
    """Return whether a hot upgrade is so far that the older containers can become empty."""
    empty = empty_containers(owner, pod)
    images = {each.name: each.image for each in pod.spec.containers}
    if all(images.get(name) == image for name, image in empty.items()):
        return False
    if not is_consistent(owner, pod, containers_in_pod(owner) - empty.keys()):
        return False
    if pod.status.phase == "Running" and is_ready(pod):
        return True
    return all(each.ready for each in pod.status.container_statuses if each.name not in empty)


def container_to_upgrade(owner: SidecarSet, sidecar: SidecarContainer, pod: Pod) -> tuple[str, str]:
    """Return which of both containers gets the new image, and the other one.

    The empty one; else the one that is not ready; else the older one.
    """
    first, second = hot_names(sidecar.name)
    images = {each.name: each.image for each in pod.spec.containers}
    empty = sidecar.upgrade_strategy.hot_upgrade_empty_image
    if images.get(first) == empty:
        return first, second
    if images.get(second) == empty:
        return second, first
    good = {name for name in (first, second) if _is_good(owner, pod, name)}
    if good == {first}:
        return second, first
    if good == {second}:
        return first, second
    working, older = hot_containers(sidecar.name, pod)
    return older, working


def _is_good(owner: SidecarSet, pod: Pod, name: str) -> bool:
    ready = any(each.name == name and each.ready for each in pod.status.container_statuses)
    return ready and is_consistent(owner, pod, (name,))


def names_of_running(owner: SidecarSet) -> list[str]:
    """Return the names of the containers that run beside the pod's own, in order."""
    spec = owner.spec
    init: Iterable[str] = (each.name for each in spec.init_containers if each.restart_policy == "Always")
    return sorted({*init, *(each.name for each in spec.containers)})
