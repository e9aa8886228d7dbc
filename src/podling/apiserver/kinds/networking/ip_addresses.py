"""IPAddresses: rules.

Upstream: ``ValidateIPAddress`` in ``pkg/apis/networking/validation``.
"""

from __future__ import annotations

from podling.api.networking_v1 import (
    IPAddress,
    ParentReference,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.machinery import fields, names
from podling.machinery.fields import Path

SPEC = Path("spec")


class IPAddressRules(TableRules[IPAddress]):
    def name_errors(self, name: str) -> list[str]:
        """Return the errors in a name: it must be the address in canonical form."""
        return names.canonical_ip_errors(name)

    def validate(self, obj: IPAddress, context: Context) -> Errors:
        parent, path = obj.spec.parent_ref, SPEC.child("parentRef")
        if parent == ParentReference():
            return [fields.required(path)]
        errors = checks.dns_subdomain(path.child("group"), parent.group) if parent.group else []
        for name, value, needed in (
            ("resource", parent.resource, True),
            ("name", parent.name, True),
            ("namespace", parent.namespace, False),
        ):
            where = path.child(name)
            if value:
                errors += fields.invalid_each(where, value, names.path_segment_errors(value))
            elif needed:
                errors.append(fields.required(where))
        return errors

    def validate_update(self, new: IPAddress, old: IPAddress, context: Context) -> Errors:
        where = SPEC.child("parentRef")
        errors = checks.immutable(where, new.spec.parent_ref, old.spec.parent_ref)
        return self.validate(new, context) + errors
