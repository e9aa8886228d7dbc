"""RuntimeClasses. Upstream: ``pkg/apis/node/validation``."""

from __future__ import annotations

from podling.api.core_v1 import ResourceRequirements
from podling.api.node_v1 import RuntimeClass
from podling.apiserver.kinds import checks
from podling.apiserver.kinds.base import Context
from podling.apiserver.kinds.checks import Errors
from podling.apiserver.kinds.plain_tables import TableRules
from podling.apiserver.kinds.resource_validation import requirement_errors
from podling.apiserver.kinds.scheduling_validation import validate_tolerations
from podling.machinery.fields import Path


class RuntimeClassRules(TableRules[RuntimeClass]):
    create_on_update = True

    def validate(self, obj: RuntimeClass, context: Context) -> Errors:
        errors = checks.dns_label(Path("handler"), obj.handler)
        if obj.overhead is not None:
            limits = ResourceRequirements(limits=obj.overhead.pod_fixed)
            errors += requirement_errors(Path("overhead"), limits)
        if obj.scheduling is not None:
            path = Path("scheduling")
            errors += checks.labels(path.child("nodeSelector"), obj.scheduling.node_selector)
            errors += validate_tolerations(path.child("tolerations"), obj.scheduling.tolerations)
        return errors

    def validate_update(self, new: RuntimeClass, old: RuntimeClass, context: Context) -> Errors:
        return checks.immutable(Path("handler"), new.handler, old.handler)
