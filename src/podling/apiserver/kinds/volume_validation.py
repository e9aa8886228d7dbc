"""Validation of a pod's volumes: each has one source, and each source its own rules.

Only volumes without errors can be mounted: a mount of a broken one is reported as *Not found*, as in
Kubernetes, so that users see every place which depends on what they must mend.

Upstream: ``ValidateVolumes`` and ``validateVolumeSource`` in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podling.api.core_v1 import (
    ConfigMapVolumeSource,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    EphemeralVolumeSource,
    FCVolumeSource,
    HostPathVolumeSource,
    ImageVolumeSource,
    ISCSIVolumeSource,
    KeyToPath,
    NFSVolumeSource,
    ProjectedVolumeSource,
    SecretVolumeSource,
    Volume,
)
from podling.apiserver.kinds import checks
from podling.apiserver.kinds.checks import Errors
from podling.apiserver.kinds.env_validation import VOLUME_FIELDS, validate_field_ref, validate_resource_ref
from podling.apiserver.kinds.pod_scope import PodScope
from podling.apiserver.kinds.projected_validation import validate_projected
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.quantity import ZERO, parse

HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_ONE_TYPE = "may not specify more than 1 volume type"
_LUN = "lun"


def validate_volumes(path: Path, scope: PodScope) -> Errors:
    """Check every volume, and leave the good ones in ``scope.volumes``."""
    errors: Errors = []
    own_claims = (
        {f"{scope.pod_name}-{v.name}" for v in scope.spec.volumes if v.ephemeral} if scope.pod_name else set()
    )
    for position, volume in enumerate(scope.spec.volumes):
        here = path.index(position)
        found = _source(here, volume, scope)
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


def _source(path: Path, volume: Volume, scope: PodScope) -> Errors:
    errors: Errors = []
    found = False
    for attribute, name in _SOURCES.items():
        source = getattr(volume, attribute)
        if source is None:
            continue
        if found:
            errors.append(fields.forbidden(path.child(name), _ONE_TYPE))
            continue
        found = True
        errors += [
            fields.required(path.child(name, field))
            for required, field in _REQUIRED.get(attribute, ())
            if not getattr(source, required)
        ]
        check = _CHECKS.get(attribute)
        errors += check(path.child(name), source) if check is not None else []
        if attribute == "ephemeral":
            errors += _ephemeral_name(path.child("name"), volume, scope)
    if not found:
        errors.append(fields.required(path, "must specify a volume type"))
    return errors


def _empty_dir(path: Path, source: EmptyDirVolumeSource) -> Errors:
    if source.size_limit is None or parse(source.size_limit) >= ZERO:
        return []
    return [fields.forbidden(path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity")]


def _host_path(path: Path, source: HostPathVolumeSource) -> Errors:
    if not source.path:
        return []
    errors = checks.no_backsteps(path.child("path"), source.path)
    return errors + checks.one_of(path.child("type"), source.type, HOST_PATH_TYPES)


def _keyed_files(path: Path, source: ConfigMapVolumeSource | SecretVolumeSource) -> Errors:
    errors = checks.file_mode(path.child("defaultMode"), source.default_mode)
    for position, item in enumerate(source.items):
        errors += key_to_path(path.child("items").index(position), item)
    return errors


def key_to_path(path: Path, item: KeyToPath) -> Errors:
    """One key of a ConfigMap or Secret, and the file it becomes."""
    errors = [] if item.key else [fields.required(path.child("key"))]
    errors += [] if item.path else [fields.required(path.child("path"))]
    errors += checks.local_file_path(path.child("path"), item.path)
    return errors + checks.file_mode(path.child("mode"), item.mode)


def _downward_api(path: Path, source: DownwardAPIVolumeSource) -> Errors:
    errors = checks.file_mode(path.child("defaultMode"), source.default_mode)
    for file in source.items:
        errors += downward_file(path, file)
    return errors


def downward_file(path: Path, file: DownwardAPIVolumeFile) -> Errors:
    """One file of the downward API; Kubernetes reports it at the volume, without an index."""
    errors = [] if file.path else [fields.required(path.child("path"))]
    errors += checks.local_file_path(path.child("path"), file.path)
    if file.field_ref is not None:
        errors += validate_field_ref(path.child("fieldRef"), file.field_ref, VOLUME_FIELDS)
        if file.resource_field_ref is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(fields.invalid(path, "resource", text))
    elif file.resource_field_ref is not None:
        where = path.child("resourceFieldRef")
        errors += validate_resource_ref(where, file.resource_field_ref, in_volume=True)
    else:
        errors.append(fields.required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + checks.file_mode(path.child("mode"), file.mode)


def _projected(path: Path, source: ProjectedVolumeSource) -> Errors:
    return validate_projected(path, source, key_to_path, downward_file)


def _nfs(path: Path, source: NFSVolumeSource) -> Errors:
    if source.path.startswith("/"):
        return []
    return [fields.invalid(path.child("path"), source.path, "must be an absolute path")]


def _iscsi(path: Path, source: ISCSIVolumeSource) -> Errors:
    errors: Errors = []
    if source.iqn and not source.iqn.startswith(("iqn", "eui", "naa")):
        text = "must be valid format starting with iqn, eui, or naa"
        errors.append(fields.invalid(path.child("iqn"), source.iqn, text))
    errors += checks.within(path.child(_LUN), source.lun, 0, 255)
    if (source.chap_auth_discovery or source.chap_auth_session) and source.secret_ref is None:
        errors.append(fields.required(path.child("secretRef")))
    return errors


def _fibre_channel(path: Path, source: FCVolumeSource) -> Errors:
    here = path.child("targetWWNs")
    errors: Errors = []
    if not source.target_wwns and not source.wwids:
        text = "must specify either targetWWNs or wwids, but not both"
        errors.append(fields.required(here, text))
    if source.target_wwns and source.wwids:
        text = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(fields.invalid(here, source.target_wwns, text))
    if source.target_wwns:
        if source.lun is None:
            errors.append(fields.required(path.child(_LUN), "lun is required if targetWWNs is specified"))
        errors += checks.within(path.child(_LUN), source.lun, 0, 255)
    return errors


def _partition(path: Path, source: Any) -> Errors:
    if source.partition is None or 0 <= source.partition <= 255:
        return []
    text = names.inclusive_range_error(1, 255)
    return [fields.invalid(path.child("partition"), source.partition, text)]


def _flex_volume(path: Path, source: Any) -> Errors:
    errors: Errors = []
    for key in source.options:
        namespace = "." + key.partition("/")[0].lower()
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(fields.invalid(path.child("options").key(key), key, text))
    return errors


def _image(path: Path, source: ImageVolumeSource) -> Errors:
    return checks.required_one_of(
        path.child("pullPolicy"), source.pull_policy, ("Always", "IfNotPresent", "Never")
    )


def _ephemeral(path: Path, source: EphemeralVolumeSource) -> Errors:
    template = source.volume_claim_template
    if template is None:
        return []
    from podling.apiserver.kinds.claim_validation import validate_claim_spec

    return validate_claim_spec(path.child("volumeClaimTemplate", "spec"), template.spec)


def _ephemeral_name(path: Path, volume: Volume, scope: PodScope) -> Errors:
    if not scope.pod_name or not volume.name:
        return []
    claim = f"{scope.pod_name}-{volume.name}"
    problems = [f'PVC name "{claim}": {problem}' for problem in names.dns_subdomain_errors(claim)]
    return checks.invalid_each(path, volume.name, problems)


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
"""Every source with its JSON name, in the order in which they are looked at."""

_REQUIRED: dict[str, tuple[tuple[str, str], ...]] = {
    "host_path": (("path", "path"),),
    "git_repo": (("repository", "repository"),),
    "gce_persistent_disk": (("pd_name", "pdName"),),
    "aws_elastic_block_store": (("volume_id", "volumeID"),),
    "secret": (("secret_name", "secretName"),),
    "nfs": (("server", "server"), ("path", "path")),
    "iscsi": (("target_portal", "targetPortal"), ("iqn", "iqn")),
    "glusterfs": (("endpoints", "endpoints"), ("path", "path")),
    "persistent_volume_claim": (("claim_name", "claimName"),),
    "rbd": (("monitors", "monitors"), ("image", "image")),
    "cinder": (("volume_id", "volumeID"),),
    "cephfs": (("monitors", "monitors"),),
    "quobyte": (("registry", "registry"), ("volume", "volume")),
    "flex_volume": (("driver", "driver"),),
    "config_map": (("name", "name"),),
    "azure_file": (("secret_name", "secretName"), ("share_name", "shareName")),
    "vsphere_volume": (("volume_path", "volumePath"),),
    "photon_persistent_disk": (("pd_id", "pdID"),),
    "portworx_volume": (("volume_id", "volumeID"),),
    "azure_disk": (("disk_name", "diskName"), ("disk_uri", "diskURI")),
    "scale_io": (("gateway", "gateway"), ("system", "system"), ("volume_name", "volumeName")),
    "csi": (("driver", "driver"),),
    "ephemeral": (("volume_claim_template", "volumeClaimTemplate"),),
}
"""What each source cannot do without: Python and JSON names."""

_CHECKS: dict[str, Callable[[Path, Any], Errors]] = {
    "empty_dir": _empty_dir,
    "host_path": _host_path,
    "gce_persistent_disk": _partition,
    "aws_elastic_block_store": _partition,
    "secret": _keyed_files,
    "nfs": _nfs,
    "iscsi": _iscsi,
    "downward_api": _downward_api,
    "fc": _fibre_channel,
    "flex_volume": _flex_volume,
    "config_map": _keyed_files,
    "projected": _projected,
    "ephemeral": _ephemeral,
    "image": _image,
}
