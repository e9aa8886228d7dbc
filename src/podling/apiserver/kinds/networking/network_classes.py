"""IngressClasses, and where the addresses of Services come from: ServiceCIDRs and IPAddresses.

Upstream: ``pkg/apis/networking/validation``, ``pkg/apis/networking/v1/defaults.go``.
"""

from __future__ import annotations

from podling.api.networking_v1 import (
    IngressClass,
    IngressClassParametersReference,
    IPAddress,
    ParentReference,
    ServiceCIDR,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent
from podling.apiserver.kinds.common.plain_tables import TableRules
from podling.apiserver.kinds.networking.ingresses import reference_errors
from podling.machinery import fields, names
from podling.machinery.fields import Path

SPEC = Path("spec")
SCOPES = ("Cluster", "Namespace")
LONGEST_CONTROLLER = 250
_ONE_OF_EACH = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


class IngressClassRules(TableRules[IngressClass]):
    generation = True

    def default(self, obj: IngressClass) -> IngressClass:
        parameters = obj.spec.parameters
        if parameters is None:
            return obj
        return change(obj, spec=change(obj.spec, parameters=fill_absent(parameters, scope="Cluster")))

    def validate(self, obj: IngressClass, context: Context) -> Errors:
        where, controller = SPEC.child("controller"), obj.spec.controller or ""
        errors: Errors = []
        if len(controller.encode()) > LONGEST_CONTROLLER:
            errors.append(fields.too_long(where, LONGEST_CONTROLLER))
        errors += checks.domain_prefixed_path(where, controller)
        parameters = obj.spec.parameters
        return errors + (_parameter_errors(SPEC.child("parameters"), parameters) if parameters else [])

    def validate_update(self, new: IngressClass, old: IngressClass, context: Context) -> Errors:
        where = SPEC.child("controller")
        errors = checks.immutable(where, new.spec.controller, old.spec.controller)
        return errors + self.validate(new, context)


def _parameter_errors(path: Path, parameters: IngressClassParametersReference) -> Errors:
    errors = reference_errors(path, parameters)
    where, namespace = path.child("namespace"), parameters.namespace
    errors += checks.required_one_of(path.child("scope"), parameters.scope, SCOPES)
    if parameters.scope == "Namespace":
        if namespace is None:
            errors.append(fields.required(where, "`parameters.scope` is set to 'Namespace'"))
        else:
            errors += checks.dns_label(where, namespace)
    elif parameters.scope == "Cluster" and namespace is not None:
        errors.append(fields.forbidden(where, "`parameters.scope` is set to 'Cluster'"))
    return errors


class IPAddressRules(TableRules[IPAddress]):
    def name_errors(self, name: str) -> list[str]:
        """The name is the address."""
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
                errors += checks.invalid_each(where, value, names.path_segment_errors(value))
            elif needed:
                errors.append(fields.required(where))
        return errors

    def validate_update(self, new: IPAddress, old: IPAddress, context: Context) -> Errors:
        where = SPEC.child("parentRef")
        errors = checks.immutable(where, new.spec.parent_ref, old.spec.parent_ref)
        return self.validate(new, context) + errors


class ServiceCIDRRules(TableRules[ServiceCIDR]):
    status_subresource = True
    status_alone = True

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
            errors += checks.invalid_each(path.index(position), block, names.canonical_cidr_errors(block))
        return errors

    def validate_update(self, new: ServiceCIDR, old: ServiceCIDR, context: Context) -> Errors:
        """What there is stays; a block of the other family may join it."""
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
