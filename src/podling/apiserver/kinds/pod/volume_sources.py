"""Validation of each volume source, in pods' volumes and PersistentVolumes.

Upstream: ``validateVolumeSource`` and the functions that it calls, in
``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podling.api.core_v1 import (
    ConfigMapVolumeSource,
    CSIPersistentVolumeSource,
    CSIVolumeSource,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    EphemeralVolumeSource,
    GitRepoVolumeSource,
    HostPathVolumeSource,
    ImageVolumeSource,
    KeyToPath,
    LocalVolumeSource,
    NFSVolumeSource,
    ProjectedVolumeSource,
    SecretReference,
    SecretVolumeSource,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.pod.env_validation import (
    VOLUME_FIELDS,
    validate_field_ref,
    validate_resource_ref,
)
from podling.apiserver.kinds.pod.projected_validation import validate_projected
from podling.apiserver.kinds.pod.vendor_volume_sources import VENDOR_CHECKS
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.quantity import ZERO, parse

HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
ONE_TYPE = "may not specify more than 1 volume type"
LONGEST_DRIVER_NAME = 63


def source_errors(path: Path, attribute: str, name: str, source: Any) -> Errors:
    """Return the errors in a source with the JSON name ``name`` (``attribute`` in Python) below ``path``."""
    # Kubernetes reports errors in this one under another name.
    here = path.child("persistentDisk" if attribute == "gce_persistent_disk" else name)
    errors = [
        fields.required(here.child(field))
        for required, field in _REQUIRED.get(attribute, ())
        if not getattr(source, required)
    ]
    check = _CHECKS.get(attribute)
    return errors + (check(here, source) if check is not None else [])


def _empty_dir_errors(path: Path, source: EmptyDirVolumeSource) -> Errors:
    if source.size_limit is None or parse(source.size_limit) >= ZERO:
        return []
    return [fields.forbidden(path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity")]


def _host_path_errors(path: Path, source: HostPathVolumeSource) -> Errors:
    if not source.path:
        return []
    errors = checks.no_backsteps(path.child("path"), source.path)
    return errors + checks.one_of(path.child("type"), source.type, HOST_PATH_TYPES)


def _keyed_file_errors(path: Path, source: ConfigMapVolumeSource | SecretVolumeSource) -> Errors:
    errors = checks.file_mode(path.child("defaultMode"), source.default_mode)
    for position, item in enumerate(source.items):
        errors += key_to_path(path.child("items").index(position), item)
    return errors


def key_to_path(path: Path, item: KeyToPath) -> Errors:
    """Check one key of a ConfigMap or Secret and its file path."""
    errors = [] if item.key else [fields.required(path.child("key"))]
    errors += [] if item.path else [fields.required(path.child("path"))]
    errors += checks.local_file_path(path.child("path"), item.path)
    return errors + checks.file_mode(path.child("mode"), item.mode)


def _downward_api_errors(path: Path, source: DownwardAPIVolumeSource) -> Errors:
    errors = checks.file_mode(path.child("defaultMode"), source.default_mode)
    for file in source.items:
        errors += downward_file(path, file)
    return errors


def downward_file(path: Path, file: DownwardAPIVolumeFile) -> Errors:
    """Check one downward API file; Kubernetes reports it at the volume, without an index."""
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


def _projected_errors(path: Path, source: ProjectedVolumeSource) -> Errors:
    return validate_projected(path, source, key_to_path, downward_file)


def _nfs_errors(path: Path, source: NFSVolumeSource) -> Errors:
    if source.path.startswith("/"):
        return []
    return [fields.invalid(path.child("path"), source.path, "must be an absolute path")]


def _image_errors(path: Path, source: ImageVolumeSource) -> Errors:
    return checks.required_one_of(
        path.child("pullPolicy"), source.pull_policy, ("Always", "IfNotPresent", "Never")
    )


def _git_repo_errors(path: Path, source: GitRepoVolumeSource) -> Errors:
    return checks.local_descending_path(path.child("directory"), source.directory or "")


def _local_errors(path: Path, source: LocalVolumeSource) -> Errors:
    return checks.no_backsteps(path.child("path"), source.path)


def driver_name_errors(path: Path, name: str) -> Errors:
    """Check the name of a CSI driver: a DNS subdomain, in upper or lower case."""
    errors = [] if name else [fields.required(path)]
    if len(name.encode()) > LONGEST_DRIVER_NAME:
        errors.append(fields.too_long(path, LONGEST_DRIVER_NAME))
    return errors + fields.invalid_each(path, name, names.dns_subdomain_errors(name.lower()))


_SECRETS = (
    ("controllerPublishSecretRef", "controller_publish_secret_ref"),
    ("controllerExpandSecretRef", "controller_expand_secret_ref"),
    ("nodePublishSecretRef", "node_publish_secret_ref"),
    ("nodeExpandSecretRef", "node_expand_secret_ref"),
)


def _csi_errors(path: Path, source: CSIVolumeSource | CSIPersistentVolumeSource) -> Errors:
    errors = driver_name_errors(path.child("driver"), source.driver)
    if isinstance(source, CSIVolumeSource):
        secret = source.node_publish_secret_ref
        if secret is not None and not secret.name:
            errors.append(fields.required(path.child("nodePublishSecretRef", "name")))
        elif secret is not None:
            errors += checks.dns_subdomain(path.child("name"), secret.name or "")
        return errors
    errors += [] if source.volume_handle else [fields.required(path.child("volumeHandle"))]
    for name, attribute in _SECRETS:
        reference = getattr(source, attribute)
        errors += _secret_reference_errors(path.child(name), reference) if reference is not None else []
    return errors


def _secret_reference_errors(path: Path, reference: SecretReference) -> Errors:
    name, namespace = reference.name, reference.namespace
    errors = checks.dns_subdomain(path.child("name"), name) if name else [fields.required(path.child("name"))]
    where = path.child("namespace")
    return errors + (checks.dns_label(where, namespace) if namespace else [fields.required(where)])


def _ephemeral_errors(path: Path, source: EphemeralVolumeSource) -> Errors:
    template = source.volume_claim_template
    if template is None:
        return []
    from podling.apiserver.kinds.pod.claim_validation import validate_claim_spec

    here = path.child("volumeClaimTemplate")
    errors = checks.template_metadata(here.child("metadata"), template.metadata)
    return errors + validate_claim_spec(here.child("spec"), template.spec)


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
    "flex_volume": (("driver", "driver"),),
    "config_map": (("name", "name"),),
    "azure_file": (("secret_name", "secretName"), ("share_name", "shareName")),
    "vsphere_volume": (("volume_path", "volumePath"),),
    "photon_persistent_disk": (("pd_id", "pdID"),),
    "portworx_volume": (("volume_id", "volumeID"),),
    "azure_disk": (("disk_name", "diskName"), ("disk_uri", "diskURI")),
    "scale_io": (("gateway", "gateway"), ("system", "system"), ("volume_name", "volumeName")),
    "local": (("path", "path"),),
    "ephemeral": (("volume_claim_template", "volumeClaimTemplate"),),
}
"""The required fields of each source: Python and JSON names."""

_CHECKS: dict[str, Callable[[Path, Any], Errors]] = {
    **VENDOR_CHECKS,
    "empty_dir": _empty_dir_errors,
    "host_path": _host_path_errors,
    "git_repo": _git_repo_errors,
    "secret": _keyed_file_errors,
    "nfs": _nfs_errors,
    "downward_api": _downward_api_errors,
    "config_map": _keyed_file_errors,
    "projected": _projected_errors,
    "csi": _csi_errors,
    "ephemeral": _ephemeral_errors,
    "image": _image_errors,
    "local": _local_errors,
}
