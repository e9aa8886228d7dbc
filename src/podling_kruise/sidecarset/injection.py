"""Injection of SidecarSets into a new pod. Pure.

Upstream: ``pkg/webhook/pod/mutating/sidecarset.go`` and ``sidecarset_hotupgrade.go``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct, structs

from podling.api.core_v1 import (
    Container,
    EnvVar,
    EnvVarSource,
    LocalObjectReference,
    ObjectFieldSelector,
    Pod,
    Volume,
)
from podling.machinery.pods import is_sidecar
from podling.machinery.selectors import LabelSelector, readable_selector
from podling_kruise.sidecarset.annotations import (
    INJECTED_LIST,
    SET_HASH,
    SET_HASH_WITHOUT_IMAGE,
    VERSION,
    VERSION_ALT,
    WORKING_CONTAINERS,
    injected_names,
    new_record,
    records,
    records_text,
    version_alt_annotation,
    version_annotation,
    working_containers,
)
from podling_kruise.sidecarset.metadata_patches import patched_annotations
from podling_kruise.sidecarset.resources_policy import with_resources
from podling_kruise.sidecarset.sharing import injected_container, is_fixed
from podling_kruise.sidecarset.types import BEFORE, SidecarContainer, SidecarSet, hot_names


class Sidecar(Struct, frozen=True):
    """A container to inject. ``fixed`` is what is injected if that is the same for all pods."""

    container: SidecarContainer
    fixed: tuple[Container, ...]
    volumes: tuple[Volume, ...]

    @property
    def is_first(self) -> bool:
        return self.container.pod_inject_policy == BEFORE


class PreparedSet(Struct, frozen=True):
    """A SidecarSet, prepared once for many injections."""

    owner: SidecarSet
    selector: LabelSelector | None
    namespaces: LabelSelector | None
    containers: tuple[Sidecar, ...]
    init_containers: tuple[Sidecar, ...]
    names: tuple[str, ...]
    """The names of the containers that run beside the pod's own."""

    @property
    def name(self) -> str:
        return self.owner.metadata.name or ""


def prepared_set(owner: SidecarSet) -> PreparedSet:
    spec = owner.spec
    volumes = {each.name: each for each in spec.volumes}
    running = [each.name for each in spec.init_containers if is_sidecar(each)]
    return PreparedSet(
        owner,
        readable_selector(spec.selector),
        readable_selector(spec.namespace_selector),
        tuple(_sidecar(each, volumes, is_hot=each.is_hot) for each in spec.containers),
        tuple(
            _sidecar(each, volumes, is_hot=each.is_hot and is_sidecar(each)) for each in spec.init_containers
        ),
        tuple(sorted({*running, *(each.name for each in spec.containers)})),
    )


def _sidecar(container: SidecarContainer, volumes: dict[str, Volume], *, is_hot: bool) -> Sidecar:
    names = [each.name for each in container.volume_mounts]
    names += [each.name for each in container.volume_devices]
    fixed: tuple[Container, ...] = ()
    if is_fixed(container) and not is_hot:
        fixed = (injected_container(container, Pod()),)
    return Sidecar(container, fixed, tuple(volumes[name] for name in names if name in volumes))


def inject(pod: Pod, sets: Sequence[PreparedSet], now: datetime, *, by_name: bool = False) -> Pod:
    """Return a new pod with the containers, volumes, secrets and annotations of SidecarSets.

    Containers that the pod has already are replaced. Init containers come last, in the order of names.

    Args:
        by_name: containers are in the order of names, too.
    Raises ``UnreadableRecord``, ``NotJson`` and ``UnusablePolicy``.
    """
    annotations = pod.metadata.annotations
    for each in sets:
        if each.owner.spec.patch_pod_metadata:
            annotations = patched_annotations(annotations, each.owner.spec.patch_pod_metadata)
    added: list[tuple[Sidecar, Container]] = []
    added_init: list[tuple[Sidecar, Container]] = []
    hot = _HotUpgrades(working_containers(pod))
    names = _container_names(sets)
    for each in sets:
        added_init += _made(each.init_containers, pod, hot, names, init=True)
        added += _made(each.containers, pod, hot, names, init=False)
    if added or added_init:
        annotations = {**annotations, **hot.annotations(), **_hashes(pod, sets, now)}
    metadata = structs.replace(pod.metadata, annotations=annotations)
    if not (added or added_init):
        return structs.replace(pod, metadata=metadata)
    added_init.sort(key=lambda each: each[1].name)
    if by_name:
        added.sort(key=lambda each: each[1].name)
    spec = pod.spec
    secrets = [secret for each in sets for secret in each.owner.spec.image_pull_secrets]
    spec = structs.replace(
        spec,
        init_containers=_merged(spec.init_containers, added_init) if added_init else spec.init_containers,
        containers=_merged(spec.containers, added),
        volumes=_with_missing(
            spec.volumes, (volume for each, _ in (*added_init, *added) for volume in each.volumes)
        ),
        image_pull_secrets=_with_secrets(spec.image_pull_secrets, secrets)
        if secrets
        else spec.image_pull_secrets,
    )
    return structs.replace(pod, metadata=metadata, spec=spec)


