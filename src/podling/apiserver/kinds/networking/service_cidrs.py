"""ServiceCIDRs: rules.

Upstream: ``ValidateServiceCIDR`` in ``pkg/apis/networking/validation``.
"""

from __future__ import annotations

from podling.api.networking_v1 import ServiceCIDR
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.machinery import fields, names
from podling.machinery.fields import Path

SPEC = Path("spec")
_ONE_OF_EACH = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


class ServiceCIDRRules(TableRules[ServiceCIDR]):
    status_subresource = True
    status_keeps_metadata = True

    def validate(self, obj: ServiceCIDR, context: Context) -> Errors:
        path, blocks = SPEC.child("cidrs"), obj.spec.cidrs
        if not blocks:
            return [fields.required(path, "at least one CIDR required")]
        if len(blocks) > 2:
            return [fields.invalid(path, obj.spec, "may only hold up to 2 values")]
        parsed = [names.parse_cidr(block) for block in blocks]
        families = {None if block is None else block.version for block in parsed}
        if len(blocks) == 2 and families != {4, 6}:
            return [fields.invalid(path, obj.spec, _ONE_OF_EACH)]
        errors: Errors = []
        for position, block in enumerate(blocks):
            errors += fields.invalid_each(path.index(position), block, names.canonical_cidr_errors(block))
        return errors

    def validate_update(self, new: ServiceCIDR, old: ServiceCIDR, context: Context) -> Errors:
        """Return errors for a changed CIDR; only a CIDR of the other family may be added."""
        if context.subresource == "status":
            return []
        path, before, after = SPEC.child("cidrs"), old.spec.cidrs, new.spec.cidrs
        grown = len(before) == 1 and len(after) == 2
        if len(before) != len(after) and not grown:
            return [fields.invalid(path, after, checks.IMMUTABLE)]
        errors = [
            fields.invalid(path.index(position), after[position], checks.IMMUTABLE)
            for position, block in enumerate(before)
            if block != after[position]
        ]
        return errors + (self.validate(new, context) if grown else [])
