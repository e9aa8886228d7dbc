"""CSINodes: rules.

Upstream: ``ValidateCSINode`` in ``pkg/apis/storage/validation``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.storage_v1 import (
    CSINode,
    CSINodeDriver,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.apiserver.kinds.pod.volume_sources import driver_name_errors
from podling.machinery import fields
from podling.machinery.fields import Path

SPEC = Path("spec")
LONGEST_NODE_ID = 256


class CSINodeRules(TableRules[CSINode]):
    unconditional_update = False
    returns_deleted = True

    def validate(self, obj: CSINode, context: Context) -> Errors:
        path = SPEC.child("drivers")
        errors: Errors = []
        seen: set[str] = set()
        for position, driver in enumerate(obj.spec.drivers):
            here = path.index(position)
            errors += _node_driver_errors(here, driver)
            errors += [fields.duplicate(here.child("name"), driver.name)] if driver.name in seen else []
            seen.add(driver.name)
            errors += _topology_key_errors(here, driver.topology_keys)
        return errors

    def validate_update(self, new: CSINode, old: CSINode, context: Context) -> Errors:
        """Return errors for changes of an existing driver; only its allocatable count may change."""
        errors = self.validate(new, context)
        known = {driver.name: driver for driver in old.spec.drivers}
        for driver in new.spec.drivers:
            before = known.get(driver.name)
            if before is not None and change(driver, allocatable=before.allocatable) != before:
                errors.append(fields.invalid(SPEC.child("drivers"), driver, checks.IMMUTABLE))
        return errors


def _node_driver_errors(path: Path, driver: CSINodeDriver) -> Errors:
    errors = driver_name_errors(path.child("name"), driver.name)
    where = path.child("nodeID")
    errors += [] if driver.node_id else [fields.required(where)]
    if len(driver.node_id.encode()) > LONGEST_NODE_ID:
        errors.append(fields.invalid(where, driver.node_id, f"must be {LONGEST_NODE_ID} characters or less"))
    count = driver.allocatable.count if driver.allocatable is not None else None
    return errors + checks.non_negative(path.child("allocatable", "count"), count)


def _topology_key_errors(path: Path, keys: Sequence[str]) -> Errors:
    errors: Errors = []
    for position, key in enumerate(keys):
        errors += [] if key else [fields.required(path)]
        errors += [fields.duplicate(path, key)] if key in keys[:position] else []
        errors += checks.label_name(path, key)
    return errors
