"""Namespaces: they exist until the namespace controller has emptied them and removed their own finalizer.

``spec.finalizers`` holds ``kubernetes`` from the start. A deletion only sets the phase ``Terminating``; the
controller removes the finalizer through ``/finalize`` once the namespace is empty.

Upstream: ``pkg/registry/core/namespace``, ``pkg/apis/core/validation`` (``ValidateNamespace``).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import Namespace, NamespaceStatus
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, age
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.tables import Column

FINALIZER = "kubernetes"
NAME_LABEL = "kubernetes.io/metadata.name"


class NamespaceRules(KindRules[Namespace]):
    status_subresource = True
    columns = (NAME, Column("Status", description="Whether the namespace is in use or going"), AGE)
    field_labels = ("status.phase", "name")

    def name_errors(self, name: str) -> list[str]:
        return names.dns_label_errors(name)

    def default(self, obj: Namespace) -> Namespace:
        name = obj.metadata.name
        if not name or obj.metadata.labels.get(NAME_LABEL) == name:
            return obj
        labels = {**obj.metadata.labels, NAME_LABEL: name}
        return change(obj, metadata=change(obj.metadata, labels=labels))

    def prepare_create(self, obj: Namespace, context: Context) -> Namespace:
        obj = self.default(obj)  # a generated name exists only at this point
        spec = obj.spec
        if FINALIZER not in spec.finalizers:
            spec = change(spec, finalizers=(*spec.finalizers, FINALIZER))
        return change(obj, spec=spec, status=NamespaceStatus(phase="Active"))

    def prepare_update(self, new: Namespace, old: Namespace, context: Context) -> Namespace:
        if context.subresource == "finalize":
            return change(new, status=old.status)
        if context.subresource == "status":
            return super().prepare_update(new, old, context)
        return change(new, spec=change(new.spec, finalizers=old.spec.finalizers), status=old.status)

    def validate(self, obj: Namespace, context: Context) -> Errors:
        return _finalizer_errors(obj, indexed=False)

    def validate_update(self, new: Namespace, old: Namespace, context: Context) -> Errors:
        if context.subresource == "status":
            return _phase_errors(new)
        return _finalizer_errors(new, indexed=True) if context.subresource == "finalize" else []

    def has_other_finalizers(self, obj: Namespace) -> bool:
        return bool(obj.spec.finalizers)

    def mark_deleted(self, obj: Namespace) -> Namespace:
        return change(obj, status=change(obj.status, phase="Terminating"))

    def selectable_fields(self, obj: Namespace) -> dict[str, str]:
        return {"status.phase": obj.status.phase or "", "name": obj.metadata.name or ""}

    def row(self, obj: Namespace, now: datetime) -> Sequence[Any]:
        return obj.metadata.name, obj.status.phase, age(obj, now)


def _finalizer_errors(obj: Namespace, *, indexed: bool) -> Errors:
    path = Path("spec.finalizers")
    errors: Errors = []
    for position, finalizer in enumerate(obj.spec.finalizers):
        here = path.index(position) if indexed else path
        errors += checks.label_name(here, finalizer)
        if "/" not in finalizer and finalizer != FINALIZER:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(fields.invalid(here, finalizer, text))
    return errors


def _phase_errors(obj: Namespace) -> Errors:
    """Return an error unless the phase is ``Terminating`` exactly for a namespace that is being deleted."""
    here, phase = Path("status.Phase"), obj.status.phase
    if obj.metadata.deletion_timestamp is None:
        if phase != "Active":
            text = "may only be 'Active' if `deletionTimestamp` is empty"
            return [fields.invalid(here, phase, text)]
    elif phase != "Terminating":
        text = "may only be 'Terminating' if `deletionTimestamp` is not empty"
        return [fields.invalid(here, phase, text)]
    return []
