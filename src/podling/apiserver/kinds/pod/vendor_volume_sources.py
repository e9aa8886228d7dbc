"""Validation of vendor-specific volume sources, beyond their required fields.

Upstream: ``pkg/apis/core/validation/validation.go``. Most were in-tree drivers, which only CSI drivers serve
today; their rules still apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from podling.api.core_v1 import (
    AzureDiskVolumeSource,
    AzureFilePersistentVolumeSource,
    FCVolumeSource,
    FlockerVolumeSource,
    GlusterfsPersistentVolumeSource,
    ISCSIPersistentVolumeSource,
    ISCSIVolumeSource,
    QuobyteVolumeSource,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields, names
from podling.machinery.fields import Path

LONGEST_PORTAL_NAME = 64
_LUN = "lun"
_REGISTRY = "must be a host:port pair or multiple pairs separated by commas"
_HOST_AND_PORT = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*").fullmatch
_MANAGED = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_INITIATORS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)\Z"),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}
"""Patterns of iSCSI target and initiator names, by their first three letters."""


def portal_name_errors(
    path: Path, shown: str, name: str, source: ISCSIVolumeSource | ISCSIPersistentVolumeSource
) -> Errors:
    """Return an error if the volume's name and portal, which together name an interface, are too long."""
    whole = f"{name}:{source.target_portal}"
    if source.initiator_name is None or len(whole.encode()) <= LONGEST_PORTAL_NAME:
        return []
    text = (
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
        "iscsi.initiatorName is specified."
    )
    return [fields.invalid(path, shown, text)]


def _iscsi_errors(path: Path, source: ISCSIVolumeSource | ISCSIPersistentVolumeSource) -> Errors:
    inline = isinstance(source, ISCSIVolumeSource)
    errors = _initiator_errors(path.child("iqn"), source.iqn, inline=inline) if source.iqn else []
    errors += checks.within(path.child(_LUN), source.lun, 0, 255)
    if (source.chap_auth_discovery or source.chap_auth_session) and source.secret_ref is None:
        errors.append(fields.required(path.child("secretRef")))
    if not inline:
        errors += _secret_name_errors(path, source.secret_ref)
    if source.initiator_name is not None:
        errors += _initiator_errors(path.child("initiatorname"), source.initiator_name, inline=inline)
    return errors


def _initiator_errors(path: Path, name: str, *, inline: bool) -> Errors:
    form = _INITIATORS.get(name[:3])
    if form is None:
        text = "must be valid format starting with iqn, eui, or naa" if inline else "must be valid format"
        return [fields.invalid(path, name, text)]
    return [] if form.search(name) else [fields.invalid(path, name, "must be valid format")]


def _secret_name_errors(path: Path, reference: Any) -> Errors:
    if reference is None or reference.name:
        return []
    return [fields.required(path.child("secretRef", "name"))]


def _secret_in_namespace_errors(path: Path, reference: Any) -> Errors:
    """Return the errors in a secret reference; a PersistentVolume's names the namespace, a pod's cannot."""
    errors = _secret_name_errors(path, reference)
    if reference is None or not hasattr(reference, "namespace") or reference.namespace:
        return errors
    return [*errors, fields.required(path.child("secretRef", "namespace"))]


def _cinder_errors(path: Path, source: Any) -> Errors:
    return _secret_in_namespace_errors(path, source.secret_ref)


def _storage_os_errors(path: Path, source: Any) -> Errors:
    where, name = path.child("volumeName"), source.volume_name
    errors = checks.dns_label(where, name) if name else [fields.required(where)]
    if source.volume_namespace:
        errors += checks.dns_label(path.child("volumeNamespace"), source.volume_namespace)
    return errors + _secret_in_namespace_errors(path, source.secret_ref)


def _flocker_errors(path: Path, source: FlockerVolumeSource) -> Errors:
    name, uuid = source.dataset_name or "", source.dataset_uuid or ""
    errors: Errors = []
    if not name and not uuid:
        errors.append(fields.required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        text = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(fields.invalid(path, "resource", text))
    if "/" in name:
        errors.append(fields.invalid(path.child("datasetName"), name, "must not contain '/'"))
    return errors


def _quobyte_errors(path: Path, source: QuobyteVolumeSource) -> Errors:
    where = path.child("registry")
    if not source.registry:
        errors = [fields.required(where, _REGISTRY)]
    elif len((source.tenant or "").encode()) > 64:
        text = "must be a UUID and may not exceed a length of 64 characters"
        errors = [fields.required(path.child("tenant"), text)]
    else:
        bad = [pair for pair in source.registry.split(",") if not _HOST_AND_PORT(pair)]
        errors = [fields.invalid(where, source.registry, _REGISTRY) for _ in bad]
    return errors if source.volume else [*errors, fields.required(path.child("volume"))]


def _glusterfs_errors(path: Path, source: Any) -> Errors:
    where = path.child("endpointsNamespace")
    if not isinstance(source, GlusterfsPersistentVolumeSource) or source.endpoints_namespace is None:
        return []
    if not source.endpoints_namespace:
        text = "if the endpointnamespace is set, it must be a valid namespace name"
        return [fields.invalid(where, "", text)]
    return checks.dns_label(where, source.endpoints_namespace)


def _azure_file_errors(path: Path, source: Any) -> Errors:
    if isinstance(source, AzureFilePersistentVolumeSource) and source.secret_namespace == "":
        return [fields.required(path.child("secretNamespace"))]
    return []


def _azure_disk_errors(path: Path, source: AzureDiskVolumeSource) -> Errors:
    errors = checks.one_of(path.child("cachingMode"), source.caching_mode, ("None", "ReadOnly", "ReadWrite"))
    errors += checks.one_of(path.child("kind"), source.kind, ("Dedicated", "Managed", "Shared"))
    where, address = path.child("diskURI"), source.disk_uri
    if source.kind == "Managed" and not address.startswith("/subscriptions/"):
        errors.append(fields.not_supported(where, address, (_MANAGED,)))
    elif source.kind not in (None, "Managed") and not address.startswith("https://"):
        errors.append(fields.not_supported(where, address, (_BLOB,)))
    return errors


def _fibre_channel_errors(path: Path, source: FCVolumeSource) -> Errors:
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


def _partition_errors(path: Path, source: Any) -> Errors:
    if source.partition is None or 0 <= source.partition <= 255:
        return []
    text = names.inclusive_range_error(1, 255)
    return [fields.invalid(path.child("partition"), source.partition, text)]


def _flex_volume_errors(path: Path, source: Any) -> Errors:
    errors: Errors = []
    for key in source.options:
        namespace = "." + key.partition("/")[0].lower()
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(fields.invalid(path.child("options").key(key), key, text))
    return errors


VENDOR_CHECKS: dict[str, Callable[[Path, Any], Errors]] = {
    "gce_persistent_disk": _partition_errors,
    "aws_elastic_block_store": _partition_errors,
    "iscsi": _iscsi_errors,
    "fc": _fibre_channel_errors,
    "flex_volume": _flex_volume_errors,
    "cinder": _cinder_errors,
    "storageos": _storage_os_errors,
    "flocker": _flocker_errors,
    "quobyte": _quobyte_errors,
    "glusterfs": _glusterfs_errors,
    "azure_file": _azure_file_errors,
    "azure_disk": _azure_disk_errors,
}
"""The checks by the attribute that holds the source."""
