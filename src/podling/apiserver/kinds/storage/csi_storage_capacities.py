"""CSIStorageCapacities: rules.

Upstream: ``ValidateCSIStorageCapacity`` in ``pkg/apis/storage/validation``.
"""

from __future__ import annotations

from podling.api.storage_v1 import CSIStorageCapacity
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.apiserver.kinds.storage.storage_warnings import capacity_warnings
from podling.machinery import fields, label_checks
from podling.machinery.fields import Path
from podling.machinery.quantity import ZERO, parse


class CSIStorageCapacityRules(TableRules[CSIStorageCapacity]):
    unconditional_update = False

    def validate(self, obj: CSIStorageCapacity, context: Context) -> Errors:
        errors = label_checks.label_selector(Path("nodeTopology"), obj.node_topology)
        errors += checks.dns_subdomain(Path("storageClassName"), obj.storage_class_name)
        if obj.capacity is not None and parse(obj.capacity) < ZERO:
            errors.append(fields.invalid(Path("capacity"), str(parse(obj.capacity)), checks.NOT_NEGATIVE))
        return errors

    def validate_update(self, new: CSIStorageCapacity, old: CSIStorageCapacity, context: Context) -> Errors:
        errors = self.validate(new, context)
        errors += checks.immutable(Path("nodeTopology"), new.node_topology, old.node_topology)
        where = Path("storageClassName")
        return errors + checks.immutable(where, new.storage_class_name, old.storage_class_name)

    def warnings(
        self, obj: CSIStorageCapacity, old: CSIStorageCapacity | None, context: Context
    ) -> list[str]:
        return list(capacity_warnings(obj))
