"""FlowSchemas: the assignment of requests to priority levels.

The two mandatory schemas never change.

Upstream: ``pkg/apis/flowcontrol/validation``, ``pkg/apis/flowcontrol/v1/defaults.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podling.api.flowcontrol_v1 import (
    FlowSchema,
    NonResourcePolicyRule,
    PolicyRulesWithSubjects,
    ResourcePolicyRule,
    ServiceAccountSubject,
    Subject,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_empty
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.apiserver.kinds.flowcontrol.defaults import EXEMPT, MANDATORY, flow_schemas
from podling.machinery import fields, names
from podling.machinery.fields import Path

SPEC = Path("spec")
DEFAULT_PRECEDENCE = 1000
GREATEST_PRECEDENCE = 10_000
DISTINGUISHERS = ("ByNamespace", "ByUser")
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"Group": "group", "ServiceAccount": "service_account", "User": "user"}
_FIELDS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}


class FlowSchemaRules(TableRules[FlowSchema]):
    status_subresource = True
    status_keeps_metadata = True
    generation = True

    def default(self, obj: FlowSchema) -> FlowSchema:
        return change(obj, spec=fill_empty(obj.spec, matching_precedence=DEFAULT_PRECEDENCE))

    def row_order(self, obj: FlowSchema) -> tuple[int, str]:
        """Return the sort key of the order in which schemas are matched."""
        return obj.spec.matching_precedence or 0, obj.metadata.name or ""

    def validate(self, obj: FlowSchema, context: Context) -> Errors:
        errors = _spec_errors(obj)
        fixed = {each.metadata.name: each for each in flow_schemas()}.get(obj.metadata.name)
        if obj.metadata.name in MANDATORY and fixed is not None and obj.spec != fixed.spec:
            text = f"spec of '{obj.metadata.name}' must equal the fixed value"
            errors.append(fields.invalid(SPEC, obj.spec, text))
        return errors + status_condition_errors(obj.status.conditions)

    def validate_update(self, new: FlowSchema, old: FlowSchema, context: Context) -> Errors:
        if context.subresource == "status":
            return status_condition_errors(new.status.conditions)
        return self.validate(new, context)


def status_condition_errors(conditions: Sequence[Any]) -> Errors:
    """Return an error for each repeated condition type, for both kinds of this group."""
    errors: Errors = []
    seen: set[str] = set()
    for position, condition in enumerate(conditions):
        where = Path("status.conditions").index(position).child("type")
        name = condition.type or ""
        errors += [fields.duplicate(where, name)] if name in seen else []
        seen.add(name)
        errors += [] if name else [fields.required(where, "must not be empty")]
    return errors


def _spec_errors(obj: FlowSchema) -> Errors:
    spec, where = obj.spec, SPEC.child("matchingPrecedence")
    precedence = spec.matching_precedence or 0
    errors: Errors = []
    if precedence <= 0:
        errors.append(fields.invalid(where, precedence, "must be a positive value"))
    if precedence > GREATEST_PRECEDENCE:
        errors.append(fields.invalid(where, precedence, f"must not be greater than {GREATEST_PRECEDENCE}"))
    if precedence == 1 and obj.metadata.name != EXEMPT:
        text = "only the schema named 'exempt' may have matchingPrecedence 1"
        errors.append(fields.invalid(where, precedence, text))
    method = spec.distinguisher_method
    if method is not None and method.type not in DISTINGUISHERS:
        where = SPEC.child("distinguisherMethod", "type")
        errors.append(fields.not_supported(where, method, DISTINGUISHERS))
    where, level = SPEC.child("priorityLevelConfiguration", "name"), spec.priority_level_configuration.name
    if level:
        errors += checks.dns_subdomain(where, level)
    else:
        errors.append(fields.required(where, "must reference a priority level"))
    for position, rule in enumerate(spec.rules):
        errors += _rule_errors(SPEC.child("rules").index(position), rule)
    return errors


def _rule_errors(path: Path, rule: PolicyRulesWithSubjects) -> Errors:
    errors: Errors = []
    where = path.child("subjects")
    for position, subject in enumerate(rule.subjects):
        errors += _subject_errors(where.index(position), subject)
    if not rule.subjects:
        errors.append(fields.required(where, "subjects must contain at least one value"))
    if not rule.resource_rules and not rule.non_resource_rules:
        text = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.append(fields.required(path, text))
    for position, found in enumerate(rule.resource_rules):
        errors += _resource_rule_errors(path.child("resourceRules").index(position), found)
    for position, other in enumerate(rule.non_resource_rules):
        errors += _non_resource_rule_errors(path.child("nonResourceRules").index(position), other)
    return errors


def _subject_errors(path: Path, subject: Subject) -> Errors:
    """Return errors unless exactly the field of the subject's kind is set."""
    if subject.kind not in _SUBJECTS:
        return [fields.not_supported(path.child("kind"), subject.kind, tuple(_SUBJECTS))]
    name = _FIELDS[subject.kind]
    here, found = path.child(name), getattr(subject, _SUBJECTS[subject.kind])
    if found is None:
        errors = [fields.required(here, f"{name} is required when subject kind is '{subject.kind}'")]
    elif isinstance(found, ServiceAccountSubject):
        errors = _account_errors(here, found)
    else:
        errors = [] if found.name else [fields.required(here.child("name"))]
    return errors + [
        fields.forbidden(path.child(other), f"{other} is forbidden when subject kind is not '{kind}'")
        for kind, other in _FIELDS.items()
        if kind != subject.kind and getattr(subject, _SUBJECTS[kind]) is not None
    ]


