"""Rules, selectors and match conditions, which choose the requests for a webhook or policy.

Upstream: ``validateRule``, ``validateMatchResources`` and ``validateMatchConditions`` in
``pkg/apis/admissionregistration/validation/validation.go``; ``v1/defaults.go`` beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from podling.api.admissionregistration_v1 import (
    MatchCondition,
    MatchResources,
    NamedRuleWithOperations,
    RuleWithOperations,
)
from podling.api.meta_v1 import LabelSelector
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.expressions import typed_expression_errors
from podling.apiserver.kinds.common.filling import change, fill_absent, map_items
from podling.machinery import fields, label_checks, names
from podling.machinery.fields import Path

FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
REINVOCATION_POLICIES = ("IfNeeded", "Never")
OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
SCOPES = ("*", "Cluster", "Namespaced")
MAX_CONDITIONS = 64
_ALONE = "if '*' is present, must not specify other {}"

Rule = TypeVar("Rule", RuleWithOperations, NamedRuleWithOperations)


def default_rule(rule: Rule) -> Rule:
    return fill_absent(rule, scope="*")


def default_match(match: MatchResources | None) -> MatchResources | None:
    if match is None:
        return None
    return change(
        fill_absent(
            match,
            match_policy="Equivalent",
            namespace_selector=LabelSelector(),
            object_selector=LabelSelector(),
        ),
        resource_rules=map_items(match.resource_rules, default_rule),
        exclude_resource_rules=map_items(match.exclude_resource_rules, default_rule),
    )


def rule_errors(path: Path, rule: RuleWithOperations | NamedRuleWithOperations) -> Errors:
    errors = _list_errors(path.child("operations"), rule.operations, "operations")
    for position, operation in enumerate(rule.operations):
        if operation not in OPERATIONS:
            errors.append(
                fields.not_supported(path.child("operations").index(position), operation, OPERATIONS)
            )
    errors += _list_errors(path.child("apiGroups"), rule.api_groups, "API groups")
    errors += _list_errors(path.child("apiVersions"), rule.api_versions, "API versions")
    for position, version in enumerate(rule.api_versions):
        errors += [] if version else [fields.required(path.child("apiVersions").index(position))]
    errors += _resource_errors(path.child("resources"), rule.resources)
    return errors + checks.one_of(path.child("scope"), rule.scope, SCOPES)


def _list_errors(path: Path, values: Sequence[str], noun: str) -> Errors:
    """Return an error for an empty list, or for a ``*`` beside other values."""
    if not values:
        return [fields.required(path)]
    if len(values) > 1 and "*" in values:
        return [fields.invalid(path, values, _ALONE.format(noun))]
    return []


def _resource_errors(path: Path, resources: Sequence[str]) -> Errors:
    errors: Errors = [] if resources else [fields.required(path)]
    every_part_of: set[str] = set()
    part_of_every: set[str] = set()
    whole = False
    for position, value in enumerate(resources):
        here = path.index(position)
        if not value:
            errors.append(fields.required(here))
            continue
        resource, slash, part = value.partition("/")
        if not slash:
            whole = value != "*"  # as upstream: the last one without a subresource decides
            continue
        if resource in every_part_of:
            text = f"if '{resource}/*' is present, must not specify {value}"
            errors.append(fields.invalid(here, value, text))
        if part in part_of_every:
            errors.append(fields.invalid(here, value, f"if '*/{part}' is present, must not specify {value}"))
        every_part_of.update([resource] if part == "*" else [])
        part_of_every.update([part] if resource == "*" else [])
    if len(resources) > 1 and "*/*" in resources:
        errors.append(
            fields.invalid(path, resources, "if '*/*' is present, must not specify other resources")
        )
    if whole and "*" in resources:
        errors.append(fields.invalid(path, resources, _ALONE.format("resources without subresources")))
    return errors


def match_errors(path: Path, match: MatchResources | None) -> Errors:
    if match is None:
        return []
    errors = checks.required_one_of(path.child("matchPolicy"), match.match_policy, MATCH_POLICIES)
    for name, selector in (
        ("namespaceSelector", match.namespace_selector),
        ("objectSelector", match.object_selector),
    ):
        errors += [fields.required(path.child(name))] if selector is None else []
        errors += label_checks.label_selector(path.child(name), selector)
    for name, rules in (
        ("resourceRules", match.resource_rules),
        ("excludeResourceRules", match.exclude_resource_rules),
    ):
        for position, rule in enumerate(rules):
            errors += _named_rule_errors(path.child(name).index(position), rule)
    return errors


def _named_rule_errors(path: Path, rule: NamedRuleWithOperations) -> Errors:
    errors: Errors = []
    for position, name in enumerate(rule.resource_names):
        here = path.child("resourceNames").index(position)
        errors += fields.invalid_each(here, name, names.path_segment_errors(name))
        errors += [fields.duplicate(here, name)] if name in rule.resource_names[:position] else []
    return errors + rule_errors(path, rule)


def condition_errors(path: Path, conditions: Sequence[MatchCondition], *, params: bool = False) -> Errors:
    """Return the errors in match conditions. ``params``: they may refer to parameters."""
    if not conditions:
        return []
    from podling.apiserver.cel.environments import environment
    from podling.apiserver.cel.types import DYN

    errors: Errors = []
    if len(conditions) > MAX_CONDITIONS:
        errors.append(fields.too_many(path, len(conditions), MAX_CONDITIONS))
    seen: set[str] = set()
    known = environment(params=DYN if params else None)
    for position, condition in enumerate(conditions):
        here, text = path.index(position), condition.expression.strip()
        where = here.child("expression")
        wrong = typed_expression_errors(where, text, known, ("bool",)) if text else [fields.required(where)]
        errors += wrong
        if not condition.name:
            errors.append(fields.required(here.child("name")))
            continue
        errors += checks.label_name(here.child("name"), condition.name)
        errors += [fields.duplicate(here.child("name"), condition.name)] if condition.name in seen else []
        seen.add(condition.name)
    return errors
