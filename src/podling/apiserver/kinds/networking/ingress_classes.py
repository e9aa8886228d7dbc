"""IngressClasses: rules.

Upstream: ``pkg/apis/networking/validation``, ``pkg/apis/networking/v1/defaults.go``.
"""

from __future__ import annotations

from podling.api.networking_v1 import (
    IngressClass,
    IngressClassParametersReference,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.apiserver.kinds.networking.ingresses import reference_errors
from podling.machinery import fields
from podling.machinery.fields import Path

SPEC = Path("spec")
SCOPES = ("Cluster", "Namespace")
LONGEST_CONTROLLER = 250


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