def _account_errors(path: Path, account: ServiceAccountSubject) -> Errors:
    errors: Errors = []
    if not account.name:
        errors.append(fields.required(path.child("name")))
    elif account.name != "*":
        errors += checks.dns_subdomain(path.child("name"), account.name)
    where = path.child("namespace")
    if not account.namespace:
        return [*errors, fields.required(where, "must specify namespace for service account")]
    return errors + checks.dns_label(where, account.namespace)


def _star_errors(path: Path, values: tuple[str, ...], noun: str) -> Errors:
    if len(values) < 2 or "*" not in values:
        return []
    return [fields.invalid(path, values, f"if '*' is present, must not specify other {noun}")]


def _verb_errors(path: Path, verbs: tuple[str, ...]) -> Errors:
    if not verbs:
        return [fields.required(path, "verbs must contain at least one value")]
    if "*" in verbs:
        return _star_errors(path, verbs, "verbs")
    return [] if set(verbs) <= set(VERBS) else [fields.not_supported(path, verbs, VERBS)]


def _resource_rule_errors(path: Path, rule: ResourcePolicyRule) -> Errors:
    errors = _verb_errors(path.child("verbs"), rule.verbs)
    for name, values, one, many in (
        ("apiGroups", rule.api_groups, "api group", "api groups"),
        ("resources", rule.resources, "resource", "resources"),
    ):
        if not values:
            errors.append(fields.required(path.child(name), f"resource rules must supply at least one {one}"))
        errors += _star_errors(path.child(name), values, many)
    where = path.child("namespaces")
    if not rule.namespaces and not rule.cluster_scope:
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        errors.append(fields.required(where, text))
    if "*" in rule.namespaces:
        return errors + _star_errors(where, rule.namespaces, "namespaces")
    intro = "each member of this list must be '*' or a DNS-1123 label; "
    for position, namespace in enumerate(rule.namespaces):
        problems = [intro + text for text in names.dns_label_errors(namespace)]
        errors += fields.invalid_each(where.index(position), namespace, problems)
    return errors


def _non_resource_rule_errors(path: Path, rule: NonResourcePolicyRule) -> Errors:
    errors = _verb_errors(path.child("verbs"), rule.verbs)
    where, urls = path.child("nonResourceURLs"), rule.non_resource_urls
    if not urls:
        errors.append(fields.required(where, "nonResourceURLs must contain at least one value"))
    if "*" in urls:
        return errors + _star_errors(where, urls, "non-resource URLs")
    for position, url in enumerate(urls):
        problem = _url_problem(url)
        errors += [fields.invalid(where.index(position), url, problem)] if problem else []
    return errors


def _url_problem(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    stars = url.count("*")
    return "wildcard can only do suffix matching" if stars > 1 or (stars and url[-2:] != "/*") else ""
