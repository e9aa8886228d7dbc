"""The revisions of SidecarSets: hashes, what a revision keeps, and a SidecarSet as it was.

Upstream: ``hash.go`` and ``history_control.go`` of ``pkg/control/sidecarcontrol``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import structs

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Pod
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.owner_references import controller_reference
from podling.controllers.workloads.revisions import HASH, by_number
from podling.ids import SUFFIX_ALPHABET
from podling.machinery.encoding import codec
from podling.machinery.pods import is_sidecar
from podling_kruise.names import SYSTEM_NAMESPACE
from podling_kruise.sidecarset.annotations import (
    CUSTOM_VERSION,
    SET_HASH,
    SET_HASH_WITHOUT_IMAGE,
    SET_NAME,
    record_of,
)
from podling_kruise.sidecarset.types import InjectRevision, SidecarSet, SidecarSetSpec

KEPT = ("volumes", "containers", "initContainers", "imagePullSecrets", "patchPodMetadata")
"""The fields of a spec that a revision keeps."""
DIGITS = 10


def set_hash(spec: SidecarSetSpec) -> str:
    """Return the hash of all containers that can be updated."""
    found: dict[str, Any] = {"containers": codec.to_plain(spec.containers)}
    if any(is_sidecar(each) for each in spec.init_containers):
        found["initContainers"] = codec.to_plain(spec.init_containers)
    return _safe(msgspec.json.encode(found, order="deterministic"))


def hash_without_image(spec: SidecarSetSpec) -> str:
    """Return the hash of all but images: pods with an equal one can be updated in place."""
    bare = structs.replace(
        spec,
        containers=tuple(structs.replace(each, image="") for each in spec.containers),
        init_containers=tuple(structs.replace(each, image="") for each in spec.init_containers),
    )
    return set_hash(bare)


def _safe(text: bytes) -> str:
    digest = hashlib.sha256(text).hexdigest()
    return "".join(SUFFIX_ALPHABET[ord(digit) % len(SUFFIX_ALPHABET)] for digit in digest)


def new_revision(owner: SidecarSet, number: int, collisions: int) -> ControllerRevision:
    """Return a revision of the SidecarSet, in the namespace of OpenKruise's controllers."""
    spec = codec.to_plain(owner.spec)
    data = {"spec": {"$patch": "replace", **{name: spec.get(name) for name in KEPT}}}
    digest = _safe(msgspec.json.encode([data, collisions], order="deterministic"))[:DIGITS]
    labels = {**owner.metadata.labels, SET_NAME: owner.metadata.name or "", HASH: digest}
    if owner.spec.custom_version:
        labels[CUSTOM_VERSION] = owner.spec.custom_version
    return ControllerRevision(
        metadata=ObjectMeta(
            name=f"{owner.metadata.name}-{digest}",
            namespace=SYSTEM_NAMESPACE,
            labels=labels,
            annotations=dict(owner.metadata.annotations),
            owner_references=(controller_reference(owner),),
        ),
        data=data,
        revision=number,
    )


def restored(owner: SidecarSet, revision: ControllerRevision) -> SidecarSet:
    """Return the SidecarSet as it was at a revision."""
    data = revision.data.get("spec") if isinstance(revision.data, dict) else None
    kept = {name: value for name, value in (data or {}).items() if name in KEPT and value is not None}
    old = codec.from_plain({"spec": kept}, SidecarSet).spec
    spec = structs.replace(
        owner.spec,
        volumes=old.volumes,
        containers=old.containers,
        init_containers=old.init_containers,
        image_pull_secrets=old.image_pull_secrets,
        patch_pod_metadata=old.patch_pod_metadata,
    )
    own = revision.metadata.annotations
    hashes = {
        SET_HASH: own.get(SET_HASH) or set_hash(spec),
        SET_HASH_WITHOUT_IMAGE: own.get(SET_HASH_WITHOUT_IMAGE) or hash_without_image(spec),
    }
    annotations = {**owner.metadata.annotations, **hashes}
    metadata = structs.replace(owner.metadata, annotations=annotations)
    status = structs.replace(owner.status, latest_revision=revision.metadata.name or "")
    return structs.replace(owner, metadata=metadata, spec=spec, status=status)


def is_of(owner: str, revision: ControllerRevision) -> bool:
    metadata = revision.metadata
    return metadata.namespace == SYSTEM_NAMESPACE and metadata.labels.get(SET_NAME) == owner


def chosen_revision(
    owner: str, wanted: InjectRevision, revisions: Iterable[ControllerRevision]
) -> ControllerRevision | None:
    """Return the revision that is to be injected; of several with a custom version the newest."""
    mine = by_number(revisions)
    if wanted.revision_name is not None:
        return next((each for each in mine if each.metadata.name == wanted.revision_name), None)
    found = [
        each
        for each in mine
        if is_of(owner, each) and each.metadata.labels.get(CUSTOM_VERSION) == wanted.custom_version
    ]
    return found[-1] if found else None


def surplus(
    owner: SidecarSet, revisions: Sequence[ControllerRevision], pods: Iterable[Pod]
) -> list[ControllerRevision]:
    """Return the oldest revisions beyond the history that is kept: none of a pod, nor the newest."""
    limit = 10 if owner.spec.revision_history_limit is None else max(1, owner.spec.revision_history_limit)
    ordered = by_number(revisions)
    if len(ordered) <= limit:
        return []
    name = owner.metadata.name or ""
    live = {record_of(pod, name).revision for pod in pods}
    wanted = owner.spec.injection_strategy.revision
    if wanted is not None and (chosen := chosen_revision(name, wanted, ordered)) is not None:
        live.add(chosen.metadata.name or "")
    free = [each for each in ordered[:-1] if each.metadata.name not in live]
    return free[: max(0, len(ordered) - limit)]
