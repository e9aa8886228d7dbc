"""Validation of a pod's volumes: exactly one source each.

Only volumes without errors can be mounted. A mount of an invalid one is reported as *Not found*, as in
Kubernetes, so that users see every field that depends on the correction.

Upstream: ``ValidateVolumes`` and ``validateVolumeSource`` in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from podling.api.core_v1 import Volume
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.pod.pod_scope import PodScope
from podling.apiserver.kinds.pod.vendor_volume_sources import portal_name_errors
from podling.apiserver.kinds.pod.volume_sources import ONE_TYPE, source_errors
from podling.machinery import fields, names
from podling.machinery.fields import Path


def validate_volumes(path: Path, scope: PodScope) -> Errors:
    """Return the errors in all volumes, and store the valid ones in ``scope.volumes``."""
    errors: Errors = []
    own_claims = (
        {f"{scope.pod_name}-{v.name}" for v in scope.spec.volumes if v.ephemeral} if scope.pod_name else set()
    )
    for position, volume in enumerate(scope.spec.volumes):
        here = path.index(position)
        found = _source_errors(here, volume, scope)
        if not volume.name:
            found.append(fields.required(here.child("name")))
        else:
            found += checks.dns_label(here.child("name"), volume.name)
        if volume.name in scope.volumes:
            found.append(fields.duplicate(here.child("name"), volume.name))
        if not found:
            scope.volumes[volume.name] = volume
        errors += found
        claim = volume.persistent_volume_claim
        if claim is not None and claim.claim_name in own_claims:
            where = here.child("persistentVolumeClaim", "claimName")
            text = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(fields.invalid(where, claim.claim_name, text))
    return errors


def _source_errors(path: Path, volume: Volume, scope: PodScope) -> Errors:
    errors: Errors = []
    found = False
    for attribute, name in _SOURCES.items():
        source = getattr(volume, attribute)
        if source is None:
            continue
        if found:
            errors.append(fields.forbidden(path.child(_MISSPELT.get(name, name)), ONE_TYPE))
        else:
            errors += _first_source_errors(path, attribute, volume, scope)
        found = True
        if attribute == "iscsi":
            errors += portal_name_errors(path.child("name"), volume.name, volume.name, source)
    if not found:
        errors.append(fields.required(path, "must specify a volume type"))
    return errors


def _first_source_errors(path: Path, attribute: str, volume: Volume, scope: PodScope) -> Errors:
    name, source = _SOURCES[attribute], getattr(volume, attribute)
    errors: Errors = []
    if attribute == "image" and scope.is_pod and not source.reference:
        errors.append(fields.required(path.child(name, "reference")))
    errors += source_errors(path, attribute, name, source)
    return errors + (
        _ephemeral_name_errors(path.child("name"), volume, scope) if attribute == "ephemeral" else []
    )


def _ephemeral_name_errors(path: Path, volume: Volume, scope: PodScope) -> Errors:
    if not scope.pod_name or not volume.name:
        return []
    claim = f"{scope.pod_name}-{volume.name}"
    problems = [f'PVC name "{claim}": {problem}' for problem in names.dns_subdomain_errors(claim)]
    return fields.invalid_each(path, volume.name, problems)


_SOURCES = {
    "empty_dir": "emptyDir", "host_path": "hostPath", "git_repo": "gitRepo",
    "gce_persistent_disk": "gcePersistentDisk", "aws_elastic_block_store": "awsElasticBlockStore",
    "secret": "secret", "nfs": "nfs", "iscsi": "iscsi", "glusterfs": "glusterfs", "flocker": "flocker",
    "persistent_volume_claim": "persistentVolumeClaim", "rbd": "rbd", "cinder": "cinder", "cephfs": "cephfs",
    "quobyte": "quobyte", "downward_api": "downwardAPI", "fc": "fc", "flex_volume": "flexVolume",
    "config_map": "configMap", "azure_file": "azureFile", "vsphere_volume": "vsphereVolume",
    "photon_persistent_disk": "photonPersistentDisk", "portworx_volume": "portworxVolume",
    "azure_disk": "azureDisk", "storageos": "storageos", "projected": "projected", "scale_io": "scaleIO",
    "csi": "csi", "ephemeral": "ephemeral", "image": "image",
}  # fmt: skip
"""The JSON name of each source, in the order in which they are checked."""

_MISSPELT = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""Kubernetes' misspelling of these names in its error about a second source."""
