"""VolumeAttachments: rules.

Upstream: ``ValidateVolumeAttachment`` in ``pkg/apis/storage/validation``.
"""

from __future__ import annotations

from podling.api.storage_v1 import (
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeError,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.apiserver.kinds.pod.volume_sources import driver_name_errors
from podling.apiserver.kinds.storage.persistent_volume_validation import volume_spec_errors
from podling.machinery import fields
from podling.machinery.fields import Path

SPEC, STATUS = Path("spec"), Path("status")
MAX_METADATA_BYTES = 256 * 1024
MAX_MESSAGE_BYTES = 1024


class VolumeAttachmentRules(TableRules[VolumeAttachment]):
    status_subresource = True
    status_keeps_metadata = True
    unconditional_update = False
    returns_deleted = True

    def validate(self, obj: VolumeAttachment, context: Context) -> Errors:
        spec = obj.spec
        errors = [] if spec.attacher else [fields.required(SPEC.child("attacher"))]
        errors += _attachment_source_errors(SPEC.child("source"), spec.source)
        errors += checks.dns_subdomain(SPEC.child("nodeName"), spec.node_name)
        errors += _status_errors(obj)
        errors += driver_name_errors(SPEC.child("attacher"), spec.attacher)
        name = spec.source.persistent_volume_name
        if name is not None:
            errors += checks.dns_subdomain(SPEC.child("source", "persistentVolumeName"), name)
        return errors

    def validate_update(self, new: VolumeAttachment, old: VolumeAttachment, context: Context) -> Errors:
        return self.validate(new, context) + checks.immutable(SPEC, new.spec, old.spec)


def _attachment_source_errors(path: Path, source: VolumeAttachmentSource) -> Errors:
    text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    inline, name = source.inline_volume_spec, source.persistent_volume_name
    if inline is None and name is None:
        return [fields.required(path, text)]
    if inline is not None and name is not None:
        return [fields.forbidden(path, text)]
    if inline is not None:
        return volume_spec_errors(path.child("inlineVolumeSpec"), inline, inline=True)
    where = path.child("persistentVolumeName")
    return [] if name else [fields.required(where, "must specify non empty persistentVolumeName")]


def _status_errors(obj: VolumeAttachment) -> Errors:
    status = obj.status
    errors: Errors = []
    size = sum(len(key.encode()) + len(text.encode()) for key, text in status.attachment_metadata.items())
    if size > MAX_METADATA_BYTES:
        errors.append(fields.too_long(STATUS.child("attachmentMetadata"), MAX_METADATA_BYTES))
    errors += _failure_errors(STATUS.child("attachError"), status.attach_error)
    return errors + _failure_errors(STATUS.child("detachError"), status.detach_error)


def _failure_errors(path: Path, failure: VolumeError | None) -> Errors:
    if failure is None:
        return []
    errors = checks.within(path.child("errorCode"), failure.error_code, 0, checks.MAX_INT32)
    if len((failure.message or "").encode()) > MAX_MESSAGE_BYTES:
        # Kubernetes reports this limit here.
        errors.insert(0, fields.too_long(path.child("message"), MAX_METADATA_BYTES))
    return errors
