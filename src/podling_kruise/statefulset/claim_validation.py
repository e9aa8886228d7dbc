"""Validation of changed claim templates whose claims become larger with their pods. Pure.

Upstream: ``ValidateVolumeClaimTemplateUpdate`` of ``statefulset_validation.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from podling.api.core_v1 import PersistentVolumeClaim
from podling.api.storage_v1 import StorageClass
from podling.machinery import fields, quantity
from podling.machinery.fields import FieldError, Path
from podling_kruise.statefulset.claim_sizes import STORAGE, is_alike
from podling_kruise.statefulset.types import StatefulSetSpec
from podling_kruise.template_validation import SPEC

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def claim_template_errors(
    new: StatefulSetSpec, old: StatefulSetSpec, classes: Sequence[StorageClass]
) -> list[FieldError]:
    """Return the first thing that is wrong with changed templates. ``classes``: those of the cluster."""
    if not new.grows_claims:
        return []
    templates = new.volume_claim_templates
    before = {each.metadata.name: each for each in old.volume_claim_templates}
    if len(templates) != len(old.volume_claim_templates):
        text = "volumeClaimTemplate can not be added or deleted when OnRollingUpdate"
        return [fields.invalid(SPEC.child("volumeClaimTemplates"), templates, text)]
    for template in templates:
        where = SPEC.child(f"volumeClaimTemplates[{template.metadata.name}]")
        held = before.get(template.metadata.name)
        if held is None:
            text = "volumeClaimTemplate name can not be modified"
            return [fields.forbidden(where.child("name"), text)]
        if not is_alike(held, template):
            text = "volumeClaimTemplate can not be modified when OnRollingUpdate"
            return [fields.invalid(where, template, text)]
        if _sizes(held) != _sizes(template) and (found := _class_errors(template, where, classes)):
            return found
    return []


def _sizes(claim: PersistentVolumeClaim) -> list[quantity.Quantity]:
    resources = claim.spec.resources
    return [quantity.parse(each.get(STORAGE, "0")) for each in (resources.requests, resources.limits)]


def _class_errors(
    template: PersistentVolumeClaim, where: Path, classes: Sequence[StorageClass]
) -> list[FieldError]:
    """Return an error if the class of the claims is unknown, or its volumes cannot become larger."""
    name = template.spec.storage_class_name
    if name is None:
        marked = [each for each in classes if each.metadata.annotations.get(DEFAULT_CLASS) == "true"]
        found = max(marked, key=lambda each: each.metadata.creation_timestamp or _LONG_AGO, default=None)
        if found is None:
            return []
    else:
        found = next((each for each in classes if each.metadata.name == name), None)
        if found is None:
            return [fields.invalid(where.child("spec", "storageClassName"), name, "can not get sc")]
    if found.allow_volume_expansion is False:
        text = f"storage class {found.metadata.name} does not support volume expansion"
        return [fields.forbidden(where.child("spec", "resources", "requests", "storage"), text)]
    return []