class _HotUpgrades:
    """The annotations about containers with hot upgrades. ``working``: the containers that work."""

    def __init__(self, working: dict[str, str]) -> None:
        self._working, self._versions = working, dict[str, str]()

    def add(self, name: str) -> None:
        """Note that the first container of a sidecar works."""
        first, second = hot_names(name)
        for half, version, other in ((first, "1", "0"), (second, "0", "1")):
            self._versions[version_annotation(half)] = version
            self._versions[version_alt_annotation(half)] = other
        self._working[name] = first

    def annotations(self) -> dict[str, str]:
        if not self._versions:
            return {}
        text = msgspec.json.encode(self._working, order="deterministic").decode()
        return {**self._versions, WORKING_CONTAINERS: text}


def _made(
    sidecars: Iterable[Sidecar], pod: Pod, hot: _HotUpgrades, names: Collection[str], *, init: bool
) -> list[tuple[Sidecar, Container]]:
    """Return the containers to inject. ``names``: those of all containers of SidecarSets."""
    found: list[tuple[Sidecar, Container]] = []
    for each in sidecars:
        if each.fixed:
            found += [(each, one) for one in each.fixed]
            continue
        one = injected_container(with_resources(each.container, pod, names), pod)
        if each.container.is_hot and (not init or is_sidecar(one)):
            hot.add(one.name)
            found += [(each, half) for half in _halves(each.container, one)]
        else:
            found.append((each, one))
    return found


def _container_names(sets: Iterable[PreparedSet]) -> set[str]:
    return {each.container.name for owner in sets for each in (*owner.init_containers, *owner.containers)}


def _halves(sidecar: SidecarContainer, one: Container) -> tuple[Container, Container]:
    """Return the two containers of a sidecar with hot upgrades: the first works, the second is empty."""
    first, second = hot_names(sidecar.name)
    empty = sidecar.upgrade_strategy.hot_upgrade_empty_image
    return (
        structs.replace(one, name=first, env=(*one.env, *_versions(first))),
        structs.replace(one, name=second, image=empty, env=(*one.env, *_versions(second))),
    )


def _versions(name: str) -> tuple[EnvVar, EnvVar]:
    def variable(own: str, annotation: str) -> EnvVar:
        path = f"metadata.annotations['{annotation}']"
        field = ObjectFieldSelector(api_version="v1", field_path=path)
        return EnvVar(name=own, value_from=EnvVarSource(field_ref=field))

    return (
        variable(VERSION, version_annotation(name)),
        variable(VERSION_ALT, version_alt_annotation(name)),
    )


def _hashes(pod: Pod, sets: Sequence[PreparedSet], now: datetime) -> dict[str, str]:
    """Return the annotations that record which forms of the SidecarSets the pod has."""
    annotations = pod.metadata.annotations
    whole, bare = records(annotations, SET_HASH), records(annotations, SET_HASH_WITHOUT_IMAGE)
    for each in sets:
        own, name = each.owner.metadata.annotations, each.name
        if not (each.containers or each.init_containers):
            continue
        revision = each.owner.status.latest_revision
        whole[name] = new_record(name, own.get(SET_HASH, ""), each.names, now, revision)
        bare[name] = new_record(name, own.get(SET_HASH_WITHOUT_IMAGE, ""), each.names, now)
    names = sorted({*injected_names(pod), *(each.name for each in sets)})
    return {
        SET_HASH: records_text(whole),
        SET_HASH_WITHOUT_IMAGE: records_text(bare),
        INJECTED_LIST: ",".join(names),
    }


def _merged(
    containers: tuple[Container, ...], added: Sequence[tuple[Sidecar, Container]]
) -> tuple[Container, ...]:
    new = {one.name: one for _, one in added}
    known = {each.name for each in containers}
    first = [one for each, one in added if one.name not in known and each.is_first]
    last = [one for each, one in added if one.name not in known and not each.is_first]
    kept = [new.get(each.name, each) for each in containers]
    return (*first, *kept, *last)


def _with_missing(volumes: tuple[Volume, ...], more: Iterable[Volume]) -> tuple[Volume, ...]:
    names = {each.name for each in volumes}
    added = []
    for each in more:
        if each.name not in names:
            names.add(each.name)
            added.append(each)
    return (*volumes, *added) if added else volumes


def _with_secrets(
    secrets: tuple[LocalObjectReference, ...], more: Iterable[LocalObjectReference]
) -> tuple[LocalObjectReference, ...]:
    return tuple(dict.fromkeys((*secrets, *more)))
