"""RuntimeClasses. Upstream: ``pkg/apis/node/validation``."""

from __future__ import annotations

from podling.api.core_v1 import ResourceRequirements, Toleration
from podling.api.node_v1 import RuntimeClass
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.deprecated_labels import DEPRECATED_NODE_LABELS
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.apiserver.kinds.pod.resource_validation import requirement_errors
from podling.apiserver.kinds.pod.scheduling_validation import validate_tolerations
from podling.machinery import fields, label_checks
from podling.machinery.fields import Path


class RuntimeClassRules(TableRules[RuntimeClass]):
    create_on_update = True
    unconditional_update = False

    def validate(self, obj: RuntimeClass, context: Context) -> Errors:
        errors = checks.dns_label(Path("handler"), obj.handler)
        if obj.overhead is not None:
            limits = ResourceRequirements(limits=obj.overhead.pod_fixed)
            errors += requirement_errors(Path("overhead"), limits)
        if obj.scheduling is not None:
            path = Path("scheduling")
            errors += label_checks.labels(path.child("nodeSelector"), obj.scheduling.node_selector)
            errors += _toleration_errors(path.child("tolerations"), obj.scheduling.tolerations)
        return errors

    def warnings(self, obj: RuntimeClass, old: RuntimeClass | None, context: Context) -> list[str]:
        selector = obj.scheduling.node_selector if obj.scheduling is not None else {}
        return [
            f"scheduling.nodeSelector: {text}"
            for label, text in DEPRECATED_NODE_LABELS.items()
            if label in selector
        ]

    def validate_update(self, new: RuntimeClass, old: RuntimeClass, context: Context) -> Errors:
        return self.validate(new, context) + checks.immutable(Path("handler"), new.handler, old.handler)


def _toleration_errors(path: Path, tolerations: tuple[Toleration, ...]) -> Errors:
    """Return the errors in tolerations. Two that differ only in their seconds are duplicates."""
    errors = validate_tolerations(path, tolerations)
    bare = [change(toleration, toleration_seconds=None) for toleration in tolerations]
    return errors + [
        fields.duplicate(path.index(position), toleration)
        for position, toleration in enumerate(tolerations)
        if bare[position] in bare[:position]
    ]
