"""Matching of requests by flow schemas. Pure.

Source: ``apiserver/pkg/util/flowcontrol/rule.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podling.api.flowcontrol_v1 import (
    FlowSchema,
    NonResourcePolicyRule,
    PolicyRulesWithSubjects,
    ResourcePolicyRule,
    Subject,
)
from podling.apiserver.auth.rbac import Attributes
from podling.client.requests import User

ALL = "*"


def first_match(schemas: Iterable[FlowSchema], user: User, asked: Attributes) -> FlowSchema | None:
    """Return the schema that a request belongs to. ``schemas``: in the order of their precedence."""
    for schema in schemas:
        if any(_rules_match(rules, user, asked) for rules in schema.spec.rules):
            return schema
    return None


def in_order(schemas: Iterable[FlowSchema]) -> list[FlowSchema]:
    """By precedence, then by name."""
    return sorted(schemas, key=lambda each: (each.spec.matching_precedence or 0, each.metadata.name or ""))


def _rules_match(rules: PolicyRulesWithSubjects, user: User, asked: Attributes) -> bool:
    if not any(_is_subject(subject, user) for subject in rules.subjects):
        return False
    if asked.path:
        return any(_path_rule_matches(rule, asked) for rule in rules.non_resource_rules)
    return any(_resource_rule_matches(rule, asked) for rule in rules.resource_rules)


def _is_subject(subject: Subject, user: User) -> bool:
    if subject.kind == "User" and subject.user is not None:
        return subject.user.name in (ALL, user.name)
    if subject.kind == "Group" and subject.group is not None:
        return subject.group.name == ALL or subject.group.name in user.groups
    account = subject.service_account
    if subject.kind != "ServiceAccount" or account is None:
        return False
    everyone = f"system:serviceaccount:{account.namespace}:"
    return user.name.startswith(everyone) if account.name == ALL else user.name == everyone + account.name


def _resource_rule_matches(rule: ResourcePolicyRule, asked: Attributes) -> bool:
    resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    return (
        _has(rule.verbs, asked.verb)
        and _has(rule.api_groups, asked.group)
        and _has(rule.resources, resource)
        and (_has(rule.namespaces, asked.namespace) if asked.namespace else bool(rule.cluster_scope))
    )


def _path_rule_matches(rule: NonResourcePolicyRule, asked: Attributes) -> bool:
    return _has(rule.verbs, asked.verb) and any(
        pattern in (ALL, asked.path) or (pattern.endswith("/*") and asked.path.startswith(pattern[:-1]))
        for pattern in rule.non_resource_urls
    )


def _has(allowed: Sequence[str], value: str) -> bool:
    return value in allowed or ALL in allowed
