"""Validation of a PersistentVolume's spec, also inline in a VolumeAttachment.

Upstream: ``ValidatePersistentVolumeSpec`` and ``ValidatePersistentVolumeUpdate`` in
``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

import posixpath

from podling.api.core_v1 import (
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeSpec,
    VolumeNodeAffinity,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.deprecated_labels import NEWER_NODE_LABELS
from podling.apiserver.kinds.common.differences import describe
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.pod.claim_validation import VOLUME_MODES, access_mode_errors
from podling.apiserver.kinds.pod.scheduling_validation import validate_node_selector
from podling.apiserver.kinds.pod.vendor_volume_sources import portal_name_errors
from podling.apiserver.kinds.pod.volume_sources import ONE_TYPE, source_errors
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.quantity import ZERO, parse

SPEC = Path("spec")
RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")

_SOURCES = {
    "host_path": "hostPath", "gce_persistent_disk": "gcePersistentDisk",
    "aws_elastic_block_store": "awsElasticBlockStore", "glusterfs": "glusterfs", "flocker": "flocker",
    "nfs": "nfs", "rbd": "rbd", "quobyte": "quobyte", "cephfs": "cephfs", "iscsi": "iscsi",
    "cinder": "cinder", "fc": "fc", "flex_volume": "flexVolume", "azure_file": "azureFile",
    "vsphere_volume": "vsphereVolume", "photon_persistent_disk": "photonPersistentDisk",
    "portworx_volume": "portworxVolume", "azure_disk": "azureDisk", "scale_io": "scaleIO",
    "local": "local", "storageos": "storageos", "csi": "csi",
}  # fmt: skip
"""The JSON name of each source, in the order in which they are checked."""


def volume_spec_errors(
    path: Path, spec: PersistentVolumeSpec, *, name: str = "", inline: bool = False
) -> Errors:
    """Return the errors in a spec; an ``inline`` one has no ``name``, capacity, claim or class."""
    errors = _inline_errors(path, spec) if inline else []
    where = path.child("accessModes")
    errors += access_mode_errors(where, spec.access_modes) if spec.access_modes else [fields.required(where)]
    where, policy = path.child("persistentVolumeReclaimPolicy"), spec.persistent_volume_reclaim_policy
    if not inline:
        errors += _capacity_errors(path.child("capacity"), spec)
        errors += checks.one_of(where, policy, RECLAIM_POLICIES)
        errors += _affinity_errors(path.child("nodeAffinity"), spec.node_affinity)
    errors += _source_errors(path, spec, name)
    if spec.host_path is not None and policy == "Recycle" and posixpath.normpath(spec.host_path.path) == "/":
        errors.append(fields.forbidden(where, "may not be 'recycle' for a hostPath mount of '/'"))
    if not inline:
        if spec.storage_class_name:
            errors += checks.dns_subdomain(path.child("storageClassName"), spec.storage_class_name)
        errors += checks.one_of(path.child("volumeMode"), spec.volume_mode, VOLUME_MODES)
    return errors + _attributes_class_errors(path, spec)


def _inline_errors(path: Path, spec: PersistentVolumeSpec) -> Errors:
    unwanted = "may not be specified in the context of inline volumes"
    errors = [
        fields.forbidden(path.child(name), unwanted)
        for name, value in (("claimRef", spec.claim_ref), ("capacity", spec.capacity))
        if value
    ]
    if spec.csi is None:
        errors.append(
            fields.required(path.child("csi"), "has to be specified in the context of inline volumes")
        )
    if spec.persistent_volume_reclaim_policy not in (None, "", "Retain"):
        text = "may only be Retain in the context of inline volumes"
        errors.append(fields.forbidden(path.child("persistentVolumeReclaimPolicy"), text))
    errors += [
        fields.forbidden(path.child(name), unwanted)
        for name, value in (
            ("nodeAffinity", spec.node_affinity),
            ("storageClassName", spec.storage_class_name),
        )
        if value
    ]
    if spec.volume_mode not in (None, "Filesystem"):
        text = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        errors.append(fields.forbidden(path.child("volumeMode"), text))
    return errors


def _capacity_errors(path: Path, spec: PersistentVolumeSpec) -> Errors:
    capacity = spec.capacity
    errors = [] if capacity else [fields.required(path)]
    if set(capacity) != {"storage"}:
        errors.append(fields.not_supported(path, capacity, ("storage",)))
    for name, text in capacity.items():
        value = parse(text)
        if value < ZERO:
            errors.append(fields.invalid(path.key(name), value.value, "must be a valid resource quantity"))
        if value <= ZERO:
            errors.append(fields.invalid(path.key(name), str(value), checks.POSITIVE))
    return errors


def _affinity_errors(path: Path, affinity: VolumeNodeAffinity | None) -> Errors:
    if affinity is None:
        return []
    if affinity.required is None:
        return [fields.required(path.child("required"), "must specify required node constraints")]
    return validate_node_selector(path.child("required"), affinity.required)


def _source_errors(path: Path, spec: PersistentVolumeSpec, name: str) -> Errors:
    given = [attribute for attribute in _SOURCES if getattr(spec, attribute) is not None]
    if not given:
        return [fields.required(path, "must specify a volume type")]
    first, *more = given
    errors = source_errors(path, first, _SOURCES[first], getattr(spec, first))
    if spec.iscsi is not None and first == "iscsi":
        where = path.child("iscsi", "targetportal")
        errors += portal_name_errors(where, spec.iscsi.target_portal, name, spec.iscsi)
    if first == "local" and spec.node_affinity is None:
        errors.append(fields.required(path.child("nodeAffinity"), "Local volume requires node affinity"))
    return errors + [fields.forbidden(path.child(_SOURCES[each]), ONE_TYPE) for each in more]


def _attributes_class_errors(path: Path, spec: PersistentVolumeSpec) -> Errors:
    where, name = path.child("volumeAttributesClassName"), spec.volume_attributes_class_name
    if name is None:
        return []
    errors = (
        checks.dns_subdomain(where, name)
        if name
        else [fields.required(where, "an empty string is disallowed")]
    )
    if spec.csi is None:
        text = "has to be specified when using volumeAttributesClassName"
        errors.append(fields.required(path.child("csi"), text))
    return errors


def change_errors(new: PersistentVolume, old: PersistentVolume) -> Errors:
    """Return errors for changes of the source or node affinity; a secret for expansion may be added."""
    before, after = _only_source(old.spec), _only_source(new.spec)
    if (
        old.spec.csi is not None
        and old.spec.csi.controller_expand_secret_ref is None
        and after.csi is not None
    ):
        after = change(after, csi=change(after.csi, controller_expand_secret_ref=None))
    errors: Errors = []
    if after != before:
        text = f"spec.persistentvolumesource is immutable after creation\n{describe(before, after)}"
        errors.append(fields.forbidden(SPEC.child("persistentvolumesource"), text))
    errors += checks.immutable(Path("volumeMode"), new.spec.volume_mode, old.spec.volume_mode)
    affinity = new.spec.node_affinity
    if old.spec.node_affinity is not None and not _selects_same_nodes(affinity, old.spec.node_affinity):
        text = "field is immutable, except for updating from beta label to GA"
        errors.append(fields.invalid(Path("nodeAffinity"), affinity, text))
    if old.spec.volume_attributes_class_name is not None and new.spec.volume_attributes_class_name is None:
        where = SPEC.child("volumeAttributesClassName")
        errors.append(fields.forbidden(where, "update from non-nil value to nil is forbidden"))
    return errors


def _selects_same_nodes(new: VolumeNodeAffinity | None, old: VolumeNodeAffinity) -> bool:
    """Return whether only deprecated node labels changed, to their newer names."""
    if new == old:
        return True
    if new is None or new.required is None or old.required is None:
        return False
    before = [_expressions(term) for term in old.required.node_selector_terms]
    after = [_expressions(term) for term in new.required.node_selector_terms]
    return len(before) == len(after) and all(
        len(was) == len(now) and all(map(_is_same_requirement, now, was))
        for now, was in zip(after, before, strict=True)
    )


def _expressions(term: NodeSelectorTerm) -> tuple[NodeSelectorRequirement, ...]:
    return (*term.match_expressions, *term.match_fields)


def _is_same_requirement(new: NodeSelectorRequirement, old: NodeSelectorRequirement) -> bool:
    return new == old or (NEWER_NODE_LABELS.get(old.key) == new.key and change(new, key=old.key) == old)


def _only_source(spec: PersistentVolumeSpec) -> PersistentVolumeSpec:
    """Return the spec with only its source."""
    return PersistentVolumeSpec(**{name: getattr(spec, name) for name in _SOURCES})
