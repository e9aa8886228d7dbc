"""Warnings about deprecated or ineffective fields of volumes, claims and their classes.

Upstream: ``pkg/api/persistentvolume``, ``pkg/api/persistentvolumeclaim`` and ``pkg/api/storage``.
"""

from __future__ import annotations

from collections.abc import Iterator

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim
from podling.api.meta_v1 import ObjectMeta
from podling.api.storage_v1 import CSIStorageCapacity, StorageClass
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.deprecated_labels import (
    DEPRECATED_NODE_LABELS,
    node_selector_warnings,
    node_term_warnings,
)
from podling.machinery.fields import Path
from podling.machinery.storage_classes import BETA_CLASS

SPEC = Path("spec")

_DEPRECATED_SOURCES = (
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("photon_persistent_disk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("scale_io", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
)


def volume_warnings(volume: PersistentVolume) -> Iterator[str]:
    yield from _class_annotation(volume.metadata)
    spec = volume.spec
    if spec.persistent_volume_reclaim_policy == "Recycle":
        where = SPEC.child("persistentVolumeReclaimPolicy")
        yield (
            f"{where}: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning."
        )
    if spec.node_affinity is not None and spec.node_affinity.required is not None:
        terms = SPEC.child("nodeAffinity", "required", "nodeSelectorTerms")
        for position, term in enumerate(spec.node_affinity.required.node_selector_terms):
            yield from node_term_warnings(terms.index(position), term)
    for attribute, name, text in _DEPRECATED_SOURCES:
        if getattr(spec, attribute) is not None:
            yield f"{SPEC.child(name)}: {text}"


def claim_warnings(claim: PersistentVolumeClaim) -> Iterator[str]:
    """Yield warnings about a claim; storage sizes are whole bytes."""
    yield from _class_annotation(claim.metadata)
    where, wanted = SPEC.child("resources"), claim.spec.resources
    yield from checks.fraction_warnings(where.child("requests"), wanted.requests, ("storage",))
    yield from checks.fraction_warnings(where.child("limits"), wanted.limits, ("storage",))


def _class_annotation(metadata: ObjectMeta) -> Iterator[str]:
    if BETA_CLASS in metadata.annotations:
        where = Path("metadata.annotations").key(BETA_CLASS)
        yield f'{where}: deprecated since v1.8; use "storageClassName" attribute instead'


def class_warnings(storage_class: StorageClass) -> Iterator[str]:
    for position, term in enumerate(storage_class.allowed_topologies):
        here = Path("allowedTopologies").index(position).child("matchLabelExpressions")
        for number, expression in enumerate(term.match_label_expressions):
            if expression.key in DEPRECATED_NODE_LABELS:
                yield f"{here.index(number).child('key')}: {DEPRECATED_NODE_LABELS[expression.key]}"


def capacity_warnings(capacity: CSIStorageCapacity) -> Iterator[str]:
    yield from node_selector_warnings(Path("nodeTopology"), capacity.node_topology)
